/* SPDX-License-Identifier: Apache-2.0 */

/* Compaction plans: the public face. Which search is used when, and what it found in words. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "plan.h"
#include "reason.h"

HAMIDP_EXPORT int hamidp_plan_new(struct hamidp_plan **ret)
{
	struct hamidp_plan *plan = calloc(1, sizeof(*plan));

	if (!plan)
		return -ENOMEM;
	*ret = plan;
	return 0;
}

static void forget(struct hamidp_plan *plan)
{
	plan->layout = hamidp_layout_unref(plan->layout);
	plan->n_moves = plan->n_pinned = plan->n_targets = plan->names_len = 0;
	plan->largest_before = plan->largest_after = 0;
	plan->minimal = plan->possible = false;
}

HAMIDP_EXPORT void hamidp_plan_reset(struct hamidp_plan *plan)
{
	forget(plan);
	for (size_t i = 0; i < plan->n_pins; i++)
		free(plan->pins[i]);
	plan->n_pins = 0;
}

HAMIDP_EXPORT struct hamidp_plan *hamidp_plan_free(struct hamidp_plan *plan)
{
	if (!plan)
		return NULL;
	hamidp_plan_reset(plan);
	free(plan->moves);
	free(plan->pinned);
	free(plan->targets);
	free(plan->names);
	free(plan->pins);
	free(plan->state.cards);
	free(plan->state.grants);
	free(plan->found);
	free(plan->cards);
	free(plan->on_card);
	free(plan->is_told);
	free(plan->bits);
	free(plan);
	return NULL;
}

HAMIDP_EXPORT int hamidp_plan_pin(struct hamidp_plan *plan, const char *holder)
{
	size_t len = strnlen(holder, HAMIDP_HOLDER_MAX + 1);
	char *copy;

	if (len == 0 || len > HAMIDP_HOLDER_MAX)
		return -EINVAL;
	if (hdp_grow(&plan->pins, &plan->cap_pins, plan->n_pins + 1, sizeof(*plan->pins)) < 0)
		return -ENOMEM;
	copy = strdup(holder);
	if (!copy)
		return -ENOMEM;
	plan->pins[plan->n_pins++] = copy;
	return 0;
}

static uint64_t wanted_units(const struct hamidp_request *req)
{
	return req->by_device ? (uint64_t)req->n_devices * req->units_each : req->units;
}

static int check_size(const struct hamidp_layout *layout, const struct hamidp_request *req,
		      struct hamidp_reason *reason)
{
	const struct hdp_layout_resource *res = &layout->resources[req->resource];
	uint32_t per_card = hdp_place_rules(layout, req->resource, req).per_card;

	if (wanted_units(req) > res->n_slots)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_TOO_LARGE,
				"%s: %" PRIu64 " slots asked for, it has %zu", res->name,
				wanted_units(req), res->n_slots);
	if (req->by_device && req->units_each > per_card)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_TOO_LARGE,
				"%s: %" PRIu32 " slots on each device asked for, at most %" PRIu32
				" are accepted",
				res->name, req->units_each, per_card);
	return 0;
}

static int check_request(const struct hamidp_layout *layout, const struct hamidp_occupancy *occ,
			 const struct hamidp_request *req, struct hamidp_reason *reason)
{
	int r = hdp_occupancy_check(occ, layout, req->resource, reason);

	if (r < 0)
		return r;
	if (req->by_amount)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"a request to plan for must say how many slots, not amounts");
	if (wanted_units(req) == 0)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"0 slots asked for, at least 1 is accepted");
	if (req->numa_node < -1)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"NUMA node %" PRId32 ": -1 or more is accepted", req->numa_node);
	if (hdp_request_names_slots(req))
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"a request to plan for cannot name available or required slots");
	return check_size(layout, req, reason);
}

static struct hdp_form form_of(const struct hamidp_request *req,
			       const struct hdp_place_rules *rules)
{
	if (req->by_device)
		return (struct hdp_form){ .n = req->n_devices, .base = req->units_each };
	return hdp_form_of_units(req->units, rules->per_card);
}

/* Where any even spread will do, one that needs no moves comes first. */
static void look_for_spread(struct hdp_plan_state *s, const struct hamidp_request *req,
			    const struct hdp_place_rules *rules)
{
	struct hdp_form normal = s->form;
	uint32_t most = req->units < s->n_cards ? req->units : s->n_cards;

	if (req->by_device || rules->placement != HAMIDP_PLACEMENT_SPREAD)
		return;
	for (uint32_t n = normal.n; n <= most && !hdp_plan_solved(s); n++)
		hdp_plan_set_form(s, (struct hdp_form){ .n = n,
							.base = req->units / n,
							.rem = req->units % n });
	if (!hdp_plan_solved(s))
		hdp_plan_set_form(s, normal);
}

/* Of one such request, as things stand in the state. */
static uint32_t largest(struct hamidp_plan *plan, const struct hamidp_request *req,
			const struct hdp_place_rules *rules)
{
	const struct hdp_plan_state *s = &plan->state;
	size_t n = 0;

	for (uint32_t i = 0; i < s->n_cards; i++) {
		uint32_t cap = s->cards[i].cap;

		if (s->cards[i].counts && cap > 0)
			plan->cards[n++] = (struct hdp_card){
				.pos = s->cards[i].pos,
				.free = s->cards[i].free,
				.cap = cap < rules->per_card ? cap : rules->per_card,
			};
	}
	if (req->by_device)
		return req->n_devices * hdp_choose_largest_each(plan->cards, n, req->n_devices);
	return hdp_place_largest(rules, plan->cards, n);
}

/* Find moves into plan->found. */
static bool find_moves(struct hamidp_plan *plan, size_t *ret_n)
{
	struct hdp_plan_state *s = &plan->state;
	uint32_t n_excluded = hdp_plan_deficit(s); /* no plan has fewer moves than this */
	bool found = false;

	*ret_n = 0;
	if (hdp_plan_solved(s)) {
		plan->minimal = true;
		return true;
	}
	for (uint32_t depth = n_excluded; depth <= 2 && !found; depth++) {
		enum hdp_plan_found how = hdp_plan_search(s, depth, plan->found, ret_n);

		found = *ret_n > 0;
		if (how == HDP_PLAN_NONE && n_excluded == depth)
			n_excluded = depth + 1;
	}
	if (!found)
		found = hdp_plan_greedy(s, plan->found, ret_n);
	plan->minimal = found && *ret_n <= n_excluded;
	return found;
}

/* The tightest cards that can take the request, as things stand in the state; ascending. */
static void find_targets(struct hamidp_plan *plan)
{
	const struct hdp_plan_state *s = &plan->state;
	uint32_t left_more = s->form.rem, left = s->form.n - s->form.rem;

	for (size_t i = 0; i < s->n_cards; i++)
		plan->cards[i] = (struct hdp_card){ .part = 0 };
	while (left + left_more > 0) {
		uint32_t goal = s->form.base + (left_more > 0), best = s->n_cards;

		for (uint32_t i = 0; i < s->n_cards; i++)
			if (s->cards[i].counts && !plan->cards[i].part && s->cards[i].cap >= goal &&
			    (best == s->n_cards || s->cards[i].free < s->cards[best].free))
				best = i;
		plan->cards[best].part = goal;
		if (left_more > 0)
			left_more--;
		else
			left--;
	}
	for (uint32_t i = 0; i < s->n_cards; i++)
		if (plan->cards[i].part > 0)
			plan->targets[plan->n_targets++] = s->cards[i].pos;
}

/* Carry the moves out in the state, and tell of each. */
static int tell_moves(struct hamidp_plan *plan, size_t n)
{
	struct hdp_plan_state *s = &plan->state;

	if (hdp_grow(&plan->moves, &plan->cap_moves, n, sizeof(*plan->moves)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct hdp_plan_move *move = &plan->found[i];
		const struct hdp_plan_grant *grant = &s->grants[move->grant];
		struct hdp_plan_line *line = &plan->moves[i];

		*line = (struct hdp_plan_line){ .n_slots = grant->size,
						.from = s->cards[grant->card].pos,
						.to = s->cards[move->to].pos };
		if (hdp_plan_remember(plan, s->occ, grant->holder, &line->name) < 0)
			return -ENOMEM;
		hdp_plan_take(s, move->grant);
		hdp_plan_put(s, move);
		plan->n_moves++;
	}
	return 0;
}

static int fail_no_plan(struct hamidp_plan *plan, const struct hamidp_request *req,
			struct hamidp_reason *reason)
{
	const struct hdp_plan_state *s = &plan->state;
	const char *name = s->occ->layout->resources[req->resource].name;
	uint64_t units = wanted_units(req), n_free = 0;

	for (uint32_t i = 0; i < s->n_cards; i++)
		n_free += s->cards[i].free;
	hdp_fail(reason, -ENOSPC, n_free < units ? HAMIDP_REASON_NO_ROOM : HAMIDP_REASON_FRAGMENTED,
		 "%s: %" PRIu64 " slots asked for, %" PRIu64
		 " are free, and no moves were found that make room (%zu holders cannot move)",
		 name, units, n_free, plan->n_pinned);
	hdp_reason_set_largest(reason, plan->largest_before);
	return -ENOSPC;
}

static int make(struct hamidp_plan *plan, const struct hamidp_occupancy *occ,
		const struct hamidp_request *req, struct hamidp_reason *reason)
{
	struct hdp_place_rules rules = hdp_place_rules(occ->layout, req->resource, req);
	size_t n = 0;

	if (hdp_plan_collect(plan, occ, req, form_of(req, &rules)) < 0)
		return hdp_oom(reason);
	look_for_spread(&plan->state, req, &rules);
	plan->layout = hamidp_layout_ref(occ->layout);
	plan->resource = req->resource;
	plan->n_devices = req->by_device ? req->n_devices : 0;
	plan->units = req->by_device ? req->units_each : req->units;
	plan->largest_before = plan->largest_after = largest(plan, req, &rules);
	plan->possible = find_moves(plan, &n);
	if (!plan->possible)
		return fail_no_plan(plan, req, reason);
	if (tell_moves(plan, n) < 0)
		return hdp_oom(reason);
	find_targets(plan);
	plan->largest_after = largest(plan, req, &rules);
	hdp_reason_clear(reason);
	return 0;
}

HAMIDP_EXPORT int hamidp_plan_make(struct hamidp_plan *plan, const struct hamidp_layout *layout,
				   const struct hamidp_occupancy *occ,
				   const struct hamidp_request *req, struct hamidp_reason *reason)
{
	int r;

	forget(plan);
	r = check_request(layout, occ, req, reason);
	if (r < 0)
		return r;
	r = make(plan, occ, req, reason);
	if (r == -ENOMEM)
		forget(plan);
	return r;
}
