/* SPDX-License-Identifier: Apache-2.0 */

/* Devices that the policy wants to cut differently while slots of them are held. */

#include "node-fixture.h"
#include "suite.h"

#define MEMORY_MIB 40960U

/* Two devices; the one with index 0 is cut in two, the one with index 1 in ten. */
static void put_pair(int index_a, int index_b, unsigned memory_b_mib)
{
	char text[512];

	(void)snprintf(
		text, sizeof(text),
		"{\"schema\":\"hami.inventory/1\",\"devices\":["
		"{\"uuid\":\"GPU-a\",\"index\":%d,\"memory_mib\":%u,\"health\":\"healthy\"},"
		"{\"uuid\":\"GPU-b\",\"index\":%d,\"memory_mib\":%u,\"health\":\"healthy\"}]}",
		index_a, MEMORY_MIB, index_b, memory_b_mib);
	replace_file(file_path, text);
}

static struct hamidp_node *open_pair(void)
{
	struct hamidp_slicing two = { .size = sizeof(two), .slots = 2 };
	struct hamidp_slicing ten = { .size = sizeof(ten), .slots = 10 };
	struct hamidp_policy *policy = new_policy(0);
	char spec[sizeof(file_path) + 8];
	struct hamidp_node_options opts = {
		.size = sizeof(opts),
		.driver = spec,
		.policy = policy,
		.log_fn = fixture_log,
		.log_priority = LOG_DEBUG,
		.now_fn = fixture_now,
	};
	struct hamidp_node *node = NULL;

	ck_assert_int_eq(hamidp_policy_add_override(policy, HAMIDP_MATCH_INDEX, "0", &two, NULL),
			 0);
	ck_assert_int_eq(hamidp_policy_add_override(policy, HAMIDP_MATCH_INDEX, "1", &ten, NULL),
			 0);
	put_pair(0, 1, MEMORY_MIB);
	(void)snprintf(spec, sizeof(spec), "sim:%s", file_path);
	ck_assert_int_eq(hamidp_node_open(&opts, &node, why), 0);
	hamidp_policy_free(policy);
	return node;
}

static uint32_t cut_of(const struct hamidp_node *node, size_t pos)
{
	return hamidp_layout_device_n_slots(hamidp_node_layout(node), pos);
}

/* Each slot of each grant is in the layout, and held by it. */
static void check_held(const struct hamidp_node *node)
{
	for (size_t i = 0; i < hamidp_node_n_grants(node); i++) {
		const struct hamidp_grant *grant = hamidp_node_grant(node, i);

		for (size_t j = 0; j < hamidp_grant_n_slots(grant); j++) {
			size_t slot = 0;

			ck_assert_int_eq(hamidp_layout_find_slot(hamidp_node_layout(node),
								 hamidp_grant_slot_id(grant, j),
								 &slot),
					 0);
			ck_assert_str_eq(hamidp_occupancy_holder(hamidp_node_occupancy(node), slot),
					 hamidp_grant_id(grant));
		}
	}
}

START_TEST(held_device_stays_cut_as_it_was)
{
	struct hamidp_node *node = open_pair();
	struct hamidp_grant *tenth = grant_ids(node, "GPU-b::7 GPU-b::8");

	(void)take_events(node, HAMIDP_EVENT_LAYOUT, NULL);
	put_pair(1, 0, MEMORY_MIB);
	settle(node);
	ck_assert_uint_eq(cut_of(node, 0), 10);
	ck_assert_uint_eq(cut_of(node, 1), 10);
	ck_assert_uint_eq(hamidp_occupancy_n_free(hamidp_node_occupancy(node), 1), 8);
	ck_assert_ptr_nonnull(strstr(logged, "GPU-b: 10 slots of 4096 MiB as before"));
	ck_assert_uint_eq(take_events(node, HAMIDP_EVENT_LAYOUT, NULL), 1);
	check_held(node);

	ck_assert_int_eq(hamidp_node_release(node, hamidp_grant_id(tenth), why), 0);
	settle(node);
	ck_assert_uint_eq(cut_of(node, 1), 2);
	ck_assert_uint_eq(take_events(node, HAMIDP_EVENT_LAYOUT, NULL), 1);
	ck_assert_ptr_null(hamidp_layout_device_notice(hamidp_node_layout(node), 1));
	hamidp_node_close(node);
}
END_TEST

START_TEST(held_device_that_fits_no_more_is_served_until_it_is_free)
{
	struct hamidp_node *node = open_pair();
	struct hamidp_grant *tenth = grant_ids(node, "GPU-b::9");

	put_pair(0, 1, 5); /* ten slots need 10 MiB */
	settle(node);
	ck_assert_uint_eq(cut_of(node, 1), 10);
	check_held(node);
	/* No slice is larger than the card is now. */
	ck_assert_uint_eq(hamidp_layout_slice_memory_mib(hamidp_node_layout(node), 1, 1), 5);
	ck_assert_int_eq(hamidp_node_release(node, hamidp_grant_id(tenth), why), 0);
	settle(node);
	ck_assert_uint_eq(cut_of(node, 1), 0);
	hamidp_node_close(node);
}
END_TEST

/* Whatever the indices do, what the grants of a card have together is at most the card. */
START_TEST(no_card_is_handed_out_twice)
{
	struct hamidp_node *node = open_pair();
	struct hamidp_grant *grants[64];
	uint64_t handed_out[2] = { 0 };
	size_t n = 0;

	for (unsigned round = 0; round < 8; round++) {
		const struct hamidp_layout *layout = hamidp_node_layout(node);

		for (size_t slot = round % 3; slot < hamidp_layout_n_slots(layout); slot += 3)
			if (!hamidp_occupancy_holder(hamidp_node_occupancy(node), slot) && n < 64)
				grants[n++] = grant_ids(node, hamidp_layout_slot_id(layout, slot));
		put_pair((int)(round + 1) % 2, (int)round % 2, MEMORY_MIB);
		settle(node);
		check_held(node);
	}
	for (size_t i = 0; i < n; i++) {
		bool is_b = strcmp(hamidp_grant_slice_device(grants[i], 0), "GPU-b") == 0;

		handed_out[is_b] += hamidp_grant_slice_memory_mib(grants[i], 0);
	}
	ck_assert_uint_gt(handed_out[0], 0);
	ck_assert_uint_le(handed_out[0], MEMORY_MIB);
	ck_assert_uint_gt(handed_out[1], 0);
	ck_assert_uint_le(handed_out[1], MEMORY_MIB);
	hamidp_node_close(node);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("node-recut");
	TCase *tc = tcase_create("node-recut");

	tcase_add_checked_fixture(tc, fixture_setup, fixture_teardown);
	tcase_add_test(tc, held_device_stays_cut_as_it_was);
	tcase_add_test(tc, held_device_that_fits_no_more_is_served_until_it_is_free);
	tcase_add_test(tc, no_card_is_handed_out_twice);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
