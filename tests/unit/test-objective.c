/* SPDX-License-Identifier: Apache-2.0 */

/* The objective against brute force, on small random machines. */

#include "objective-oracle.h"
#include "suite.h"

struct machine {
	struct oracle *o;
	struct hamidp_layout *layout, *shuffled; /* the same, stated in another order */
	struct hamidp_occupancy *occ, *shuffled_occ;
	struct hamidp_request *req;
	struct hamidp_decision *decision;
	uint32_t max_per_device;
};

static struct hamidp_layout *make_layout(const struct oracle *o, const size_t *order,
					 uint32_t max_per_device, const uint32_t *mix)
{
	struct hamidp_inventory *inv = topology_inventory(&o->t, order);
	struct hamidp_policy *policy = NULL;
	struct hamidp_layout *layout = NULL;

	ck_assert_int_eq(hamidp_policy_new(&policy), 0);
	ck_assert_int_eq(hamidp_policy_add_resource(policy, "hami.com/vgpu", NULL, NULL, NULL), 0);
	for (size_t i = 0; i < o->t.n; i++) {
		struct hamidp_slicing slicing = { .size = sizeof(slicing), .slots = o->n_slots[i] };
		char uuid[32];

		(void)snprintf(uuid, sizeof(uuid), "GPU-%zu", i);
		ck_assert_int_eq(hamidp_policy_add_override(policy, HAMIDP_MATCH_UUID, uuid,
							    &slicing, NULL),
				 0);
	}
	ck_assert_int_eq(hamidp_policy_set_max_per_device(policy, max_per_device), 0);
	ck_assert_int_eq(hamidp_policy_set_mix(policy, mix[0], mix[1]), 0);
	ck_assert_int_eq(hamidp_layout_new(inv, policy, &layout, NULL), 0);
	hamidp_policy_free(policy);
	hamidp_inventory_unref(inv);
	return layout;
}

static void draw_slots(struct machine *m, size_t pos, bool required)
{
	struct oracle *o = m->o;
	size_t first = hamidp_layout_device_first_slot(m->layout, pos);
	uint32_t held = rnd(3) ? rnd(o->n_slots[pos] + 1) : 0;

	o->free[pos] = o->n_slots[pos];
	o->min[pos] = 0;
	for (uint32_t i = 0; i < o->n_slots[pos]; i++) {
		if (i < held) {
			ck_assert_int_eq(hamidp_occupancy_hold(m->occ, first + i, "x"), 0);
			ck_assert_int_eq(hamidp_occupancy_hold(m->shuffled_occ, first + i, "y"), 0);
			o->free[pos]--;
		} else if (required && rnd(4) == 0) {
			ck_assert_int_eq(hamidp_request_add_required(m->req, first + i), 0);
			o->min[pos]++;
		}
	}
	o->cap[pos] = o->free[pos];
	if (m->max_per_device > 0 && o->cap[pos] > m->max_per_device)
		o->cap[pos] = m->max_per_device;
}

/* With @required, some cards have slots that must be part of the answer. */
static void machine_draw(struct machine *m, size_t n, uint32_t slots, bool required)
{
	uint32_t mix[2] = { rnd(3) ? 0 : rnd(500000), rnd(3) ? 0 : rnd(500000) };
	bool mixed = rnd(4) == 0;
	struct oracle *o = m->o;
	size_t order[CARDS_MAX];

	draw_links(&o->t, n);
	o->p2 = mix[0] < 10000 ? 0.01 : mix[0] / 1e6;
	o->p4 = mix[1] < 10000 ? 0.01 : mix[1] / 1e6;
	o->slots = 0;
	for (size_t i = 0; i < n; i++) {
		order[i] = n - 1 - i;
		o->need[i] = 0;
		o->n_slots[i] = mixed ? 1 + rnd(slots) : slots;
		o->slots = o->n_slots[i] > o->slots ? o->n_slots[i] : o->slots;
	}
	m->max_per_device = rnd(4) ? 0 : 1 + rnd(slots);
	m->layout = make_layout(o, NULL, m->max_per_device, mix);
	m->shuffled = make_layout(o, order, m->max_per_device, mix);
	ck_assert_int_eq(hamidp_occupancy_new(m->layout, &m->occ), 0);
	ck_assert_int_eq(hamidp_occupancy_new(m->shuffled, &m->shuffled_occ), 0);
	ck_assert_int_eq(hamidp_request_new(&m->req), 0);
	ck_assert_int_eq(hamidp_decision_new(&m->decision), 0);
	for (size_t i = 0; i < n; i++)
		draw_slots(m, i, required && rnd(3) == 0);
	for (size_t i = 0; i < 2U << CARDS_MAX; i++)
		o->room[i >> CARDS_MAX][i & ((1U << CARDS_MAX) - 1)] = -1;
	memset(o->best, 0, sizeof(o->best));
	for (uint32_t set = 1; set < 1U << n; set++) {
		unsigned size = (unsigned)__builtin_popcount(set);
		double q = quality(o, set);

		o->best[size] = q > o->best[size] ? q : o->best[size];
	}
}

static void machine_done(struct machine *m)
{
	hamidp_decision_free(m->decision);
	hamidp_request_free(m->req);
	hamidp_occupancy_free(m->occ);
	hamidp_occupancy_free(m->shuffled_occ);
	hamidp_layout_unref(m->layout);
	hamidp_layout_unref(m->shuffled);
}

static uint32_t parts_given(const struct machine *m, uint32_t *ret_parts)
{
	uint32_t set = 0;

	memset(ret_parts, 0, CARDS_MAX * sizeof(*ret_parts));
	for (size_t i = 0; i < hamidp_decision_n_slots(m->decision); i++) {
		size_t slot = hamidp_decision_slot(m->decision, i);
		size_t pos = hamidp_layout_slot_device(m->layout, slot);

		ck_assert(i == 0 || slot > hamidp_decision_slot(m->decision, i - 1));
		ck_assert_ptr_null(hamidp_occupancy_holder(m->occ, slot));
		ret_parts[pos]++;
		set |= 1U << pos;
	}
	return set;
}

static void check_shuffled(struct machine *m)
{
	size_t slots[CARDS_MAX * 8], n = hamidp_decision_n_slots(m->decision);
	int64_t paid = hamidp_decision_cost(m->decision);

	for (size_t i = 0; i < n; i++)
		slots[i] = hamidp_decision_slot(m->decision, i);
	ck_assert_int_eq(hamidp_place(m->shuffled, m->shuffled_occ, m->req, m->decision, NULL), 0);
	ck_assert_uint_eq(hamidp_decision_n_slots(m->decision), n);
	for (size_t i = 0; i < n; i++)
		ck_assert_uint_eq(hamidp_decision_slot(m->decision, i), slots[i]);
	ck_assert_int_eq(hamidp_decision_cost(m->decision), paid);
}

/* Ask for the oracle's form; @slack is how much worse than the best the answer may be. */
static void check(struct machine *m, double slack)
{
	struct oracle *o = m->o;
	struct optimum best = solve(o);
	uint32_t parts[CARDS_MAX], expected[CARDS_MAX], set;
	double first, paid, allowed = CLOSE + slack * fabs(best.cost);
	int r;

	ck_assert_int_eq(hamidp_request_set_placement(m->req, o->placement), 0);
	r = hamidp_place(m->layout, m->occ, m->req, m->decision, NULL);
	ck_assert_msg((r == 0) == (best.set != 0), "%d, best set %#x", r, best.set);
	if (r < 0)
		return;
	set = parts_given(m, parts);
	ck_assert_msg(parts_of(o, set, expected), "%#x does not have the form", set);
	for (size_t i = 0; i < o->t.n; i++)
		ck_assert_uint_eq(parts[i], expected[i]);
	paid = cost(o, set, parts, &first);
	ck_assert_msg(fabs(paid - (double)hamidp_decision_cost(m->decision) / HAMIDP_COST_ONE) <
			      CLOSE,
		      "%#x costs %f", set, paid);
	ck_assert_msg(slack > 0 || first <= best.first + 1e-9, "%#x has worse links than %#x", set,
		      best.set);
	ck_assert_msg(paid <= best.cost + allowed || first < best.first - 1e-9,
		      "%#x costs %f, %#x costs %f", set, paid, best.set, best.cost);
	if (slack == 0 && !best.unsure)
		ck_assert_msg(set == best.set, "%#x, not %#x", set, best.set);
	check_shuffled(m);
}

static uint32_t n_required(const struct oracle *o, uint32_t *ret_cards)
{
	uint32_t n = 0;

	*ret_cards = 0;
	for (size_t i = 0; i < o->t.n; i++) {
		n += o->min[i];
		*ret_cards += o->min[i] > 0;
	}
	return n;
}

static void try_devices(struct machine *m, uint32_t n, uint32_t each)
{
	struct oracle *o = m->o;
	uint32_t cards;

	(void)n_required(o, &cards);
	for (size_t i = 0; i < o->t.n; i++)
		if (o->min[i] > each)
			return; /* refused as a contradiction, which other tests see to */
	if (cards > n)
		return;
	o->n = n;
	o->base = each;
	o->rem = 0;
	o->units = n * each;
	hamidp_request_set_devices(m->req, n, each);
	check(m, 0);
}

static void try_units(struct machine *m, uint32_t units)
{
	uint32_t cards, per_card = m->o->slots;
	struct oracle *o = m->o;

	if (m->max_per_device > 0 && m->max_per_device < per_card)
		per_card = m->max_per_device;
	if (n_required(o, &cards) > 0)
		return; /* the number of cards may be raised: test-place-property.c */
	o->n = (units + per_card - 1) / per_card;
	if (o->n > o->t.n || o->n > 4 || o->placement == HAMIDP_PLACEMENT_SPREAD)
		return;
	o->base = units / o->n;
	o->rem = units % o->n;
	o->units = units;
	hamidp_request_set_units(m->req, units);
	check(m, 0);
}

/* The loop's index is the seed, so that a failure names it. */
START_TEST(up_to_four_cards_the_best_set_is_found)
{
	struct machine m = { .o = calloc(1, sizeof(*m.o)) };

	ck_assert_ptr_nonnull(m.o);
	rnd_state = (uint64_t)_i + 1;
	for (unsigned round = 0; round < 10; round++) {
		size_t n = 2 + rnd(5);
		uint32_t slots = 1 + rnd(8);

		machine_draw(&m, n, slots, rnd(2));
		m.o->placement = (enum hamidp_placement)rnd(HAMIDP_PLACEMENT_TOPOLOGY + 1);
		for (uint32_t k = 1; k <= 4 && k <= n; k++)
			try_devices(&m, k, 1 + rnd(slots));
		for (uint32_t units = 1; units <= n * slots; units += 1 + rnd(4))
			try_units(&m, units);
		machine_done(&m);
	}
	free(m.o);
}
END_TEST

/* Compute and memory: each card gives as many slots as both need. */
START_TEST(amounts_take_the_best_cards)
{
	struct machine m = { .o = calloc(1, sizeof(*m.o)) };

	ck_assert_ptr_nonnull(m.o);
	rnd_state = (uint64_t)_i + 5001;
	for (unsigned round = 0; round < 10; round++) {
		size_t n = 2 + rnd(5);
		uint32_t share = rnd(1000001), most = 0;
		uint64_t mib = rnd(81921);
		struct oracle *o = m.o;

		machine_draw(&m, n, 1 + rnd(8), false);
		o->placement = HAMIDP_PLACEMENT_PACK;
		o->n = 1 + rnd(n < 4 ? (uint32_t)n : 4);
		o->base = o->rem = 0;
		for (size_t i = 0; i < n; i++) {
			uint32_t k = 1;

			while (k <= o->n_slots[i] &&
			       (hamidp_layout_slice_share_ppm(m.layout, i, k) < share ||
				hamidp_layout_slice_memory_mib(m.layout, i, k) < mib))
				k++;
			o->need[i] = k;
			most = k <= o->cap[i] && k > most ? k : most;
		}
		o->units = o->n * most;
		hamidp_request_set_amounts(m.req, o->n, share, mib);
		if (share > 0 || mib > 0)
			check(&m, 0);
		machine_done(&m);
	}
	free(m.o);
}
END_TEST

/* And of so many cards, up to four are still the best. */
START_TEST(eight_cards_are_near_the_best)
{
	struct machine m = { .o = calloc(1, sizeof(*m.o)) };

	ck_assert_ptr_nonnull(m.o);
	rnd_state = (uint64_t)_i + 10001;
	machine_draw(&m, 8 + rnd(5), 8, false);
	m.o->placement = HAMIDP_PLACEMENT_PACK;
	m.o->n = 8;
	m.o->base = 1 + rnd(3);
	m.o->rem = 0;
	m.o->units = 8 * m.o->base;
	hamidp_request_set_devices(m.req, 8, m.o->base);
	check(&m, 0.03);
	for (uint32_t k = 1; k <= 4; k++)
		try_devices(&m, k, 1 + rnd(8));
	machine_done(&m);
	free(m.o);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("objective");
	TCase *tcase = tcase_create("brute force");

	tcase_add_loop_test(tcase, up_to_four_cards_the_best_set_is_found, 0, 60);
	tcase_add_loop_test(tcase, amounts_take_the_best_cards, 0, 40);
	tcase_add_loop_test(tcase, eight_cards_are_near_the_best, 0, 40);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
