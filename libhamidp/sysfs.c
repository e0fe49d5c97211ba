/* SPDX-License-Identifier: Apache-2.0 */

/* Owns what is read below sysroot. Knows nothing of drivers. */

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "sysfs.h"

bool hdp_sysfs_node_has_cpus(const char *sysroot, int32_t node)
{
	hdp_cleanup_free char *path = NULL;
	hdp_cleanup_close int fd = -1;
	char first = '\0';

	if (node < 0)
		return false;
	if (asprintf(&path, "%s/sys/devices/system/node/node%" PRId32 "/cpulist", sysroot, node) <
	    0) {
		path = NULL; /* asprintf() leaves it undefined */
		return false;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	/* A node with memory only has an empty list, which is a newline. */
	return read(fd, &first, 1) == 1 && isdigit((unsigned char)first);
}

void hdp_sysfs_check_numa(const char *sysroot, struct hdp_machine *machine)
{
	for (size_t i = 0; i < machine->n_devices; i++)
		if (!hdp_sysfs_node_has_cpus(sysroot, machine->devices[i].numa_node))
			machine->devices[i].numa_node = -1;
}

void hdp_sysfs_node_type(const char *sysroot, struct hamidp_device_node *node)
{
	hdp_cleanup_free char *path = NULL;
	struct stat st;

	node->type = HAMIDP_NODE_TYPE_UNKNOWN;
	if (asprintf(&path, "%s%s", sysroot, node->host_path) < 0) {
		path = NULL;
		return;
	}
	if (stat(path, &st) < 0)
		return;
	if (S_ISCHR(st.st_mode))
		node->type = HAMIDP_NODE_TYPE_CHAR;
	else if (S_ISBLK(st.st_mode))
		node->type = HAMIDP_NODE_TYPE_BLOCK;
	else
		return;
	node->major = major(st.st_rdev);
	node->minor = minor(st.st_rdev);
}
