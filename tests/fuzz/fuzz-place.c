/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Any machine, occupancy and request at placement and at the planner: what they answer must keep
 * the promises of <hami/place.h> and <hami/plan.h>. Bytes that are missing are 0.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/hamidp.h>

#include "machine.h"
#include "text.h"

#define CARDS_MAX 12U
#define SLOTS_MAX 12U

#define MUST(condition)           \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t left;
};

struct scene {
	struct hamidp_layout *layout;
	struct hamidp_occupancy *occ;
	struct hamidp_request *req;
	struct hamidp_decision *decision;
	struct hamidp_reason *reason;
	bool contiguous, plain; /* plain: neither available nor required slots */
	bool by_device;
	uint32_t n_devices, units; /* asked for */
	int32_t numa_node;
	uint32_t max_per_device;
	enum hamidp_placement placement;
	enum hamidp_split split;
	bool available[CARDS_MAX * SLOTS_MAX], has_available;
	bool required[CARDS_MAX * SLOTS_MAX];
};

static uint32_t take(struct input *in, uint32_t below)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->data++ % below;
}

static void add_card(struct input *in, struct hdp_machine *m, struct hamidp_policy *policy,
		     size_t i)
{
	struct hamidp_slicing slicing = { .size = sizeof(slicing) };
	struct hdp_device_info info = HDP_DEVICE_INFO_INIT;

	slicing.slots = 1 + take(in, SLOTS_MAX);
	MUST(asprintf(&info.uuid, "GPU-%zu", i) > 0);
	MUST(asprintf(&info.pci, "0000:%02zx:00.0", i) > 0);
	info.memory_mib = 40960;
	info.numa_node = (int32_t)take(in, 3) - 1;
	info.health = take(in, 6) ? HAMIDP_HEALTH_HEALTHY : HAMIDP_HEALTH_UNHEALTHY;
	MUST(hamidp_policy_add_override(policy, HAMIDP_MATCH_UUID, info.uuid, &slicing, NULL) == 0);
	MUST(hdp_machine_add_device(m, &info) == 0);
}

static void add_links(struct input *in, struct hdp_machine *m, size_t n)
{
	for (uint32_t left = take(in, 32); left > 0 && n > 1; left--) {
		struct hdp_link_info link = { .type = HAMIDP_LINK_NVLINK };
		uint32_t a = take(in, (uint32_t)n), b = take(in, (uint32_t)n);

		link.lanes = 1 + take(in, 18);
		if (a == b)
			continue;
		MUST(asprintf(&link.a, "GPU-%u", a) > 0 && asprintf(&link.b, "GPU-%u", b) > 0);
		MUST(hdp_machine_add_link(m, &link) == 0);
	}
}

static void make_layout(struct input *in, struct scene *s)
{
	struct hdp_machine m = { 0 };
	struct hamidp_inventory *inv = NULL;
	struct hamidp_policy *policy = NULL;
	size_t n = 1 + take(in, CARDS_MAX);

	s->contiguous = m.contiguous = take(in, 4) == 1;
	s->placement = (enum hamidp_placement)take(in, 4);
	s->split = (enum hamidp_split)take(in, 2);
	s->max_per_device = take(in, 4) == 1 ? take(in, SLOTS_MAX) : 0;
	MUST(hamidp_policy_new(&policy) == 0);
	MUST(hamidp_policy_add_resource(policy, "hami.com/vgpu", NULL, NULL, NULL) == 0);
	MUST(hamidp_policy_set_placement(policy, s->placement) == 0);
	MUST(hamidp_policy_set_split(policy, s->split) == 0);
	MUST(hamidp_policy_set_max_per_device(policy, s->max_per_device) == 0);
	for (size_t i = 0; i < n; i++)
		add_card(in, &m, policy, i);
	add_links(in, &m, n);
	MUST(hdp_machine_seal(&m, &inv, NULL) == 0);
	MUST(hamidp_layout_new(inv, policy, &s->layout, NULL) == 0);
	hamidp_inventory_unref(inv);
	hamidp_policy_free(policy);
}

static void hold(struct input *in, struct scene *s)
{
	for (size_t slot = 0; slot < hamidp_layout_n_slots(s->layout); slot++) {
		uint32_t who = take(in, 24);
		char holder[16];

		(void)snprintf(holder, sizeof(holder), "g%u", who);
		if (who > 11)
			MUST(hamidp_occupancy_hold(s->occ, slot, holder) == 0);
	}
}

static void ask(struct input *in, struct scene *s)
{
	size_t n_slots = hamidp_layout_n_slots(s->layout);

	s->by_device = take(in, 3) == 1;
	s->n_devices = 1 + take(in, 4);
	s->units = 1 + take(in, 32);
	if (s->by_device)
		hamidp_request_set_devices(s->req, s->n_devices, s->units);
	else
		hamidp_request_set_units(s->req, s->units);
	s->numa_node = take(in, 4) == 1 ? (int32_t)take(in, 2) : -1;
	hamidp_request_set_numa_node(s->req, s->numa_node);
	s->plain = true;
	for (uint32_t left = take(in, 4) == 1 ? take(in, 64) : 0; left > 0; left--) {
		size_t slot = take(in, (uint32_t)n_slots);

		s->plain = false;
		s->available[slot] = s->has_available = true;
		MUST(hamidp_request_add_available(s->req, slot) == 0);
	}
	for (uint32_t left = take(in, 4) == 1 ? take(in, 4) : 0; left > 0; left--) {
		size_t slot = take(in, (uint32_t)n_slots);

		s->plain = false;
		s->required[slot] = true;
		MUST(hamidp_request_add_required(s->req, slot) == 0);
	}
}

static void check_slot(const struct scene *s, size_t slot)
{
	const struct hamidp_device *dev =
		hamidp_inventory_device(hamidp_layout_inventory(s->layout),
					hamidp_layout_slot_device(s->layout, slot));

	if (s->required[slot])
		return;
	MUST(hamidp_device_health(dev) == HAMIDP_HEALTH_HEALTHY);
	MUST(s->has_available ? s->available[slot] : !hamidp_occupancy_holder(s->occ, slot));
	MUST(s->numa_node < 0 || hamidp_device_numa_node(dev) == s->numa_node);
}

struct parts { /* of a decision, by device */
	uint32_t n[CARDS_MAX];
	uint32_t n_devices, least, most;
};

static void check_slots(const struct scene *s, struct parts *ret)
{
	size_t n = hamidp_decision_n_slots(s->decision);

	*ret = (struct parts){ .least = UINT32_MAX };
	for (size_t i = 0; i < n; i++) {
		size_t slot = hamidp_decision_slot(s->decision, i);
		size_t last = i ? hamidp_decision_slot(s->decision, i - 1) : 0;
		size_t pos = hamidp_layout_slot_device(s->layout, slot);

		MUST(slot < hamidp_layout_n_slots(s->layout) && (i == 0 || slot > last));
		check_slot(s, slot);
		if (s->contiguous && i && pos == hamidp_layout_slot_device(s->layout, last))
			MUST(slot == last + 1);
		ret->n[pos]++;
	}
	for (size_t pos = 0; pos < CARDS_MAX; pos++) {
		if (ret->n[pos] == 0)
			continue;
		ret->n_devices++;
		ret->least = ret->n[pos] < ret->least ? ret->n[pos] : ret->least;
		ret->most = ret->n[pos] > ret->most ? ret->n[pos] : ret->most;
	}
	MUST(ret->n_devices == hamidp_decision_n_devices(s->decision));
}

static uint32_t most_of_one(const struct scene *s)
{
	uint32_t most = 0;

	for (size_t pos = 0; pos < CARDS_MAX; pos++) {
		uint32_t n = hamidp_layout_device_n_slots(s->layout, pos);

		most = n > most ? n : most;
	}
	return s->max_per_device && s->max_per_device < most ? s->max_per_device : most;
}

static void check_decision(const struct scene *s)
{
	uint32_t most = most_of_one(s);
	struct parts parts;

	check_slots(s, &parts);
	MUST(hamidp_decision_n_slots(s->decision) ==
	     (size_t)s->units * (s->by_device ? s->n_devices : 1));
	for (size_t slot = 0, at = 0; slot < hamidp_layout_n_slots(s->layout); slot++) {
		while (at < hamidp_decision_n_slots(s->decision) &&
		       hamidp_decision_slot(s->decision, at) < slot)
			at++;
		MUST(!s->required[slot] || hamidp_decision_slot(s->decision, at) == slot);
	}
	if (s->by_device)
		MUST(parts.n_devices == s->n_devices && parts.least == s->units &&
		     parts.most == s->units);
	if (!s->plain || s->by_device)
		return;
	if (hamidp_decision_is_split(s->decision)) {
		MUST(s->split == HAMIDP_SPLIT_ALLOW);
		return;
	}
	MUST(parts.most - parts.least <= 1 && parts.most <= most);
	if (s->placement != HAMIDP_PLACEMENT_SPREAD)
		MUST(parts.n_devices == (s->units + most - 1) / most);
}

static void check_reason(const struct scene *s)
{
	const char *text = hamidp_reason_text(s->reason);

	MUST(hamidp_reason_code(s->reason) != HAMIDP_REASON_NONE);
	MUST(text[0] && hdp_text_valid(text, strlen(text)));
}

/* What a refusal calls placeable is. */
static void check_largest(struct scene *s)
{
	uint32_t largest = hamidp_reason_largest(s->reason);

	if (largest == 0 || s->by_device || !s->plain)
		return;
	MUST(largest != s->units); /* more of them may have a form, on more cards */
	hamidp_request_set_units(s->req, largest);
	MUST(hamidp_place(s->layout, s->occ, s->req, s->decision, s->reason) == 0);
	hamidp_request_set_units(s->req, s->units);
}

/* Evict and let the pod come back where the plan says. */
static void carry_out(struct scene *s, const struct hamidp_plan *plan)
{
	for (size_t i = 0; i < hamidp_plan_n_moves(plan); i++) {
		const char *holder = hamidp_plan_move_holder(plan, i);
		size_t to = hamidp_plan_move_to(plan, i);
		size_t slot = hamidp_layout_device_first_slot(s->layout, to);
		size_t end = slot + hamidp_layout_device_n_slots(s->layout, to);
		uint32_t n = hamidp_plan_move_n_slots(plan, i);

		MUST(to != hamidp_plan_move_from(plan, i));
		MUST(hamidp_occupancy_release(s->occ, holder) == 0);
		for (; slot < end && n > 0; slot++)
			if (!hamidp_occupancy_holder(s->occ, slot)) {
				MUST(hamidp_occupancy_hold(s->occ, slot, holder) == 0);
				n--;
			}
		MUST(n == 0);
	}
}

static void check_plan(struct scene *s)
{
	struct hamidp_plan *plan = NULL;
	int r;

	MUST(hamidp_plan_new(&plan) == 0);
	r = hamidp_plan_make(plan, s->layout, s->occ, s->req, s->reason);
	MUST(r == 0 || r == -EINVAL || r == -ENOSPC);
	if (r < 0)
		check_reason(s);
	if (r == 0 && !s->contiguous) {
		carry_out(s, plan);
		hamidp_request_set_split(s->req, HAMIDP_SPLIT_DENY);
		MUST(hamidp_place(s->layout, s->occ, s->req, s->decision, s->reason) == 0);
	}
	hamidp_plan_free(plan);
}

static void check_scene(struct scene *s)
{
	struct hamidp_explanation *explanation = NULL;
	int64_t cost = 0;
	int r;

	r = hamidp_place(s->layout, s->occ, s->req, s->decision, s->reason);
	MUST(r == 0 || r == -EINVAL || r == -ENOSPC);
	if (r == 0) {
		check_decision(s);
		cost = hamidp_decision_cost(s->decision);
	} else {
		check_reason(s);
		check_largest(s);
	}
	MUST(hamidp_explanation_new(&explanation) == 0);
	MUST(hamidp_explain(s->layout, s->occ, s->req, s->decision, explanation, s->reason) == r);
	if (r == 0) {
		check_decision(s);
		MUST(hamidp_decision_cost(s->decision) == cost);
	}
	hamidp_explanation_free(explanation);
	if (s->plain)
		check_plan(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct scene s = { 0 };

	make_layout(&in, &s);
	MUST(hamidp_occupancy_new(s.layout, &s.occ) == 0);
	MUST(hamidp_request_new(&s.req) == 0 && hamidp_decision_new(&s.decision) == 0);
	MUST(hamidp_reason_new(&s.reason) == 0);
	ask(&in, &s);
	hold(&in, &s);
	check_scene(&s);
	hamidp_reason_free(s.reason);
	hamidp_decision_free(s.decision);
	hamidp_request_free(s.req);
	hamidp_occupancy_free(s.occ);
	hamidp_layout_unref(s.layout);
	return 0;
}
