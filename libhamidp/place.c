/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The placement function: checks a request, turns slots into numbers, lets choose.c choose, and
 * turns numbers into slots. Pure: reads only what it is given and writes only the decision.
 */

#include <errno.h>
#include <inttypes.h>

#include "place.h"
#include "reason.h"

/* Slots asked for; where amounts are asked for, the cards say how many that is. */
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
	size_t beyond, slot;

	if (set->n_words == 0 && set->outside == 0)
		return 0;
	beyond = set_first_in(set, layout->n_slots, SIZE_MAX);
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

/* Devices that could serve their part of the request if they were empty. */
static size_t count_large_enough(const struct hamidp_layout *layout,
				 const struct hamidp_request *req,
				 const struct hdp_place_rules *rules)
{
	size_t n = 0;

	for (size_t pos = 0; pos < layout->inv->n_devices; pos++) {
		const struct hdp_layout_device *dev = &layout->devices[pos];
		struct hdp_card card;
		uint32_t need = req->units_each;

		if (dev->resource != req->resource)
			continue;
		if (req->by_amount) {
			card.pos = (uint32_t)pos;
			hdp_cards_need_amounts(layout, req, &card, 1);
			need = card.need;
		}
		n += need <= dev->n_slots && need <= rules->per_card;
	}
	return n;
}

/* More than there is even on the empty node? */
static int check_size(const struct hamidp_layout *layout, const struct hamidp_request *req,
		      const struct hdp_place_rules *rules, struct hamidp_reason *reason)
{
	const struct hdp_layout_resource *res = &layout->resources[req->resource];
	size_t n_large;

	if (wanted_units(req) > res->n_slots)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_TOO_LARGE,
				"%s: %" PRIu64 " slots asked for, it has %zu", res->name,
				wanted_units(req), res->n_slots);
	if (!req->by_device)
		return 0;
	n_large = count_large_enough(layout, req, rules);
	if (n_large >= req->n_devices)
		return 0;
	if (req->by_amount)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_TOO_LARGE,
				"%s: %" PRIu32 " devices with %" PRIu32 " ppm and %" PRIu64
				" MiB asked for, it has %zu",
				res->name, req->n_devices, req->share_ppm, req->memory_mib,
				n_large);
	return hdp_fail(reason, -EINVAL, HAMIDP_REASON_TOO_LARGE,
			"%s: %" PRIu32 " devices with %" PRIu32 " slots asked for, it has %zu",
			res->name, req->n_devices, req->units_each, n_large);
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
		if (req->by_device && !req->by_amount && n > req->units_each)
			return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
					"%" PRIu32 " slots required on %s, at most %" PRIu32
					" on each device asked for",
					n, info->uuid, req->units_each);
		n_required += n;
		n_devices++;
	}
	if (!req->by_amount && n_required > wanted_units(req))
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"%" PRIu64 " slots required, %" PRIu64 " asked for", n_required,
				wanted_units(req));
	if (req->by_device && n_devices > req->n_devices)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"slots required on %" PRIu64 " devices, %" PRIu32 " asked for",
				n_devices, req->n_devices);
	return 0;
}

static int check_amounts(const struct hamidp_request *req, struct hamidp_reason *reason)
{
	if (req->by_amount && req->share_ppm > HAMIDP_PPM)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"compute share of %" PRIu32 " ppm: at most %u is accepted",
				req->share_ppm, HAMIDP_PPM);
	if (req->by_amount ? req->n_devices == 0 || (req->share_ppm == 0 && req->memory_mib == 0)
			   : wanted_units(req) == 0)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"nothing is asked for, at least 1 slot is accepted");
	return 0;
}

static int check_request(const struct hamidp_layout *layout, const struct hamidp_occupancy *occ,
			 const struct hamidp_request *req, struct hamidp_reason *reason)
{
	int r = hdp_occupancy_check(occ, layout, req->resource, reason);

	if (r < 0)
		return r;
	if (req->numa_node < -1)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"NUMA node %" PRId32 ": -1 or more is accepted", req->numa_node);
	r = check_amounts(req, reason);
	if (r < 0)
		return r;
	r = check_slots(layout, req->resource, &req->available, "available", reason);
	if (r < 0)
		return r;
	r = check_slots(layout, req->resource, &req->required, "required", reason);
	if (r < 0)
		return r;
	return check_required(layout, req, reason);
}

uint32_t hdp_place_largest(const struct hdp_place_rules *rules, const struct hdp_card *cards,
			   size_t n_cards)
{
	bool any_even = rules->placement == HAMIDP_PLACEMENT_SPREAD;

	return hdp_choose_largest_units(cards, n_cards, any_even ? 0 : rules->per_card);
}

static uint32_t largest_of(const struct hdp_place_call *call)
{
	const struct hdp_card *cards = call->decision->cards;

	if (!call->req->by_device)
		return hdp_place_largest(&call->rules, cards, call->n_cards);
	return call->req->n_devices *
	       hdp_choose_largest_each(cards, call->n_cards, call->req->n_devices);
}

static int fail_no_room(const struct hdp_place_call *call, bool denied,
			struct hamidp_reason *reason)
{
	const char *name = call->layout->resources[call->req->resource].name;
	uint64_t n_free = 0, wanted = wanted_units(call->req);
	uint32_t largest = largest_of(call);

	for (size_t i = 0; i < call->n_cards; i++)
		n_free += call->decision->cards[i].free;
	if (call->req->by_amount)
		hdp_fail(reason, -ENOSPC, HAMIDP_REASON_FRAGMENTED,
			 "%s: %" PRIu32 " devices with %" PRIu32 " ppm and %" PRIu64
			 " MiB asked for, %" PRIu64
			 " slots are free but not in this form, at most %" PRIu32 " in one request",
			 name, call->req->n_devices, call->req->share_ppm, call->req->memory_mib,
			 n_free, largest);
	else if (n_free < wanted)
		hdp_fail(reason, -ENOSPC, HAMIDP_REASON_NO_ROOM,
			 "%s: %" PRIu64 " slots asked for, %" PRIu64 " are free, at most %" PRIu32
			 " in one request",
			 name, wanted, n_free, largest);
	else
		hdp_fail(reason, -ENOSPC,
			 denied ? HAMIDP_REASON_SPLIT_DENIED : HAMIDP_REASON_FRAGMENTED,
			 "%s: %" PRIu64 " slots asked for, %" PRIu64
			 " are free but %s, at most %" PRIu32 " in one request",
			 name, wanted, n_free,
			 denied ? "only as a split, which is denied" : "not in this form", largest);
	hdp_reason_set_largest(reason, largest);
	return -ENOSPC;
}

static void set_goal(struct hdp_place_call *call, uint32_t n, uint64_t units)
{
	hdp_goal_init(&call->goal, call->rules.placement, &call->decision->spare, call->rules.slots,
		      n, units);
}

/* The best set of a form, if there is one. */
static bool try_form(struct hdp_place_call *call, struct hdp_form form, uint64_t units)
{
	struct hdp_card *cards = call->decision->cards;

	if (form.base > 0)
		hdp_choose_need(cards, call->n_cards, form.base);
	set_goal(call, form.n, units);
	if (form.n == 1)
		return hdp_search_one(&call->goal, cards, call->n_cards);
	if (!hdp_choose_form(cards, call->n_cards, form))
		return false;
	hdp_search(call->decision->search, &call->goal, cards, call->n_cards, form);
	return true;
}

static bool try_devices(struct hdp_place_call *call)
{
	const struct hamidp_request *req = call->req;
	struct hdp_form form = { .n = req->n_devices, .base = req->units_each };
	struct hdp_card *cards = call->decision->cards;
	uint32_t each = req->units_each;

	if (req->by_amount)
		hdp_cards_need_amounts(call->layout, req, cards, call->n_cards);
	for (size_t i = 0; req->by_amount && i < call->n_cards; i++)
		if (cards[i].need <= cards[i].cap && cards[i].need > each)
			each = cards[i].need;
	return try_form(call, form, (uint64_t)form.n * each);
}

static bool try_units(struct hdp_place_call *call)
{
	uint32_t units = call->req->units, least, most, n_required = 0;
	struct hdp_form form = hdp_form_of_units(units, call->rules.per_card);
	bool spread = call->rules.placement == HAMIDP_PLACEMENT_SPREAD;

	for (size_t i = 0; i < call->n_cards; i++)
		n_required += call->decision->cards[i].min > 0;
	least = form.n;
	most = units < call->n_cards ? units : (uint32_t)call->n_cards;
	if (!spread && n_required == 0)
		most = least;
	for (uint32_t i = 0; least + i <= most; i++) {
		form.n = spread ? most - i : least + i;
		form.base = units / form.n;
		form.rem = units % form.n;
		if (try_form(call, form, units))
			return true;
	}
	return false;
}

/* Whatever parts; weighed as a set of its own. */
static bool try_split(struct hdp_place_call *call)
{
	struct hdp_card *cards = call->decision->cards;
	uint32_t n = 0;

	if (call->req->by_device || !hdp_choose_split(cards, call->n_cards, call->req->units))
		return false;
	for (size_t i = 0; i < call->n_cards; i++)
		n += cards[i].part > 0;
	set_goal(call, n, call->req->units);
	return true;
}

static int choose(struct hdp_place_call *call, struct hamidp_reason *reason)
{
	bool has_split;

	if (call->req->by_device ? try_devices(call) : try_units(call))
		return 0;
	has_split = try_split(call);
	if (has_split && call->rules.split == HAMIDP_SPLIT_ALLOW)
		return 0;
	return fail_no_room(call, has_split, reason);
}

static void settle(struct hdp_place_call *call, struct hamidp_reason *reason)
{
	struct hamidp_decision *decision = call->decision;
	uint32_t *set = decision->numbers + HDP_SPARE_ARRAYS * call->layout->inv->n_devices;
	struct hdp_terms terms = hdp_goal_weigh(&call->goal, decision->cards, call->n_cards, set);

	hdp_cards_take(call->layout, call->req, decision, call->n_cards);
	hdp_decision_settle(decision, call->layout, call->req->resource,
			    call->req->by_device ? NULL : &call->rules);
	call->terms = terms;
	decision->cost = (terms.load + terms.room + terms.quality) / (int64_t)call->rules.slots;

	hdp_reason_clear(reason);
	if (decision->is_split)
		hdp_reason_set_largest(reason, largest_of(call));
}

int hdp_place(struct hdp_place_call *call, const struct hamidp_occupancy *occ,
	      struct hamidp_reason *reason)
{
	const struct hamidp_layout *layout = call->layout;
	const struct hamidp_request *req = call->req;
	uint64_t most;
	int r;

	call->n_cards = 0;
	r = check_request(layout, occ, req, reason);
	if (r < 0)
		return r;
	call->rules = hdp_place_rules(layout, req->resource, req);
	r = check_size(layout, req, &call->rules, reason);
	if (r < 0)
		return r;
	most = req->by_amount ? layout->resources[req->resource].n_slots : wanted_units(req);
	if (!hdp_topology_tables(layout->inv->topology) ||
	    hdp_decision_reserve(call->decision, layout, (size_t)most) < 0)
		return hdp_oom(reason);

	hdp_cards_collect(layout, occ, req, &call->rules, call->decision, &call->n_cards);
	r = choose(call, reason);
	if (r < 0)
		return r;
	settle(call, reason);
	return 0;
}

HAMIDP_EXPORT int hamidp_place(const struct hamidp_layout *layout,
			       const struct hamidp_occupancy *occ, const struct hamidp_request *req,
			       struct hamidp_decision *decision, struct hamidp_reason *reason)
{
	struct hdp_place_call call = { .layout = layout, .req = req, .decision = decision };

	return hdp_place(&call, occ, reason);
}
