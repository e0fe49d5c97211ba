/* SPDX-License-Identifier: Apache-2.0 */

/* Reading a layout, and what a slice of it amounts to. */

#include <errno.h>
#include <string.h>

#include "layout.h"

HAMIDP_EXPORT struct hamidp_inventory *hamidp_layout_inventory(const struct hamidp_layout *layout)
{
	return layout->inv;
}

HAMIDP_EXPORT size_t hamidp_layout_n_resources(const struct hamidp_layout *layout)
{
	return layout->n_resources;
}

static const struct hdp_layout_resource *resource_at(const struct hamidp_layout *layout, size_t i)
{
	return i < layout->n_resources ? &layout->resources[i] : NULL;
}

HAMIDP_EXPORT const char *hamidp_layout_resource_name(const struct hamidp_layout *layout,
						      size_t resource)
{
	const struct hdp_layout_resource *it = resource_at(layout, resource);

	return it ? it->name : NULL;
}

HAMIDP_EXPORT const char *hamidp_layout_resource_prefix(const struct hamidp_layout *layout,
							size_t resource)
{
	const struct hdp_layout_resource *it = resource_at(layout, resource);

	return it ? it->prefix : NULL;
}

HAMIDP_EXPORT size_t hamidp_layout_resource_n_slots(const struct hamidp_layout *layout,
						    size_t resource)
{
	const struct hdp_layout_resource *it = resource_at(layout, resource);

	return it ? it->n_slots : 0;
}

HAMIDP_EXPORT int hamidp_layout_resource_has_numa(const struct hamidp_layout *layout,
						  size_t resource)
{
	const struct hdp_layout_resource *it = resource_at(layout, resource);

	return it && it->has_numa;
}

HAMIDP_EXPORT int hamidp_layout_find_resource(const struct hamidp_layout *layout, const char *name,
					      size_t *ret_resource)
{
	for (size_t i = 0; i < layout->n_resources; i++)
		if (strcmp(layout->resources[i].name, name) == 0) {
			*ret_resource = i;
			return 0;
		}
	return -ENOENT;
}

static const struct hdp_layout_device *device_at(const struct hamidp_layout *layout, size_t pos)
{
	return pos < layout->inv->n_devices ? &layout->devices[pos] : NULL;
}

HAMIDP_EXPORT size_t hamidp_layout_device_resource(const struct hamidp_layout *layout, size_t pos)
{
	const struct hdp_layout_device *dev = device_at(layout, pos);

	return dev ? dev->resource : HAMIDP_NO_RESOURCE;
}

HAMIDP_EXPORT uint32_t hamidp_layout_device_n_slots(const struct hamidp_layout *layout, size_t pos)
{
	const struct hdp_layout_device *dev = device_at(layout, pos);

	return dev ? dev->n_slots : 0;
}

HAMIDP_EXPORT size_t hamidp_layout_device_first_slot(const struct hamidp_layout *layout, size_t pos)
{
	const struct hdp_layout_device *dev = device_at(layout, pos);

	return dev ? dev->first_slot : 0;
}

HAMIDP_EXPORT const char *hamidp_layout_device_notice(const struct hamidp_layout *layout,
						      size_t pos)
{
	const struct hdp_layout_device *dev = device_at(layout, pos);

	return dev ? dev->notice : NULL;
}

HAMIDP_EXPORT uint64_t hamidp_layout_slice_memory_mib(const struct hamidp_layout *layout,
						      size_t pos, uint32_t k)
{
	const struct hdp_layout_device *dev = device_at(layout, pos);
	uint64_t mib;

	if (!dev)
		return 0;
	if (__builtin_mul_overflow(dev->slot_mib, k, &mib) || mib > dev->memory_mib)
		return dev->memory_mib;
	return mib;
}

HAMIDP_EXPORT uint32_t hamidp_layout_slice_share_ppm(const struct hamidp_layout *layout, size_t pos,
						     uint32_t k)
{
	const struct hdp_layout_device *dev = device_at(layout, pos);
	uint64_t ppm;

	if (!dev || dev->n_slots == 0)
		return 0;
	/* At most 2^32 x HAMIDP_RATIO_MAX_PPM, no overflow. */
	ppm = k * dev->cores_ratio_ppm / dev->n_slots;
	return ppm > HAMIDP_PPM ? HAMIDP_PPM : (uint32_t)ppm;
}

HAMIDP_EXPORT size_t hamidp_layout_n_slots(const struct hamidp_layout *layout)
{
	return layout->n_slots;
}

HAMIDP_EXPORT const char *hamidp_layout_slot_id(const struct hamidp_layout *layout, size_t slot)
{
	return slot < layout->n_slots ? layout->slots[slot].id : NULL;
}

HAMIDP_EXPORT size_t hamidp_layout_slot_device(const struct hamidp_layout *layout, size_t slot)
{
	return slot < layout->n_slots ? layout->slots[slot].device : 0;
}
