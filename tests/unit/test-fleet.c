/* SPDX-License-Identifier: Apache-2.0 */

/* The choice among many nodes: what is chosen, that nothing stale is remembered, and who is alike.
 */

#include <errno.h>
#include <stdint.h>

#include "fixture.h"
#include "fleet.h"
#include "suite.h"

#define NODES_MAX 40

static uint64_t rnd_state;

static uint32_t rnd(uint32_t below)
{
	rnd_state = rnd_state * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(rnd_state >> 33) % below;
}

struct yard {
	struct hamidp_fleet *fleet;
	struct hamidp_request *req;
	struct hamidp_decision *decision;
	struct hamidp_reason *reason;
};

static void yard_init(struct yard *y)
{
	ck_assert_int_eq(hamidp_fleet_new(&y->fleet), 0);
	ck_assert_int_eq(hamidp_request_new(&y->req), 0);
	ck_assert_int_eq(hamidp_decision_new(&y->decision), 0);
	ck_assert_int_eq(hamidp_reason_new(&y->reason), 0);
}

static void yard_done(struct yard *y)
{
	hamidp_fleet_free(y->fleet);
	hamidp_request_free(y->req);
	hamidp_decision_free(y->decision);
	hamidp_reason_free(y->reason);
}

/* Draws as in fixture.h; 'x' is held by "someone". */
static size_t add_drawn(struct hamidp_fleet *fleet, const char *name, const char *text)
{
	struct fixture *f = calloc(1, sizeof(*f));
	size_t node;

	ck_assert_ptr_nonnull(f);
	fixture_draw(f, text, false);
	ck_assert_int_eq(hamidp_fleet_add(fleet, name, f->layout, &node), 0);
	for (size_t slot = 0; slot < hamidp_layout_n_slots(f->layout); slot++)
		if (fixture_at(f, slot) == 'x')
			ck_assert_int_eq(hamidp_fleet_hold(fleet, node, slot, "someone"), 0);
	fixture_done(f);
	free(f);
	return node;
}

static int place(struct yard *y, size_t *ret_node)
{
	return hamidp_fleet_place(y->fleet, y->req, NULL, NULL, y->decision, ret_node, y->reason);
}

static const struct {
	const char *nodes[4];
	uint32_t units;
	size_t chosen; /* HAMIDP_NO_NODE: none */
	uint32_t largest;
} cases[] = {
	/* The tightest. */
	{ { "xx.. xx..", "x... xxxx", "x... xxx." }, 2, 0, 0 },
	{ { "x... xxx.", "xx.. ....", "x... x..." }, 1, 0, 0 },
	{ { "....", "x...", "xxx.", "xx.." }, 2, 3, 0 },
	/* Ties by name: they are called "d", "c", "b", "a". */
	{ { "xx..", "xx..", "xx..", "xx.." }, 2, 3, 0 },
	{ { "....", "....", "xxxx", "...." }, 1, 3, 0 },
	/* Nobody has room, or is large enough; the largest is what any of them could. */
	{ { "xxx.", "xx..", "xxxx" }, 3, HAMIDP_NO_NODE, 2 },
	{ { "....", ".. .." }, 9, HAMIDP_NO_NODE, 0 },
	{ { "!....", "xx.." }, 3, HAMIDP_NO_NODE, 2 },
	{ { "!....", "...." }, 3, 1, 0 },
	/* One that has the form beats those that would split. */
	{ { "xx.. xx..", "xxxx ....", "xx.. xx.." }, 4, 1, 0 },
};

START_TEST(the_node_is_the_one_that_is_due)
{
	static const char *const names[] = { "d", "c", "b", "a" };
	size_t node = HAMIDP_NO_NODE;
	struct yard y;
	int r;

	yard_init(&y);
	for (size_t i = 0; i < 4 && cases[_i].nodes[i]; i++)
		ck_assert_uint_eq(add_drawn(y.fleet, names[i], cases[_i].nodes[i]), i);
	hamidp_request_set_units(y.req, cases[_i].units);
	for (unsigned again = 0; again < 2; again++) { /* the second time from memory */
		r = place(&y, &node);
		ck_assert_int_eq(r, cases[_i].chosen == HAMIDP_NO_NODE ? -ENOSPC : 0);
		ck_assert_uint_eq(node, cases[_i].chosen);
		ck_assert_uint_eq(hamidp_reason_largest(y.reason), cases[_i].largest);
		if (r == 0)
			ck_assert_ptr_eq(hamidp_decision_layout(y.decision),
					 hamidp_fleet_layout(y.fleet, node));
	}
	yard_done(&y);
}
END_TEST

/* Where splits are allowed at all: a node that has the form comes before any that would split. */
START_TEST(a_split_is_the_last_resort)
{
	size_t node = HAMIDP_NO_NODE;
	struct yard y;

	yard_init(&y);
	add_drawn(y.fleet, "a", "xx.. xx..");
	hamidp_request_set_units(y.req, 4);
	ck_assert_int_eq(place(&y, &node), -ENOSPC);
	ck_assert_int_eq(hamidp_reason_code(y.reason), HAMIDP_REASON_SPLIT_DENIED);
	ck_assert_int_eq(hamidp_request_set_split(y.req, HAMIDP_SPLIT_ALLOW), 0);
	ck_assert_int_eq(place(&y, &node), 0);
	ck_assert_uint_eq(node, 0);
	ck_assert_int_eq(hamidp_decision_is_split(y.decision), 1);
	ck_assert_uint_eq(add_drawn(y.fleet, "b", ".... .... .... ...."), 1);
	ck_assert_int_eq(place(&y, &node), 0);
	ck_assert_uint_eq(node, 1);
	yard_done(&y);
}
END_TEST

static int admits(size_t node, void *userdata)
{
	const bool *admitted = userdata;

	return admitted[node];
}

START_TEST(only_admitted_nodes_are_chosen_or_counted)
{
	bool admitted[3] = { false, true, true };
	size_t node = HAMIDP_NO_NODE;
	struct yard y;

	yard_init(&y);
	add_drawn(y.fleet, "a", "xx.. ....");
	add_drawn(y.fleet, "b", ".... x...");
	add_drawn(y.fleet, "c", "x... x...");
	hamidp_request_set_units(y.req, 2);
	ck_assert_int_eq(place(&y, &node), 0);
	ck_assert_uint_eq(node, 0);
	ck_assert_int_eq(hamidp_fleet_place(y.fleet, y.req, admits, admitted, y.decision, &node,
					    y.reason),
			 0);
	ck_assert_uint_eq(node, 1);
	admitted[1] = false;
	ck_assert_int_eq(hamidp_fleet_place(y.fleet, y.req, admits, admitted, y.decision, &node,
					    y.reason),
			 0);
	ck_assert_uint_eq(node, 2);

	hamidp_request_set_devices(y.req, 1, 4);
	ck_assert_int_eq(hamidp_fleet_place(y.fleet, y.req, admits, admitted, y.decision, &node,
					    y.reason),
			 -ENOSPC);
	ck_assert_uint_eq(hamidp_reason_largest(y.reason), 3);
	admitted[2] = false;
	ck_assert_int_eq(hamidp_fleet_place(y.fleet, y.req, admits, admitted, y.decision, &node,
					    y.reason),
			 -ENOSPC);
	ck_assert_uint_eq(hamidp_reason_largest(y.reason), 0);
	ck_assert_uint_eq(node, 2);
	yard_done(&y);
}
END_TEST

struct biases {
	int64_t of[4]; /* in slots times HAMIDP_COST_ONE */
	unsigned n_asked[4];
};

static int64_t bias(size_t node, void *userdata)
{
	struct biases *b = userdata;

	b->n_asked[node]++;
	return b->of[node];
}

/* One slot of a card of four that is free costs 7/4, of one that is half free 3/4. */
static const struct {
	double slots[4];
	size_t chosen;
} biased[] = {
	{ { 0, 0, 0, 0 }, 1 },	       { { 0, 0.99, 0, 0 }, 1 },    { { 0, 1.01, 0, 0 }, 0 },
	{ { -1.01, 0, 0, 0 }, 0 },     { { 1, 2, -100, -1e9 }, 0 }, /* a tie goes by name; who has
								       no room stays without */
	{ { 9e12, 9e12, 0, 0 }, 0 }, /* both beyond, so equal: by name */
	{ { -9e12, -9e12, 0, 0 }, 1 },
};

START_TEST(a_bias_weighs_against_the_cost)
{
	struct biases b = { 0 };
	size_t node = HAMIDP_NO_NODE;
	struct yard y;

	yard_init(&y);
	add_drawn(y.fleet, "a", "....");
	add_drawn(y.fleet, "b", "xx..");
	add_drawn(y.fleet, "c", "xxxx");
	add_drawn(y.fleet, "d", "xxxx xxxx");
	hamidp_request_set_units(y.req, 1);
	for (size_t i = 0; i < 4; i++)
		b.of[i] = biased[_i].slots[i] > 8e12 ? INT64_MAX
			  : biased[_i].slots[i] < -8e12
				  ? INT64_MIN
				  : (int64_t)(biased[_i].slots[i] * HAMIDP_COST_ONE);
	hamidp_fleet_set_bias(y.fleet, bias, &b);
	for (unsigned again = 1; again <= 2; again++) { /* the second time from memory */
		ck_assert_int_eq(place(&y, &node), 0);
		ck_assert_uint_eq(node, biased[_i].chosen);
		for (size_t i = 0; i < 4; i++)
			ck_assert_uint_eq(b.n_asked[i], i < 2 ? again : 0);
	}
	hamidp_fleet_set_bias(y.fleet, NULL, NULL);
	ck_assert_int_eq(place(&y, &node), 0);
	ck_assert_uint_eq(node, 1);
	yard_done(&y);
}
END_TEST

/* The same nodes in a fleet that remembers nothing, added the other way round. */
static struct hamidp_fleet *rebuild(const struct hamidp_fleet *fleet)
{
	struct hamidp_fleet *copy = NULL;

	ck_assert_int_eq(hamidp_fleet_new(&copy), 0);
	for (size_t i = hamidp_fleet_n_nodes(fleet); i-- > 0;) {
		const struct hamidp_occupancy *occ = hamidp_fleet_occupancy(fleet, i);
		struct hamidp_layout *layout = hamidp_fleet_layout(fleet, i);
		size_t node;

		ck_assert_int_eq(hamidp_fleet_add(copy, hamidp_fleet_name(fleet, i), layout, &node),
				 0);
		for (size_t slot = 0; slot < hamidp_layout_n_slots(layout); slot++)
			if (hamidp_occupancy_holder(occ, slot))
				ck_assert_int_eq(hamidp_fleet_hold(copy, node, slot,
								   hamidp_occupancy_holder(occ,
											   slot)),
						 0);
	}
	return copy;
}

static void ask(struct hamidp_request *req, unsigned n_shapes)
{
	uint32_t shape = rnd(n_shapes);

	hamidp_request_reset(req);
	hamidp_request_set_numa_node(req, shape % 5 == 4 ? 0 : -1);
	if (shape % 2)
		hamidp_request_set_devices(req, 1 + shape % 3, 1 + shape / 4);
	else
		hamidp_request_set_units(req, 1 + shape);
}

/* As a new fleet chooses, and as placement on that node alone decides. */
static void expect_as_rebuilt(struct yard *y, int r, size_t node)
{
	struct hamidp_fleet *fresh = rebuild(y->fleet);
	struct hamidp_decision *decision = NULL;
	struct hamidp_reason *reason = NULL;
	size_t other = HAMIDP_NO_NODE;

	ck_assert_int_eq(hamidp_decision_new(&decision), 0);
	ck_assert_int_eq(hamidp_reason_new(&reason), 0);
	ck_assert_int_eq(hamidp_fleet_place(fresh, y->req, NULL, NULL, decision, &other, reason),
			 r);
	ck_assert_int_eq(hamidp_reason_code(y->reason), hamidp_reason_code(reason));
	ck_assert_uint_eq(hamidp_reason_largest(y->reason), hamidp_reason_largest(reason));
	if (r == 0) {
		ck_assert_str_eq(hamidp_fleet_name(y->fleet, node),
				 hamidp_fleet_name(fresh, other));
		ck_assert_uint_eq(hamidp_decision_n_slots(y->decision),
				  hamidp_decision_n_slots(decision));
		for (size_t i = 0; i < hamidp_decision_n_slots(decision); i++)
			ck_assert_uint_eq(hamidp_decision_slot(y->decision, i),
					  hamidp_decision_slot(decision, i));
	}
	hamidp_reason_free(reason);
	hamidp_decision_free(decision);
	hamidp_fleet_free(fresh);
}

/* Pods come and go, nodes are added meanwhile, and more kinds of requests than are remembered. */
START_TEST(memory_changes_no_choice)
{
	static const char *const kinds[] = { "@0.... @1....",  "........",   ".... ....",
					     "@0.. @0.. @1..", "!.... ....", "&.... ...." };
	unsigned n_shapes = _i % 2 ? 3 * HDP_SHAPES_MAX : 6, n_placed = 0;
	struct yard y;
	char name[16];

	rnd_state = (uint64_t)_i + 1;
	yard_init(&y);
	for (unsigned round = 0; round < 300; round++) {
		size_t node = 0, n = hamidp_fleet_n_nodes(y.fleet);
		int r;

		if (n < NODES_MAX && (n == 0 || rnd(6) == 0)) {
			snprintf(name, sizeof(name), "node-%u-%zu", rnd(100), n);
			add_drawn(y.fleet, name, kinds[rnd(6)]);
			n++;
		}
		snprintf(name, sizeof(name), "pod-%u", rnd(60));
		if (rnd(3) == 0) {
			(void)hamidp_fleet_release(y.fleet, rnd((uint32_t)n), name);
			continue;
		}
		ask(y.req, n_shapes);
		r = place(&y, &node);
		ck_assert(r == 0 || r == -ENOSPC);
		expect_as_rebuilt(&y, r, node);
		if (r == 0) {
			ck_assert_int_eq(hamidp_fleet_apply(y.fleet, node, y.decision, name, NULL),
					 0);
			n_placed++;
		}
	}
	ck_assert_uint_gt(n_placed, 20);
	yard_done(&y);
}
END_TEST

/* Equal but for UUIDs: one type, scored once while they are empty. */
START_TEST(nodes_that_are_alike_share_what_they_cost)
{
	static const char *const other[] = { "@0.... @1....", "@0.... !@0....", "@0.... @0...",
					     "@0.... @0.... @0....", "@0.... &@0...." };
	struct yard y;

	yard_init(&y);
	add_drawn(y.fleet, "a", "@0.... @0....");
	add_drawn(y.fleet, "b", "@0.... @0....");
	ck_assert_uint_eq(y.fleet->n_types, 1);
	for (size_t i = 0; i < ARRAY_SIZE(other); i++) {
		char name[2] = { (char)('c' + i), '\0' };

		add_drawn(y.fleet, name, other[i]);
		ck_assert_uint_eq(y.fleet->n_types, 2 + i);
	}
	yard_done(&y);
}
END_TEST

/* @lanes between the two; UUIDs with a prefix. */
static struct hamidp_layout *linked_layout(const char *prefix, uint32_t lanes)
{
	struct hdp_machine m = { 0 };
	struct hamidp_inventory *inv = NULL;
	struct hamidp_policy *policy = NULL;
	struct hamidp_layout *layout = NULL;
	struct hdp_link_info link = { .type = HAMIDP_LINK_NVLINK, .lanes = lanes };

	for (unsigned i = 0; i < 2; i++) {
		struct hdp_device_info info = HDP_DEVICE_INFO_INIT;

		ck_assert_int_gt(asprintf(&info.uuid, "%s-%u", prefix, i), 0);
		info.memory_mib = 1024;
		info.health = HAMIDP_HEALTH_HEALTHY;
		ck_assert_int_eq(hdp_machine_add_device(&m, &info), 0);
	}
	ck_assert_int_gt(asprintf(&link.a, "%s-0", prefix), 0);
	ck_assert_int_gt(asprintf(&link.b, "%s-1", prefix), 0);
	ck_assert_int_eq(hdp_machine_add_link(&m, &link), 0);
	ck_assert_int_eq(hdp_machine_seal(&m, &inv, NULL), 0);
	ck_assert_int_eq(hamidp_policy_new(&policy), 0);
	ck_assert_int_eq(hamidp_policy_add_resource(policy, "hami.com/vgpu", NULL, NULL, NULL), 0);
	ck_assert_int_eq(hamidp_layout_new(inv, policy, &layout, NULL), 0);
	hamidp_inventory_unref(inv);
	hamidp_policy_free(policy);
	return layout;
}

START_TEST(links_make_a_type)
{
	static const struct {
		const char *prefix;
		uint32_t lanes;
		size_t n_types;
	} nodes[] = { { "A", 2, 1 }, { "B", 2, 1 }, { "C", 4, 2 }, { "D", 2, 2 } };
	struct yard y;

	yard_init(&y);
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		struct hamidp_layout *layout = linked_layout(nodes[i].prefix, nodes[i].lanes);

		ck_assert_int_eq(hamidp_fleet_add(y.fleet, nodes[i].prefix, layout, NULL), 0);
		ck_assert_uint_eq(y.fleet->n_types, nodes[i].n_types);
		hamidp_layout_unref(layout);
	}
	yard_done(&y);
}
END_TEST

START_TEST(names_are_unique_and_bounded)
{
	struct hamidp_layout *layout = linked_layout("A", 1);
	char name[HAMIDP_FLEET_NAME_MAX + 2];
	size_t node = 9;
	struct yard y;

	yard_init(&y);
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	ck_assert_int_eq(hamidp_fleet_add(y.fleet, name, layout, &node), -EINVAL);
	ck_assert_int_eq(hamidp_fleet_add(y.fleet, "", layout, &node), -EINVAL);
	ck_assert_uint_eq(node, 9);
	name[sizeof(name) - 2] = '\0';
	ck_assert_int_eq(hamidp_fleet_add(y.fleet, name, layout, &node), 0);
	ck_assert_uint_eq(node, 0);
	ck_assert_int_eq(hamidp_fleet_add(y.fleet, "other", layout, NULL), 0);
	ck_assert_int_eq(hamidp_fleet_add(y.fleet, name, layout, NULL), -EBUSY);
	ck_assert_uint_eq(hamidp_fleet_n_nodes(y.fleet), 2);
	ck_assert_int_eq(hamidp_fleet_find(y.fleet, "other", &node), 0);
	ck_assert_uint_eq(node, 1);
	ck_assert_int_eq(hamidp_fleet_find(y.fleet, "none", &node), -ENOENT);
	ck_assert_str_eq(hamidp_fleet_name(y.fleet, 0), name);
	ck_assert_ptr_null(hamidp_fleet_name(y.fleet, 2));
	ck_assert_ptr_null(hamidp_fleet_layout(y.fleet, 2));
	ck_assert_ptr_null(hamidp_fleet_occupancy(y.fleet, 2));
	hamidp_layout_unref(layout);
	yard_done(&y);
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
	size_t node = 9;
	struct yard y;

	yard_init(&y);
	hamidp_request_set_units(y.req, 1);
	ck_assert_int_eq(place(&y, &node), -ENOSPC); /* no nodes */
	add_drawn(y.fleet, "a", "....");
	hamidp_request_set_units(y.req, 0);
	ck_assert_int_eq(place(&y, &node), -EINVAL);
	hamidp_request_set_units(y.req, 1);
	hamidp_request_set_numa_node(y.req, -2);
	ck_assert_int_eq(place(&y, &node), -EINVAL);
	hamidp_request_set_numa_node(y.req, -1);
	ck_assert_int_eq(hamidp_request_add_required(y.req, 0), 0);
	ck_assert_int_eq(place(&y, &node), -EINVAL);
	hamidp_request_reset(y.req);
	hamidp_request_set_units(y.req, 1);
	hamidp_request_set_resource(y.req, 3); /* a resource that no node has */
	ck_assert_int_eq(place(&y, &node), -ENOSPC);
	ck_assert_uint_eq(node, 9);

	ck_assert_int_eq(hamidp_fleet_release(y.fleet, 1, "x"), -EINVAL);
	ck_assert_int_eq(hamidp_fleet_release(y.fleet, 0, "x"), -ENOENT);
	ck_assert_int_eq(hamidp_fleet_hold(y.fleet, 1, 0, "x"), -EINVAL);
	ck_assert_int_eq(hamidp_fleet_load(y.fleet, 1, NULL), -EINVAL);
	ck_assert_int_eq(hamidp_fleet_apply(y.fleet, 1, y.decision, "x", NULL), -EINVAL);
	yard_done(&y);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fleet");
	TCase *tcase = tcase_create("fleet");

	tcase_add_loop_test(tcase, the_node_is_the_one_that_is_due, 0, ARRAY_SIZE(cases));
	tcase_add_test(tcase, a_split_is_the_last_resort);
	tcase_add_loop_test(tcase, a_bias_weighs_against_the_cost, 0, ARRAY_SIZE(biased));
	tcase_add_test(tcase, only_admitted_nodes_are_chosen_or_counted);
	tcase_add_loop_test(tcase, memory_changes_no_choice, 0, 8);
	tcase_add_test(tcase, nodes_that_are_alike_share_what_they_cost);
	tcase_add_test(tcase, links_make_a_type);
	tcase_add_test(tcase, names_are_unique_and_bounded);
	tcase_add_test(tcase, what_makes_no_sense_is_refused);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
