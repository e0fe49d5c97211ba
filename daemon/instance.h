/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One instance per resource: the kubelet tells two of one resource apart by name only, and drops
 * the newer one when the older one ends.
 *
 * Two guards. A locked file in the run directory says who holds it; where there is no such
 * directory, or each container has its own, an abstract socket of the same network namespace (the
 * host's, as a device plugin is deployed) still is one for all. A third is the listener, which
 * never takes a socket that somebody answers on.
 */

struct complaint;
struct instance;

/*
 * @run_dir is made if its parent is there. Without a usable one there is one warning and no file.
 *
 * Return: 0 with *@ret owned by the caller (instance_free()); -EBUSY with who has it; -ENOMEM.
 */
int instance_new(const char *run_dir, const char *plugin_dir, const char *resource_name,
		 struct instance **ret, struct complaint *complaint);
/* Give the resource free. The file stays, since somebody may wait for its lock; it is empty. */
struct instance *instance_free(struct instance *instance);
