/* SPDX-License-Identifier: Apache-2.0 */

/* What holds for the slots of every layout, over random machines and policies. */

#include "layouts.h"
#include "policy.h"
#include "suite.h"

static struct hamidp_slicing any_slicing(void)
{
	struct hamidp_slicing slicing = { .size = sizeof(slicing) };

	if (any(2))
		slicing.slots = 1 + any(any(2) ? 16 : HAMIDP_SLOTS_MAX);
	if (any(3) == 0)
		slicing.memory_mib = 1 + any(200000);
	if (any(2))
		slicing.memory_ratio_ppm = HAMIDP_PPM + any(4 * HAMIDP_PPM);
	if (any(2))
		slicing.cores_ratio_ppm = HAMIDP_PPM + any(4 * HAMIDP_PPM);
	return slicing;
}

/* The policy stays the caller's. */
static struct hamidp_layout *random_layout(unsigned seed, struct hamidp_policy **ret_policy)
{
	struct hamidp_slicing slicing;
	struct hamidp_policy *policy;
	struct hdp_machine m = { 0 };
	char index[4];

	srand(seed);
	describe_random(&m);
	m.max_slots = 0;
	slicing = any_slicing();
	policy = policy_of("a/x", &slicing);
	slicing = any_slicing();
	ck_assert_int_eq(hamidp_policy_add_resource(policy, "a/y", &slicing, NULL, NULL), 0);
	snprintf(index, sizeof(index), "%u", any(4));
	ck_assert_int_eq(hamidp_policy_add_resource_device(policy, 1, HAMIDP_MATCH_INDEX, index,
							   NULL),
			 0);
	slicing = any_slicing();
	ck_assert_int_eq(hamidp_policy_add_override(policy, HAMIDP_MATCH_MODEL, "NVIDIA*", &slicing,
						    NULL),
			 0);
	ck_assert_int_eq(hdp_policy_copy(policy, ret_policy), 0);
	return laid_out(sealed(&m), policy);
}

/* Property: the slots of a card together are at most what it may hand out. */
static void check_total(const struct hamidp_layout *layout, const struct hamidp_policy *policy,
			size_t pos)
{
	const struct hdp_layout_device *dev = &layout->devices[pos];
	const struct hdp_device_info *info = &layout->inv->devices[pos].info;
	struct hamidp_slicing how;

	if (dev->resource == HAMIDP_NO_RESOURCE)
		return;
	how = hdp_policy_slicing(policy, dev->resource, info);
	ck_assert_uint_eq(dev->n_slots, how.slots);
	ck_assert_uint_le(dev->slot_mib * dev->n_slots * HAMIDP_PPM,
			  info->memory_mib * how.memory_ratio_ppm);
}

/* Properties of one device: slices grow with k, and never beyond the card. */
static void check_device(const struct hamidp_layout *layout, size_t pos)
{
	const struct hamidp_device *dev =
		hamidp_inventory_device(hamidp_layout_inventory(layout), pos);
	uint32_t n = hamidp_layout_device_n_slots(layout, pos), share = 0;
	uint64_t memory = 0;

	for (uint32_t k = 1; k <= n; k++) {
		uint64_t k_memory = hamidp_layout_slice_memory_mib(layout, pos, k);
		uint32_t k_share = hamidp_layout_slice_share_ppm(layout, pos, k);

		ck_assert_uint_ge(k_memory, k == 1 ? 1 : memory);
		ck_assert_uint_ge(k_share, k == 1 ? 1 : share);
		ck_assert_uint_le(k_memory, hamidp_device_memory_mib(dev));
		ck_assert_uint_le(k_share, HAMIDP_PPM);
		memory = k_memory;
		share = k_share;
	}
	ck_assert(n == 0 || share == HAMIDP_PPM);
	ck_assert((n == 0) == (hamidp_layout_device_resource(layout, pos) == HAMIDP_NO_RESOURCE));
	ck_assert(n > 0 || hamidp_layout_device_notice(layout, pos));
}

/* Properties: capacities add up, every id is found at its own number and nowhere else. */
START_TEST(slots_add_up_and_ids_are_unique)
{
	struct hamidp_policy *policy = NULL;
	struct hamidp_layout *layout = random_layout((unsigned)_i, &policy);
	size_t n_devices = hamidp_inventory_n_devices(hamidp_layout_inventory(layout));
	size_t of_devices = 0, of_resources = 0;

	for (size_t pos = 0; pos < n_devices; pos++) {
		ck_assert_uint_eq(hamidp_layout_device_first_slot(layout, pos), of_devices);
		of_devices += hamidp_layout_device_n_slots(layout, pos);
		check_device(layout, pos);
		check_total(layout, policy, pos);
	}
	for (size_t i = 0; i < hamidp_layout_n_resources(layout); i++)
		of_resources += hamidp_layout_resource_n_slots(layout, i);
	ck_assert_uint_eq(hamidp_layout_n_slots(layout), of_devices);
	ck_assert_uint_eq(hamidp_layout_n_slots(layout), of_resources);

	for (size_t slot = 0; slot < hamidp_layout_n_slots(layout); slot++) {
		const char *id = hamidp_layout_slot_id(layout, slot);
		size_t pos = hamidp_layout_slot_device(layout, slot), found;
		char expect[HDP_UUID_MAX + 16];

		snprintf(expect, sizeof(expect), "%s::%u",
			 hamidp_device_uuid(hamidp_inventory_device(layout->inv, pos)),
			 layout->slots[slot].number);
		ck_assert_str_eq(id, expect);
		ck_assert_uint_eq(slot - hamidp_layout_device_first_slot(layout, pos),
				  layout->slots[slot].number);
		ck_assert_int_eq(hamidp_layout_find_slot(layout, id, &found), 0);
		ck_assert_uint_eq(found, slot);
	}
	hamidp_policy_free(policy);
	hamidp_layout_unref(layout);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("layout-slots");
	TCase *t = tcase_create("layout-slots");

	tcase_add_loop_test(t, slots_add_up_and_ids_are_unique, 0, 100);
	suite_add_tcase(suite, t);
	return suite_run(suite);
}
