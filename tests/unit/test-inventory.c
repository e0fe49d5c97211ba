/* SPDX-License-Identifier: Apache-2.0 */

/* The inventory as a value: getters, JSON there and back, equality, derived ones. */

#include <errno.h>

#include <hami/hamidp.h>

#include "describe.h"
#include "suite.h"

static struct hamidp_inventory *random_inventory(unsigned seed)
{
	struct hdp_machine m = { 0 };

	srand(seed);
	describe_random(&m);
	return sealed(&m);
}

static struct hamidp_inventory *reread(const struct hamidp_inventory *inv, char **ret_text)
{
	struct hamidp_inventory *again = NULL;
	struct hamidp_reason reason;
	size_t len = 0;
	int r;

	ck_assert_int_eq(hamidp_inventory_to_json(inv, ret_text, &len), 0);
	ck_assert_uint_eq(len, strlen(*ret_text));
	r = hamidp_inventory_from_json(*ret_text, len, &again, &reason);
	ck_assert_msg(r == 0, "%s: %s", reason.text, *ret_text);
	ck_assert_int_eq(reason.code, HAMIDP_REASON_NONE);
	return again;
}

/* Property: what is written reads back as the same machine, and is written the same again. */
START_TEST(json_keeps_the_machine)
{
	struct hamidp_inventory *inv = random_inventory((unsigned)_i), *again;
	char *text = NULL, *text_again = NULL;

	again = reread(inv, &text);
	ck_assert_msg(hdp_inventory_equal(inv, again), "%s", text);
	hamidp_inventory_unref(reread(again, &text_again));
	ck_assert_str_eq(text, text_again);

	free(text);
	free(text_again);
	hamidp_inventory_unref(inv);
	hamidp_inventory_unref(again);
}
END_TEST

static void shuffle_machine(struct hdp_machine *m)
{
	for (size_t i = m->n_devices; i > 1; i--) {
		size_t j = any((uint32_t)i);
		struct hdp_device_info swap = m->devices[i - 1];

		m->devices[i - 1] = m->devices[j];
		m->devices[j] = swap;
	}
	for (size_t i = m->n_links; i > 1; i--) {
		size_t j = any((uint32_t)i);
		struct hdp_link_info swap = m->links[i - 1];

		m->links[i - 1] = m->links[j];
		m->links[j] = swap;
	}
}

/* Property: in which order a driver names devices and links makes no difference. */
START_TEST(enumeration_order_does_not_matter)
{
	struct hamidp_inventory *inv = random_inventory((unsigned)_i), *shuffled;
	struct hdp_machine m = { 0 };
	char *text = NULL, *other = NULL;

	srand((unsigned)_i);
	describe_random(&m);
	shuffle_machine(&m);
	shuffled = sealed(&m);
	ck_assert(hdp_inventory_equal(inv, shuffled));
	ck_assert_int_eq(hamidp_inventory_to_json(inv, &text, NULL), 0);
	ck_assert_int_eq(hamidp_inventory_to_json(shuffled, &other, NULL), 0);
	ck_assert_str_eq(text, other);

	free(text);
	free(other);
	hamidp_inventory_unref(inv);
	hamidp_inventory_unref(shuffled);
}
END_TEST

START_TEST(output_is_compact_and_leaves_out_what_is_unknown)
{
	struct hdp_machine m = { 0 };
	struct hamidp_inventory *inv;
	char *text = NULL;

	add_device(&m, "b", "00000000:3B:00.0", 40960);
	add_device(&m, "a", NULL, 81559);
	add_link(&m, "a", "b", HAMIDP_LINK_NVLINK, 12, 300, HAMIDP_PCIE_SYS);
	m.devices[0].gflops_fp32 = 19050;
	m.devices[0].health = HAMIDP_HEALTH_HEALTHY;
	inv = sealed(&m);
	ck_assert_int_eq(hamidp_inventory_to_json(inv, &text, NULL), 0);
	ck_assert_str_eq(text,
			 "{\"schema\":\"hami.inventory/1\",\"driver\":{},\"devices\":["
			 "{\"uuid\":\"b\",\"pci\":\"0000:3b:00.0\",\"memory_mib\":40960,"
			 "\"tflops_fp32\":19.050,\"health\":\"healthy\"},"
			 "{\"uuid\":\"a\",\"memory_mib\":81559}],"
			 "\"links\":[{\"a\":\"b\",\"b\":\"a\",\"type\":\"nvlink\",\"lanes\":12,"
			 "\"gbps\":300,\"pcie\":\"SYS\"}]}");
	free(text);
	hamidp_inventory_unref(inv);
}
END_TEST

START_TEST(getters_bear_positions_past_the_end)
{
	struct hdp_machine m = { 0 };
	struct hamidp_inventory *inv;
	size_t pos = 77;

	add_device(&m, "a", NULL, 5);
	add_device(&m, "b", NULL, 5);
	add_link(&m, "a", "b", HAMIDP_LINK_XGMI, 1, 64, HAMIDP_PCIE_PIX);
	inv = sealed(&m);
	ck_assert_ptr_null(hamidp_inventory_device(inv, 2));
	ck_assert_ptr_null(hamidp_inventory_device(inv, SIZE_MAX));
	ck_assert_int_eq(hamidp_inventory_find(inv, "c", &pos), -ENOENT);
	ck_assert_uint_eq(pos, 77);
	ck_assert_int_eq(hamidp_inventory_link_type(inv, 0, 1), HAMIDP_LINK_XGMI);
	ck_assert_int_eq(hamidp_inventory_link_type(inv, 0, 0), HAMIDP_LINK_NONE);
	ck_assert_int_eq(hamidp_inventory_link_type(inv, 0, 2), HAMIDP_LINK_NONE);
	ck_assert_uint_eq(hamidp_inventory_link_lanes(inv, 2, 0), 0);
	ck_assert_uint_eq(hamidp_inventory_link_gbps(inv, SIZE_MAX, SIZE_MAX), 0);
	ck_assert_int_eq(hamidp_inventory_pcie_level(inv, 5, 1), HAMIDP_PCIE_UNKNOWN);
	hamidp_inventory_unref(inv);
}
END_TEST

START_TEST(unknown_values_read_as_documented)
{
	struct hdp_machine m = { 0 };
	const struct hamidp_device *dev;
	struct hamidp_inventory *inv;

	add_device(&m, "a", NULL, 0);
	inv = sealed(&m);
	dev = hamidp_inventory_device(inv, 0);
	ck_assert_str_eq(hamidp_inventory_driver_name(inv), "");
	ck_assert_str_eq(hamidp_inventory_driver_version(inv), "");
	ck_assert_uint_eq(hamidp_inventory_max_slots(inv), 0);
	ck_assert_int_eq(hamidp_inventory_needs_contiguous(inv), 0);
	ck_assert_str_eq(hamidp_device_model(dev), "");
	ck_assert_str_eq(hamidp_device_pci(dev), "");
	ck_assert_str_eq(hamidp_device_compute_capability(dev), "");
	ck_assert_str_eq(hamidp_device_cpus(dev), "");
	ck_assert_str_eq(hamidp_device_health_cause(dev), "");
	ck_assert_int_eq(hamidp_device_index(dev), -1);
	ck_assert_int_eq(hamidp_device_minor(dev), -1);
	ck_assert_int_eq(hamidp_device_numa_node(dev), -1);
	ck_assert_uint_eq(hamidp_device_memory_mib(dev), 0);
	ck_assert_uint_eq(hamidp_device_sms(dev), 0);
	ck_assert_uint_eq(hamidp_device_sm_mhz(dev), 0);
	ck_assert_uint_eq(hamidp_device_gflops_fp32(dev), 0);
	ck_assert_int_eq(hamidp_device_health(dev), HAMIDP_HEALTH_UNKNOWN);
	hamidp_inventory_unref(inv);
}
END_TEST

START_TEST(names_of_enums_are_fixed)
{
	static const char *const healths[] = { "unknown",   "healthy", "suspect",
					       "unhealthy", "gone",    "unknown" };
	static const char *const types[] = { "none", "nvlink", "xgmi", "unknown" };

	for (size_t i = 0; i < ARRAY_SIZE(healths); i++)
		ck_assert_str_eq(hamidp_health_to_string((enum hamidp_health)i), healths[i]);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		ck_assert_str_eq(hamidp_link_type_to_string((enum hamidp_link_type)i), types[i]);
	ck_assert_str_eq(hamidp_pcie_level_to_string(HAMIDP_PCIE_PXB), "PXB");
	ck_assert_str_eq(hamidp_pcie_level_to_string(HAMIDP_PCIE_UNKNOWN), "unknown");
	ck_assert_str_eq(hamidp_pcie_level_to_string((enum hamidp_pcie_level)11), "unknown");
}
END_TEST

START_TEST(references_keep_it_alive)
{
	struct hamidp_inventory *inv = random_inventory(1);

	ck_assert_ptr_eq(hamidp_inventory_ref(inv), inv);
	ck_assert_ptr_null(hamidp_inventory_unref(inv));
	ck_assert_ptr_nonnull(hamidp_inventory_driver_name(inv));
	ck_assert_ptr_null(hamidp_inventory_unref(inv));
	ck_assert_ptr_null(hamidp_inventory_unref(NULL));
}
END_TEST

static struct hamidp_inventory *three_devices(void)
{
	struct hdp_machine m = { 0 };

	add_device(&m, "a", "0000:01:00.0", 10);
	add_device(&m, "c", "0000:03:00.0", 10);
	add_device(&m, "d", "0000:04:00.0", 10);
	add_link(&m, "a", "d", HAMIDP_LINK_NVLINK, 4, 100, HAMIDP_PCIE_NODE);
	for (size_t i = 0; i < m.n_devices; i++)
		m.devices[i].health = HAMIDP_HEALTH_HEALTHY;
	return sealed(&m);
}

START_TEST(deriving_lays_health_over_and_keeps_the_rest)
{
	static const struct hdp_health_overlay overlay[] = {
		{ "c", HAMIDP_HEALTH_UNHEALTHY, "code 79" },
		{ "nobody", HAMIDP_HEALTH_GONE, NULL },
		{ "d", HAMIDP_HEALTH_SUSPECT, NULL },
	};
	struct hamidp_inventory *inv = three_devices(), *derived = NULL, *same = NULL;

	ck_assert_int_eq(hdp_inventory_derive(inv, overlay, 3, NULL, 0, &derived), 0);
	ck_assert(!hdp_inventory_equal(inv, derived));
	ck_assert_int_eq(derived->devices[0].info.health, HAMIDP_HEALTH_HEALTHY);
	ck_assert_int_eq(derived->devices[1].info.health, HAMIDP_HEALTH_UNHEALTHY);
	ck_assert_str_eq(derived->devices[1].info.health_cause, "code 79");
	ck_assert_int_eq(derived->devices[2].info.health, HAMIDP_HEALTH_SUSPECT);
	ck_assert_str_eq(derived->devices[2].info.health_cause, "");
	ck_assert_int_eq(inv->devices[1].info.health, HAMIDP_HEALTH_HEALTHY);

	ck_assert_int_eq(hdp_inventory_derive(inv, NULL, 0, NULL, 0, &same), 0);
	ck_assert(hdp_inventory_equal(inv, same));
	hamidp_inventory_unref(inv);
	hamidp_inventory_unref(derived);
	hamidp_inventory_unref(same);
}
END_TEST

START_TEST(devices_that_went_stay_in_their_place)
{
	struct hdp_device_info gone[] = { HDP_DEVICE_INFO_INIT, HDP_DEVICE_INFO_INIT,
					  HDP_DEVICE_INFO_INIT };
	struct hamidp_inventory *inv = three_devices(), *derived = NULL;

	gone[0].uuid = (char *)"b";
	gone[0].pci = (char *)"0000:02:00.0";
	gone[0].health = HAMIDP_HEALTH_HEALTHY;
	gone[1] = gone[0];	    /* twice */
	gone[2].uuid = (char *)"c"; /* it is there */
	ck_assert_int_eq(hdp_inventory_derive(inv, NULL, 0, gone, 3, &derived), 0);
	ck_assert_uint_eq(derived->n_devices, 4);
	ck_assert_str_eq(derived->devices[1].info.uuid, "b");
	ck_assert_int_eq(derived->devices[1].info.health, HAMIDP_HEALTH_GONE);
	ck_assert_int_eq(derived->devices[2].info.health, HAMIDP_HEALTH_HEALTHY);
	ck_assert_uint_eq(hamidp_inventory_link_lanes(derived, 0, 3), 4);
	ck_assert_uint_eq(hamidp_inventory_link_lanes(derived, 3, 0), 4);
	ck_assert_uint_eq(hamidp_inventory_link_lanes(derived, 0, 2), 0);
	hamidp_inventory_unref(inv);
	hamidp_inventory_unref(derived);
}
END_TEST

static void change_text(char **text)
{
	free(*text);
	*text = copied("changed");
}

/* Make the @which-th change; false past the last one. */
static bool change(struct hamidp_inventory *inv, unsigned which)
{
	struct hdp_device_info *info = &inv->devices[2].info;
	char **texts[] = {
		&inv->driver_name,    &inv->driver_version,	 &info->model,
		&info->pci,	      &info->compute_capability, &info->cpus,
		&info->health_cause,  &inv->mounts[0].host,	 &inv->mounts[0].container,
		&info->nodes[0].host, &info->nodes[0].container, &info->nodes[0].permissions,
		&inv->grants[0].id,   &inv->grants[0].resource,	 &inv->grants[0].slots[0]
	};
	int64_t *numbers[] = { &info->index, &info->minor };
	uint64_t *amounts[] = { &info->memory_mib, &info->gflops_fp32, &inv->grants[0].memory_mib };
	uint32_t *counts[] = { &info->sms, &info->sm_mhz, &inv->max_slots,
			       &inv->grants[0].share_ppm };

	if (which < ARRAY_SIZE(texts)) {
		change_text(texts[which]);
		return true;
	}
	which -= ARRAY_SIZE(texts);
	if (which < ARRAY_SIZE(numbers))
		return ++*numbers[which];
	which -= ARRAY_SIZE(numbers);
	if (which < ARRAY_SIZE(amounts))
		return ++*amounts[which];
	which -= ARRAY_SIZE(amounts);
	if (which < ARRAY_SIZE(counts))
		return ++*counts[which];
	which -= ARRAY_SIZE(counts);
	switch (which) {
	case 0:
		info->health = HAMIDP_HEALTH_GONE;
		return true;
	case 1:
		return ++info->numa_node;
	case 2:
		return inv->contiguous = !inv->contiguous;
	case 3:
		return ++inv->links[1 * inv->n_devices + 0].lanes;
	default:
		return false;
	}
}

static struct hamidp_inventory *full_machine(void)
{
	struct hdp_machine m = { 0 };
	struct hdp_stated_grant grant = { .id = copied("g"), .resource = copied("r/r") };
	struct hdp_path mount = { .host = copied("/a"), .container = copied("/a") };
	struct hdp_device_info *info;

	add_device(&m, "a", "0000:01:00.0", 10);
	add_device(&m, "c", "0000:03:00.0", 10);
	add_device(&m, "d", "0000:04:00.0", 10);
	add_link(&m, "a", "c", HAMIDP_LINK_NVLINK, 4, 100, HAMIDP_PCIE_NODE);
	info = &m.devices[2];
	info->index = info->minor = 4;
	info->nodes = calloc(1, sizeof(*info->nodes));
	ck_assert_ptr_nonnull(info->nodes);
	info->n_nodes = 1;
	info->nodes[0] = (struct hdp_path){ copied("/dev/x"), copied("/dev/x"), copied("rw") };
	info->numa_node = 1;
	grant.slots = calloc(1, sizeof(*grant.slots));
	ck_assert_ptr_nonnull(grant.slots);
	grant.n_slots = 1;
	grant.slots[0] = copied("a::0");
	ck_assert_int_eq(hdp_machine_add_grant(&m, &grant), 0);
	ck_assert_int_eq(hdp_machine_add_mount(&m, &mount), 0);
	return sealed(&m);
}

/* Each thing that an inventory holds counts when two are compared. */
START_TEST(any_change_makes_a_difference)
{
	struct hamidp_inventory *inv = full_machine();
	unsigned which = 0;

	for (bool more = true; more; which++) {
		struct hamidp_inventory *other = full_machine();

		ck_assert(hdp_inventory_equal(inv, other));
		more = change(other, which);
		ck_assert_msg(hdp_inventory_equal(inv, other) == !more, "change %u", which);
		hamidp_inventory_unref(other);
	}
	ck_assert_uint_gt(which, 25);
	hamidp_inventory_unref(inv);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("inventory");
	TCase *t = tcase_create("inventory");

	tcase_add_loop_test(t, json_keeps_the_machine, 0, 200);
	tcase_add_loop_test(t, enumeration_order_does_not_matter, 0, 50);
	tcase_add_test(t, output_is_compact_and_leaves_out_what_is_unknown);
	tcase_add_test(t, getters_bear_positions_past_the_end);
	tcase_add_test(t, unknown_values_read_as_documented);
	tcase_add_test(t, names_of_enums_are_fixed);
	tcase_add_test(t, references_keep_it_alive);
	tcase_add_test(t, deriving_lays_health_over_and_keeps_the_rest);
	tcase_add_test(t, devices_that_went_stay_in_their_place);
	tcase_add_test(t, any_change_makes_a_difference);
	suite_add_tcase(suite, t);
	return suite_run(suite);
}
