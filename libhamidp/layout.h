/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The insides of a layout, for the library's own rooms. Immutable once made. */

#include <hami/layout.h>

#include "inventory.h"

struct hdp_layout_device {
	size_t resource; /* HAMIDP_NO_RESOURCE: not served */
	uint32_t n_slots;
	size_t first_slot;
	uint64_t slot_mib;
	uint64_t memory_mib; /* of the device; no slice is larger */
	uint64_t cores_ratio_ppm;
	char *notice;
	bool kept; /* cut as it was, not as the policy says now */
};

struct hdp_layout_slot {
	uint32_t device; /* position */
	uint32_t number; /* within the device */
	const char *id;	 /* points into the layout's string block */
};

struct hdp_layout_resource {
	char *name;
	char *prefix;
	size_t n_slots;
	bool has_numa;
	bool plain; /* also gets the plain HAMI_VGPU_* set */
};

struct hdp_placing { /* how requests are placed; all zero is the default */
	enum hamidp_placement placement;
	enum hamidp_split split;
	uint32_t max_per_device; /* 0: no limit */
	uint32_t p2_ppm, p4_ppm; /* below the least: the least */
};

struct hamidp_layout {
	unsigned refs; /* atomic */
	struct hdp_placing placing;
	struct hamidp_inventory *inv;
	struct hdp_layout_resource *resources;
	size_t n_resources;
	struct hdp_layout_device *devices; /* as many as the inventory has, same positions */
	struct hdp_layout_slot *slots;
	size_t n_slots;
	char *id_block;
	uint32_t *hash; /* open addressing: slot number + 1, 0 is empty */
	size_t hash_mask;
};

/* Devices that go on being cut as in @before, whatever the policy makes of them now. */
struct hdp_layout_keep {
	const struct hamidp_layout *before; /* made from the same policy */
	bool (*keeps)(const void *userdata, const char *uuid);
	const void *userdata;
};

/* hamidp_layout_new(); @keep may be NULL. */
int hdp_layout_new_keeping(struct hamidp_inventory *inv, const struct hamidp_policy *policy,
			   const struct hdp_layout_keep *keep, struct hamidp_layout **ret,
			   struct hamidp_reason *reason) hdp_must_check;

/* A deep copy, for an object that outlives the caller's policy. 0 or -ENOMEM. */
int hdp_policy_copy(const struct hamidp_policy *src, struct hamidp_policy **ret) hdp_must_check;
