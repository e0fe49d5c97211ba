/* SPDX-License-Identifier: Apache-2.0 */

/* The inventory once it is made: references and getters. */

#include <errno.h>
#include <string.h>

#include "inventory.h"

HAMIDP_EXPORT struct hamidp_inventory *hamidp_inventory_ref(struct hamidp_inventory *inv)
{
	__atomic_add_fetch(&inv->refs, 1, __ATOMIC_RELAXED);
	return inv;
}

static void free_inventory(struct hamidp_inventory *inv)
{
	free(inv->driver_name);
	free(inv->driver_version);
	for (size_t i = 0; i < inv->n_devices; i++)
		hdp_device_info_done(&inv->devices[i].info);
	free(inv->devices);
	free(inv->by_uuid);
	free(inv->links);
	free(inv->link_note);
	hdp_topology_unref(inv->topology);
	for (size_t i = 0; i < inv->n_mounts; i++)
		hdp_path_done(&inv->mounts[i]);
	free(inv->mounts);
	for (size_t i = 0; i < inv->n_grants; i++)
		hdp_stated_grant_done(&inv->grants[i]);
	free(inv->grants);
	free(inv);
}

HAMIDP_EXPORT struct hamidp_inventory *hamidp_inventory_unref(struct hamidp_inventory *inv)
{
	if (inv && __atomic_sub_fetch(&inv->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free_inventory(inv);
	return NULL;
}

HAMIDP_EXPORT const char *hamidp_inventory_driver_name(const struct hamidp_inventory *inv)
{
	return inv->driver_name;
}

HAMIDP_EXPORT const char *hamidp_inventory_driver_version(const struct hamidp_inventory *inv)
{
	return inv->driver_version;
}

HAMIDP_EXPORT uint32_t hamidp_inventory_max_slots(const struct hamidp_inventory *inv)
{
	return inv->max_slots;
}

HAMIDP_EXPORT int hamidp_inventory_needs_contiguous(const struct hamidp_inventory *inv)
{
	return inv->contiguous;
}

HAMIDP_EXPORT size_t hamidp_inventory_n_devices(const struct hamidp_inventory *inv)
{
	return inv->n_devices;
}

HAMIDP_EXPORT const struct hamidp_device *hamidp_inventory_device(
	const struct hamidp_inventory *inv, size_t pos)
{
	return pos < inv->n_devices ? &inv->devices[pos] : NULL;
}

HAMIDP_EXPORT int hamidp_inventory_find(const struct hamidp_inventory *inv, const char *uuid,
					size_t *ret_pos)
{
	size_t low = 0, high = inv->n_devices;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		size_t pos = inv->by_uuid[mid];
		int order = strcmp(uuid, inv->devices[pos].info.uuid);

		if (order == 0) {
			*ret_pos = pos;
			return 0;
		}
		if (order < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return -ENOENT;
}

/* What is known of a pair; nothing past the end. */
static struct hdp_link link_of(const struct hamidp_inventory *inv, size_t a, size_t b)
{
	if (!inv->links || a >= inv->n_devices || b >= inv->n_devices)
		return (struct hdp_link){ 0 };
	return inv->links[a * inv->n_devices + b];
}

HAMIDP_EXPORT enum hamidp_link_type hamidp_inventory_link_type(const struct hamidp_inventory *inv,
							       size_t a, size_t b)
{
	return (enum hamidp_link_type)link_of(inv, a, b).type;
}

HAMIDP_EXPORT uint32_t hamidp_inventory_link_lanes(const struct hamidp_inventory *inv, size_t a,
						   size_t b)
{
	return link_of(inv, a, b).lanes;
}

HAMIDP_EXPORT uint32_t hamidp_inventory_link_gbps(const struct hamidp_inventory *inv, size_t a,
						  size_t b)
{
	return link_of(inv, a, b).gbps;
}

HAMIDP_EXPORT enum hamidp_pcie_level hamidp_inventory_pcie_level(const struct hamidp_inventory *inv,
								 size_t a, size_t b)
{
	return (enum hamidp_pcie_level)link_of(inv, a, b).pcie;
}

HAMIDP_EXPORT int hamidp_inventory_adopt_topology(struct hamidp_inventory *inv,
						  const struct hamidp_inventory *from)
{
	struct hdp_topology *old = inv->topology;

	if (!hdp_topology_equal(old, from->topology))
		return -EINVAL;
	inv->topology = hdp_topology_ref(from->topology);
	hdp_topology_unref(old);
	return 0;
}

HAMIDP_EXPORT int hamidp_inventory_prepare(const struct hamidp_inventory *inv)
{
	return hdp_topology_tables(inv->topology) ? 0 : -ENOMEM;
}

HAMIDP_EXPORT int hamidp_inventory_best_set(const struct hamidp_inventory *inv, size_t k,
					    size_t *ret_positions, uint64_t *ret_score)
{
	const struct hdp_tables *tables;
	hdp_cleanup_free uint32_t *set = NULL;
	uint64_t score = 0;

	if (k == 0 || k > inv->n_devices)
		return -EINVAL;
	tables = hdp_topology_tables(inv->topology);
	set = calloc(k, sizeof(*set));
	if (!tables || !set || hdp_topology_best_set(inv->topology, tables, k, set) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < k; i++) {
		ret_positions[i] = set[i];
		for (size_t j = 0; j < i; j++)
			score += hdp_weight(inv->topology, set[i], set[j]);
	}
	if (ret_score)
		*ret_score = score;
	return 0;
}

/* Getters of a device: name and type of the field, for one function each. */
#define DEVICE_GETTER(type, field)                                                \
	HAMIDP_EXPORT type hamidp_device_##field(const struct hamidp_device *dev) \
	{                                                                         \
		return dev->info.field;                                           \
	}
DEVICE_GETTER(const char *, uuid)
DEVICE_GETTER(const char *, model)
DEVICE_GETTER(const char *, pci)
DEVICE_GETTER(const char *, compute_capability)
DEVICE_GETTER(const char *, cpus)
DEVICE_GETTER(const char *, health_cause)
DEVICE_GETTER(int64_t, index)
DEVICE_GETTER(int64_t, minor)
DEVICE_GETTER(uint64_t, memory_mib)
DEVICE_GETTER(uint32_t, sms)
DEVICE_GETTER(uint32_t, sm_mhz)
DEVICE_GETTER(uint64_t, gflops_fp32)
DEVICE_GETTER(int32_t, numa_node)
DEVICE_GETTER(enum hamidp_health, health)

HAMIDP_EXPORT const char *hamidp_health_to_string(enum hamidp_health health)
{
	static const char *const names[] = {
		[HAMIDP_HEALTH_UNKNOWN] = "unknown", [HAMIDP_HEALTH_HEALTHY] = "healthy",
		[HAMIDP_HEALTH_SUSPECT] = "suspect", [HAMIDP_HEALTH_UNHEALTHY] = "unhealthy",
		[HAMIDP_HEALTH_GONE] = "gone",
	};

	return (size_t)health < ARRAY_SIZE(names) ? names[health] : "unknown";
}

HAMIDP_EXPORT const char *hamidp_link_type_to_string(enum hamidp_link_type type)
{
	static const char *const names[] = {
		[HAMIDP_LINK_NONE] = "none",
		[HAMIDP_LINK_NVLINK] = "nvlink",
		[HAMIDP_LINK_XGMI] = "xgmi",
	};

	return (size_t)type < ARRAY_SIZE(names) ? names[type] : "unknown";
}

HAMIDP_EXPORT const char *hamidp_pcie_level_to_string(enum hamidp_pcie_level level)
{
	switch (level) {
	case HAMIDP_PCIE_SYS:
		return "SYS";
	case HAMIDP_PCIE_NODE:
		return "NODE";
	case HAMIDP_PCIE_PHB:
		return "PHB";
	case HAMIDP_PCIE_PXB:
		return "PXB";
	case HAMIDP_PCIE_PIX:
		return "PIX";
	case HAMIDP_PCIE_UNKNOWN:
	case _HAMIDP_PCIE_PAD:
		break;
	}
	return "unknown";
}
