/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HAMI_INVENTORY_H
#define HAMI_INVENTORY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: inventory
 *
 * What a machine has: devices, the links between them, their NUMA nodes. Immutable once made, so
 * that many threads may read one; to and from JSON ("hami.inventory/1", docs/inventory.md), so that
 * a scheduler can hold ten thousand machines and a real node's export is a simulated machine.
 *
 * Devices are ordered by PCI address (then by UUID where there is none) whatever order the driver
 * or the file has, and are addressed by their position in that order, from 0. No call here blocks,
 * and all getters may be called from any thread.
 */

/* Opaque. An inventory lends its devices. */
struct hamidp_inventory;
struct hamidp_device;
struct hamidp_reason;

/**
 * enum hamidp_health - state of a device
 *
 * Only HAMIDP_HEALTH_HEALTHY is healthy: what is not known is not healthy.
 *
 * Since: 0.1
 */
enum hamidp_health {
	HAMIDP_HEALTH_UNKNOWN = 0,   /* nobody said */
	HAMIDP_HEALTH_HEALTHY = 1,   /* the driver answers and knows of no fault */
	HAMIDP_HEALTH_SUSPECT = 2,   /* the driver did not answer in time; being probed */
	HAMIDP_HEALTH_UNHEALTHY = 3, /* a fault is known */
	HAMIDP_HEALTH_GONE = 4,	     /* it was here and no longer is */
	_HAMIDP_HEALTH_PAD = 0x7fffffff
};

/** enum hamidp_link_type - what joins two devices directly; Since: 0.1 */
enum hamidp_link_type {
	HAMIDP_LINK_NONE = 0, /* only PCIe, or not known */
	HAMIDP_LINK_NVLINK = 1,
	HAMIDP_LINK_XGMI = 2,
	_HAMIDP_LINK_PAD = 0x7fffffff
};

/** enum hamidp_pcie_level - the nearest common PCIe ancestor of two devices; Since: 0.1 */
enum hamidp_pcie_level {
	HAMIDP_PCIE_UNKNOWN = 0,
	HAMIDP_PCIE_SYS = 10,  /* across the socket interconnect */
	HAMIDP_PCIE_NODE = 20, /* within a NUMA node, across host bridges */
	HAMIDP_PCIE_PHB = 30,  /* one host bridge */
	HAMIDP_PCIE_PXB = 40,  /* several PCIe switches */
	HAMIDP_PCIE_PIX = 50,  /* one PCIe switch */
	_HAMIDP_PCIE_PAD = 0x7fffffff
};

/**
 * hamidp_inventory_from_json() - read an inventory
 * @text: JSON text, need not be NUL-terminated
 * @len: its length in bytes, at most 16 MiB
 * @ret: where to store the inventory
 * @reason: filled with line, column and what is wrong, or NULL
 *
 * Unknown keys, duplicate UUIDs, links to unknown devices and values out of range are errors.
 *
 * Return: 0 and *@ret owned by the caller (hamidp_inventory_unref()), -EINVAL or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_inventory_from_json(const char *text, size_t len, struct hamidp_inventory **ret,
			       struct hamidp_reason *reason);

/**
 * hamidp_inventory_to_json() - write an inventory
 * @inv: inventory
 * @ret_text: where to store the NUL-terminated text, to be released with free()
 * @ret_len: where to store its length without the NUL, or NULL
 *
 * The output is the same for equal inventories. Grants that the inventory was read with are kept.
 *
 * Return: 0, or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_inventory_to_json(const struct hamidp_inventory *inv, char **ret_text, size_t *ret_len);

/**
 * hamidp_inventory_ref() - take another reference
 * @inv: inventory
 *
 * Return: @inv. Thread safe.
 *
 * Since: 0.1
 */
struct hamidp_inventory *hamidp_inventory_ref(struct hamidp_inventory *inv);

/**
 * hamidp_inventory_unref() - drop a reference
 * @inv: inventory or NULL
 *
 * Return: NULL. Thread safe.
 *
 * Since: 0.1
 */
struct hamidp_inventory *hamidp_inventory_unref(struct hamidp_inventory *inv);

/** hamidp_inventory_driver_name() - name of the driver that saw it, "" if not known; Since: 0.1 */
const char *hamidp_inventory_driver_name(const struct hamidp_inventory *inv);
/** hamidp_inventory_driver_version() - the vendor's version, "" if not known; Since: 0.1 */
const char *hamidp_inventory_driver_version(const struct hamidp_inventory *inv);
/** hamidp_inventory_max_slots() - most slots the driver cuts a device into, 0 if it names no limit;
 * Since: 0.1 */
uint32_t hamidp_inventory_max_slots(const struct hamidp_inventory *inv);
/** hamidp_inventory_needs_contiguous() - 1 if a slice's slots must be neighbours, else 0; Since:
 * 0.1 */
int hamidp_inventory_needs_contiguous(const struct hamidp_inventory *inv);

/** hamidp_inventory_n_devices() - number of devices; Since: 0.1 */
size_t hamidp_inventory_n_devices(const struct hamidp_inventory *inv);

/**
 * hamidp_inventory_device() - borrow a device by position
 * @inv: inventory
 * @pos: position, below hamidp_inventory_n_devices()
 *
 * Return: the device, valid as long as @inv is, or NULL past the end.
 *
 * Since: 0.1
 */
const struct hamidp_device *hamidp_inventory_device(const struct hamidp_inventory *inv, size_t pos);

/**
 * hamidp_inventory_find() - position of a device
 * @inv: inventory
 * @uuid: the device's UUID, compared exactly
 * @ret_pos: where to store its position
 *
 * Return: 0, or -ENOENT.
 *
 * Since: 0.1
 */
int hamidp_inventory_find(const struct hamidp_inventory *inv, const char *uuid, size_t *ret_pos);

/** hamidp_inventory_link_type() - what joins the devices at positions @a and @b; NONE past the end;
 * Since: 0.1 */
enum hamidp_link_type hamidp_inventory_link_type(const struct hamidp_inventory *inv, size_t a,
						 size_t b);
/** hamidp_inventory_link_lanes() - lanes (NVLinks, XGMI links) between two devices, the smaller of
 * both ways; Since: 0.1 */
uint32_t hamidp_inventory_link_lanes(const struct hamidp_inventory *inv, size_t a, size_t b);
/** hamidp_inventory_link_gbps() - GB/s per direction, all lanes together, 0 if not known; Since:
 * 0.1 */
uint32_t hamidp_inventory_link_gbps(const struct hamidp_inventory *inv, size_t a, size_t b);
/** hamidp_inventory_pcie_level() - nearest common PCIe ancestor of two devices; Since: 0.1 */
enum hamidp_pcie_level hamidp_inventory_pcie_level(const struct hamidp_inventory *inv, size_t a,
						   size_t b);

/**
 * hamidp_inventory_best_set() - the best linked devices of an empty machine
 * @inv: inventory
 * @k: how many, 1 to hamidp_inventory_n_devices()
 * @ret_positions: where to store @k positions, ascending
 * @ret_score: where to store the sum over their pairs of 100 x lanes + PCIe level, or NULL
 *
 * A set within one NUMA node counts 2 % more; ties go to the first devices. Exact up to 16 devices,
 * grown greedily beyond. Thread safe.
 *
 * Return: 0, -EINVAL (@k) or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_inventory_best_set(const struct hamidp_inventory *inv, size_t k, size_t *ret_positions,
			      uint64_t *ret_score);

/**
 * hamidp_inventory_prepare() - make the tables that placement looks links up in
 * @inv: inventory
 *
 * The first placement makes them otherwise: up to 10 ms and 0.6 MiB for 16 devices, far less for 8.
 * Inventories that a node derives from one another share them. Thread safe.
 *
 * Return: 0, or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_inventory_prepare(const struct hamidp_inventory *inv);

/**
 * hamidp_inventory_adopt_topology() - share the tables of an equal machine
 * @inv: inventory, not yet shared with another thread nor used for a layout
 * @from: inventory whose devices have the same links and NUMA nodes at the same positions
 *
 * For a scheduler that holds thousands of machines of a few kinds.
 *
 * Return: 0, or -EINVAL (not equal) and nothing changed.
 *
 * Since: 0.1
 */
int hamidp_inventory_adopt_topology(struct hamidp_inventory *inv,
				    const struct hamidp_inventory *from);

/** hamidp_device_uuid() - the identity, never NULL or empty; Since: 0.1 */
const char *hamidp_device_uuid(const struct hamidp_device *dev);
/** hamidp_device_index() - the driver's index, -1 if not known; not an identity; Since: 0.1 */
int64_t hamidp_device_index(const struct hamidp_device *dev);
/** hamidp_device_minor() - minor number of the device node, -1 if not known; Since: 0.1 */
int64_t hamidp_device_minor(const struct hamidp_device *dev);
/** hamidp_device_model() - product name, "" if not known; valid UTF-8; Since: 0.1 */
const char *hamidp_device_model(const struct hamidp_device *dev);
/** hamidp_device_pci() - PCI address such as "0000:3b:00.0", lower case, "" if not known; Since:
 * 0.1 */
const char *hamidp_device_pci(const struct hamidp_device *dev);
/** hamidp_device_memory_mib() - memory in MiB, 0 if not known; Since: 0.1 */
uint64_t hamidp_device_memory_mib(const struct hamidp_device *dev);
/** hamidp_device_sms() - streaming multiprocessors or compute units, 0 if not known; Since: 0.1 */
uint32_t hamidp_device_sms(const struct hamidp_device *dev);
/** hamidp_device_sm_mhz() - highest SM clock in MHz, 0 if not known; Since: 0.1 */
uint32_t hamidp_device_sm_mhz(const struct hamidp_device *dev);
/** hamidp_device_compute_capability() - such as "8.0", "" if not known; Since: 0.1 */
const char *hamidp_device_compute_capability(const struct hamidp_device *dev);
/** hamidp_device_gflops_fp32() - peak FP32 in GFLOPS, 0 if not known; Since: 0.1 */
uint64_t hamidp_device_gflops_fp32(const struct hamidp_device *dev);
/** hamidp_device_numa_node() - NUMA node that has CPUs, -1 for none or not known; Since: 0.1 */
int32_t hamidp_device_numa_node(const struct hamidp_device *dev);
/** hamidp_device_cpus() - CPUs near the device as a Linux cpulist ("0-15,32-47"), "" if not known;
 * Since: 0.1 */
const char *hamidp_device_cpus(const struct hamidp_device *dev);
/** hamidp_device_health() - state when the inventory was made; Since: 0.1 */
enum hamidp_health hamidp_device_health(const struct hamidp_device *dev);
/** hamidp_device_health_cause() - why it is not healthy, one line, "" if it is; Since: 0.1 */
const char *hamidp_device_health_cause(const struct hamidp_device *dev);

/** hamidp_health_to_string() - "healthy", "suspect", ...; static, never NULL; Since: 0.1 */
const char *hamidp_health_to_string(enum hamidp_health health);
/** hamidp_link_type_to_string() - "nvlink", "xgmi", "none"; static, never NULL; Since: 0.1 */
const char *hamidp_link_type_to_string(enum hamidp_link_type type);
/** hamidp_pcie_level_to_string() - "PIX", ... "SYS", "unknown"; static, never NULL; Since: 0.1 */
const char *hamidp_pcie_level_to_string(enum hamidp_pcie_level level);

#ifdef __cplusplus
}
#endif
#endif
