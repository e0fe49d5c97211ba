/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The placement function: checks a request, turns slots into numbers, lets choose.c choose, and
 * turns numbers into slots. Pure: reads only what it is given and writes only the decision.
 */

#include <errno.h>
#include <inttypes.h>

#include "place.h"
#include "reason.h"

static uint64_t wanted_units(const struct hamidp_request *req)
{
	return req->by_device ? (uint64_t)req->n_devices * req->units_each : req->units;
}

/* The first number of a set in [first, end), or SIZE_MAX. */
static size_t set_first_in(const struct hdp_slot_set *set, size_t first, size_t end)
{
	size_t limit = set->n_words * 64 < end ? set->n_words * 64 : end;
	size_t slot = hdp_bit_next_set(set->words, first, limit);

	return slot < limit ? slot : SIZE_MAX;
}

static int check_slots(const struct hamidp_layout *layout, size_t resource,
		       const struct hdp_slot_set *set, const char *what,
		       struct hamidp_reason *reason)
{
	size_t beyond = set_first_in(set, layout->n_slots, SIZE_MAX), slot;

	if (set->outside > 0 || beyond != SIZE_MAX)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_UNKNOWN_SLOT,
				"%s slot number %zu: the layout has %zu slots", what,
				set->outside > 0 ? set->outside : beyond, layout->n_slots);

	for (size_t pos = 0; pos < layout->inv->n_devices; pos++) {
		const struct hdp_layout_device *dev = &layout->devices[pos];

		if (dev->resource == resource)
			continue;
		slot = set_first_in(set, dev->first_slot, dev->first_slot + dev->n_slots);
		if (slot != SIZE_MAX)
			return hdp_fail(reason, -EINVAL, HAMIDP_REASON_FOREIGN_SLOT,
					"%s slot '%.128s' does not belong to %s", what,
					layout->slots[slot].id, layout->resources[resource].name);
	}
	return 0;
}

/* More than there is even on the empty node? */
static int check_size(const struct hamidp_layout *layout, const struct hamidp_request *req,
		      struct hamidp_reason *reason)
{
	const struct hdp_layout_resource *res = &layout->resources[req->resource];
	size_t n_large = 0;

	if (wanted_units(req) > res->n_slots)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_TOO_LARGE,
				"%s: %" PRIu64 " slots asked for, it has %zu", res->name,
				wanted_units(req), res->n_slots);
	if (!req->by_device)
		return 0;
	for (size_t pos = 0; pos < layout->inv->n_devices; pos++)
		n_large += layout->devices[pos].resource == req->resource &&
			   layout->devices[pos].n_slots >= req->units_each;
	if (n_large < req->n_devices)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_TOO_LARGE,
				"%s: %" PRIu32 " devices with %" PRIu32
				" slots asked for, it has %zu",
				res->name, req->n_devices, req->units_each, n_large);
	return 0;
}

/* What is required must be compatible with the rest of the request. */
static int check_required(const struct hamidp_layout *layout, const struct hamidp_request *req,
			  struct hamidp_reason *reason)
{
	const struct hdp_slot_set *set = &req->required;
	uint64_t n_required = 0, n_devices = 0;

	for (size_t pos = 0; set->n_words > 0 && pos < layout->inv->n_devices; pos++) {
		const struct hdp_layout_device *dev = &layout->devices[pos];
		const struct hdp_device_info *info = &layout->inv->devices[pos].info;
		size_t end = dev->first_slot + dev->n_slots, slot;
		uint32_t n;

		slot = set_first_in(set, dev->first_slot, end);
		if (slot == SIZE_MAX)
			continue;
		if (req->numa_node >= 0 && info->numa_node != req->numa_node)
			return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
					"required slot '%.128s' is not on NUMA node %" PRId32,
					layout->slots[slot].id, req->numa_node);
		end = end < set->n_words * 64 ? end : set->n_words * 64;
		n = hdp_bit_count(set->words, dev->first_slot, end);
		if (req->by_device && n > req->units_each)
			return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
					"%" PRIu32 " slots required on %s, at most %" PRIu32
					" on each device asked for",
					n, info->uuid, req->units_each);
		n_required += n;
		n_devices++;
	}
	if (n_required > wanted_units(req))
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"%" PRIu64 " slots required, %" PRIu64 " asked for", n_required,
				wanted_units(req));
	if (req->by_device && n_devices > req->n_devices)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"slots required on %" PRIu64 " devices, %" PRIu32 " asked for",
				n_devices, req->n_devices);
	return 0;
}

static int check_request(const struct hamidp_layout *layout, const struct hamidp_occupancy *occ,
			 const struct hamidp_request *req, struct hamidp_reason *reason)
{
	int r;

	if (req->resource >= layout->n_resources)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_UNKNOWN_RESOURCE,
				"resource number %zu: the layout has %zu", req->resource,
				layout->n_resources);
	if (occ->layout != layout)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"the occupancy is one of another layout");
	if (wanted_units(req) == 0)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"0 slots asked for, at least 1 is accepted");
	if (req->numa_node < -1)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"NUMA node %" PRId32 ": -1 or more is accepted", req->numa_node);
	r = check_slots(layout, req->resource, &req->available, "available", reason);
	if (r < 0)
		return r;
	r = check_slots(layout, req->resource, &req->required, "required", reason);
	if (r < 0)
		return r;
	r = check_size(layout, req, reason);
	if (r < 0)
		return r;
	return check_required(layout, req, reason);
}

static uint32_t largest_units(const struct hamidp_layout *layout, const struct hamidp_request *req,
			      const struct hdp_card *cards, size_t n_cards)
{
	uint32_t per_device = hdp_layout_slots_per_device(layout, req->resource);

	if (req->by_device)
		return req->n_devices * hdp_choose_largest_each(cards, n_cards, req->n_devices);
	return hdp_choose_largest_units(cards, n_cards, per_device);
}

static int fail_no_room(const struct hamidp_layout *layout, const struct hamidp_request *req,
			const struct hdp_card *cards, size_t n_cards, struct hamidp_reason *reason)
{
	const char *name = layout->resources[req->resource].name;
	uint32_t largest = largest_units(layout, req, cards, n_cards);
	uint64_t n_free = 0;

	for (size_t i = 0; i < n_cards; i++)
		n_free += cards[i].free;
	if (n_free < wanted_units(req))
		hdp_fail(reason, -ENOSPC, HAMIDP_REASON_NO_ROOM,
			 "%s: %" PRIu64 " slots asked for, %" PRIu64 " are free, at most %" PRIu32
			 " in one request",
			 name, wanted_units(req), n_free, largest);
	else
		hdp_fail(reason, -ENOSPC, HAMIDP_REASON_FRAGMENTED,
			 "%s: %" PRIu64 " slots asked for, %" PRIu64
			 " are free but not in this form, at most %" PRIu32 " in one request",
			 name, wanted_units(req), n_free, largest);
	hdp_reason_set_largest(reason, largest);
	return -ENOSPC;
}

static bool choose(const struct hamidp_layout *layout, const struct hamidp_request *req,
		   struct hdp_card *cards, size_t n_cards)
{
	struct hdp_form form = { .n = req->n_devices, .base = req->units_each };

	if (req->by_device)
		return hdp_choose_form(cards, n_cards, form);
	form = hdp_form_of_units(req->units, hdp_layout_slots_per_device(layout, req->resource));
	return hdp_choose_form(cards, n_cards, form) ||
	       hdp_choose_split(cards, n_cards, req->units);
}

HAMIDP_EXPORT int hamidp_place(const struct hamidp_layout *layout,
			       const struct hamidp_occupancy *occ, const struct hamidp_request *req,
			       struct hamidp_decision *decision, struct hamidp_reason *reason)
{
	size_t n_cards;
	int r;

	r = check_request(layout, occ, req, reason);
	if (r < 0)
		return r;
	r = hdp_decision_reserve(decision, layout, (size_t)wanted_units(req));
	if (r < 0)
		return hdp_oom(reason);

	hdp_cards_collect(layout, occ, req, decision, &n_cards);
	if (!choose(layout, req, decision->cards, n_cards))
		return fail_no_room(layout, req, decision->cards, n_cards, reason);
	hdp_cards_take(layout, req, decision, n_cards);
	hdp_decision_settle(decision, layout, req->resource, req->by_device);

	hdp_reason_clear(reason);
	if (decision->is_split)
		hdp_reason_set_largest(reason,
				       largest_units(layout, req, decision->cards, n_cards));
	return 0;
}
