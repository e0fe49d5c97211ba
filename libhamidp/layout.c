/* SPDX-License-Identifier: Apache-2.0 */

/* Making a layout: a policy applied to an inventory. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "layout-hash.h"
#include "layout.h"
#include "policy.h"
#include "reason.h"

#define PLAIN_PREFIX "HAMI_VGPU"
#define ROUNDING_PERCENT 5U /* vendors round card sizes by less */
#define NOTICE_SIZE 256

HAMIDP_EXPORT struct hamidp_layout *hamidp_layout_ref(struct hamidp_layout *layout)
{
	__atomic_add_fetch(&layout->refs, 1, __ATOMIC_RELAXED);
	return layout;
}

static void free_layout(struct hamidp_layout *layout)
{
	size_t n_devices = layout->devices ? hamidp_inventory_n_devices(layout->inv) : 0;

	for (size_t i = 0; i < layout->n_resources; i++) {
		free(layout->resources[i].name);
		free(layout->resources[i].prefix);
	}
	free(layout->resources);
	for (size_t i = 0; i < n_devices; i++)
		free(layout->devices[i].notice);
	free(layout->devices);
	free(layout->slots);
	free(layout->id_block);
	free(layout->hash);
	hamidp_inventory_unref(layout->inv);
	free(layout);
}

HAMIDP_EXPORT struct hamidp_layout *hamidp_layout_unref(struct hamidp_layout *layout)
{
	if (layout && __atomic_sub_fetch(&layout->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free_layout(layout);
	return NULL;
}

DEFINE_CLEANUP(struct hamidp_layout *, hamidp_layout_unref)

static int check_policy(const struct hamidp_policy *policy, struct hamidp_reason *reason)
{
	const char *catch_all = NULL;

	if (policy->n_resources == 0)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"the policy names no resource");
	for (size_t i = 0; i < policy->n_resources; i++) {
		const struct hdp_policy_resource *resource = &policy->resources[i];

		if (resource->devices.n > 0)
			continue;
		if (catch_all)
			return hdp_fail(reason, -EINVAL, HAMIDP_REASON_CONFLICT,
					"resources '%s' and '%s' both take every device that no "
					"other names; name the devices of one",
					catch_all, resource->name);
		catch_all = resource->name;
	}
	return 0;
}

static int make_resources(struct hamidp_layout *layout, const struct hamidp_policy *policy)
{
	bool taken = false;

	layout->resources = calloc(policy->n_resources, sizeof(*layout->resources));
	if (!layout->resources)
		return -ENOMEM;
	layout->n_resources = policy->n_resources;
	for (size_t i = 0; i < policy->n_resources; i++) {
		struct hdp_layout_resource *resource = &layout->resources[i];

		resource->name = strdup(policy->resources[i].name);
		resource->prefix = strdup(policy->resources[i].prefix);
		if (!resource->name || !resource->prefix)
			return -ENOMEM;
		taken = taken || strcmp(resource->prefix, PLAIN_PREFIX) == 0;
	}
	layout->resources[0].plain = !taken;
	return 0;
}

/* The first resource that names the device, else the one that takes the rest. */
static size_t choose_resource(const struct hamidp_policy *policy,
			      const struct hdp_device_info *info)
{
	size_t rest = HAMIDP_NO_RESOURCE;

	for (size_t i = 0; i < policy->n_resources; i++) {
		const struct hdp_rules *rules = &policy->resources[i].devices;

		if (rules->n == 0)
			rest = i;
		for (size_t j = 0; j < rules->n; j++)
			if (hdp_rule_matches(&rules->items[j], info))
				return i;
	}
	return rest;
}

/* What one device is to be, before anything is made of it. */
struct fit {
	uint64_t slot_mib; /* 0: left out */
	char notice[NOTICE_SIZE];
};

static uint64_t total_mib(const struct hdp_device_info *info, const struct hamidp_slicing *how)
{
	return (uint64_t)((unsigned __int128)info->memory_mib * how->memory_ratio_ppm / HAMIDP_PPM);
}

/* "has 40536 MiB", or what the ratio makes of it. */
static void say_total(const struct hdp_device_info *info, uint64_t total, char *text, size_t size)
{
	if (total == info->memory_mib)
		(void)snprintf(text, size, "has %llu MiB", (unsigned long long)total);
	else
		(void)snprintf(text, size, "may hand out %llu MiB (%llu MiB by its memory ratio)",
			       (unsigned long long)total, (unsigned long long)info->memory_mib);
}

static void say_misfit(const struct hdp_device_info *info, const struct hamidp_slicing *how,
		       uint64_t total, const char *verdict, char notice[NOTICE_SIZE])
{
	/* At most 1024 x 2^32, no overflow. */
	uint64_t need = how->slots * how->memory_mib;
	char has[96];

	say_total(info, total, has, sizeof(has));
	(void)snprintf(notice, NOTICE_SIZE, "%u slots of %llu MiB need %llu MiB, the card %s: %s",
		       how->slots, (unsigned long long)how->memory_mib, (unsigned long long)need,
		       has, verdict);
}

static struct fit fit_memory(const struct hdp_device_info *info, const struct hamidp_slicing *how,
			     enum hamidp_memory_fit rule)
{
	uint64_t total = total_mib(info, how);
	uint64_t even = total / how->slots;
	const char *out = rule == HAMIDP_MEMORY_FIT_STRICT ? "not accepted" : "left out";
	struct fit fit = { 0 };
	char has[96];

	if (info->memory_mib == 0) {
		(void)snprintf(fit.notice, NOTICE_SIZE, "its memory is not known: %s", out);
	} else if (even == 0) {
		say_total(info, total, has, sizeof(has));
		(void)snprintf(fit.notice, NOTICE_SIZE,
			       "%u slots need at least 1 MiB each, the card %s: %s", how->slots,
			       has, out);
	} else if (how->memory_mib == 0) {
		fit.slot_mib = even;
	} else if (how->memory_mib <= even) {
		fit.slot_mib = how->memory_mib;
	} else {
		unsigned __int128 need = (unsigned __int128)how->slots * how->memory_mib;
		bool near = need * 100 <= (unsigned __int128)total * (100 + ROUNDING_PERCENT);
		char shrunk[64];

		(void)snprintf(shrunk, sizeof(shrunk), "slots shrunk to %llu MiB",
			       (unsigned long long)even);
		fit.slot_mib = near ? even : 0;
		say_misfit(info, how, total,
			   near && rule == HAMIDP_MEMORY_FIT_SHRINK ? shrunk : out, fit.notice);
	}
	return fit;
}

static int set_notice(struct hdp_layout_device *dev, const char *text, struct hamidp_reason *reason)
{
	dev->notice = strdup(text);
	return dev->notice ? 0 : hdp_oom(reason);
}

static int lay_out_device(const struct hamidp_policy *policy, const struct hamidp_inventory *inv,
			  size_t pos, struct hdp_layout_device *dev, struct hamidp_reason *reason)
{
	const struct hdp_device_info *info = &inv->devices[pos].info;
	size_t resource = choose_resource(policy, info);
	struct hamidp_slicing how;
	struct fit fit;

	dev->resource = HAMIDP_NO_RESOURCE;
	if (resource == HAMIDP_NO_RESOURCE)
		return set_notice(dev, "no resource takes it: left out", reason);

	how = hdp_policy_slicing(policy, resource, info);
	if (inv->max_slots > 0 && how.slots > inv->max_slots)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_DRIVER_LIMIT,
				"%s: %u slots are not accepted, the driver supports 1 to %u",
				info->uuid, how.slots, inv->max_slots);
	fit = fit_memory(info, &how, policy->fit);
	if (*fit.notice && policy->fit == HAMIDP_MEMORY_FIT_STRICT)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_MEMORY_FIT, "%s: %s", info->uuid,
				fit.notice);
	if (*fit.notice && set_notice(dev, fit.notice, reason) < 0)
		return -ENOMEM;
	if (fit.slot_mib == 0)
		return 0;

	dev->resource = resource;
	dev->n_slots = how.slots;
	dev->slot_mib = fit.slot_mib;
	dev->memory_mib = info->memory_mib;
	dev->cores_ratio_ppm = how.cores_ratio_ppm;
	return 0;
}

/* The device as it was cut before, if it is now cut differently and must not be. */
static int keep_cut(const struct hamidp_inventory *inv, size_t pos,
		    const struct hdp_layout_keep *keep, struct hdp_layout_device *dev,
		    struct hamidp_reason *reason)
{
	const struct hdp_device_info *info = &inv->devices[pos].info;
	const struct hdp_layout_device *was;
	char notice[NOTICE_SIZE];
	size_t then;

	if (hamidp_inventory_find(keep->before->inv, info->uuid, &then) < 0)
		return 0;
	was = &keep->before->devices[then];
	if (was->n_slots == 0 ||
	    (was->n_slots == dev->n_slots && was->slot_mib == dev->slot_mib &&
	     was->cores_ratio_ppm == dev->cores_ratio_ppm && was->resource == dev->resource) ||
	    !keep->keeps(keep->userdata, info->uuid))
		return 0;
	(void)snprintf(notice, sizeof(notice),
		       "%u slots of %llu MiB as before: some are held, and the policy now says "
		       "otherwise",
		       was->n_slots, (unsigned long long)was->slot_mib);
	free(dev->notice);
	*dev = *was;
	dev->notice = NULL;
	dev->memory_mib = info->memory_mib;
	dev->kept = true;
	return set_notice(dev, notice, reason);
}

static int lay_out_devices(struct hamidp_layout *layout, const struct hamidp_policy *policy,
			   const struct hdp_layout_keep *keep, struct hamidp_reason *reason)
{
	size_t n = layout->inv->n_devices;

	layout->devices = calloc(n ? n : 1, sizeof(*layout->devices));
	if (!layout->devices)
		return hdp_oom(reason);
	for (size_t i = 0; i < layout->n_resources; i++)
		layout->resources[i].has_numa = true;

	for (size_t i = 0; i < n; i++) {
		struct hdp_layout_device *dev = &layout->devices[i];
		struct hdp_layout_resource *resource;
		int r = lay_out_device(policy, layout->inv, i, dev, reason);

		if (r == 0 && keep)
			r = keep_cut(layout->inv, i, keep, dev, reason);
		if (r < 0)
			return r;
		dev->first_slot = layout->n_slots;
		layout->n_slots += dev->n_slots;
		if (dev->resource == HAMIDP_NO_RESOURCE)
			continue;
		resource = &layout->resources[dev->resource];
		resource->n_slots += dev->n_slots;
		if (layout->inv->devices[i].info.numa_node < 0)
			resource->has_numa = false;
	}
	for (size_t i = 0; i < layout->n_resources; i++)
		if (layout->resources[i].n_slots == 0)
			layout->resources[i].has_numa = false;
	return 0;
}

/* Decimal digits of a slot's number, HAMIDP_SLOTS_MAX - 1 at most. */
#define NUMBER_DIGITS 4

static int make_slots(struct hamidp_layout *layout)
{
	size_t bytes = 1, used = 0, slot = 0;

	for (size_t i = 0; i < layout->inv->n_devices; i++)
		bytes += layout->devices[i].n_slots *
			 (strlen(layout->inv->devices[i].info.uuid) + NUMBER_DIGITS + 3);
	layout->id_block = malloc(bytes);
	layout->slots = calloc(layout->n_slots ? layout->n_slots : 1, sizeof(*layout->slots));
	if (!layout->id_block || !layout->slots)
		return -ENOMEM;

	for (size_t i = 0; i < layout->inv->n_devices; i++) {
		const char *uuid = layout->inv->devices[i].info.uuid;
		size_t uuid_len = strlen(uuid);

		for (uint32_t n = 0; n < layout->devices[i].n_slots; n++) {
			char *id = layout->id_block + used;

			memcpy(id, uuid, uuid_len);
			used += uuid_len +
				(size_t)snprintf(id + uuid_len, bytes - used - uuid_len, "::%u",
						 n) +
				1;
			layout->slots[slot++] = (struct hdp_layout_slot){ .device = (uint32_t)i,
									  .number = n,
									  .id = id };
		}
	}
	return 0;
}

int hdp_layout_new_keeping(struct hamidp_inventory *inv, const struct hamidp_policy *policy,
			   const struct hdp_layout_keep *keep, struct hamidp_layout **ret,
			   struct hamidp_reason *reason)
{
	hdp_cleanup(hamidp_layout_unrefp) struct hamidp_layout *layout = NULL;
	int r;

	hdp_reason_clear(reason);
	r = check_policy(policy, reason);
	if (r < 0)
		return r;
	layout = calloc(1, sizeof(*layout));
	if (!layout)
		return hdp_oom(reason);
	layout->refs = 1;
	layout->placing = policy->placing;
	layout->inv = hamidp_inventory_ref(inv);
	if (make_resources(layout, policy) < 0)
		return hdp_oom(reason);
	r = lay_out_devices(layout, policy, keep, reason);
	if (r < 0)
		return r;
	if (make_slots(layout) < 0 || hdp_layout_hash(layout) < 0)
		return hdp_oom(reason);
	*ret = take_ptr(layout);
	return 0;
}

HAMIDP_EXPORT int hamidp_layout_new(struct hamidp_inventory *inv,
				    const struct hamidp_policy *policy, struct hamidp_layout **ret,
				    struct hamidp_reason *reason)
{
	return hdp_layout_new_keeping(inv, policy, NULL, ret, reason);
}
