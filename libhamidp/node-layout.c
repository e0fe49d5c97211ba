/* SPDX-License-Identifier: Apache-2.0 */

/*
 * From what is known to what is served: the driver's word, the healths laid over it, devices that
 * left while slots of them are held; the policy on that; the grants in it. All of it is made before
 * any of it takes the place of the last.
 */

#include <errno.h>
#include <string.h>

#include "node-internal.h"

DEFINE_CLEANUP(struct hamidp_inventory *, hamidp_inventory_unref)
DEFINE_CLEANUP(struct hamidp_layout *, hamidp_layout_unref)
DEFINE_CLEANUP(struct hamidp_occupancy *, hamidp_occupancy_free)

/* Devices served so far that @said lacks and that somebody still holds; contents borrowed. */
static size_t collect_gone(const struct hamidp_node *node, const struct hamidp_inventory *said,
			   struct hdp_device_info *ret)
{
	const struct hamidp_inventory *now = node->layout->inv;
	size_t n = 0;
	size_t pos;

	for (size_t i = 0; i < now->n_devices; i++) {
		const struct hdp_device_info *info = &now->devices[i].info;
		const struct hdp_node_health *health;

		if (hamidp_inventory_find(said, info->uuid, &pos) == 0 ||
		    !hdp_node_device_held(node, info->uuid))
			continue;
		health = hdp_node_find_health(node, info->uuid);
		ret[n] = *info;
		if (health)
			ret[n].health_cause = (char *)health->h.cause; /* only read */
		n++;
	}
	return n;
}

static int merge(const struct hamidp_node *node, const struct hamidp_inventory *said,
		 struct hamidp_inventory **ret)
{
	size_t n_gone = node->layout->inv->n_devices;
	hdp_cleanup_free struct hdp_health_overlay *overlay =
		calloc(said->n_devices + 1, sizeof(*overlay));
	hdp_cleanup_free struct hdp_device_info *gone = calloc(n_gone + 1, sizeof(*gone));
	size_t n = 0;

	if (!overlay || !gone)
		return -ENOMEM;
	for (size_t i = 0; i < said->n_devices; i++) {
		const char *uuid = said->devices[i].info.uuid;
		const struct hdp_node_health *health = hdp_node_find_health(node, uuid);

		if (health)
			overlay[n++] = (struct hdp_health_overlay){ uuid, health->h.health,
								    health->h.cause };
	}
	n_gone = collect_gone(node, said, gone);
	return hdp_inventory_derive(said, overlay, n, gone, n_gone, ret);
}

/* Do two inventories differ in more than health? In doubt, yes. */
static bool same_but_health(const struct hamidp_inventory *a, const struct hamidp_inventory *b)
{
	hdp_cleanup(hamidp_inventory_unrefp) struct hamidp_inventory *as_a = NULL;
	hdp_cleanup_free struct hdp_health_overlay *overlay =
		calloc(a->n_devices + 1, sizeof(*overlay));

	if (!overlay || a->n_devices != b->n_devices)
		return false;
	for (size_t i = 0; i < a->n_devices; i++) {
		const struct hdp_device_info *info = &a->devices[i].info;

		overlay[i] =
			(struct hdp_health_overlay){ info->uuid, info->health, info->health_cause };
	}
	if (hdp_inventory_derive(b, overlay, a->n_devices, NULL, 0, &as_a) < 0)
		return false;
	return hdp_inventory_equal(a, as_a);
}

static bool keeps_cut(const void *userdata, const char *uuid)
{
	return hdp_node_device_held(userdata, uuid);
}

/* A device that is cut as before for the sake of a grant that ended. */
static bool may_recut(const struct hamidp_node *node)
{
	const struct hamidp_layout *layout = node->layout;

	for (size_t i = 0; i < layout->inv->n_devices; i++)
		if (layout->devices[i].kept &&
		    !hdp_node_device_held(node, layout->inv->devices[i].info.uuid))
			return true;
	return false;
}

/* Of equal inventories. */
static bool same_cuts(const struct hamidp_layout *a, const struct hamidp_layout *b)
{
	for (size_t i = 0; i < a->inv->n_devices; i++) {
		const struct hdp_layout_device *x = &a->devices[i], *y = &b->devices[i];

		if (x->n_slots != y->n_slots || x->slot_mib != y->slot_mib ||
		    x->cores_ratio_ppm != y->cores_ratio_ppm || x->resource != y->resource)
			return false;
	}
	return true;
}

static int fill_occupancy(const struct hamidp_node *node, const struct hamidp_layout *layout,
			  struct hamidp_occupancy *occ)
{
	for (size_t i = 0; i < node->n_grants; i++) {
		const struct hamidp_grant *grant = node->grants[i];

		for (size_t j = 0; j < grant->n_slots; j++) {
			size_t slot;

			if (hamidp_layout_find_slot(layout, grant->slots[j], &slot) < 0)
				continue; /* its device is not there, or not served */
			if (hamidp_occupancy_hold(occ, slot, grant->id) == -ENOMEM)
				return -ENOMEM;
		}
	}
	return 0;
}

static void tell_health(struct hamidp_node *node, const struct hdp_device_info *info)
{
	const struct hdp_event_info event = {
		.type = HAMIDP_EVENT_HEALTH,
		.time_us = node_now_us(node),
		.device = info->uuid,
		.health = info->health,
	};
	const char *cause = info->health_cause ? info->health_cause : "";

	log_notice(&node->log, "%s: %s%s%s", info->uuid, hamidp_health_to_string(info->health),
		   cause[0] ? ", " : "", cause);
	hdp_event_push(&node->events, &event, "%s: %s%s%s", info->uuid,
		       hamidp_health_to_string(info->health), cause[0] ? ", " : "", cause);
}

static void tell_notices(struct hamidp_node *node, const struct hamidp_layout *old,
			 const struct hamidp_layout *layout)
{
	for (size_t i = 0; i < layout->inv->n_devices; i++) {
		const char *uuid = layout->inv->devices[i].info.uuid;
		const char *notice = layout->devices[i].notice;
		const char *before = NULL;
		size_t pos;

		if (hamidp_inventory_find(old->inv, uuid, &pos) == 0)
			before = old->devices[pos].notice;
		if (notice && (!before || strcmp(before, notice) != 0))
			log_warning(&node->log, "%s: %s", uuid, notice);
	}
}

static void tell(struct hamidp_node *node, const struct hamidp_layout *old,
		 const struct hamidp_layout *layout)
{
	const struct hdp_event_info info = { .type = HAMIDP_EVENT_LAYOUT,
					     .time_us = node_now_us(node) };
	size_t pos;

	tell_notices(node, old, layout);
	if (!node->open)
		return;
	if (!same_but_health(old->inv, layout->inv) || !same_cuts(old, layout)) {
		log_notice(&node->log, "%zu devices with %zu slots", layout->inv->n_devices,
			   layout->n_slots);
		hdp_event_push(&node->events, &info, "%zu devices with %zu slots",
			       layout->inv->n_devices, layout->n_slots);
	}
	for (size_t i = 0; i < layout->inv->n_devices; i++) {
		const struct hdp_device_info *now = &layout->inv->devices[i].info;

		if (hamidp_inventory_find(old->inv, now->uuid, &pos) == 0 &&
		    old->inv->devices[pos].info.health != now->health)
			tell_health(node, now);
	}
}

static int relayout_from(struct hamidp_node *node, const struct hamidp_inventory *said,
			 struct hamidp_reason *reason)
{
	hdp_cleanup(hamidp_inventory_unrefp) struct hamidp_inventory *inv = NULL;
	hdp_cleanup(hamidp_layout_unrefp) struct hamidp_layout *layout = NULL;
	hdp_cleanup(hamidp_occupancy_freep) struct hamidp_occupancy *occ = NULL;
	const struct hdp_layout_keep keep = { node->layout, keeps_cut, node };
	struct hamidp_layout *old;
	int r;

	r = merge(node, said, &inv);
	if (r < 0)
		return r;
	if (hdp_inventory_equal(inv, node->layout->inv) && !may_recut(node))
		return 0;
	/* The tables of its links go on being used, or are made now and not while somebody waits.
	 */
	(void)hamidp_inventory_adopt_topology(inv, node->layout->inv);
	r = hamidp_inventory_prepare(inv);
	if (r < 0)
		return r;
	r = hdp_layout_new_keeping(inv, node->policy, &keep, &layout, reason);
	if (r < 0)
		return r;
	r = hamidp_occupancy_new(layout, &occ);
	if (r < 0)
		return r;
	r = fill_occupancy(node, layout, occ);
	if (r < 0)
		return r;
	old = node->layout;
	node->layout = take_ptr(layout);
	hamidp_occupancy_free(node->occupancy);
	node->occupancy = take_ptr(occ);
	node->generation++;
	tell(node, old, node->layout);
	hamidp_layout_unref(old);
	hdp_node_record_healths(node);
	hdp_node_prepare_restored(node);
	return 0;
}

int hdp_node_relayout(struct hamidp_node *node)
{
	struct hamidp_reason reason = { 0 };
	int r;

	node->dirty = false;
	r = relayout_from(node, node->said, &reason);
	if (r == -ENOMEM)
		node->dirty = true;
	else if (r < 0) /* the same devices once were taken; the last layout stays */
		log_err(&node->log, "devices as they are now cannot be cut: %s", reason.text);
	return r == -ENOMEM ? r : 0;
}

int hdp_node_take_inventory(struct hamidp_node *node, struct hamidp_inventory *said,
			    struct hamidp_reason *reason)
{
	int r;

	r = hdp_node_healths_follow(node, said);
	if (r < 0)
		return r;
	r = relayout_from(node, said, reason);
	if (r == -EINVAL) {
		/* What was served stays served; what vanished from it is gone. */
		node->dirty = true;
		return r;
	}
	if (r < 0)
		return r;
	hamidp_inventory_unref(node->said);
	node->said = hamidp_inventory_ref(said);
	node->dirty = false;
	hdp_node_forget_healths(node);
	return 0;
}
