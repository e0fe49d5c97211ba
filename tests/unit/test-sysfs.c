/* SPDX-License-Identifier: Apache-2.0 */

/* What is read below sysroot, on trees made for it. */

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "node-fixture.h"
#include "suite.h"
#include "sysfs.h"

static void make_node(int node, const char *cpulist)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/sys", dir);
	(void)mkdir(path, 0755);
	strcat(path, "/devices");
	(void)mkdir(path, 0755);
	strcat(path, "/system");
	(void)mkdir(path, 0755);
	strcat(path, "/node");
	(void)mkdir(path, 0755);
	(void)sprintf(path + strlen(path), "/node%d", node);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	strcat(path, "/cpulist");
	if (cpulist)
		put_file(path, cpulist);
}

START_TEST(node_counts_only_with_cpus)
{
	make_node(0, "0-3\n");
	make_node(1, "\n");
	make_node(2, "");
	make_node(3, NULL);
	make_node(10, "4,6\n");
	ck_assert(hdp_sysfs_node_has_cpus(dir, 0));
	ck_assert(!hdp_sysfs_node_has_cpus(dir, 1));
	ck_assert(!hdp_sysfs_node_has_cpus(dir, 2));
	ck_assert(!hdp_sysfs_node_has_cpus(dir, 3));
	ck_assert(!hdp_sysfs_node_has_cpus(dir, 4));
	ck_assert(hdp_sysfs_node_has_cpus(dir, 10));
	ck_assert(!hdp_sysfs_node_has_cpus(dir, -1));
	ck_assert(!hdp_sysfs_node_has_cpus("/nonexistent", 0));
}
END_TEST

START_TEST(devices_lose_nodes_without_cpus)
{
	struct hdp_machine machine = { 0 };

	make_node(0, "0-3\n");
	make_node(1, "\n");
	for (int32_t node = -1; node < 3; node++) {
		struct hdp_device_info info = HDP_DEVICE_INFO_INIT;

		info.numa_node = node;
		ck_assert_int_eq(hdp_machine_add_device(&machine, &info), 0);
	}
	hdp_sysfs_check_numa(dir, &machine);
	ck_assert_int_eq(machine.devices[0].numa_node, -1);
	ck_assert_int_eq(machine.devices[1].numa_node, 0);
	ck_assert_int_eq(machine.devices[2].numa_node, -1);
	ck_assert_int_eq(machine.devices[3].numa_node, -1);
	hdp_machine_done(&machine);
}
END_TEST

START_TEST(device_nodes_get_their_type_from_the_host_path)
{
	struct hamidp_device_node node = { .size = sizeof(node), .host_path = "/dev/null" };
	struct stat st;

	ck_assert_int_eq(stat("/dev/null", &st), 0);
	hdp_sysfs_node_type("", &node);
	ck_assert_int_eq(node.type, HAMIDP_NODE_TYPE_CHAR);
	ck_assert_uint_eq(node.major, major(st.st_rdev));
	ck_assert_uint_eq(node.minor, minor(st.st_rdev));
	hdp_sysfs_node_type(dir, &node); /* not below this one */
	ck_assert_int_eq(node.type, HAMIDP_NODE_TYPE_UNKNOWN);
	node.host_path = "/etc";
	hdp_sysfs_node_type("", &node);
	ck_assert_int_eq(node.type, HAMIDP_NODE_TYPE_UNKNOWN);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sysfs");
	TCase *tc = tcase_create("sysfs");

	tcase_add_checked_fixture(tc, fixture_setup, fixture_teardown);
	tcase_add_test(tc, node_counts_only_with_cpus);
	tcase_add_test(tc, devices_lose_nodes_without_cpus);
	tcase_add_test(tc, device_nodes_get_their_type_from_the_host_path);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
