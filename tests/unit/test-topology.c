/* SPDX-License-Identifier: Apache-2.0 */

/* Machines as they are sold, against the answers of a brute force that knows nothing of us. */

#include <errno.h>
#include <jansson.h>

#include "bundled.h"
#include "inventory.h"
#include "suite.h"
#include "topology-file.h"

static const char *const names[] = {
	"a100-pcie-x4-bridged", "dgx-a100", "dgx-h100",	 "dgx1-v100",	      "dgx2-v100",
	"gb200-tray",		"l40s-x4",  "mi300x-x8", "rtx4090-x8-allsys", "rtx8000-x4"
};

static json_t *read_answers(const char *name, size_t n)
{
	char path[4096], size[8];
	json_t *all, *answer;

	(void)snprintf(path, sizeof(path), "%s/topologies/answers.json",
		       getenv("HAMIDP_TEST_DATA"));
	(void)snprintf(size, sizeof(size), "%zu", n);
	all = json_load_file(path, 0, NULL);
	ck_assert_ptr_nonnull(all);
	answer = json_deep_copy(json_object_get(json_object_get(all, name), size));
	ck_assert_msg(json_is_object(answer), "%s has no sets of %zu", name, n);
	json_decref(all);
	return answer;
}

static int64_t index_at(const struct hamidp_inventory *inv, size_t pos)
{
	return hamidp_device_index(hamidp_inventory_device(inv, pos));
}

static void check_first(const struct hamidp_inventory *inv, const json_t *answer,
			const size_t *positions, size_t n)
{
	const json_t *first = json_object_get(answer, "first");

	ck_assert_uint_eq(json_array_size(first), n);
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(index_at(inv, positions[i]),
				 json_integer_value(json_array_get(first, i)));
}

static struct hamidp_layout *make_layout(struct hamidp_inventory *inv, uint32_t slots,
					 enum hamidp_placement placement)
{
	struct hamidp_slicing slicing = { .size = sizeof(slicing), .slots = slots };
	struct hamidp_policy *policy = NULL;
	struct hamidp_layout *layout = NULL;

	ck_assert_int_eq(hamidp_policy_new(&policy), 0);
	ck_assert_int_eq(hamidp_policy_add_resource(policy, "hami.com/vgpu", &slicing, NULL, NULL),
			 0);
	ck_assert_int_eq(hamidp_policy_set_placement(policy, placement), 0);
	ck_assert_int_eq(hamidp_layout_new(inv, policy, &layout, NULL), 0);
	hamidp_policy_free(policy);
	return layout;
}

/* The devices that a request for @n x @each slots gets where the first slots of some are held. */
static void place(struct hamidp_layout *layout, uint32_t held, uint32_t n, uint32_t each,
		  size_t *ret_positions)
{
	struct hamidp_occupancy *occ = NULL;
	struct hamidp_request *req = NULL;
	struct hamidp_decision *decision = NULL;
	size_t k = 0;

	ck_assert_int_eq(hamidp_occupancy_new(layout, &occ), 0);
	ck_assert_int_eq(hamidp_request_new(&req), 0);
	ck_assert_int_eq(hamidp_decision_new(&decision), 0);
	for (size_t pos = 0; held >> pos; pos++)
		for (uint32_t i = 0;
		     held >> pos & 1 && i < hamidp_layout_device_n_slots(layout, pos); i++)
			ck_assert_int_eq(hamidp_occupancy_hold(
						 occ,
						 hamidp_layout_device_first_slot(layout, pos) + i,
						 "x"),
					 0);
	hamidp_request_set_devices(req, n, each);
	ck_assert_int_eq(hamidp_place(layout, occ, req, decision, NULL), 0);
	ck_assert_uint_eq(hamidp_decision_n_slots(decision), n * each);
	for (size_t i = 0; i < n; i++)
		ret_positions[k++] =
			hamidp_layout_slot_device(layout, hamidp_decision_slot(decision, i * each));
	hamidp_decision_free(decision);
	hamidp_request_free(req);
	hamidp_occupancy_free(occ);
}

static void check_machine(struct hamidp_inventory *inv, const char *name)
{
	for (uint32_t n = 2; n <= 4; n += 2) {
		json_t *answer = read_answers(name, n);
		size_t positions[TOPOLOGY_MAX];
		uint64_t score = 0;

		ck_assert_int_eq(hamidp_inventory_best_set(inv, n, positions, &score), 0);
		check_first(inv, answer, positions, n);
		ck_assert_int_eq((int64_t)score,
				 json_integer_value(json_object_get(answer, "score")));
		for (uint32_t slots = 1; slots <= 100; slots += 33)
			for (int p = HAMIDP_PLACEMENT_PACK; p <= HAMIDP_PLACEMENT_TOPOLOGY; p++) {
				struct hamidp_layout *layout =
					make_layout(inv, slots, (enum hamidp_placement)p);

				place(layout, 0, n, slots, positions);
				check_first(inv, answer, positions, n);
				place(layout, 0, n, 1, positions);
				check_first(inv, answer, positions, n);
				hamidp_layout_unref(layout);
			}
		json_decref(answer);
	}
}

START_TEST(empty_machine_gives_the_best_set)
{
	struct topology_file t;
	struct hamidp_inventory *inv;

	topology_read(names[_i], &t);
	inv = topology_inventory(&t, NULL);
	check_machine(inv, names[_i]);
	hamidp_inventory_unref(inv);
}
END_TEST

START_TEST(order_of_input_means_nothing)
{
	struct hamidp_inventory *inv;
	struct topology_file t;
	size_t order[TOPOLOGY_MAX];

	topology_read(names[_i], &t);
	for (size_t i = 0; i < t.n; i++)
		order[i] = (i * 5 + 3) % t.n; /* no count of devices has the factor 5 */
	inv = topology_inventory(&t, order);
	check_machine(inv, names[_i]);
	hamidp_inventory_unref(inv);
}
END_TEST

START_TEST(bundled_machine_gives_the_best_set)
{
	struct hamidp_inventory *inv = NULL;
	const struct hdp_bundled *bundled = NULL;

	for (size_t i = 0; i < hdp_bundled_n && !bundled; i++)
		if (strcmp(hdp_bundled[i].name, names[_i]) == 0)
			bundled = &hdp_bundled[i];
	ck_assert_ptr_nonnull(bundled);
	ck_assert_int_eq(hamidp_inventory_from_json(bundled->text, bundled->len, &inv, NULL), 0);
	check_machine(inv, names[_i]);
	hamidp_inventory_unref(inv);
}
END_TEST

/* {0,1} shares a socket, but {0,4} and {1,5} have two NVLinks. */
START_TEST(links_count_before_numa)
{
	struct hamidp_inventory *inv;
	struct hamidp_layout *layout;
	struct topology_file t;
	size_t got[2];

	topology_read("dgx1-v100", &t);
	inv = topology_inventory(&t, NULL);
	layout = make_layout(inv, 10, HAMIDP_PLACEMENT_PACK);
	place(layout, 0xcc, 2, 10, got);
	ck_assert_int_eq(index_at(inv, got[0]), 0);
	ck_assert_int_eq(index_at(inv, got[1]), 4);
	hamidp_layout_unref(layout);
	hamidp_inventory_unref(inv);
}
END_TEST

/* Whatever is held, two cards lie in one socket while one has two free. */
START_TEST(pairs_do_not_cross_sockets_without_need)
{
	struct hamidp_inventory *inv;
	struct hamidp_layout *layout;
	struct topology_file t;
	size_t got[2];

	topology_read("rtx4090-x8-allsys", &t);
	inv = topology_inventory(&t, NULL);
	layout = make_layout(inv, 4, HAMIDP_PLACEMENT_PACK);
	for (uint32_t held = 0; held < 256; held++) {
		unsigned low = 4 - (unsigned)__builtin_popcount(held & 0x0f);
		unsigned high = 4 - (unsigned)__builtin_popcount(held & 0xf0);

		if (low + high < 2)
			continue;
		place(layout, held, 2, 4, got);
		ck_assert_msg((t.numa[got[0]] == t.numa[got[1]]) == (low >= 2 || high >= 2),
			      "held %#x: %zu and %zu", held, got[0], got[1]);
	}
	hamidp_layout_unref(layout);
	hamidp_inventory_unref(inv);
}
END_TEST

/* One card of an empty machine is one that tears the fewest pairs: here one without a bridge. */
START_TEST(free_cards_with_links_are_spared)
{
	struct hamidp_inventory *inv;
	struct hamidp_layout *layout;
	struct topology_file t;
	size_t got[2];

	topology_read("a100-pcie-x4-bridged", &t);
	inv = topology_inventory(&t, NULL);
	layout = make_layout(inv, 4, HAMIDP_PLACEMENT_PACK);
	place(layout, 1, 1, 2, got);
	ck_assert_uint_eq(got[0], 1); /* its partner is taken */
	place(layout, 4, 1, 2, got);
	ck_assert_uint_eq(got[0], 3);
	hamidp_layout_unref(layout);
	hamidp_inventory_unref(inv);
}
END_TEST

START_TEST(best_sets_have_bounds)
{
	struct hamidp_inventory *inv;
	struct topology_file t;
	size_t got[TOPOLOGY_MAX];
	uint64_t score = 1;

	topology_read("l40s-x4", &t);
	inv = topology_inventory(&t, NULL);
	ck_assert_int_eq(hamidp_inventory_best_set(inv, 0, got, NULL), -EINVAL);
	ck_assert_int_eq(hamidp_inventory_best_set(inv, 5, got, NULL), -EINVAL);
	ck_assert_int_eq(hamidp_inventory_best_set(inv, 1, got, &score), 0);
	ck_assert_uint_eq(got[0], 0);
	ck_assert_uint_eq(score, 0);
	hamidp_inventory_unref(inv);
}
END_TEST

START_TEST(equal_machines_share_a_topology)
{
	struct hamidp_inventory *a, *b, *other;
	struct topology_file t;

	topology_read("dgx1-v100", &t);
	a = topology_inventory(&t, NULL);
	b = topology_inventory(&t, NULL);
	t.lanes[0][1] = t.lanes[1][0] = 2;
	other = topology_inventory(&t, NULL);
	ck_assert_int_eq(hamidp_inventory_prepare(a), 0);
	ck_assert_ptr_ne(a->topology, b->topology);
	ck_assert_int_eq(hamidp_inventory_adopt_topology(b, a), 0);
	ck_assert_ptr_eq(a->topology, b->topology);
	ck_assert_int_eq(hamidp_inventory_adopt_topology(b, b), 0);
	ck_assert_int_eq(hamidp_inventory_adopt_topology(other, a), -EINVAL);
	ck_assert_ptr_ne(a->topology, other->topology);
	hamidp_inventory_unref(a);
	check_machine(b, "dgx1-v100");
	hamidp_inventory_unref(b);
	hamidp_inventory_unref(other);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("topology");
	TCase *tcase = tcase_create("machines");

	tcase_add_loop_test(tcase, empty_machine_gives_the_best_set, 0, ARRAY_SIZE(names));
	tcase_add_loop_test(tcase, order_of_input_means_nothing, 0, ARRAY_SIZE(names));
	tcase_add_loop_test(tcase, bundled_machine_gives_the_best_set, 0, ARRAY_SIZE(names));
	tcase_add_test(tcase, links_count_before_numa);
	tcase_add_test(tcase, pairs_do_not_cross_sockets_without_need);
	tcase_add_test(tcase, free_cards_with_links_are_spared);
	tcase_add_test(tcase, best_sets_have_bounds);
	tcase_add_test(tcase, equal_machines_share_a_topology);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
