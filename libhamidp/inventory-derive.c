/* SPDX-License-Identifier: Apache-2.0 */

/* Inventories made from inventories: other healths laid over, and are two the same. */

#include <errno.h>
#include <string.h>

#include "inventory.h"

DEFINE_CLEANUP(struct hamidp_inventory *, hamidp_inventory_unref)

static int copy_string(const char *src, char **ret)
{
	*ret = strdup(src ? src : "");
	return *ret ? 0 : -ENOMEM;
}

static int copy_device(struct hdp_machine *m, const struct hdp_device_info *src, bool gone)
{
	struct hdp_device_info copy;

	if (hdp_device_info_copy(src, &copy) < 0)
		return -ENOMEM;
	if (gone)
		copy.health = HAMIDP_HEALTH_GONE;
	if (hdp_machine_add_device(m, &copy) < 0) {
		hdp_device_info_done(&copy);
		return -ENOMEM;
	}
	return 0;
}

static int copy_paths(struct hdp_machine *m, const struct hamidp_inventory *inv)
{
	for (size_t i = 0; i < inv->n_mounts; i++) {
		struct hdp_path copy;

		if (hdp_path_copy(&inv->mounts[i], &copy) < 0)
			return -ENOMEM;
		if (hdp_machine_add_mount(m, &copy) < 0) {
			hdp_path_done(&copy);
			return -ENOMEM;
		}
	}
	return 0;
}

static int copy_grants(struct hdp_machine *m, const struct hamidp_inventory *inv)
{
	for (size_t i = 0; i < inv->n_grants; i++) {
		struct hdp_stated_grant copy;

		if (hdp_stated_grant_copy(&inv->grants[i], &copy) < 0)
			return -ENOMEM;
		if (hdp_machine_add_grant(m, &copy) < 0) {
			hdp_stated_grant_done(&copy);
			return -ENOMEM;
		}
	}
	return 0;
}

/* Everything of @inv but the links. */
static int copy_machine(struct hdp_machine *m, const struct hamidp_inventory *inv)
{
	m->max_slots = inv->max_slots;
	m->contiguous = inv->contiguous;
	if (copy_string(inv->driver_name, &m->driver_name) < 0 ||
	    copy_string(inv->driver_version, &m->driver_version) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_devices; i++)
		if (copy_device(m, &inv->devices[i].info, false) < 0)
			return -ENOMEM;
	return copy_paths(m, inv) < 0 || copy_grants(m, inv) < 0 ? -ENOMEM : 0;
}

/* Devices that @inv does not have, as far as there is room. */
static int add_gone(struct hdp_machine *m, const struct hamidp_inventory *inv,
		    const struct hdp_device_info *gone, size_t n_gone)
{
	for (size_t i = 0; i < n_gone && m->n_devices < HDP_DEVICES_MAX; i++) {
		bool twice = false;
		size_t pos;

		for (size_t j = 0; j < i && !twice; j++)
			twice = strcmp(gone[j].uuid, gone[i].uuid) == 0;
		if (twice || hamidp_inventory_find(inv, gone[i].uuid, &pos) == 0)
			continue;
		if (copy_device(m, &gone[i], true) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int lay_over(struct hamidp_inventory *inv, const struct hdp_health_overlay *overlay,
		    size_t n_overlay)
{
	for (size_t i = 0; i < n_overlay; i++) {
		struct hdp_device_info *info;
		char *cause;
		size_t pos;

		if (hamidp_inventory_find(inv, overlay[i].uuid, &pos) < 0)
			continue;
		if (copy_string(overlay[i].cause, &cause) < 0)
			return -ENOMEM;
		info = &inv->devices[pos].info;
		free(info->health_cause);
		info->health_cause = cause;
		info->health = overlay[i].health;
	}
	return 0;
}

/* The links of @from, at the positions that its devices have in @inv. */
static int copy_links(struct hamidp_inventory *inv, const struct hamidp_inventory *from)
{
	hdp_cleanup_free size_t *new_pos = NULL;

	if (!from->links)
		return 0;
	new_pos = calloc(from->n_devices ? from->n_devices : 1, sizeof(*new_pos));
	inv->links =
		calloc(inv->n_devices ? inv->n_devices * inv->n_devices : 1, sizeof(*inv->links));
	if (!new_pos || !inv->links)
		return -ENOMEM;

	for (size_t i = 0; i < from->n_devices; i++)
		(void)hamidp_inventory_find(inv, from->devices[i].info.uuid, &new_pos[i]);
	for (size_t a = 0; a < from->n_devices; a++)
		for (size_t b = 0; b < from->n_devices; b++)
			inv->links[new_pos[a] * inv->n_devices + new_pos[b]] =
				from->links[a * from->n_devices + b];
	return 0;
}

/* Healths do not count, so the tables go on being used as long as the devices are the same. */
static int inherit_topology(struct hamidp_inventory *inv, const struct hamidp_inventory *from)
{
	hdp_topology_unref(inv->topology);
	inv->topology = NULL;
	if (inv->n_devices != from->n_devices)
		return hdp_topology_new(inv, &inv->topology);
	inv->topology = hdp_topology_ref(from->topology);
	return 0;
}

int hdp_inventory_derive(const struct hamidp_inventory *inv,
			 const struct hdp_health_overlay *overlay, size_t n_overlay,
			 const struct hdp_device_info *gone, size_t n_gone,
			 struct hamidp_inventory **ret)
{
	hdp_cleanup(hamidp_inventory_unrefp) struct hamidp_inventory *derived = NULL;
	hdp_cleanup(hdp_machine_done) struct hdp_machine m = { 0 };
	int r;

	if (copy_machine(&m, inv) < 0 || add_gone(&m, inv, gone, n_gone) < 0)
		return -ENOMEM;
	r = hdp_machine_seal(&m, &derived, NULL);
	if (r < 0)
		return r;
	if (lay_over(derived, overlay, n_overlay) < 0 || copy_links(derived, inv) < 0 ||
	    inherit_topology(derived, inv) < 0)
		return -ENOMEM;
	*ret = take_ptr(derived);
	return 0;
}

/* Unknown is NULL while described and "" once sealed: the same. */
static bool same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_paths(const struct hdp_path *a, size_t n_a, const struct hdp_path *b, size_t n_b)
{
	if (n_a != n_b)
		return false;
	for (size_t i = 0; i < n_a; i++)
		if (!same_text(a[i].host, b[i].host) ||
		    !same_text(a[i].container, b[i].container) ||
		    !same_text(a[i].permissions, b[i].permissions))
			return false;
	return true;
}

static bool same_device(const struct hdp_device_info *a, const struct hdp_device_info *b)
{
	return same_text(a->uuid, b->uuid) && same_text(a->model, b->model) &&
	       same_text(a->pci, b->pci) &&
	       same_text(a->compute_capability, b->compute_capability) &&
	       same_text(a->cpus, b->cpus) && same_text(a->health_cause, b->health_cause) &&
	       a->index == b->index && a->minor == b->minor && a->memory_mib == b->memory_mib &&
	       a->sms == b->sms && a->sm_mhz == b->sm_mhz && a->gflops_fp32 == b->gflops_fp32 &&
	       a->numa_node == b->numa_node && a->health == b->health &&
	       same_paths(a->nodes, a->n_nodes, b->nodes, b->n_nodes);
}

static bool same_grant(const struct hdp_stated_grant *a, const struct hdp_stated_grant *b)
{
	if (!same_text(a->id, b->id) || !same_text(a->resource, b->resource) ||
	    a->memory_mib != b->memory_mib || a->share_ppm != b->share_ppm ||
	    a->n_slots != b->n_slots)
		return false;
	for (size_t i = 0; i < a->n_slots; i++)
		if (!same_text(a->slots[i], b->slots[i]))
			return false;
	return true;
}

static bool same_link(const struct hamidp_inventory *a, const struct hamidp_inventory *b, size_t i,
		      size_t j)
{
	return hamidp_inventory_link_type(a, i, j) == hamidp_inventory_link_type(b, i, j) &&
	       hamidp_inventory_link_lanes(a, i, j) == hamidp_inventory_link_lanes(b, i, j) &&
	       hamidp_inventory_link_gbps(a, i, j) == hamidp_inventory_link_gbps(b, i, j) &&
	       hamidp_inventory_pcie_level(a, i, j) == hamidp_inventory_pcie_level(b, i, j);
}

bool hdp_inventory_equal(const struct hamidp_inventory *a, const struct hamidp_inventory *b)
{
	if (!same_text(a->driver_name, b->driver_name) ||
	    !same_text(a->driver_version, b->driver_version) || a->max_slots != b->max_slots ||
	    a->contiguous != b->contiguous || a->n_devices != b->n_devices ||
	    a->n_grants != b->n_grants)
		return false;
	for (size_t i = 0; i < a->n_devices; i++)
		if (!same_device(&a->devices[i].info, &b->devices[i].info))
			return false;
	for (size_t i = 0; i < a->n_devices; i++)
		for (size_t j = 0; j < i; j++)
			if (!same_link(a, b, i, j))
				return false;
	for (size_t i = 0; i < a->n_grants; i++)
		if (!same_grant(&a->grants[i], &b->grants[i]))
			return false;
	return same_paths(a->mounts, a->n_mounts, b->mounts, b->n_mounts);
}
