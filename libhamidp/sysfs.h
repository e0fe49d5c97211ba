/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the kernel says about this machine, below a prefix for the real root. */

#include <stdbool.h>
#include <stdint.h>

#include <hami/edits.h>

#include "machine.h"

/* True if NUMA node @node is there and has CPUs. */
bool hdp_sysfs_node_has_cpus(const char *sysroot, int32_t node);

/* A device's NUMA node becomes -1 unless the node has CPUs: nothing can be aligned to the others.
 */
void hdp_sysfs_check_numa(const char *sysroot, struct hdp_machine *machine);

/* Fill type, major and minor of a device node from its host path; UNKNOWN if it cannot be seen. */
void hdp_sysfs_node_type(const char *sysroot, struct hamidp_device_node *node);
