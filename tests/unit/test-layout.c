/* SPDX-License-Identifier: Apache-2.0 */

/* Layouts: slots, their memory and share, which resource they belong to. */

#include <errno.h>

#include <hami/hamidp.h>

#include "layouts.h"
#include "suite.h"

START_TEST(four_cards_of_eight_slots_are_32)
{
	struct hamidp_layout *layout =
		laid_out(cards(4, 40960), policy_of("hami.com/vgpu", SLICING(.slots = 8)));
	size_t slot;

	ck_assert_uint_eq(hamidp_layout_n_slots(layout), 32);
	ck_assert_uint_eq(hamidp_layout_n_resources(layout), 1);
	ck_assert_uint_eq(hamidp_layout_resource_n_slots(layout, 0), 32);
	ck_assert_str_eq(hamidp_layout_resource_name(layout, 0), "hami.com/vgpu");
	ck_assert_str_eq(hamidp_layout_resource_prefix(layout, 0), "HAMI_VGPU");
	ck_assert_int_eq(hamidp_layout_resource_has_numa(layout, 0), 1);
	for (size_t pos = 0; pos < 4; pos++) {
		ck_assert_uint_eq(hamidp_layout_device_n_slots(layout, pos), 8);
		ck_assert_uint_eq(hamidp_layout_device_first_slot(layout, pos), pos * 8);
		ck_assert_uint_eq(hamidp_layout_device_resource(layout, pos), 0);
		ck_assert_ptr_null(hamidp_layout_device_notice(layout, pos));
		ck_assert_uint_eq(hamidp_layout_slice_memory_mib(layout, pos, 1), 5120);
		ck_assert_uint_eq(hamidp_layout_slice_share_ppm(layout, pos, 1), 125000);
		ck_assert_uint_eq(hamidp_layout_slice_memory_mib(layout, pos, 2), 10240);
		ck_assert_uint_eq(hamidp_layout_slice_share_ppm(layout, pos, 8), 1000000);
	}
	ck_assert_str_eq(hamidp_layout_slot_id(layout, 0), "gpu-0::0");
	ck_assert_str_eq(hamidp_layout_slot_id(layout, 31), "gpu-3::7");
	ck_assert_int_eq(hamidp_layout_find_slot(layout, "gpu-2::5", &slot), 0);
	ck_assert_uint_eq(slot, 21);
	ck_assert_uint_eq(hamidp_layout_slot_device(layout, slot), 2);
	ck_assert_ptr_null(hamidp_layout_unref(layout));
}
END_TEST

/* One card: what is asked for, what comes of it. */
static const struct {
	const char *what;
	uint64_t card_mib;
	struct hamidp_slicing slicing;
	uint32_t slots; /* 0: left out */
	uint64_t slot_mib;
	uint64_t all_mib; /* a slice of every slot */
	uint32_t slot_ppm;
	const char *notice[3]; /* parts; none: no notice */
} fits[] = {
	{ "default", 40960, { 0 }, 4, 10240, 40960, 250000, { 0 } },
	{ "exact", 40960, { .slots = 8, .memory_mib = 5120 }, 8, 5120, 40960, 125000, { 0 } },
	{ "smaller than possible", 40960, { .slots = 8, .memory_mib = 1 }, 8, 1, 8, 125000, { 0 } },
	{ "vendor rounding",
	  40536,
	  { .slots = 8, .memory_mib = 5120 },
	  8,
	  5067,
	  40536,
	  125000,
	  { "8 slots of 5120 MiB", "has 40536 MiB", "shrunk to 5067 MiB" } },
	{ "far too much",
	  40536,
	  { .slots = 8, .memory_mib = 10240 },
	  0,
	  0,
	  0,
	  0,
	  { "8 slots of 10240 MiB need 81920 MiB", "40536 MiB", "left out" } },
	{ "5 % above, exactly",
	  1000,
	  { .slots = 10, .memory_mib = 105 },
	  10,
	  100,
	  1000,
	  100000,
	  { "shrunk to 100 MiB" } },
	{ "a little more than 5 %",
	  1000,
	  { .slots = 1, .memory_mib = 1051 },
	  0,
	  0,
	  0,
	  0,
	  { "left out" } },
	{ "division with rest", 40536, { .slots = 7 }, 7, 5790, 40530, 142857, { 0 } },
	{ "a whole card", 81559, { .slots = 1 }, 1, 81559, 81559, 1000000, { 0 } },
	{ "less than 1 MiB a slot",
	  1023,
	  { .slots = 1024 },
	  0,
	  0,
	  0,
	  0,
	  { "1024 slots", "1023 MiB", "left out" } },
	{ "1 MiB a slot", 1024, { .slots = 1024 }, 1024, 1, 1024, 976, { 0 } },
	{ "memory is not known", 0, { .slots = 4, .memory_mib = 10 }, 0, 0, 0, 0, { "not known" } },
	{ "memory oversubscribed",
	  40960,
	  { .slots = 8, .memory_ratio_ppm = 2000000 },
	  8,
	  10240,
	  40960,
	  125000,
	  { 0 } },
	{ "both oversubscribed",
	  40960,
	  { .slots = 10, .memory_ratio_ppm = 1500000, .cores_ratio_ppm = 1500000 },
	  10,
	  6144,
	  40960,
	  150000,
	  { 0 } },
	{ "rounding above a ratio",
	  1000,
	  { .slots = 4, .memory_mib = 510, .memory_ratio_ppm = 2000000 },
	  4,
	  500,
	  1000,
	  250000,
	  { "may hand out 2000 MiB", "1000 MiB", "shrunk to 500 MiB" } },
	{ "one slot larger than the card",
	  1000,
	  { .slots = 1, .memory_mib = 1500, .memory_ratio_ppm = 2000000 },
	  1,
	  1000,
	  1000,
	  1000000,
	  { 0 } },
	{ "everything at its limit",
	  HDP_MEMORY_MIB_MAX,
	  { .slots = 1024,
	    .memory_mib = HDP_MEMORY_MIB_MAX,
	    .memory_ratio_ppm = 100000000,
	    .cores_ratio_ppm = 100000000 },
	  0,
	  0,
	  0,
	  0,
	  { "need 4398046511104 MiB", "may hand out 429496729600 MiB" } },
	{ "cores at their limit",
	  1024,
	  { .slots = 1024, .cores_ratio_ppm = 100000000 },
	  1024,
	  1,
	  1024,
	  97656,
	  { 0 } },
};

START_TEST(slots_fit_their_card_or_the_card_is_left_out)
{
	struct hamidp_slicing slicing = fits[_i].slicing;
	struct hamidp_layout *layout;
	const char *notice;

	slicing.size = sizeof(slicing);
	layout = laid_out(cards(1, fits[_i].card_mib), policy_of("a/b", &slicing));
	notice = hamidp_layout_device_notice(layout, 0);
	ck_assert_msg(hamidp_layout_device_n_slots(layout, 0) == fits[_i].slots, "%s",
		      fits[_i].what);
	ck_assert_uint_eq(hamidp_layout_n_slots(layout), fits[_i].slots);
	ck_assert_uint_eq(hamidp_layout_device_resource(layout, 0),
			  fits[_i].slots ? 0 : HAMIDP_NO_RESOURCE);
	ck_assert_uint_eq(hamidp_layout_slice_memory_mib(layout, 0, 1), fits[_i].slot_mib);
	ck_assert_uint_eq(hamidp_layout_slice_memory_mib(layout, 0, fits[_i].slots),
			  fits[_i].all_mib);
	ck_assert_uint_eq(hamidp_layout_slice_share_ppm(layout, 0, 1), fits[_i].slot_ppm);
	ck_assert_msg((notice != NULL) == (fits[_i].notice[0] != NULL), "%s: %s", fits[_i].what,
		      notice ? notice : "(no notice)");
	for (size_t i = 0; i < 3 && fits[_i].notice[i]; i++)
		ck_assert_msg(strstr(notice, fits[_i].notice[i]) != NULL, "%s: %s lacks %s",
			      fits[_i].what, notice, fits[_i].notice[i]);
	hamidp_layout_unref(layout);
}
END_TEST

START_TEST(strict_fit_refuses_what_would_shrink_or_be_left_out)
{
	for (size_t i = 0; i < ARRAY_SIZE(fits); i++) {
		struct hamidp_slicing slicing = fits[i].slicing;
		struct hamidp_inventory *inv = cards(1, fits[i].card_mib);
		struct hamidp_layout *layout = NULL;
		struct hamidp_policy *policy;
		struct hamidp_reason reason;
		int r;

		slicing.size = sizeof(slicing);
		policy = policy_of("a/b", &slicing);
		ck_assert_int_eq(hamidp_policy_set_memory_fit(policy, HAMIDP_MEMORY_FIT_STRICT), 0);
		r = hamidp_layout_new(inv, policy, &layout, &reason);
		ck_assert_msg(r == (fits[i].notice[0] ? -EINVAL : 0), "%s", fits[i].what);
		if (r < 0) {
			ck_assert_int_eq(reason.code, HAMIDP_REASON_MEMORY_FIT);
			ck_assert_ptr_nonnull(strstr(reason.text, "gpu-0: "));
			ck_assert_ptr_nonnull(strstr(reason.text, ": not accepted"));
			ck_assert_ptr_null(strstr(reason.text, "shrunk"));
			ck_assert_ptr_null(layout);
		}
		hamidp_layout_unref(layout);
		hamidp_inventory_unref(inv);
		hamidp_policy_free(policy);
	}
}
END_TEST

START_TEST(one_card_left_out_leaves_the_others)
{
	struct hdp_machine m = { 0 };
	struct hamidp_layout *layout;

	add_device(&m, "big", "0000:01:00.0", 81920);
	add_device(&m, "small", "0000:02:00.0", 40536);
	add_device(&m, "last", "0000:03:00.0", 81920);
	m.devices[0].numa_node = m.devices[2].numa_node = 0;
	layout = laid_out(sealed(&m), policy_of("a/b", SLICING(.slots = 8, .memory_mib = 10240)));
	ck_assert_uint_eq(hamidp_layout_n_slots(layout), 16);
	ck_assert_uint_eq(hamidp_layout_device_n_slots(layout, 1), 0);
	ck_assert_uint_eq(hamidp_layout_slot_device(layout, 8), 2);
	ck_assert_ptr_nonnull(hamidp_layout_device_notice(layout, 1));
	/* The card without a NUMA node is not served, so it does not count. */
	ck_assert_int_eq(hamidp_layout_resource_has_numa(layout, 0), 1);
	hamidp_layout_unref(layout);
}
END_TEST

START_TEST(more_slots_than_the_driver_supports_are_refused)
{
	struct hamidp_policy *policy = policy_of("a/b", SLICING(.slots = 129));
	struct hamidp_layout *layout = NULL;
	struct hdp_machine m = { 0 };
	struct hamidp_inventory *inv;
	struct hamidp_reason reason;

	add_device(&m, "a", NULL, 40960);
	m.max_slots = 128;
	inv = sealed(&m);
	ck_assert_int_eq(hamidp_layout_new(inv, policy, &layout, &reason), -EINVAL);
	ck_assert_int_eq(reason.code, HAMIDP_REASON_DRIVER_LIMIT);
	ck_assert_str_eq(reason.text,
			 "a: 129 slots are not accepted, the driver supports 1 to 128");
	ck_assert_int_eq(hamidp_policy_set_default(policy, SLICING(.slots = 128), NULL), 0);
	ck_assert_int_eq(hamidp_layout_new(inv, policy, &layout, NULL), 0);
	hamidp_layout_unref(layout);
	hamidp_policy_free(policy);
	hamidp_inventory_unref(inv);
}
END_TEST

START_TEST(overrides_cut_cards_differently)
{
	struct hamidp_policy *policy = policy_of("a/b", SLICING(.slots = 8));
	struct hamidp_layout *layout;

	ck_assert_int_eq(hamidp_policy_add_override(policy, HAMIDP_MATCH_INDEX, "0",
						    SLICING(.slots = 2), NULL),
			 0);
	ck_assert_int_eq(hamidp_policy_add_override(policy, HAMIDP_MATCH_UUID, "gpu-1",
						    SLICING(.slots = 10), NULL),
			 0);
	ck_assert_int_eq(hamidp_policy_add_override(policy, HAMIDP_MATCH_UUID, "gpu-2",
						    SLICING(.slots = 1), NULL),
			 0);
	layout = laid_out(cards(4, 40960), policy);
	ck_assert_uint_eq(hamidp_layout_n_slots(layout), 2 + 10 + 1 + 8);
	ck_assert_uint_eq(hamidp_layout_slice_memory_mib(layout, 0, 1), 20480);
	ck_assert_uint_eq(hamidp_layout_slice_memory_mib(layout, 1, 1), 4096);
	ck_assert_uint_eq(hamidp_layout_slice_memory_mib(layout, 2, 1), 40960);
	ck_assert_uint_eq(hamidp_layout_device_first_slot(layout, 3), 13);
	hamidp_layout_unref(layout);
}
END_TEST

START_TEST(resources_share_out_the_cards)
{
	struct hamidp_policy *policy = policy_of("hami.com/vgpu", SLICING(.slots = 8));
	struct hamidp_layout *layout;
	size_t whole, resource;

	ck_assert_int_eq(hamidp_policy_add_resource(policy, "hami.com/gpu", SLICING(.slots = 1),
						    &whole, NULL),
			 0);
	ck_assert_int_eq(hamidp_policy_add_resource_device(policy, whole, HAMIDP_MATCH_INDEX, "1",
							   NULL),
			 0);
	ck_assert_int_eq(hamidp_policy_add_resource_device(policy, whole, HAMIDP_MATCH_UUID,
							   "gpu-3", NULL),
			 0);
	layout = laid_out(cards(4, 40960), policy);
	ck_assert_uint_eq(hamidp_layout_resource_n_slots(layout, 0), 16);
	ck_assert_uint_eq(hamidp_layout_resource_n_slots(layout, 1), 2);
	for (size_t pos = 0; pos < 4; pos++)
		ck_assert_uint_eq(hamidp_layout_device_resource(layout, pos), pos % 2);
	ck_assert_int_eq(hamidp_layout_find_resource(layout, "hami.com/gpu", &resource), 0);
	ck_assert_uint_eq(resource, 1);
	ck_assert_int_eq(hamidp_layout_find_resource(layout, "hami.com/gp", &resource), -ENOENT);
	hamidp_layout_unref(layout);
}
END_TEST

START_TEST(a_card_goes_to_the_first_resource_that_names_it)
{
	struct hamidp_policy *policy = policy_of("a/x", NULL);
	struct hamidp_layout *layout;

	ck_assert_int_eq(hamidp_policy_add_resource(policy, "a/y", NULL, NULL, NULL), 0);
	ck_assert_int_eq(hamidp_policy_add_resource_device(policy, 0, HAMIDP_MATCH_INDEX, "0",
							   NULL),
			 0);
	ck_assert_int_eq(hamidp_policy_add_resource_device(policy, 1, HAMIDP_MATCH_UUID, "gpu-0",
							   NULL),
			 0);
	layout = laid_out(cards(2, 40960), policy);
	ck_assert_uint_eq(hamidp_layout_device_resource(layout, 0), 0);
	ck_assert_uint_eq(hamidp_layout_device_resource(layout, 1), HAMIDP_NO_RESOURCE);
	ck_assert_ptr_nonnull(strstr(hamidp_layout_device_notice(layout, 1), "no resource"));
	ck_assert_uint_eq(hamidp_layout_resource_n_slots(layout, 1), 0);
	ck_assert_int_eq(hamidp_layout_resource_has_numa(layout, 1), 0);
	hamidp_layout_unref(layout);
}
END_TEST

START_TEST(policies_that_cannot_be_applied_are_refused)
{
	struct hamidp_inventory *inv = cards(1, 40960);
	struct hamidp_policy *policy = NULL;
	struct hamidp_layout *layout = NULL;
	struct hamidp_reason reason;

	ck_assert_int_eq(hamidp_policy_new(&policy), 0);
	ck_assert_int_eq(hamidp_layout_new(inv, policy, &layout, &reason), -EINVAL);
	ck_assert_int_eq(reason.code, HAMIDP_REASON_BAD_ARGUMENT);
	ck_assert_int_eq(hamidp_policy_add_resource(policy, "a/x", NULL, NULL, NULL), 0);
	ck_assert_int_eq(hamidp_policy_add_resource(policy, "a/y", NULL, NULL, NULL), 0);
	ck_assert_int_eq(hamidp_layout_new(inv, policy, &layout, &reason), -EINVAL);
	ck_assert_int_eq(reason.code, HAMIDP_REASON_CONFLICT);
	ck_assert_ptr_nonnull(strstr(reason.text, "'a/x' and 'a/y'"));
	ck_assert_ptr_null(layout);
	hamidp_policy_free(policy);
	hamidp_inventory_unref(inv);
}
END_TEST

/* Which resource also gets the plain HAMI_VGPU_* variables. */
static const struct {
	const char *first, *second;
	bool plain;
} plains[] = {
	{ "nvidia.com/gpu", NULL, true },
	{ "hami.com/vgpu", NULL, false },
	{ "nvidia.com/gpu", "hami.com/x", true },
	{ "nvidia.com/gpu", "hami.com/vgpu", false },
	{ "nvidia.com/gpu", "hami.com/VGPU", false },
	{ "hami.com/vGpu", NULL, false },
};

START_TEST(plain_variables_never_meet_those_of_vgpu)
{
	struct hamidp_policy *policy = policy_of(plains[_i].first, NULL);
	struct hamidp_layout *layout;
	size_t number = 0;

	if (plains[_i].second) {
		ck_assert_int_eq(hamidp_policy_add_resource(policy, plains[_i].second, NULL,
							    &number, NULL),
				 0);
		ck_assert_int_eq(hamidp_policy_add_resource_device(policy, number,
								   HAMIDP_MATCH_INDEX, "0", NULL),
				 0);
	}
	layout = laid_out(cards(2, 40960), policy);
	ck_assert_int_eq(layout->resources[0].plain, plains[_i].plain);
	if (plains[_i].second)
		ck_assert(!layout->resources[1].plain);
	hamidp_layout_unref(layout);
}
END_TEST

START_TEST(numa_is_claimed_only_where_every_served_card_has_it)
{
	struct hamidp_policy *policy = policy_of("a/x", NULL);
	struct hdp_machine m = { 0 };
	struct hamidp_layout *layout;

	ck_assert_int_eq(hamidp_policy_add_resource(policy, "a/y", NULL, NULL, NULL), 0);
	ck_assert_int_eq(hamidp_policy_add_resource_device(policy, 1, HAMIDP_MATCH_UUID, "c", NULL),
			 0);
	add_device(&m, "a", "0000:01:00.0", 10);
	add_device(&m, "b", "0000:02:00.0", 10);
	add_device(&m, "c", "0000:03:00.0", 10);
	m.devices[0].numa_node = m.devices[2].numa_node = 0;
	layout = laid_out(sealed(&m), policy);
	ck_assert_int_eq(hamidp_layout_resource_has_numa(layout, 0), 0);
	ck_assert_int_eq(hamidp_layout_resource_has_numa(layout, 1), 1);
	hamidp_layout_unref(layout);
}
END_TEST

START_TEST(getters_bear_numbers_past_the_end)
{
	struct hamidp_layout *layout = laid_out(cards(1, 40960), policy_of("a/b", NULL));
	size_t slot = 7;

	ck_assert_ptr_null(hamidp_layout_resource_name(layout, 1));
	ck_assert_ptr_null(hamidp_layout_resource_prefix(layout, SIZE_MAX));
	ck_assert_uint_eq(hamidp_layout_resource_n_slots(layout, 1), 0);
	ck_assert_int_eq(hamidp_layout_resource_has_numa(layout, 1), 0);
	ck_assert_uint_eq(hamidp_layout_device_resource(layout, 1), HAMIDP_NO_RESOURCE);
	ck_assert_uint_eq(hamidp_layout_device_n_slots(layout, 1), 0);
	ck_assert_uint_eq(hamidp_layout_device_first_slot(layout, 1), 0);
	ck_assert_ptr_null(hamidp_layout_device_notice(layout, 1));
	ck_assert_uint_eq(hamidp_layout_slice_memory_mib(layout, 1, 1), 0);
	ck_assert_uint_eq(hamidp_layout_slice_share_ppm(layout, SIZE_MAX, 1), 0);
	ck_assert_ptr_null(hamidp_layout_slot_id(layout, 4));
	ck_assert_uint_eq(hamidp_layout_slot_device(layout, 4), 0);
	ck_assert_int_eq(hamidp_layout_find_slot(layout, "", &slot), -ENOENT);
	ck_assert_int_eq(hamidp_layout_find_slot(layout, "gpu-0::4", &slot), -ENOENT);
	ck_assert_int_eq(hamidp_layout_find_slot(layout, "gpu-0::00", &slot), -ENOENT);
	ck_assert_uint_eq(slot, 7);
	ck_assert_uint_eq(hamidp_layout_slice_memory_mib(layout, 0, UINT32_MAX), 40960);
	ck_assert_uint_eq(hamidp_layout_slice_share_ppm(layout, 0, UINT32_MAX), HAMIDP_PPM);
	ck_assert_ptr_eq(hamidp_layout_ref(layout), layout);
	hamidp_layout_unref(layout);
	ck_assert_uint_eq(hamidp_layout_n_slots(layout), 4);
	ck_assert_ptr_nonnull(hamidp_layout_inventory(layout));
	hamidp_layout_unref(layout);
	ck_assert_ptr_null(hamidp_layout_unref(NULL));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("layout");
	TCase *t = tcase_create("layout");

	tcase_add_test(t, four_cards_of_eight_slots_are_32);
	tcase_add_loop_test(t, slots_fit_their_card_or_the_card_is_left_out, 0, ARRAY_SIZE(fits));
	tcase_add_test(t, strict_fit_refuses_what_would_shrink_or_be_left_out);
	tcase_add_test(t, one_card_left_out_leaves_the_others);
	tcase_add_test(t, more_slots_than_the_driver_supports_are_refused);
	tcase_add_test(t, overrides_cut_cards_differently);
	tcase_add_test(t, resources_share_out_the_cards);
	tcase_add_test(t, a_card_goes_to_the_first_resource_that_names_it);
	tcase_add_test(t, policies_that_cannot_be_applied_are_refused);
	tcase_add_loop_test(t, plain_variables_never_meet_those_of_vgpu, 0, ARRAY_SIZE(plains));
	tcase_add_test(t, numa_is_claimed_only_where_every_served_card_has_it);
	tcase_add_test(t, getters_bear_numbers_past_the_end);
	suite_add_tcase(suite, t);
	return suite_run(suite);
}
