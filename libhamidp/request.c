/* SPDX-License-Identifier: Apache-2.0 */

/* Requests: what a caller asks of the placement function, kept as bits so that order is nothing. */

#include <errno.h>
#include <string.h>

#include "place.h"

static int slot_set_add(struct hdp_slot_set *set, size_t slot)
{
	size_t need = slot / 64 + 1, cap;
	uint64_t *words;

	if (slot >= HDP_LAYOUT_SLOTS_MAX) {
		set->outside = slot > set->outside ? slot : set->outside;
		return 0;
	}
	if (need > set->cap_words) {
		cap = need > 2 * set->cap_words ? need : 2 * set->cap_words;
		words = reallocarray(set->words, cap, sizeof(*words));
		if (!words)
			return -ENOMEM;
		set->words = words;
		set->cap_words = cap;
	}
	if (need > set->n_words) {
		memset(set->words + set->n_words, 0, (need - set->n_words) * sizeof(*set->words));
		set->n_words = need;
	}
	hdp_bit_set(set->words, slot);
	return 0;
}

HAMIDP_EXPORT int hamidp_request_new(struct hamidp_request **ret)
{
	struct hamidp_request *req = calloc(1, sizeof(*req));

	if (!req)
		return -ENOMEM;
	req->numa_node = -1;
	*ret = req;
	return 0;
}

HAMIDP_EXPORT struct hamidp_request *hamidp_request_free(struct hamidp_request *req)
{
	if (!req)
		return NULL;
	free(req->available.words);
	free(req->required.words);
	free(req);
	return NULL;
}

HAMIDP_EXPORT void hamidp_request_reset(struct hamidp_request *req)
{
	struct hdp_slot_set available = { .words = req->available.words,
					  .cap_words = req->available.cap_words };
	struct hdp_slot_set required = { .words = req->required.words,
					 .cap_words = req->required.cap_words };

	*req = (struct hamidp_request){ .numa_node = -1,
					.available = available,
					.required = required };
}

HAMIDP_EXPORT void hamidp_request_set_resource(struct hamidp_request *req, size_t resource)
{
	req->resource = resource;
}

HAMIDP_EXPORT void hamidp_request_set_units(struct hamidp_request *req, uint32_t units)
{
	req->by_device = req->by_amount = false;
	req->units = units;
}

HAMIDP_EXPORT void hamidp_request_set_devices(struct hamidp_request *req, uint32_t n_devices,
					      uint32_t units_each)
{
	req->by_device = true;
	req->by_amount = false;
	req->n_devices = n_devices;
	req->units_each = units_each;
}

HAMIDP_EXPORT void hamidp_request_set_amounts(struct hamidp_request *req, uint32_t n_devices,
					      uint32_t share_ppm, uint64_t memory_mib)
{
	req->by_device = req->by_amount = true;
	req->n_devices = n_devices;
	req->units_each = 0;
	req->share_ppm = share_ppm;
	req->memory_mib = memory_mib;
}

HAMIDP_EXPORT int hamidp_request_set_placement(struct hamidp_request *req,
					       enum hamidp_placement placement)
{
	if ((unsigned)placement > HAMIDP_PLACEMENT_FIT)
		return -EINVAL;
	req->has_placement = true;
	req->placement = placement;
	return 0;
}

HAMIDP_EXPORT int hamidp_request_set_split(struct hamidp_request *req, enum hamidp_split split)
{
	if ((unsigned)split > HAMIDP_SPLIT_ALLOW)
		return -EINVAL;
	req->has_split = true;
	req->split = split;
	return 0;
}

HAMIDP_EXPORT void hamidp_request_set_numa_node(struct hamidp_request *req, int32_t node)
{
	req->numa_node = node;
}

HAMIDP_EXPORT int hamidp_request_add_available(struct hamidp_request *req, size_t slot)
{
	req->has_available = true;
	return slot_set_add(&req->available, slot);
}

HAMIDP_EXPORT int hamidp_request_add_required(struct hamidp_request *req, size_t slot)
{
	return slot_set_add(&req->required, slot);
}
