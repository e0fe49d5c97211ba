/* SPDX-License-Identifier: Apache-2.0 */

/*
 * PCI devices in sysfs. A device's link in /sys/bus/pci/devices leads to a path that names every
 * bridge above it:
 *
 *   pci0000:3a / 0000:3a:00.0 / 0000:3b:00.0 / 0000:3c:04.0 / 0000:3d:00.0
 *   host bridge  root port      switch, up     switch, down   device
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "form.h"
#include "strv.h"
#include "sysfs-pci.h"
#include "sysfs.h"

#define VALUE_MAX 4096 /* bytes of an attribute */

/* The parts of a path from the host bridge on, NULL without one. */
static const char *from_host_bridge(const char *path)
{
	const char *at = strstr(path, "/pci");

	return at ? at + 1 : NULL;
}

static size_t part_len(const char *path)
{
	return strcspn(path, "/");
}

static size_t count_parts(const char *path)
{
	size_t n = 0;

	for (; *path; path += strspn(path, "/")) {
		path += part_len(path);
		n++;
	}
	return n;
}

static const char *next_part(const char *path)
{
	path += part_len(path);
	return path + strspn(path, "/");
}

enum hamidp_pcie_level hdp_sysfs_level(const char *path_a, const char *path_b, bool same_node)
{
	const char *a = from_host_bridge(path_a), *b = from_host_bridge(path_b);
	size_t common = 0;

	while (a && b && *a && part_len(a) == part_len(b) && !strncmp(a, b, part_len(a))) {
		a = next_part(a);
		b = next_part(b);
		common++;
	}
	if (common == 0)
		return same_node ? HAMIDP_PCIE_NODE : HAMIDP_PCIE_SYS;
	if (common == 1)
		return HAMIDP_PCIE_PHB;
	/* Below one switch each hangs on a port of it, or shares one. */
	return count_parts(a) <= 2 && count_parts(b) <= 2 ? HAMIDP_PCIE_PIX : HAMIDP_PCIE_PXB;
}

/* The first line of an attribute. 0, -ENOENT (not there, or too long) or -ENOMEM. */
static int read_line(const char *dir, const char *name, char ret[VALUE_MAX])
{
	hdp_cleanup_free char *path = NULL;
	hdp_cleanup_close int fd = -1;
	ssize_t len;

	if (asprintf(&path, "%s/%s", dir, name) < 0) {
		path = NULL; /* asprintf() leaves it undefined */
		return -ENOMEM;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ENOENT;
	len = read(fd, ret, VALUE_MAX - 1);
	if (len < 0 || len == VALUE_MAX - 1)
		return -ENOENT;
	ret[len] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	return 0;
}

static int32_t parse_node(const char *text)
{
	int32_t value = 0;
	size_t len = strspn(text, "0123456789");

	if (len == 0 || len > 6 || text[len] != '\0')
		return -1;
	for (; *text; text++)
		value = value * 10 + (*text - '0');
	return value;
}

static int join_device(const char *dir, struct hdp_device_info *info)
{
	char value[VALUE_MAX];
	char *cpus;
	int r;

	if (info->numa_node < 0) {
		r = read_line(dir, "numa_node", value);
		if (r == -ENOMEM)
			return r;
		if (r == 0)
			info->numa_node = parse_node(value);
	}
	if (info->cpus && *info->cpus)
		return 0;
	r = read_line(dir, "local_cpulist", value);
	if (r < 0 || !hdp_cpulist_valid(value))
		return r == -ENOMEM ? r : 0;
	cpus = strdup(value);
	if (!cpus)
		return -ENOMEM;
	free(info->cpus);
	info->cpus = cpus;
	return 0;
}

/* *@ret is NULL where sysfs does not know the device. */
static int find_path(const char *sysroot, const struct hdp_device_info *info, char **ret)
{
	hdp_cleanup_free char *link = NULL;
	char pci[HDP_PCI_SIZE];
	uint64_t key;

	*ret = NULL;
	if (!info->pci || !hdp_pci_parse(info->pci, pci, &key))
		return 0;
	if (asprintf(&link, "%s/sys/bus/pci/devices/%s", sysroot, pci) < 0) {
		link = NULL;
		return -ENOMEM;
	}
	*ret = realpath(link, NULL);
	return *ret || errno != ENOMEM ? 0 : -ENOMEM;
}

static size_t find_device(const struct hdp_machine *m, const char *uuid)
{
	for (size_t i = 0; uuid && i < m->n_devices; i++)
		if (m->devices[i].uuid && !strcmp(m->devices[i].uuid, uuid))
			return i;
	return m->n_devices;
}

/* A byte for each pair of devices: 1 where the driver says the level. */
static void mark_stated(const struct hdp_machine *m, unsigned char *stated)
{
	size_t n = m->n_devices;

	for (size_t i = 0; i < m->n_links; i++) {
		size_t a, b;

		if (m->links[i].pcie == HAMIDP_PCIE_UNKNOWN)
			continue;
		a = find_device(m, m->links[i].a);
		b = find_device(m, m->links[i].b);
		if (a < n && b < n)
			stated[a * n + b] = stated[b * n + a] = 1;
	}
}

static int add_level(struct hdp_machine *m, const struct hdp_device_info *a,
		     const struct hdp_device_info *b, enum hamidp_pcie_level level)
{
	struct hdp_link_info link = { .pcie = level };

	link.a = strdup(a->uuid);
	link.b = strdup(b->uuid);
	if (!link.a || !link.b || hdp_machine_add_link(m, &link) < 0) {
		hdp_link_info_done(&link);
		return -ENOMEM;
	}
	return 0;
}

static int join_links(struct hdp_machine *m, char *const *paths)
{
	size_t n = m->n_devices;
	hdp_cleanup_free unsigned char *stated = calloc(n ? n * n : 1, 1);

	if (!stated)
		return -ENOMEM;
	mark_stated(m, stated);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++) {
			const struct hdp_device_info *a = &m->devices[j], *b = &m->devices[i];
			bool same_node = a->numa_node >= 0 && a->numa_node == b->numa_node;

			if (!paths[i] || !paths[j] || !a->uuid || !b->uuid || stated[i * n + j])
				continue;
			if (add_level(m, a, b, hdp_sysfs_level(paths[j], paths[i], same_node)) < 0)
				return -ENOMEM;
		}
	return 0;
}

int hdp_sysfs_join_pci(const char *sysroot, struct hdp_machine *m)
{
	size_t n = m->n_devices;
	char **paths;
	int r = 0;

	if (n > HDP_DEVICES_MAX)
		return 0; /* sealing refuses them by name */
	paths = calloc(n ? n : 1, sizeof(*paths));
	if (!paths)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = find_path(sysroot, &m->devices[i], &paths[i]);
		if (r == 0 && paths[i])
			r = join_device(paths[i], &m->devices[i]);
	}
	hdp_sysfs_check_numa(sysroot, m);
	if (r == 0)
		r = join_links(m, paths);
	hdp_strv_free(paths, n);
	return r;
}
