/* SPDX-License-Identifier: Apache-2.0 */

/* Decisions: slots chosen for a request, with the memory that choosing them needs. */

#include <errno.h>
#include <string.h>

#include "grow.h"
#include "place.h"

HAMIDP_EXPORT int hamidp_decision_new(struct hamidp_decision **ret)
{
	struct hamidp_decision *decision = calloc(1, sizeof(*decision));

	if (!decision)
		return -ENOMEM;
	*ret = decision;
	return 0;
}

HAMIDP_EXPORT struct hamidp_decision *hamidp_decision_free(struct hamidp_decision *decision)
{
	if (!decision)
		return NULL;
	hamidp_layout_unref(decision->layout);
	free(decision->slots);
	free(decision->free);
	free(decision->chosen);
	free(decision->cards);
	free(decision->numbers);
	free(decision->search);
	free(decision);
	return NULL;
}

int hdp_decision_reserve(struct hamidp_decision *decision, const struct hamidp_layout *layout,
			 size_t n_slots)
{
	size_t n_words = hdp_bit_words(layout->n_slots), cap = decision->cap_words;
	int r;

	r = hdp_grow(&decision->slots, &decision->cap_slots, n_slots, sizeof(*decision->slots));
	if (r < 0)
		return r;
	r = hdp_grow(&decision->cards, &decision->cap_cards, layout->inv->n_devices,
		     sizeof(*decision->cards));
	if (r < 0)
		return r;
	r = hdp_grow(&decision->numbers, &decision->cap_numbers,
		     (HDP_SPARE_ARRAYS + 1) * layout->inv->n_devices, sizeof(*decision->numbers));
	if (r < 0)
		return r;
	if (!decision->search) {
		decision->search = malloc(sizeof(*decision->search));
		if (!decision->search)
			return -ENOMEM;
	}
	r = hdp_grow(&decision->free, &cap, n_words, sizeof(*decision->free));
	if (r < 0)
		return r;
	r = hdp_grow(&decision->chosen, &decision->cap_words, n_words, sizeof(*decision->chosen));
	if (r < 0)
		return r;
	memset(decision->chosen, 0, n_words * sizeof(*decision->chosen));
	return 0;
}

uint32_t hdp_layout_slots_per_device(const struct hamidp_layout *layout, size_t resource)
{
	uint32_t most = 0;

	for (size_t pos = 0; pos < layout->inv->n_devices; pos++)
		if (layout->devices[pos].resource == resource &&
		    layout->devices[pos].n_slots > most)
			most = layout->devices[pos].n_slots;
	return most;
}

struct parts { /* what devices give */
	size_t n;
	uint32_t least, most;
};

static void count_part(struct parts *parts, uint32_t part)
{
	if (part == 0)
		return;
	parts->n++;
	parts->least = part < parts->least ? part : parts->least;
	parts->most = part > parts->most ? part : parts->most;
}

static bool is_split(const struct hdp_place_rules *rules, uint32_t units, const struct parts *parts)
{
	if (rules->placement == HAMIDP_PLACEMENT_SPREAD)
		return hdp_form_is_uneven(rules->per_card, parts->least, parts->most);
	return hdp_form_is_split(units, rules->per_card, parts->n, parts->least, parts->most);
}

struct hdp_place_rules hdp_place_rules(const struct hamidp_layout *layout, size_t resource,
				       const struct hamidp_request *req)
{
	struct hdp_place_rules rules = {
		.placement = req && req->has_placement ? req->placement : layout->placing.placement,
		.split = req && req->has_split ? req->split : layout->placing.split,
		.slots = hdp_layout_slots_per_device(layout, resource),
	};
	uint32_t most = layout->placing.max_per_device;

	rules.per_card = most > 0 && most < rules.slots ? most : rules.slots;
	return rules;
}

void hdp_decision_settle(struct hamidp_decision *decision, const struct hamidp_layout *layout,
			 size_t resource, const struct hdp_place_rules *rules)
{
	/* Only its count of references changes. */
	struct hamidp_layout *shared = (struct hamidp_layout *)layout;
	struct parts parts = { .least = UINT32_MAX };
	const struct hdp_layout_device *dev;
	uint32_t part = 0;
	size_t n = 0, end = 0;

	for (size_t w = 0; w < hdp_bit_words(layout->n_slots); w++)
		for (uint64_t bits = decision->chosen[w]; bits; bits &= bits - 1) {
			size_t slot = w * 64 + (size_t)__builtin_ctzll(bits);

			if (slot >= end) {
				dev = &layout->devices[layout->slots[slot].device];
				end = dev->first_slot + dev->n_slots;
				count_part(&parts, part);
				part = 0;
			}
			decision->slots[n++] = (uint32_t)slot;
			part++;
		}
	count_part(&parts, part);
	decision->n_slots = n;
	decision->n_devices = parts.n;
	decision->resource = resource;
	decision->is_split = n > 0 && rules && is_split(rules, (uint32_t)n, &parts);
	if (decision->layout != layout) {
		hamidp_layout_unref(decision->layout);
		decision->layout = hamidp_layout_ref(shared);
	}
}

HAMIDP_EXPORT struct hamidp_layout *hamidp_decision_layout(const struct hamidp_decision *decision)
{
	return decision->layout;
}

HAMIDP_EXPORT size_t hamidp_decision_resource(const struct hamidp_decision *decision)
{
	return decision->resource;
}

HAMIDP_EXPORT size_t hamidp_decision_n_slots(const struct hamidp_decision *decision)
{
	return decision->n_slots;
}

HAMIDP_EXPORT size_t hamidp_decision_slot(const struct hamidp_decision *decision, size_t i)
{
	return i < decision->n_slots ? decision->slots[i] : 0;
}

HAMIDP_EXPORT size_t hamidp_decision_n_devices(const struct hamidp_decision *decision)
{
	return decision->n_devices;
}

HAMIDP_EXPORT int hamidp_decision_is_split(const struct hamidp_decision *decision)
{
	return decision->is_split;
}

HAMIDP_EXPORT int64_t hamidp_decision_cost(const struct hamidp_decision *decision)
{
	return decision->cost;
}
