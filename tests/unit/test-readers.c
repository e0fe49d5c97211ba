/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Many threads read one machine, each with a request and a decision of its own: all get what one
 * thread alone gets. The thread sanitizer has more to say about it than the results.
 */

#include <pthread.h>

#include "fixture.h"
#include "suite.h"

#define READERS 6
#define UNITS_MAX 16
#define PLACEMENTS 4

struct reader {
	const struct hamidp_layout *layout;
	const struct hamidp_occupancy *occ;
	pthread_barrier_t *start; /* NULL: alone */
	int64_t costs[PLACEMENTS][UNITS_MAX];
	size_t n_moves;
	size_t n_published;
	int failed;
};

static void place_all(struct reader *r, struct hamidp_request *req)
{
	struct hamidp_explanation *explanation = NULL;
	struct hamidp_decision *decision = NULL;

	r->failed |= hamidp_decision_new(&decision) | hamidp_explanation_new(&explanation);
	for (int p = 0; p < PLACEMENTS; p++)
		for (uint32_t units = 1; units <= UNITS_MAX; units++) {
			hamidp_request_reset(req);
			hamidp_request_set_units(req, units);
			r->failed |= hamidp_request_set_placement(req, (enum hamidp_placement)p);
			r->costs[p][units - 1] = INT64_MAX; /* no room */
			if (hamidp_place(r->layout, r->occ, req, decision, NULL) == 0)
				r->costs[p][units - 1] = hamidp_decision_cost(decision);
			(void)hamidp_explain(r->layout, r->occ, req, decision, explanation, NULL);
		}
	hamidp_explanation_free(explanation);
	hamidp_decision_free(decision);
}

static void plan_and_publish(struct reader *r, struct hamidp_request *req)
{
	struct hamidp_publication *publication = NULL;
	struct hamidp_plan *plan = NULL;

	r->failed |= hamidp_plan_new(&plan) | hamidp_publication_new(&publication);
	for (uint32_t units = 1; units <= UNITS_MAX; units++) {
		hamidp_request_reset(req);
		hamidp_request_set_units(req, units);
		if (hamidp_plan_make(plan, r->layout, r->occ, req, NULL) == 0)
			r->n_moves += hamidp_plan_n_moves(plan);
	}
	r->failed |= hamidp_publish(r->layout, r->occ, 0, NULL, publication, NULL);
	r->n_published = hamidp_publication_n_free(publication);
	hamidp_publication_free(publication);
	hamidp_plan_free(plan);
}

static void *read_all(void *userdata)
{
	struct reader *r = userdata;
	struct hamidp_request *req = NULL;

	r->failed |= hamidp_request_new(&req);
	if (r->start)
		pthread_barrier_wait(r->start);
	place_all(r, req);
	plan_and_publish(r, req);
	hamidp_request_free(req);
	return NULL;
}

/* One holder a slot, so that all of them can be moved. */
static void hold_singly(struct fixture *f)
{
	ck_assert_int_eq(hamidp_occupancy_release(f->occ, "someone"), 0);
	for (size_t slot = 0; slot < hamidp_layout_n_slots(f->layout); slot++)
		if (fixture_at(f, slot) == 'x')
			ck_assert_int_eq(hamidp_occupancy_hold(f->occ, slot,
							       hamidp_layout_slot_id(f->layout,
										     slot)),
					 0);
}

START_TEST(readers_agree)
{
	static struct fixture f;
	struct reader readers[READERS] = { 0 };
	struct reader alone = { 0 };
	pthread_t threads[READERS];
	pthread_barrier_t start;

	fixture_draw(&f, "@0x... @0.x.. @0xx.. @0.... @1.xxx @1..x. @1.... @1xxx.", false);
	hold_singly(&f);
	ck_assert_int_eq(pthread_barrier_init(&start, NULL, READERS), 0);
	for (int i = 0; i < READERS; i++) { /* first, while nothing is made yet */
		readers[i].layout = f.layout;
		readers[i].occ = f.occ;
		readers[i].start = &start;
		ck_assert_int_eq(pthread_create(&threads[i], NULL, read_all, &readers[i]), 0);
	}
	for (int i = 0; i < READERS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	alone.layout = f.layout;
	alone.occ = f.occ;
	(void)read_all(&alone);
	ck_assert_uint_gt(alone.n_moves, 0);
	for (int i = 0; i < READERS; i++) {
		ck_assert_int_eq(readers[i].failed, 0);
		ck_assert_mem_eq(readers[i].costs, alone.costs, sizeof(alone.costs));
		ck_assert_uint_eq(readers[i].n_moves, alone.n_moves);
		ck_assert_uint_eq(readers[i].n_published, alone.n_published);
	}
	pthread_barrier_destroy(&start);
	fixture_done(&f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("readers");
	TCase *tc = tcase_create("readers");

	tcase_add_loop_test(tc, readers_agree, 0, 20);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
