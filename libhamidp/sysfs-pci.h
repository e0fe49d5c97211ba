/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What sysfs adds to what a driver says of devices on this host's PCI buses. */

#include "machine.h"

/*
 * Fill in NUMA nodes, CPU lists and PCIe levels that the driver left out, from the PCI addresses of
 * the devices. What cannot be read, or is no sense, stays unknown. 0 or -ENOMEM.
 */
int hdp_sysfs_join_pci(const char *sysroot, struct hdp_machine *machine) hdp_must_check;

/* The level of two devices by their paths below /sys/devices; @same_node: one NUMA node has both.
 */
enum hamidp_pcie_level hdp_sysfs_level(const char *path_a, const char *path_b, bool same_node);
