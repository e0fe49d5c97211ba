/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Which layouts are alike: those on which every request gets the same slot numbers, if the same
 * ones are held. Names, UUIDs and addresses do not matter, only the order of devices that they
 * gave.
 */

#include <errno.h>
#include <string.h>

#include "fleet.h"

/* All of a device that placement looks at. */
static bool same_device(const struct hamidp_layout *a, const struct hamidp_layout *b, size_t pos)
{
	const struct hdp_layout_device *x = &a->devices[pos], *y = &b->devices[pos];
	const struct hdp_device_info *i = &a->inv->devices[pos].info;
	const struct hdp_device_info *j = &b->inv->devices[pos].info;

	return x->resource == y->resource && x->n_slots == y->n_slots &&
	       x->slot_mib == y->slot_mib && x->memory_mib == y->memory_mib &&
	       x->cores_ratio_ppm == y->cores_ratio_ppm && i->health == j->health &&
	       i->numa_node == j->numa_node;
}

static bool same_links(const struct hamidp_inventory *a, const struct hamidp_inventory *b)
{
	size_t n = a->n_devices * a->n_devices;

	if (!a->links || !b->links)
		return a->links == b->links;
	return memcmp(a->links, b->links, n * sizeof(*a->links)) == 0;
}

static bool same_placing(const struct hdp_placing *a, const struct hdp_placing *b)
{
	return a->placement == b->placement && a->split == b->split &&
	       a->max_per_device == b->max_per_device && a->p2_ppm == b->p2_ppm &&
	       a->p4_ppm == b->p4_ppm;
}

static bool is_alike(const struct hamidp_layout *a, const struct hamidp_layout *b)
{
	if (a == b)
		return true;
	if (a->n_resources != b->n_resources || a->inv->n_devices != b->inv->n_devices ||
	    a->inv->contiguous != b->inv->contiguous || !same_placing(&a->placing, &b->placing))
		return false;
	for (size_t pos = 0; pos < a->inv->n_devices; pos++)
		if (!same_device(a, b, pos))
			return false;
	return same_links(a->inv, b->inv);
}

/* Equal for layouts that are alike. */
static uint32_t hash_layout(const struct hamidp_layout *layout)
{
	const struct hamidp_inventory *inv = layout->inv;
	uint32_t hash = hdp_hash(HDP_HASH_START, &inv->n_devices, sizeof(inv->n_devices));

	for (size_t pos = 0; pos < inv->n_devices; pos++) {
		const struct hdp_layout_device *dev = &layout->devices[pos];
		const struct hdp_device_info *info = &inv->devices[pos].info;

		hash = hdp_hash(hash, &dev->resource, sizeof(dev->resource));
		hash = hdp_hash(hash, &dev->n_slots, sizeof(dev->n_slots));
		hash = hdp_hash(hash, &dev->slot_mib, sizeof(dev->slot_mib));
		hash = hdp_hash(hash, &info->health, sizeof(info->health));
		hash = hdp_hash(hash, &info->numa_node, sizeof(info->numa_node));
	}
	return hash;
}

int hdp_fleet_type(struct hamidp_fleet *fleet, struct hamidp_layout *layout, uint32_t *ret_type)
{
	uint32_t hash = hash_layout(layout);
	size_t at = 0;

	for (uint32_t type = hdp_index_next(&fleet->by_type, hash, &at); type != HDP_INDEX_END;
	     type = hdp_index_next(&fleet->by_type, hash, &at))
		if (is_alike(fleet->types[type], layout)) {
			*ret_type = type;
			return 0;
		}
	if (hdp_grow(&fleet->types, &fleet->cap_types, fleet->n_types + 1,
		     sizeof(struct hamidp_layout *)) < 0 ||
	    hdp_index_reserve(&fleet->by_type) < 0)
		return -ENOMEM;
	hdp_index_add(&fleet->by_type, hash, (uint32_t)fleet->n_types);
	fleet->types[fleet->n_types] = layout;
	*ret_type = (uint32_t)fleet->n_types++;
	return 0;
}
