/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Memory of placement, occupancy and edits: none is taken once a decision has grown, and every
 * allocation may fail. Linked with --wrap, so that the library needs no hooks.
 */

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "edits.h"
#include "fixture.h"
#include "suite.h"
#include "wrap.h"

static void draw_large(struct fixture *f, bool contiguous)
{
	f->n_cards = 16;
	for (size_t i = 0; i < f->n_cards; i++) {
		f->cards[i] = (struct fixture_card){ .healthy = true, .numa_node = -1 };
		memset(f->cards[i].slots, '.', 100);
		memset(f->cards[i].slots, 'x', 10 + 5 * i);
		f->cards[i].slots[95] = contiguous ? 'x' : '.';
	}
	fixture_make(f, contiguous);
}

/* check takes memory for every assertion: so none while something is counted or made to fail. */

static int fill_request(struct fixture *f, uint32_t units, bool by_device, bool all_available)
{
	int r = 0;

	hamidp_request_reset(f->req);
	if (by_device)
		hamidp_request_set_devices(f->req, 1 + units % 16, 1 + units / 16);
	else
		hamidp_request_set_units(f->req, units);
	for (size_t slot = 1600; r == 0 && all_available && slot-- > 0;)
		r = hamidp_request_add_available(f->req, slot);
	return r < 0 ? r : hamidp_request_add_required(f->req, 1599 - units % 7);
}

START_TEST(no_memory_is_taken_once_grown)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const char *ids[1600];
	unsigned long before, after;
	size_t n_fit = 0, n_not = 0;
	int r = 0;

	ck_assert_ptr_nonnull(f);
	draw_large(f, _i == 1);
	for (size_t slot = 0; slot < 1600; slot++)
		ids[slot] = hamidp_layout_slot_id(f->layout, slot);
	ck_assert_int_eq(fill_request(f, 1600, false, true), 0);
	ck_assert_int_eq(hamidp_place(f->layout, f->occ, f->req, f->decision, f->reason), 0);

	before = n_allocations;
	for (uint32_t units = 1; units <= 1600; units += 13)
		for (unsigned kind = 0; kind < 4; kind++) {
			r |= fill_request(f, units, kind & 1, kind & 2);
			if (hamidp_place(f->layout, f->occ, f->req, f->decision, f->reason) == 0)
				n_fit++;
			else
				n_not++;
			r |= hamidp_decide_ids(f->layout, 0, ids, units, f->decision, f->reason);
		}
	after = n_allocations;
	ck_assert_uint_eq(after, before);
	ck_assert_int_eq(r, 0);
	ck_assert_uint_gt(n_fit, 100);
	ck_assert_uint_gt(n_not, 100);
	fixture_done(f);
	free(f);
}
END_TEST

static int use_placement(struct fixture *f)
{
	struct hamidp_request *req = NULL;
	struct hamidp_decision *decision = NULL;
	int r;

	r = hamidp_request_new(&req);
	if (r == 0)
		r = hamidp_decision_new(&decision);
	if (r == 0)
		r = hamidp_request_add_available(req, 100);
	if (r == 0)
		r = hamidp_request_add_required(req, 6);
	if (r == 0) {
		hamidp_request_set_units(req, 2);
		r = hamidp_place(f->layout, f->occ, req, decision, f->reason);
	}
	if (r == 0 && hamidp_decision_n_slots(decision) != 2)
		r = -EIO;
	hamidp_request_free(req);
	hamidp_decision_free(decision);
	return r;
}

/* Whatever fails, the occupancy is as before (-EIO: it is not). */
static int use_occupancy(struct fixture *f)
{
	struct hamidp_occupancy *occ = NULL, *clone = NULL;
	char name[16];
	int r;

	r = hamidp_occupancy_new(f->layout, &occ);
	for (size_t i = 0; r == 0 && i < 12; i++) {
		snprintf(name, sizeof(name), "holder-%zu", i);
		r = hamidp_occupancy_hold(occ, i, name);
		if ((r == 0) != (hamidp_occupancy_holder(occ, i) != NULL))
			r = -EIO;
	}
	if (r == 0)
		r = hamidp_occupancy_clone(occ, &clone);
	if (r == 0)
		r = hamidp_occupancy_apply(clone, f->decision, "decided", f->reason);
	if (r < 0 && clone && hamidp_occupancy_n_free(clone, 1) != 96)
		r = -EIO;
	if (r == 0)
		r = hamidp_occupancy_load(clone, f->reason);
	hamidp_occupancy_free(occ);
	hamidp_occupancy_free(clone);
	return r;
}

static int use_edits(struct fixture *f)
{
	static const char *const args[] = { "a", "b", NULL };
	struct hamidp_device_node node = { .size = sizeof(node),
					   .container_path = "/dev/a",
					   .host_path = "/dev/a",
					   .permissions = "rw",
					   .type = HAMIDP_NODE_TYPE_CHAR };
	struct hamidp_edits *edits = NULL, *copy = NULL;
	char *cdi = NULL, *oci = NULL;
	int r;

	r = hamidp_edits_new(&edits);
	if (r == 0)
		r = hamidp_edits_add_env(edits, "A", "1");
	if (r == 0)
		r = hamidp_edits_add_env(edits, "A", "2");
	if (r == 0)
		r = hamidp_edits_add_device_node(edits, &node);
	if (r == 0)
		r = hamidp_edits_add_mount(edits, "/a", "/b", 1);
	if (r == 0)
		r = hamidp_edits_add_cdi(edits, "a/b=c");
	if (r == 0)
		r = hamidp_edits_add_annotation(edits, "a", "b");
	if (r == 0)
		r = hamidp_edits_add_hook(edits, "poststop", "/a", args, 1);
	if (r == 0)
		r = hdp_edits_copy(edits, &copy);
	if (r == 0)
		r = hamidp_edits_to_cdi(copy, "a/b", "c", &cdi, f->reason);
	if (r == 0)
		r = hamidp_edits_to_oci(copy, &oci, f->reason);
	free(cdi);
	free(oci);
	hamidp_edits_free(edits);
	hamidp_edits_free(copy);
	return r;
}

/* Card 0 has 95 free slots, so that one of the two that hold the others has to move for 96. */
static int use_plan(struct fixture *f)
{
	struct hamidp_occupancy *occ = NULL;
	struct hamidp_request *req = NULL;
	struct hamidp_plan *plan = NULL;
	char *text = NULL, *json = NULL;
	int r;

	r = hamidp_request_new(&req);
	if (r == 0)
		r = hamidp_plan_new(&plan);
	if (r == 0)
		r = hamidp_plan_pin(plan, "two");
	if (r == 0)
		r = hamidp_occupancy_new(f->layout, &occ);
	if (r == 0)
		r = hamidp_occupancy_hold(occ, 0, "one");
	if (r == 0)
		r = hamidp_occupancy_hold(occ, 96, "two");
	if (r == 0) {
		hamidp_request_set_units(req, 96);
		r = hamidp_plan_make(plan, f->layout, occ, req, f->reason);
	}
	if (r == 0 && (hamidp_plan_n_moves(plan) != 1 || hamidp_plan_n_pinned(plan) != 1))
		r = -EIO;
	if (r == 0)
		r = hamidp_plan_to_text(plan, NULL, NULL, &text, NULL);
	if (r == 0)
		r = hamidp_occupancy_to_json(occ, &json, NULL);
	free(json);
	free(text);
	hamidp_plan_free(plan);
	hamidp_request_free(req);
	hamidp_occupancy_free(occ);
	return r;
}

/* Without memory nothing is explained, and no text is made (-EIO: something is). */
static int use_explain(struct fixture *f)
{
	struct hamidp_explanation *why = NULL;
	struct hamidp_decision *decision = NULL;
	struct hamidp_request *req = NULL;
	char *json = NULL;
	int r;

	r = hamidp_request_new(&req);
	if (r == 0)
		r = hamidp_decision_new(&decision);
	if (r == 0)
		r = hamidp_explanation_new(&why);
	if (r == 0) {
		hamidp_request_set_units(req, 2);
		r = hamidp_explain(f->layout, f->occ, req, decision, why, f->reason);
		if (hamidp_explanation_n_candidates(why) != (r == 0 ? 2 : 0) ||
		    (r < 0 && hamidp_reason_code(f->reason) != HAMIDP_REASON_NO_MEMORY))
			r = -EIO;
	}
	if (r == 0) {
		r = hamidp_explanation_to_json(why, &json);
		if ((r == 0) != (json != NULL))
			r = -EIO;
	}
	free(json);
	hamidp_explanation_free(why);
	hamidp_decision_free(decision);
	hamidp_request_free(req);
	return r;
}

static int use_fleet(struct fixture *f)
{
	struct hamidp_fleet *fleet = NULL;
	struct hamidp_request *req = NULL;
	struct hamidp_decision *decision = NULL;
	size_t node = 9;
	int r;

	r = hamidp_request_new(&req);
	if (r == 0)
		r = hamidp_decision_new(&decision);
	if (r == 0)
		r = hamidp_fleet_new(&fleet);
	if (r == 0)
		r = hamidp_fleet_add(fleet, "b", f->layout, NULL);
	if (r == 0)
		r = hamidp_fleet_add(fleet, "a", f->layout, NULL);
	for (uint32_t units = 1; r == 0 && units < 3; units++) {
		hamidp_request_set_units(req, units);
		r = hamidp_fleet_place(fleet, req, NULL, NULL, decision, &node, f->reason);
		if (r == 0 && node != 1)
			r = -EIO;
		if (r == 0)
			r = hamidp_fleet_apply(fleet, node, decision, "someone", f->reason);
		if (r == 0)
			r = hamidp_fleet_release(fleet, node, "someone");
	}
	hamidp_fleet_free(fleet);
	hamidp_request_free(req);
	hamidp_decision_free(decision);
	return r;
}

static int (*const uses[])(struct fixture *f) = { use_placement, use_occupancy, use_edits,
						  use_plan,	 use_explain,	use_fleet };

/* A scheduler's loop, once the kinds of requests and the holders have been seen. */
START_TEST(a_fleet_takes_no_memory_once_warm)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct hamidp_fleet *fleet = NULL;
	unsigned long taken = 0;
	char name[16];
	int r = 0;

	ck_assert_ptr_nonnull(f);
	draw_large(f, false);
	ck_assert_int_eq(hamidp_fleet_new(&fleet), 0);
	for (unsigned i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "node-%u", i);
		ck_assert_int_eq(hamidp_fleet_add(fleet, name, f->layout, NULL), 0);
	}
	hamidp_request_reset(f->req);
	for (unsigned round = 0; r == 0 && round < 20; round++) {
		size_t node;

		for (uint32_t units = 1; r == 0 && units < 40; units++) {
			unsigned long before = n_allocations;

			hamidp_request_set_units(f->req, units);
			r = hamidp_fleet_place(fleet, f->req, NULL, NULL, f->decision, &node,
					       f->reason);
			taken += round > 1 ? n_allocations - before : 0;
			r = r < 0 ? r : hamidp_fleet_apply(fleet, node, f->decision, "a", NULL);
			r = r < 0 ? r : hamidp_fleet_release(fleet, node, "a");
		}
	}
	ck_assert_int_eq(r, 0);
	ck_assert_uint_eq(taken, 0);
	hamidp_fleet_free(fleet);
	fixture_done(f);
	free(f);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
	struct fixture *f = calloc(1, sizeof(*f));
	bool succeeded = false;
	long nth;

	ck_assert_ptr_nonnull(f);
	for (f->n_cards = 0; f->n_cards < 2; f->n_cards++) {
		f->cards[f->n_cards] = (struct fixture_card){ .healthy = true, .numa_node = -1 };
		memset(f->cards[f->n_cards].slots, '.', 96);
	}
	fixture_make(f, false);
	for (size_t slot = 96; slot < 192; slot++)
		ck_assert_int_eq(hamidp_request_add_available(f->req, slot), 0);
	hamidp_request_set_units(f->req, 9);
	ck_assert_int_eq(hamidp_place(f->layout, f->occ, f->req, f->decision, f->reason), 0);

	json_set_alloc_funcs(malloc, free); /* through the wrapper as well */
	for (nth = 0; !succeeded; nth++) {
		int r;

		ck_assert_int_lt(nth, 1000);
		countdown = nth;
		r = uses[_i](f);
		succeeded = countdown >= 0; /* ran to the end without reaching the failure */
		countdown = -1;
		ck_assert_msg(r == (succeeded ? 0 : -ENOMEM), "allocation %ld: %d", nth, r);
	}
	ck_assert_int_gt(nth, 4);
	fixture_done(f);
	free(f);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("place-memory");
	TCase *tcase = tcase_create("memory");

	tcase_add_loop_test(tcase, no_memory_is_taken_once_grown, 0, 2);
	tcase_add_test(tcase, a_fleet_takes_no_memory_once_warm);
	tcase_add_loop_test(tcase, every_allocation_may_fail, 0, ARRAY_SIZE(uses));
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
