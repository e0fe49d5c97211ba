/* SPDX-License-Identifier: Apache-2.0 */

/*
 * More cards than there are tables of sets for: one and two cards against brute force over all of
 * them. The room that is kept is an estimate there, so the library's own is what sets are compared
 * by, within its bounds; load and quality are computed here as well.
 */

#include <errno.h>
#include <math.h>

#include "place.h"
#include "suite.h"
#include "topology-file.h"

#define CLOSE 1e-3 /* the library's fixed point may be off by this, in slots */

static uint64_t rnd_state;

static uint32_t rnd(uint32_t below)
{
	rnd_state = rnd_state * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(rnd_state >> 33) % below;
}

struct large {
	struct topology_file t;
	uint32_t slots;
	double p2, p4, best; /* best: quality of a pair */
	struct hamidp_layout *layout;
	struct hamidp_occupancy *occ;
	struct hamidp_request *req;
	struct hamidp_decision *decision;
	struct hdp_place_call call;
};

/* Pairs of a switch, or of nothing; few kinds of levels, so that there are many ties. */
static void draw_links(struct topology_file *t)
{
	uint32_t per_switch = 1 + rnd(4), per_node = 1 + rnd(12), lanes = rnd(3);

	*t = (struct topology_file){ .n = HDP_TABLE_DEVICES_MAX + 1 + rnd(8) };
	for (size_t a = 0; a < t->n; a++) {
		(void)snprintf(t->bdf[a], sizeof(t->bdf[a]), "0000:%02x:00.0",
			       (unsigned char)(a + 1));
		t->numa[a] = rnd(9) ? (int32_t)(a / per_node) : -1;
		for (size_t b = 0; b < a; b++) {
			t->lanes[a][b] = t->lanes[b][a] = rnd(5) ? lanes : rnd(4);
			t->pcie[a][b] = t->pcie[b][a] = a / per_switch == b / per_switch
								? HAMIDP_PCIE_PXB
								: HAMIDP_PCIE_SYS;
		}
	}
}

static double pair_quality(const struct topology_file *t, size_t a, size_t b)
{
	double weight = 100.0 * t->lanes[a][b] + t->pcie[a][b];

	return t->numa[a] >= 0 && t->numa[a] == t->numa[b] ? weight * 1.02 : weight;
}

static void make_layout(struct large *l)
{
	struct hamidp_slicing slicing = { .size = sizeof(slicing), .slots = l->slots };
	struct hamidp_inventory *inv = topology_inventory(&l->t, NULL);
	uint32_t p2_ppm = rnd(2) ? 0 : rnd(500000), p4_ppm = rnd(2) ? 0 : rnd(500000);
	struct hamidp_policy *policy = NULL;

	l->p2 = p2_ppm < 10000 ? 0.01 : p2_ppm / 1e6;
	l->p4 = p4_ppm < 10000 ? 0.01 : p4_ppm / 1e6;
	ck_assert_int_eq(hamidp_policy_new(&policy), 0);
	ck_assert_int_eq(hamidp_policy_set_mix(policy, p2_ppm, p4_ppm), 0);
	ck_assert_int_eq(hamidp_policy_add_resource(policy, "hami.com/vgpu", &slicing, NULL, NULL),
			 0);
	ck_assert_int_eq(hamidp_layout_new(inv, policy, &l->layout, NULL), 0);
	hamidp_policy_free(policy);
	hamidp_inventory_unref(inv);
}

static void large_draw(struct large *l)
{
	draw_links(&l->t);
	l->slots = 1 + rnd(10);
	l->best = 0;
	for (size_t a = 0; a < l->t.n; a++)
		for (size_t b = 0; b < a; b++)
			l->best = fmax(l->best, pair_quality(&l->t, a, b));
	make_layout(l);
	ck_assert_int_eq(hamidp_occupancy_new(l->layout, &l->occ), 0);
	ck_assert_int_eq(hamidp_request_new(&l->req), 0);
	ck_assert_int_eq(hamidp_decision_new(&l->decision), 0);
	for (size_t pos = 0; pos < l->t.n; pos++) {
		size_t first = hamidp_layout_device_first_slot(l->layout, pos);
		uint32_t held = rnd(2) ? rnd(l->slots + 1) : 0;

		for (uint32_t i = 0; i < held; i++)
			ck_assert_int_eq(hamidp_occupancy_hold(l->occ, first + i, "x"), 0);
	}
	l->call = (struct hdp_place_call){ .layout = l->layout,
					   .req = l->req,
					   .decision = l->decision };
}

static void large_done(struct large *l)
{
	hamidp_decision_free(l->decision);
	hamidp_request_free(l->req);
	hamidp_occupancy_free(l->occ);
	hamidp_layout_unref(l->layout);
}

struct choice {
	size_t a, b; /* indexes of cards; equal: one card */
	struct hdp_cost cost;
	uint32_t sum_free;
};

/* Load and quality by the formula; of the room the sign and the most that it can be. */
static void check_terms(const struct large *l, const struct choice *c, uint32_t each,
			const struct hdp_terms *terms)
{
	const struct hdp_card *cards = l->decision->cards;
	enum hamidp_placement placement = l->call.rules.placement;
	double one = (double)l->slots * HAMIDP_COST_ONE, load = 0, quality = 0, n_whole = 0, room;
	size_t set[2] = { c->a, c->b };

	for (size_t i = 0; i < l->call.n_cards; i++)
		n_whole += cards[i].free == l->slots;
	for (size_t i = 0; i < (c->a == c->b ? 1 : 2); i++) {
		double f = cards[set[i]].free;

		load += (f * f - (f - each) * (f - each)) / l->slots;
	}
	if (placement == HAMIDP_PLACEMENT_SPREAD)
		load = -load;
	if (c->a != c->b && placement != HAMIDP_PLACEMENT_FIT)
		quality = 2.0 * each *
			  (1 - pair_quality(&l->t, cards[c->a].pos, cards[c->b].pos) / l->best);
	room = 2 * l->p2 * l->slots * floor(n_whole / 2) +
	       4 * l->p4 * l->slots * floor(n_whole / 4);
	ck_assert_double_eq_tol((double)terms->load / one, load, CLOSE);
	ck_assert_double_eq_tol((double)terms->quality / one, quality, CLOSE);
	ck_assert_int_ge(terms->room, 0);
	ck_assert_double_le((double)terms->room / one, room + CLOSE);
	if (cards[c->a].free < l->slots && cards[c->b].free < l->slots)
		ck_assert_int_eq(terms->room, 0);
}

static struct choice weigh(const struct large *l, size_t a, size_t b, uint32_t each)
{
	const struct hdp_card *cards = l->decision->cards;
	struct choice c = { .a = a, .b = b, .sum_free = cards[a].free };
	struct hdp_card copy[TOPOLOGY_MAX];
	struct hdp_terms terms;
	uint32_t set[2];

	memcpy(copy, cards, l->call.n_cards * sizeof(*copy));
	for (size_t i = 0; i < l->call.n_cards; i++)
		copy[i].part = i == a || i == b ? each : 0;
	terms = hdp_goal_weigh(&l->call.goal, copy, l->call.n_cards, set);
	check_terms(l, &c, each, &terms);
	c.sum_free += a == b ? 0 : cards[b].free;
	c.cost.cost = terms.load + terms.room + terms.quality;
	if (l->call.rules.placement == HAMIDP_PLACEMENT_TOPOLOGY)
		c.cost.first = terms.quality;
	return c;
}

/* Sets come in lexicographic order, so the first of equals stays. */
static bool is_better(const struct choice *c, const struct choice *than)
{
	if (hdp_cost_less(c->cost, than->cost) || hdp_cost_less(than->cost, c->cost))
		return hdp_cost_less(c->cost, than->cost);
	return c->sum_free < than->sum_free;
}

static bool has_room(const struct large *l, size_t i, uint32_t each)
{
	return l->decision->cards[i].cap >= each;
}

static struct choice solve(const struct large *l, uint32_t n, uint32_t each)
{
	struct choice best = { .a = SIZE_MAX };

	for (size_t a = 0; a < l->call.n_cards; a++)
		for (size_t b = n == 1 ? a : a + 1; b < (n == 1 ? a + 1 : l->call.n_cards); b++) {
			struct choice c;

			if (!has_room(l, a, each) || !has_room(l, b, each))
				continue;
			c = weigh(l, a, b, each);
			if (best.a == SIZE_MAX || is_better(&c, &best))
				best = c;
		}
	return best;
}

static uint32_t n_with_room(const struct large *l, uint32_t each)
{
	uint32_t n = 0;

	for (size_t pos = 0; pos < l->t.n; pos++)
		n += hamidp_occupancy_n_free(l->occ, pos) >= each;
	return n;
}

static void check(struct large *l, uint32_t n, uint32_t each)
{
	struct choice best;
	int r;

	hamidp_request_set_devices(l->req, n, each);
	r = hdp_place(&l->call, l->occ, NULL);
	ck_assert_int_eq(r, n_with_room(l, each) >= n ? 0 : -ENOSPC);
	if (r < 0)
		return;
	best = solve(l, n, each);
	ck_assert_uint_eq(hamidp_decision_n_slots(l->decision), (size_t)n * each);
	for (size_t i = 0; i < l->call.n_cards; i++)
		ck_assert_msg(l->decision->cards[i].part == (i == best.a || i == best.b ? each : 0),
			      "%u x %u, placement %d: card %zu gives %u, best are %zu and %zu", n,
			      each, l->call.rules.placement, i, l->decision->cards[i].part, best.a,
			      best.b);
	ck_assert_int_le(llabs(hamidp_decision_cost(l->decision) -
			       best.cost.cost / (int64_t)l->slots),
			 1);
}

/* The loop's index is the seed, so that a failure names it. */
START_TEST(one_and_two_of_many_cards_are_the_best)
{
	struct large *l = calloc(1, sizeof(*l));

	ck_assert_ptr_nonnull(l);
	rnd_state = (uint64_t)_i + 1;
	for (unsigned round = 0; round < 5; round++) {
		large_draw(l);
		for (int placement = 0; placement <= HAMIDP_PLACEMENT_FIT; placement++) {
			ck_assert_int_eq(hamidp_request_set_placement(
						 l->req, (enum hamidp_placement)placement),
					 0);
			for (uint32_t n = 1; n <= 2; n++)
				for (uint32_t each = 1; each <= l->slots; each += 1 + rnd(3))
					check(l, n, each);
		}
		large_done(l);
	}
	free(l);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("objective-large");
	TCase *tcase = tcase_create("brute force");

	tcase_add_loop_test(tcase, one_and_two_of_many_cards_are_the_best, 0, 12);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
