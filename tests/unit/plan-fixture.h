/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Nodes for plans, drawn as in fixture.h; a letter from 'a' to 'n' is a slot of the holder of that
 * name, 'x' one of "someone", who may hold slots on several cards.
 */

#include "fixture.h"
#include "plan.h"

#define HOLDERS 14 /* 'a' to 'n' */

struct plan_fixture {
	struct fixture f;
	struct hamidp_plan *plan;
};

static inline void plan_make_node(struct plan_fixture *p, bool contiguous)
{
	fixture_make(&p->f, contiguous);
	ck_assert_int_eq(hamidp_plan_new(&p->plan), 0);
	for (size_t slot = 0; slot < hamidp_layout_n_slots(p->f.layout); slot++) {
		char name[2] = { fixture_at(&p->f, slot), '\0' };

		if (name[0] >= 'a' && name[0] < 'a' + HOLDERS)
			ck_assert_int_eq(hamidp_occupancy_hold(p->f.occ, slot, name), 0);
	}
}

static inline void plan_draw(struct plan_fixture *p, const char *text, bool contiguous)
{
	for (p->f.n_cards = 0; *text; p->f.n_cards++)
		text = fixture_read_card(text, &p->f.cards[p->f.n_cards]);
	plan_make_node(p, contiguous);
}

static inline void plan_done(struct plan_fixture *p)
{
	hamidp_plan_free(p->plan);
	fixture_done(&p->f);
}

static inline int plan_it(struct plan_fixture *p)
{
	return hamidp_plan_make(p->plan, p->f.layout, p->f.occ, p->f.req, p->f.reason);
}

/* Name the free slots of one device as available. */
static inline void name_free_slots(const struct hamidp_occupancy *occ, size_t pos,
				   struct hamidp_request *req)
{
	struct hamidp_layout *layout = hamidp_occupancy_layout(occ);
	size_t first = hamidp_layout_device_first_slot(layout, pos);

	for (size_t i = 0; i < hamidp_layout_device_n_slots(layout, pos); i++)
		if (!hamidp_occupancy_holder(occ, first + i))
			ck_assert_int_eq(hamidp_request_add_available(req, first + i), 0);
}

/*
 * Carry the plan out on a copy, one move after the other: the holder goes, and is placed on the
 * card that the plan names. Then the request must find its form, on the free slots of the targets,
 * and on the whole node.
 */
static inline void replay(const struct plan_fixture *p)
{
	const struct hamidp_plan *plan = p->plan;
	struct hamidp_layout *layout = p->f.layout;
	struct hamidp_decision *decision = NULL;
	struct hamidp_request *req = NULL;
	struct hamidp_occupancy *occ = NULL;

	ck_assert_int_eq(hamidp_occupancy_clone(p->f.occ, &occ), 0);
	ck_assert_int_eq(hamidp_request_new(&req), 0);
	ck_assert_int_eq(hamidp_decision_new(&decision), 0);
	for (size_t i = 0; i < hamidp_plan_n_moves(plan); i++) {
		const char *holder = hamidp_plan_move_holder(plan, i);

		hamidp_request_reset(req);
		hamidp_request_set_resource(req, p->f.req->resource);
		hamidp_request_set_devices(req, 1, hamidp_plan_move_n_slots(plan, i));
		ck_assert_int_eq(hamidp_occupancy_release(occ, holder), 0);
		ck_assert_uint_ne(hamidp_plan_move_to(plan, i), hamidp_plan_move_from(plan, i));
		name_free_slots(occ, hamidp_plan_move_to(plan, i), req);
		ck_assert_int_eq(hamidp_place(layout, occ, req, decision, p->f.reason), 0);
		ck_assert_int_eq(hamidp_occupancy_apply(occ, decision, holder, NULL), 0);
	}
	ck_assert_int_eq(hamidp_place(layout, occ, p->f.req, decision, p->f.reason), 0);
	ck_assert(!hamidp_decision_is_split(decision));
	ck_assert_uint_eq(hamidp_plan_n_targets(plan), hamidp_decision_n_devices(decision));
	ck_assert_uint_ge(hamidp_plan_largest_after(plan), hamidp_decision_n_slots(decision));
	hamidp_decision_free(decision);
	hamidp_request_free(req);
	hamidp_occupancy_free(occ);
}
