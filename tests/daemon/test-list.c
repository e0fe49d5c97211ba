/* SPDX-License-Identifier: Apache-2.0 */
/* The list for the kubelet: capacity, health, NUMA nodes, stable ids, and its size. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/hamidp.h>

#include "../unit/suite.h"
#include "complaint.h"
#include "device-list.h"
#include "fixture.h"

static struct fixture fix;
static struct device_list list;

static void setup(void)
{
	fixture_init(&fix);
	list = (struct device_list){ 0 };
}

static void teardown(void)
{
	device_list_done(&list);
	fixture_done(&fix);
}

/* All that is healthy. */
static int build_from(const struct fixture *from, bool topology, struct device_list *ret,
		      struct complaint *why)
{
	struct hamidp_publication *publication = NULL;
	int r;

	ck_assert_int_eq(hamidp_publication_new(&publication), 0);
	ck_assert_int_eq(hamidp_publish(fixture_layout(from), hamidp_node_occupancy(from->node), 0,
					NULL, publication, NULL),
			 0);
	r = device_list_build(publication, topology, ret, why);
	hamidp_publication_free(publication); /* the list does without it */
	return r;
}

static void build(bool topology)
{
	struct complaint why = { "" };

	ck_assert_msg(build_from(&fix, topology, &list, &why) == 0, "%s", why.text);
}

START_TEST(article_has_32)
{
	fixture_open(&fix, FLAGS("--driver=sim:article", "--cores-per-device=8",
				 "--memory-mb-per-core=5120"));
	build(true);
	ck_assert_uint_eq(list.list.n_devices, 32);
	ck_assert_uint_eq(list.n_healthy, 32);
	ck_assert_str_eq(list.devices[0].id, "GPU-58c45ce4-60dd-4a30-8351-cc0ea63a89d7::0");
	ck_assert_str_eq(list.devices[31].id, "GPU-606f3fec-2099-42d5-8257-e59be8c8f74d::7");
	for (size_t i = 0; i < 32; i++) {
		ck_assert_uint_eq(list.devices[i].n_numa_nodes, 1);
		ck_assert_int_eq(list.devices[i].numa_nodes[0], i < 16 ? 0 : 1);
		ck_assert_uint_eq(hamidp_layout_slice_memory_mib(fixture_layout(&fix), i / 8, 1),
				  5120);
	}
}
END_TEST

/* Topology for all of a resource's slots or for none: one card without a node spoils it for all. */
START_TEST(topology_is_for_all_or_none)
{
	static const struct {
		int nodes[2];
		bool enabled;
		size_t told;
	} cases[] = {
		{ { 0, 1 }, true, 1 },
		{ { 0, -1 }, true, 0 },
		{ { -1, -1 }, true, 0 },
		{ { 0, 1 }, false, 0 },
	};
	const struct fixture_card cards[] = {
		{ "GPU-a", NULL, 1024, cases[_i].nodes[0], NULL },
		{ "GPU-b", NULL, 1024, cases[_i].nodes[1], NULL },
	};

	fixture_write_machine(&fix, cards, 2);
	fixture_open(&fix, NULL);
	build(cases[_i].enabled);
	ck_assert_uint_eq(list.list.n_devices, 8);
	for (size_t i = 0; i < 8; i++)
		ck_assert_uint_eq(list.devices[i].n_numa_nodes, cases[_i].told);
}
END_TEST

static const char *const healths[] = { "healthy", "unknown", "suspect", "unhealthy" };

/* What is not known to be healthy is not healthy, and all slots of a card share its fate. */
START_TEST(only_healthy_cards_are_healthy)
{
	const struct fixture_card cards[] = {
		{ "GPU-a", NULL, 1024, -1, "healthy" },
		{ "GPU-b", NULL, 1024, -1, healths[_i] },
	};

	fixture_write_machine(&fix, cards, 2);
	fixture_open(&fix, NULL);
	build(true);
	ck_assert_uint_eq(list.list.n_devices, 8);
	ck_assert_uint_eq(list.n_healthy, _i ? 4 : 8);
	for (size_t i = 0; i < 8; i++)
		ck_assert_int_eq(list.devices[i].healthy, i < 4 || !_i);
}
END_TEST

/* Property: the order in which a driver tells of its cards changes nothing. */
START_TEST(enumeration_order_does_not_matter)
{
	struct fixture_card cards[] = {
		{ "GPU-c", "0000:0a:00.0", 1024, 0, NULL },
		{ "GPU-a", "0000:0b:00.0", 2048, 0, NULL },
		{ "GPU-d", "0000:0c:00.0", 4096, 1, NULL },
		{ "GPU-b", "0000:0d:00.0", 8192, 1, NULL },
	};
	struct fixture other;
	struct device_list first;

	fixture_write_machine(&fix, cards, 4);
	fixture_open(&fix, NULL);
	build(true);
	first = list;
	srand((unsigned)_i);
	for (size_t i = 3; i > 0; i--) {
		size_t j = (size_t)rand() % (i + 1);
		struct fixture_card card = cards[i];

		cards[i] = cards[j];
		cards[j] = card;
	}
	fixture_init(&other);
	fixture_write_machine(&other, cards, 4);
	fixture_open(&other, NULL);
	list = (struct device_list){ 0 };
	ck_assert_int_eq(build_from(&other, true, &list, NULL), 0);
	ck_assert(device_list_equal(&first, &list));
	ck_assert_str_eq(list.devices[0].id, "GPU-c::0");
	device_list_done(&first);
	fixture_done(&other);
}
END_TEST

START_TEST(differences_are_seen)
{
	struct device_list changed;

	fixture_open(&fix, FLAGS("--driver=sim:article"));
	build(true);
	ck_assert_int_eq(build_from(&fix, true, &changed, NULL), 0);
	ck_assert(device_list_equal(&list, &changed));
	changed.devices[3].healthy = false;
	ck_assert(!device_list_equal(&list, &changed));
	changed.devices[3].healthy = true;
	changed.nodes[1] = 7;
	ck_assert(!device_list_equal(&list, &changed));
	device_list_done(&changed);
	ck_assert_int_eq(build_from(&fix, false, &changed, NULL), 0);
	ck_assert(!device_list_equal(&list, &changed));
	device_list_done(&changed);
}
END_TEST

/* 8 x 5120 on 40,536 MiB is shrunk; 8 x 10,240 leaves that card out and serves the others. */
START_TEST(capacity_after_vendor_rounding)
{
	static const struct fixture_card cards[] = {
		{ "GPU-a", "0000:0a:00.0", 40536, -1, NULL },
		{ "GPU-b", "0000:0b:00.0", 81920, -1, NULL },
	};
	const struct hamidp_layout *layout;

	fixture_write_machine(&fix, cards, 2);
	if (_i == 0) {
		fixture_open(&fix, FLAGS("--cores-per-device=8", "--memory-mb-per-core=5120"));
		layout = fixture_layout(&fix);
		build(true);
		ck_assert_uint_eq(list.list.n_devices, 16);
		ck_assert_uint_eq(hamidp_layout_slice_memory_mib(layout, 0, 1), 5067);
		ck_assert_uint_eq(hamidp_layout_slice_memory_mib(layout, 1, 1), 5120);
		ck_assert_ptr_nonnull(strstr(hamidp_layout_device_notice(layout, 0), "5067"));
	} else {
		fixture_open(&fix, FLAGS("--cores-per-device=8", "--memory-mb-per-core=10240"));
		layout = fixture_layout(&fix);
		build(true);
		ck_assert_uint_eq(list.list.n_devices, 8);
		ck_assert_str_eq(list.devices[0].id, "GPU-b::0");
		ck_assert_ptr_nonnull(strstr(hamidp_layout_device_notice(layout, 0), "40536"));
	}
}
END_TEST

START_TEST(list_that_kubelets_refuse_is_refused)
{
	static char uuids[80][128];
	struct fixture_card cards[80];
	struct complaint why = { "" };
	size_t size, told;
	const char *number;

	for (size_t i = 0; i < 80; i++) {
		memset(uuids[i], 'x', 100);
		(void)snprintf(uuids[i] + 100, 20, "-%zu", i);
		cards[i] = (struct fixture_card){ uuids[i], NULL, 81920, 0, NULL };
	}
	fixture_write_machine(&fix, cards, 80);
	fixture_open(&fix, FLAGS("--cores-per-device=1024"));
	ck_assert_int_eq(build_from(&fix, true, &list, &why), -EMSGSIZE);
	ck_assert_ptr_nonnull(strstr(why.text, "hami.com/vgpu: the list of 81920 slots takes "));
	ck_assert_ptr_nonnull(strstr(why.text, "accepted: at most 4194304"));
	ck_assert_ptr_nonnull(strstr(why.text, "lower --cores-per-device"));
	number = strstr(why.text, "takes ") + 6;
	told = strtoul(number, NULL, 10);
	size = (size_t)81920 * (strlen(uuids[10]) + 6); /* ids alone are more than this */
	ck_assert_uint_gt(told, size);
	ck_assert_uint_lt(told, size + (size_t)81920 * 24);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("list");
	TCase *tcase = tcase_create("list");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, article_has_32);
	tcase_add_loop_test(tcase, topology_is_for_all_or_none, 0, 4);
	tcase_add_loop_test(tcase, only_healthy_cards_are_healthy, 0, 4);
	tcase_add_loop_test(tcase, enumeration_order_does_not_matter, 0, 10);
	tcase_add_test(tcase, differences_are_seen);
	tcase_add_loop_test(tcase, capacity_after_vendor_rounding, 0, 2);
	tcase_add_test(tcase, list_that_kubelets_refuse_is_refused);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
