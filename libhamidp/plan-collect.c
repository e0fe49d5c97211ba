/* SPDX-License-Identifier: Apache-2.0 */

/* From an occupancy to the numbers that are planned with: which grants can move, which stay. */

#include <errno.h>
#include <string.h>

#include "plan.h"

int hdp_plan_remember(struct hamidp_plan *plan, const struct hamidp_occupancy *occ, uint32_t holder,
		      size_t *ret_name)
{
	const char *name = occ->names + occ->holders[holder].name;
	size_t size = strlen(name) + 1;

	if (hdp_grow(&plan->names, &plan->cap_names, plan->names_len + size, 1) < 0)
		return -ENOMEM;
	memcpy(plan->names + plan->names_len, name, size);
	*ret_name = plan->names_len;
	plan->names_len += size;
	return 0;
}

static int make_room(struct hamidp_plan *plan, const struct hamidp_occupancy *occ)
{
	const struct hamidp_layout *layout = occ->layout;
	struct hdp_plan_state *s = &plan->state;
	size_t n_devices = layout->inv->n_devices, n_words = hdp_bit_words(layout->n_slots);

	/* A grant that can move lies on one card, so there are no more of them than holders. */
	if (hdp_grow(&s->cards, &plan->cap_state_cards, n_devices, sizeof(*s->cards)) < 0 ||
	    hdp_grow(&plan->cards, &plan->cap_cards, n_devices, sizeof(*plan->cards)) < 0 ||
	    hdp_grow(&plan->targets, &plan->cap_targets, n_devices, sizeof(*plan->targets)) < 0 ||
	    hdp_grow(&s->grants, &plan->cap_state_grants, occ->n_holders, sizeof(*s->grants)) < 0 ||
	    hdp_grow(&plan->found, &plan->cap_found, occ->n_holders + 2U, sizeof(*plan->found)) <
		    0 ||
	    hdp_grow(&plan->on_card, &plan->cap_on_card, occ->n_holders, sizeof(*plan->on_card)) <
		    0 ||
	    hdp_grow(&plan->is_told, &plan->cap_is_told, occ->n_holders, sizeof(*plan->is_told)) <
		    0)
		return -ENOMEM;
	if (layout->inv->contiguous &&
	    hdp_grow(&plan->bits, &plan->cap_bits, n_words, sizeof(*plan->bits)) < 0)
		return -ENOMEM;
	for (size_t i = 0; layout->inv->contiguous && i < n_words; i++)
		plan->bits[i] = occ->held ? ~occ->held[i] : UINT64_MAX;
	for (uint32_t i = 0; i < occ->n_holders; i++) {
		plan->on_card[i] = 0;
		plan->is_told[i] = false;
	}
	return 0;
}

/* The caller's pins, as flags; told of when their slots are met. */
enum { NOT_TOLD, ASKED, TOLD };

static void flag_pins(struct hamidp_plan *plan, const struct hamidp_occupancy *occ)
{
	uint32_t holder;

	for (size_t i = 0; i < plan->n_pins; i++)
		if (hdp_occupancy_find(occ, plan->pins[i], &holder))
			plan->is_told[holder] = ASKED;
}

static int tell_pinned(struct hamidp_plan *plan, const struct hdp_plan_grant *grant, uint32_t pos,
		       enum hamidp_pin why)
{
	struct hdp_plan_line line = { .n_slots = grant->size, .from = pos, .why = why };

	if (plan->is_told[grant->holder] == TOLD)
		return 0;
	plan->is_told[grant->holder] = TOLD;
	if (hdp_grow(&plan->pinned, &plan->cap_pinned, plan->n_pinned + 1, sizeof(*plan->pinned)) <
		    0 ||
	    hdp_plan_remember(plan, plan->state.occ, grant->holder, &line.name) < 0)
		return -ENOMEM;
	plan->pinned[plan->n_pinned++] = line;
	return 0;
}

/* Why a holder of slots on this device stays, or 0. */
static enum hamidp_pin why_pinned(const struct hamidp_plan *plan,
				  const struct hdp_plan_grant *grant, bool healthy)
{
	if (plan->is_told[grant->holder] == ASKED)
		return HAMIDP_PIN_ASKED;
	if (grant->size < plan->state.occ->holders[grant->holder].n_held)
		return HAMIDP_PIN_SEVERAL_DEVICES;
	return healthy ? (enum hamidp_pin)0 : HAMIDP_PIN_NOT_HEALTHY;
}

/* Holders on one device, in the order of their first slots, from plan->state.grants[first] on. */
static uint32_t list_holders(struct hamidp_plan *plan, const struct hdp_layout_device *dev,
			     uint32_t card, uint32_t first)
{
	struct hdp_plan_state *s = &plan->state;
	size_t end = dev->first_slot + dev->n_slots;
	uint32_t n = first;

	if (!s->occ->held)
		return n;
	for (size_t slot = hdp_bit_next_set(s->occ->held, dev->first_slot, end); slot < end;
	     slot = hdp_bit_next_set(s->occ->held, slot + 1, end)) {
		uint32_t holder = s->occ->slot_holder[slot] - 1;

		if (plan->on_card[holder]++ == 0)
			s->grants[n++] = (struct hdp_plan_grant){ .holder = holder, .card = card };
	}
	for (uint32_t i = first; i < n; i++) {
		s->grants[i].size = plan->on_card[s->grants[i].holder];
		plan->on_card[s->grants[i].holder] = 0;
	}
	return n;
}

/* Smallest first; equal ones stay in order. They are few, or mostly equal. */
static void sort_grants(struct hdp_plan_grant *grants, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		struct hdp_plan_grant grant = grants[i];
		uint32_t at = i;

		for (; at > 0 && grants[at - 1].size > grant.size; at--)
			grants[at] = grants[at - 1];
		grants[at] = grant;
	}
}

/* Holders of one device that can move become grants, those that cannot are told of. */
static int collect_grants(struct hamidp_plan *plan, size_t pos, bool healthy, uint32_t *ret_n)
{
	struct hdp_plan_state *s = &plan->state;
	uint32_t first = s->n_grants, n = first;
	uint32_t end = list_holders(plan, &s->occ->layout->devices[pos], s->n_cards, first);

	for (uint32_t i = first; i < end; i++) {
		enum hamidp_pin why = why_pinned(plan, &s->grants[i], healthy);

		if (why == 0)
			s->grants[n++] = s->grants[i];
		else if (tell_pinned(plan, &s->grants[i], (uint32_t)pos, why) < 0)
			return -ENOMEM;
	}
	if (n > first) /* there may be no array yet */
		sort_grants(s->grants + first, n - first);
	s->n_grants = n;
	*ret_n = n - first;
	return 0;
}

static int collect_card(struct hamidp_plan *plan, const struct hamidp_request *req, size_t pos)
{
	struct hdp_plan_state *s = &plan->state;
	const struct hdp_device_info *info = &s->occ->layout->inv->devices[pos].info;
	struct hdp_plan_card *card = &s->cards[s->n_cards];
	bool healthy = info->health == HAMIDP_HEALTH_HEALTHY;

	*card = (struct hdp_plan_card){
		.pos = (uint32_t)pos,
		.free = hamidp_occupancy_n_free(s->occ, pos),
		.counts = req->numa_node < 0 || info->numa_node == req->numa_node,
		.first_grant = s->n_grants,
	};
	if (collect_grants(plan, pos, healthy, &card->n_grants) < 0)
		return -ENOMEM;
	if (!healthy)
		return 0;
	hdp_plan_measure(s, card);
	s->n_cards++;
	return 0;
}

int hdp_plan_collect(struct hamidp_plan *plan, const struct hamidp_occupancy *occ,
		     const struct hamidp_request *req, struct hdp_form form)
{
	const struct hamidp_layout *layout = occ->layout;
	struct hdp_plan_state *s = &plan->state;

	if (make_room(plan, occ) < 0)
		return -ENOMEM;
	flag_pins(plan, occ);
	*s = (struct hdp_plan_state){
		.occ = occ,
		.form = form,
		.cards = s->cards,
		.grants = s->grants,
		.free_bits = layout->inv->contiguous ? plan->bits : NULL,
	};
	for (size_t pos = 0; pos < layout->inv->n_devices; pos++)
		if (layout->devices[pos].resource == req->resource &&
		    layout->devices[pos].n_slots > 0 && collect_card(plan, req, pos) < 0)
			return -ENOMEM;
	return 0;
}
