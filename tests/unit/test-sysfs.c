/* SPDX-License-Identifier: Apache-2.0 */

/* What is read below sysroot, on trees made for it. */

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "node-fixture.h"
#include "suite.h"
#include "sysfs-pci.h"
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

/* Host bridge, root port, switch up and down, device; what pairs of paths are. */
static const struct {
	const char *a, *b;
	bool same_node;
	enum hamidp_pcie_level level;
} pairs[] = {
	{ "/r/pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:04.0/0000:3d:00.0",
	  "/r/pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:08.0/0000:3e:00.0", true,
	  HAMIDP_PCIE_PIX },
	{ "/r/pci0000:3a/0000:3a:00.0/0000:3b:00.0", "/r/pci0000:3a/0000:3a:00.0/0000:3b:00.1",
	  true, HAMIDP_PCIE_PIX },
	{ "/r/pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:04.0/0000:3d:00.0/0000:3e:00.0/0000:3f:00.0",
	  "/r/pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:08.0/0000:41:00.0", true,
	  HAMIDP_PCIE_PXB },
	{ "/r/pci0000:3a/0000:3a:00.0/0000:3b:00.0", "/r/pci0000:3a/0000:3a:02.0/0000:5b:00.0",
	  true, HAMIDP_PCIE_PHB },
	{ "/r/pci0000:3a/0000:3a:00.0/0000:3b:00.0", "/r/pci0000:5a/0000:5a:00.0/0000:5b:00.0",
	  true, HAMIDP_PCIE_NODE },
	{ "/r/pci0000:3a/0000:3a:00.0/0000:3b:00.0", "/r/pci0000:3/0000:3a:00.0/0000:3b:00.0",
	  false, HAMIDP_PCIE_SYS },
	{ "/r/pci10000:00/10000:00:00.0/10000:01:00.0", "/r/pci0000:00/0000:00:00.0/0000:01:00.0",
	  false, HAMIDP_PCIE_SYS },
	{ "/r/platform/gpu0", "/r/platform/gpu0", true, HAMIDP_PCIE_NODE },
};

START_TEST(paths_tell_the_level)
{
	ck_assert_str_eq(hamidp_pcie_level_to_string(
				 hdp_sysfs_level(pairs[_i].a, pairs[_i].b, pairs[_i].same_node)),
			 hamidp_pcie_level_to_string(pairs[_i].level));
	ck_assert_int_eq(hdp_sysfs_level(pairs[_i].b, pairs[_i].a, pairs[_i].same_node),
			 pairs[_i].level);
}
END_TEST

static void make_dirs(char *path)
{
	for (char *at = path + strlen(dir) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		(void)mkdir(path, 0755);
		*at = '/';
	}
}

/* A device at the end of @below, with what sysfs has of it. */
static void make_pci(const char *below, const char *pci, const char *node, const char *cpus)
{
	char path[512], link[512], target[256];

	(void)snprintf(path, sizeof(path), "%s/sys/devices/%s/%s/numa_node", dir, below, pci);
	make_dirs(path);
	if (node)
		put_file(path, node);
	(void)snprintf(path, sizeof(path), "%s/sys/devices/%s/%s/local_cpulist", dir, below, pci);
	put_file(path, cpus);
	(void)snprintf(link, sizeof(link), "%s/sys/bus/pci/devices/%s", dir, pci);
	make_dirs(link);
	(void)snprintf(target, sizeof(target), "../../../devices/%s/%s", below, pci);
	ck_assert_int_eq(symlink(target, link), 0);
}

static void add_device(struct hdp_machine *machine, const char *uuid, const char *pci)
{
	struct hdp_device_info info = HDP_DEVICE_INFO_INIT;

	info.uuid = strdup(uuid);
	info.pci = pci ? strdup(pci) : NULL;
	ck_assert_int_eq(hdp_machine_add_device(machine, &info), 0);
}

START_TEST(sysfs_fills_in_what_a_driver_leaves_out)
{
	struct hdp_machine machine = { .n_devices = 0 };
	struct hdp_link_info said = { .pcie = HAMIDP_PCIE_SYS };
	struct hamidp_inventory *inv = NULL;

	make_node(0, "0-3\n");
	make_node(1, "\n");
	make_pci("pci0000:3a/0000:3a:00.0", "0000:3b:00.0", "0\n", "0-3\n");
	make_pci("pci0000:3a/0000:3a:02.0", "0000:3c:00.0", "0\n", "nonsense\n");
	make_pci("pci10000:00/10000:00:00.0", "10000:01:00.0", "1\n", "\n");
	make_pci("pci0000:5a/0000:5a:00.0", "0000:5b:00.0", "-1\n", "0-3\n");
	add_device(&machine, "GPU-a", "0000:3B:00.0");
	add_device(&machine, "GPU-b", "00000000:3c:00.0");
	add_device(&machine, "GPU-c", "00010000:01:00.0");
	add_device(&machine, "GPU-d", "0000:5b:00.0");
	add_device(&machine, "GPU-e", "0000:99:00.0");
	add_device(&machine, "GPU-f", NULL);
	said.a = strdup("GPU-d");
	said.b = strdup("GPU-a");
	ck_assert_int_eq(hdp_machine_add_link(&machine, &said), 0);
	ck_assert_int_eq(hdp_sysfs_join_pci(dir, &machine), 0);
	ck_assert_int_eq(machine.devices[0].numa_node, 0);
	ck_assert_int_eq(machine.devices[1].numa_node, 0);
	ck_assert_int_eq(machine.devices[2].numa_node, -1); /* its node has no CPUs */
	ck_assert_int_eq(machine.devices[3].numa_node, -1);
	ck_assert_int_eq(machine.devices[4].numa_node, -1);
	ck_assert_str_eq(machine.devices[0].cpus, "0-3");
	ck_assert_ptr_null(machine.devices[1].cpus);
	ck_assert_ptr_null(machine.devices[2].cpus);
	ck_assert_uint_eq(machine.n_links, 6); /* of four that sysfs knows, one was said */
	ck_assert_int_eq(hdp_machine_seal(&machine, &inv, NULL), 0);
	ck_assert_int_eq(hamidp_inventory_pcie_level(inv, 0, 1), HAMIDP_PCIE_PHB);
	ck_assert_int_eq(hamidp_inventory_pcie_level(inv, 1, 0), HAMIDP_PCIE_PHB);
	ck_assert_int_eq(hamidp_inventory_pcie_level(inv, 0, 2), HAMIDP_PCIE_SYS);
	hamidp_inventory_unref(inv);
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
	tcase_add_loop_test(tc, paths_tell_the_level, 0, ARRAY_SIZE(pairs));
	tcase_add_test(tc, sysfs_fills_in_what_a_driver_leaves_out);
	tcase_add_test(tc, device_nodes_get_their_type_from_the_host_path);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
