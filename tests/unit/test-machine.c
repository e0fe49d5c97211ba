/* SPDX-License-Identifier: Apache-2.0 */

/* Describing a machine and sealing it: the form of values, order, links. */

#include <errno.h>

#include "describe.h"
#include "form.h"
#include "suite.h"

static const struct {
	const char *text;
	const char *normal; /* NULL: refused */
} pcis[] = {
	{ "0000:3b:00.0", "0000:3b:00.0" },
	{ "00000000:3B:1F.7", "0000:3b:1f.7" },
	{ "0001:00:00.0", "0001:00:00.0" },
	{ "00012345:FF:00.0", "12345:ff:00.0" },
	{ "ffffffff:ff:1f.7", "ffffffff:ff:1f.7" },
	{ "3b:00.0", NULL },
	{ "000:3b:00.0", NULL },
	{ "000000000:3b:00.0", NULL },
	{ "0000:3b:20.0", NULL },
	{ "0000:3b:00.8", NULL },
	{ "0000:3b:00.00", NULL },
	{ "0000:3b:00", NULL },
	{ "0000:3g:00.0", NULL },
	{ " 0000:3b:00.0", NULL },
	{ "0000:3b:00.0 ", NULL },
	{ "", NULL },
};

START_TEST(pci_addresses_have_one_form)
{
	char normal[HDP_PCI_SIZE] = "";
	uint64_t key;
	bool ok = hdp_pci_parse(pcis[_i].text, normal, &key);

	ck_assert_msg(ok == (pcis[_i].normal != NULL), "'%s'", pcis[_i].text);
	if (ok)
		ck_assert_str_eq(normal, pcis[_i].normal);
}
END_TEST

static const struct {
	const char *text;
	bool ok;
} uuids[] = {
	{ "GPU-58c45ce4-60dd-4a30-8351-cc0ea63a89d7", true },
	{ "a", true },
	{ "MIG-GPU/1:2", true },
	{ "", false },
	{ "a b", false },
	{ "a,b", false },
	{ "a::b", false },
	{ "a:", false },
	{ "a\tb", false },
	{ "\xc3\xa9", false },
	{ "a\177", false },
};

START_TEST(uuids_can_stand_in_a_slot_id)
{
	ck_assert_msg(hdp_uuid_valid(uuids[_i].text) == uuids[_i].ok, "'%s'", uuids[_i].text);
}
END_TEST

START_TEST(uuids_have_a_length_limit)
{
	char text[HDP_UUID_MAX + 2] = "";

	memset(text, 'x', HDP_UUID_MAX);
	ck_assert(hdp_uuid_valid(text));
	text[HDP_UUID_MAX] = 'x';
	ck_assert(!hdp_uuid_valid(text));
}
END_TEST

static const struct {
	const char *text;
	bool cpulist, capability;
} forms[] = {
	{ "0", true, false },	      { "0-15,32-47", true, false }, { "7-7", true, false },
	{ "7-6", false, false },      { "", false, false },	     { "0-", false, false },
	{ "0,", false, false },	      { ",0", false, false },	     { "0 ,1", false, false },
	{ "12345678", false, false }, { "8.0", false, true },	     { "12.1", false, true },
	{ "8", true, false },	      { "8.", false, false },	     { ".0", false, false },
	{ "8.0a", false, false },     { "100.0", false, false },     { "8.0.0", false, false },
};

START_TEST(cpulists_and_capabilities_are_checked)
{
	ck_assert_msg(hdp_cpulist_valid(forms[_i].text) == forms[_i].cpulist, "'%s'",
		      forms[_i].text);
	ck_assert_msg(hdp_capability_valid(forms[_i].text) == forms[_i].capability, "'%s'",
		      forms[_i].text);
}
END_TEST

/* Data sheets: A100 19.5, V100 SXM2 15.7, H100 SXM 66.9, T4 8.1, P100 SXM2 10.6 TFLOPS. */
START_TEST(peak_fp32_is_that_of_the_data_sheets)
{
	ck_assert_uint_eq(hdp_gflops_fp32("8.0", 108, 1410), 19492);
	ck_assert_uint_eq(hdp_gflops_fp32("7.0", 80, 1530), 15667);
	ck_assert_uint_eq(hdp_gflops_fp32("9.0", 132, 1980), 66908);
	ck_assert_uint_eq(hdp_gflops_fp32("7.5", 40, 1590), 8141);
	ck_assert_uint_eq(hdp_gflops_fp32("6.0", 56, 1480), 10609);
	ck_assert_uint_eq(hdp_gflops_fp32("10.3", 1, 1000), 256);
	ck_assert_uint_eq(hdp_gflops_fp32("8.00", 108, 1410), 0);
	ck_assert_uint_eq(hdp_gflops_fp32("4.0", 108, 1410), 0);
	ck_assert_uint_eq(hdp_gflops_fp32("8.0", 0, 1410), 0);
	ck_assert_uint_eq(hdp_gflops_fp32(NULL, 108, 1410), 0);
	ck_assert_uint_gt(hdp_gflops_fp32("3.5", UINT32_MAX, UINT32_MAX), 1ULL << 62);
}
END_TEST

START_TEST(devices_are_ordered_by_pci_address_then_uuid)
{
	static const char *const order[] = { "x", "c", "d", "w", "v", "a", "b" };
	hdp_cleanup(hdp_machine_done) struct hdp_machine m = { 0 };
	struct hamidp_inventory *inv;

	add_device(&m, "b", NULL, 1);
	add_device(&m, "a", "", 1);
	add_device(&m, "v", "00010000:00:00.0", 1);
	add_device(&m, "w", "0001:00:00.0", 1);
	add_device(&m, "d", "00000000:0A:00.0", 1); /* the same address twice: partitions */
	add_device(&m, "c", "0000:0a:00.0", 1);
	add_device(&m, "x", "0000:09:1f.7", 1);
	inv = sealed(&m);
	ck_assert_uint_eq(m.n_devices, 0);
	ck_assert_ptr_null(m.devices);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		size_t pos;

		ck_assert_str_eq(hamidp_device_uuid(hamidp_inventory_device(inv, i)), order[i]);
		ck_assert_int_eq(hamidp_inventory_find(inv, order[i], &pos), 0);
		ck_assert_uint_eq(pos, i);
	}
	ck_assert_str_eq(hamidp_device_pci(hamidp_inventory_device(inv, 2)), "0000:0a:00.0");
	hamidp_inventory_unref(inv);
}
END_TEST

/* What sealing refuses, each with a part of the sentence; the description stays the caller's. */
static const struct {
	const char *what;
	struct hdp_device_info info;
	const char *text;
} refused[] = {
	{ "no UUID", { .memory_mib = 1 }, "UUID ''" },
	{ "blank in the UUID", { .uuid = (char *)"a b" }, "UUID 'a b'" },
	{ "twin", { .uuid = (char *)"twin" }, "two devices have the UUID 'twin'" },
	{ "PCI", { .uuid = (char *)"a", .pci = (char *)"3b:00" }, "PCI address '3b:00'" },
	{ "cpus", { .uuid = (char *)"a", .cpus = (char *)"0-" }, "cpus '0-'" },
	{ "capability",
	  { .uuid = (char *)"a", .compute_capability = (char *)"x" },
	  "compute capability 'x'" },
	{ "model", { .uuid = (char *)"a", .model = (char *)"\xff" }, "model '?'" },
	{ "cause", { .uuid = (char *)"a", .health_cause = (char *)"x\ny" }, "health cause 'x?y'" },
	{ "memory", { .uuid = (char *)"a", .memory_mib = HDP_MEMORY_MIB_MAX + 1 }, "4294967297" },
	{ "health", { .uuid = (char *)"a", .health = (enum hamidp_health)5 }, "health 5" },
};

START_TEST(sealing_refuses_what_is_out_of_form)
{
	hdp_cleanup(hdp_machine_done) struct hdp_machine m = { 0 };
	struct hamidp_inventory *inv = NULL;
	struct hdp_device_info copy;
	struct hamidp_reason reason;

	add_device(&m, "twin", NULL, 1);
	ck_assert_int_eq(hdp_device_info_copy(&refused[_i].info, &copy), 0);
	ck_assert_int_eq(hdp_machine_add_device(&m, &copy), 0);
	ck_assert_int_eq(hdp_machine_seal(&m, &inv, &reason), -EINVAL);
	ck_assert_int_eq(reason.code, HAMIDP_REASON_BAD_INPUT);
	ck_assert_msg(strstr(reason.text, refused[_i].text) != NULL, "%s: %s", refused[_i].what,
		      reason.text);
	ck_assert_ptr_null(inv);
	ck_assert_uint_eq(m.n_devices, 2);
	ck_assert_int_eq(hdp_machine_seal(&m, &inv, NULL), -EINVAL);
}
END_TEST

START_TEST(more_devices_than_the_limit_are_refused)
{
	hdp_cleanup(hdp_machine_done) struct hdp_machine m = { 0 };
	struct hamidp_inventory *inv = NULL;
	char uuid[16];

	for (unsigned i = 0; i < HDP_DEVICES_MAX; i++) {
		snprintf(uuid, sizeof(uuid), "gpu-%u", i);
		add_device(&m, uuid, NULL, 1);
	}
	add_device(&m, "one-more", NULL, 1);
	ck_assert_int_eq(hdp_machine_seal(&m, &inv, NULL), -EINVAL);
	hdp_device_info_done(&m.devices[--m.n_devices]);
	inv = sealed(&m);
	ck_assert_uint_eq(hamidp_inventory_n_devices(inv), HDP_DEVICES_MAX);
	hamidp_inventory_unref(inv);
}
END_TEST

static const struct {
	const char *what;
	struct hdp_link_info said[3];
	struct hdp_link expect;
	const char *note; /* NULL: nothing contradicts */
} merges[] = {
	{ "one way is both",
	  { { .type = 1, .lanes = 4, .gbps = 100, .pcie = 20 } },
	  { 1, 20, 4, 100 },
	  NULL },
	{ "asymmetric lanes",
	  { { .type = 1, .lanes = 4, .gbps = 100 }, { .type = 1, .lanes = 2, .gbps = 50 } },
	  { 1, 0, 2, 50 },
	  "p and q: 2 or 4 lanes, 50 or 100 GB/s" },
	{ "asymmetric levels",
	  { { .pcie = 50 }, { .pcie = 10 } },
	  { 0, 10, 0, 0 },
	  "p and q: SYS or PIX" },
	{ "unknown is no contradiction",
	  { { .type = 1, .lanes = 4 }, { .pcie = 40 }, { .type = 1, .gbps = 100 } },
	  { 1, 40, 4, 100 },
	  NULL },
	{ "bus beside a direct link",
	  { { .type = 0, .gbps = 25, .pcie = 40 }, { .type = 2, .lanes = 1, .gbps = 64 } },
	  { 2, 40, 1, 64 },
	  NULL },
	{ "two kinds of direct link",
	  { { .type = 1, .lanes = 4, .pcie = 10 },
	    { .type = 2, .lanes = 1 },
	    { .type = 1, .lanes = 4 } },
	  { 0, 10, 0, 0 },
	  "p and q: nvlink or xgmi" },
	{ "lanes without a direct link", { { .lanes = 3, .gbps = 25 } }, { 0, 0, 0, 25 }, NULL },
};

static void check_merge(size_t which, const size_t order[3])
{
	hdp_cleanup(hdp_machine_done) struct hdp_machine m = { 0 };
	const struct hdp_link *expect = &merges[which].expect;
	struct hamidp_inventory *inv;

	add_device(&m, "p", NULL, 1);
	add_device(&m, "q", NULL, 1);
	for (size_t i = 0; i < 3; i++) {
		const struct hdp_link_info *said = &merges[which].said[order[i]];

		add_link(&m, i % 2 ? "q" : "p", i % 2 ? "p" : "q", said->type, said->lanes,
			 said->gbps, said->pcie);
	}
	inv = sealed(&m);
	if (merges[which].note)
		ck_assert_pstr_eq(inv->link_note, merges[which].note);
	else
		ck_assert_msg(!inv->link_note, "%s: '%s'", merges[which].what, inv->link_note);
	for (size_t a = 0; a < 2; a++) {
		ck_assert_int_eq((int)hamidp_inventory_link_type(inv, a, 1 - a), expect->type);
		ck_assert_uint_eq(hamidp_inventory_link_lanes(inv, a, 1 - a), expect->lanes);
		ck_assert_uint_eq(hamidp_inventory_link_gbps(inv, a, 1 - a), expect->gbps);
		ck_assert_int_eq((int)hamidp_inventory_pcie_level(inv, a, 1 - a), expect->pcie);
	}
	hamidp_inventory_unref(inv);
}

START_TEST(statements_about_a_pair_merge_in_any_order)
{
	static const size_t orders[][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
					    { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(orders); i++)
		check_merge((size_t)_i, orders[i]);
}
END_TEST

START_TEST(a_note_names_a_few_pairs_and_counts_the_others)
{
	static const char *const names[] = { "p", "q", "r", "s" };
	hdp_cleanup(hdp_machine_done) struct hdp_machine m = { 0 };
	struct hamidp_inventory *inv;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		add_device(&m, names[i], NULL, 1);
	for (size_t a = ARRAY_SIZE(names); a-- > 0;)
		for (size_t b = 0; b < ARRAY_SIZE(names); b++)
			if (a != b)
				add_link(&m, names[a], names[b], HAMIDP_LINK_NVLINK, 1 + (a < b),
					 25, HAMIDP_PCIE_SYS);
	inv = sealed(&m);
	ck_assert_pstr_eq(inv->link_note, "p and q: 1 or 2 lanes; p and r: 1 or 2 lanes; "
					  "p and s: 1 or 2 lanes; and 3 more pairs");
	hamidp_inventory_unref(inv);
}
END_TEST

START_TEST(links_need_two_known_devices)
{
	static const char *const ends[][2] = { { "p", "z" }, { "z", "p" }, { "p", "p" } };
	struct hamidp_inventory *inv = NULL;
	struct hamidp_reason reason;

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		hdp_cleanup(hdp_machine_done) struct hdp_machine m = { 0 };

		add_device(&m, "p", NULL, 1);
		add_link(&m, ends[i][0], ends[i][1], HAMIDP_LINK_NVLINK, 1, 25, HAMIDP_PCIE_SYS);
		ck_assert_int_eq(hdp_machine_seal(&m, &inv, &reason), -EINVAL);
		ck_assert_ptr_nonnull(strstr(reason.text, i < 2 ? "'z'" : "itself"));
	}
}
END_TEST

START_TEST(machines_without_devices_are_machines)
{
	hdp_cleanup(hdp_machine_done) struct hdp_machine m = { 0 };
	struct hamidp_inventory *inv = sealed(&m);
	size_t pos;

	ck_assert_uint_eq(hamidp_inventory_n_devices(inv), 0);
	ck_assert_int_eq(hamidp_inventory_find(inv, "a", &pos), -ENOENT);
	ck_assert_str_eq(hamidp_inventory_driver_name(inv), "");
	hamidp_inventory_unref(inv);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("machine");
	TCase *t = tcase_create("machine");

	tcase_add_loop_test(t, pci_addresses_have_one_form, 0, ARRAY_SIZE(pcis));
	tcase_add_loop_test(t, uuids_can_stand_in_a_slot_id, 0, ARRAY_SIZE(uuids));
	tcase_add_test(t, uuids_have_a_length_limit);
	tcase_add_loop_test(t, cpulists_and_capabilities_are_checked, 0, ARRAY_SIZE(forms));
	tcase_add_test(t, peak_fp32_is_that_of_the_data_sheets);
	tcase_add_test(t, devices_are_ordered_by_pci_address_then_uuid);
	tcase_add_loop_test(t, sealing_refuses_what_is_out_of_form, 0, ARRAY_SIZE(refused));
	tcase_add_test(t, more_devices_than_the_limit_are_refused);
	tcase_add_loop_test(t, statements_about_a_pair_merge_in_any_order, 0, ARRAY_SIZE(merges));
	tcase_add_test(t, a_note_names_a_few_pairs_and_counts_the_others);
	tcase_add_test(t, links_need_two_known_devices);
	tcase_add_test(t, machines_without_devices_are_machines);
	suite_add_tcase(suite, t);
	return suite_run(suite);
}
