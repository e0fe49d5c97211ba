/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HAMI_LAYOUT_H
#define HAMI_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: policy and layout
 *
 * A policy says how devices are to be cut; a layout is a policy applied to an inventory: slots,
 * their memory and compute share, and which resource each belongs to. A layout is immutable and may
 * be read by many threads; a policy belongs to one thread while it is built and is not changed by
 * making layouts from it. No call here blocks.
 *
 * Slots are addressed by a number from 0 to hamidp_layout_n_slots() - 1, in device order, then
 * slot order; a slot's id is "<device UUID>::<n>", n counting from 0 within its device.
 */

/* Opaque. */
struct hamidp_policy;
struct hamidp_layout;
struct hamidp_inventory;
struct hamidp_reason;

#define HAMIDP_PPM 1000000U /* one whole, in ppm */

/* Bounds that every policy keeps to. */
#define HAMIDP_SLOTS_MAX 1024U		/* slots of one device */
#define HAMIDP_RATIO_MAX_PPM 100000000U /* oversubscription 100 */

/**
 * struct hamidp_slicing - how one device is cut
 * @size: sizeof(struct hamidp_slicing) at the caller's build time
 * @slots: slots per device, 1 to HAMIDP_SLOTS_MAX; 0: not stated here
 * @memory_mib: memory of one slot in MiB; 0: not stated, the device's memory / @slots
 * @memory_ratio_ppm: how often memory may be handed out, at least HAMIDP_PPM; 0: not stated
 * @cores_ratio_ppm: the same for compute
 *
 * What is not stated comes from the next wider rule: override, resource, default, then 4 slots and
 * ratios of 1. Zero-initialize it and set @size; fields may be added at the end.
 *
 * Since: 0.1
 */
struct hamidp_slicing {
	size_t size;
	uint32_t slots;
	uint64_t memory_mib;
	uint64_t memory_ratio_ppm;
	uint64_t cores_ratio_ppm;
};

/** enum hamidp_match - how a rule names devices; Since: 0.1 */
enum hamidp_match {
	HAMIDP_MATCH_UUID = 1,	/* exact */
	HAMIDP_MATCH_MODEL = 2, /* shell pattern, as fnmatch(3) without flags */
	HAMIDP_MATCH_INDEX = 3, /* the driver's index in decimal */
	_HAMIDP_MATCH_PAD = 0x7fffffff
};

/** enum hamidp_memory_fit - what to do when slots x memory is a little above the device; Since: 0.1
 */
enum hamidp_memory_fit {
	HAMIDP_MEMORY_FIT_SHRINK =
		0, /* up to 5 %: shrink the slots and say so; beyond: leave the device out */
	HAMIDP_MEMORY_FIT_STRICT = 1, /* refuse the layout */
	_HAMIDP_MEMORY_FIT_PAD = 0x7fffffff
};

/** enum hamidp_placement - what placement is after; docs/placement.md says it in full; Since: 0.1
 */
enum hamidp_placement {
	HAMIDP_PLACEMENT_PACK = 0,   /* fewest devices, room kept for later requests, near links */
	HAMIDP_PLACEMENT_SPREAD = 1, /* distinct devices first, the freest of them */
	HAMIDP_PLACEMENT_TOPOLOGY = 2, /* the best linked devices first, then as PACK */
	HAMIDP_PLACEMENT_FIT = 3,      /* the tightest devices and nothing else */
	_HAMIDP_PLACEMENT_PAD = 0x7fffffff
};

/** enum hamidp_split - what becomes of a request that has no normal form; Since: 0.1 */
enum hamidp_split {
	HAMIDP_SPLIT_DENY = 0,	/* it is refused, with the largest placeable amount */
	HAMIDP_SPLIT_ALLOW = 1, /* it is spread over the fewest devices, and the decision says so */
	_HAMIDP_SPLIT_PAD = 0x7fffffff
};

/**
 * hamidp_policy_new() - make a policy: 4 slots a device, no resource yet
 * @ret: where to store it
 *
 * Return: 0 and *@ret owned by the caller (hamidp_policy_free()), or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_policy_new(struct hamidp_policy **ret);

/**
 * hamidp_policy_free() - release a policy
 * @policy: policy or NULL
 *
 * Return: NULL.
 *
 * Since: 0.1
 */
struct hamidp_policy *hamidp_policy_free(struct hamidp_policy *policy);

/**
 * hamidp_policy_set_default() - how devices are cut where no narrower rule speaks
 * @policy: policy
 * @slicing: values; those not stated keep what was set before
 * @reason: says which value is out of range, or NULL
 *
 * Return: 0, or -EINVAL.
 *
 * Since: 0.1
 */
int hamidp_policy_set_default(struct hamidp_policy *policy, const struct hamidp_slicing *slicing,
			      struct hamidp_reason *reason);

/**
 * hamidp_policy_set_memory_fit() - see enum hamidp_memory_fit
 * @policy: policy
 * @fit: one of the enum's values
 *
 * Return: 0, or -EINVAL.
 *
 * Since: 0.1
 */
int hamidp_policy_set_memory_fit(struct hamidp_policy *policy, enum hamidp_memory_fit fit);

/**
 * hamidp_policy_set_placement() - what placement is after; PACK if never set
 * @policy: policy
 * @placement: one of the enum's values
 *
 * Return: 0, or -EINVAL.
 *
 * Since: 0.1
 */
int hamidp_policy_set_placement(struct hamidp_policy *policy, enum hamidp_placement placement);

/**
 * hamidp_policy_set_split() - what becomes of a request without a normal form; DENY if never set
 * @policy: policy
 * @split: one of the enum's values
 *
 * Return: 0, or -EINVAL.
 *
 * Since: 0.1
 */
int hamidp_policy_set_split(struct hamidp_policy *policy, enum hamidp_split split);

/**
 * hamidp_policy_set_max_per_device() - most slots of one device that one request gets
 * @policy: policy
 * @max_slots: at most HAMIDP_SLOTS_MAX; 0: as many as the device has (the default)
 *
 * Return: 0, or -EINVAL.
 *
 * Since: 0.1
 */
int hamidp_policy_set_max_per_device(struct hamidp_policy *policy, uint32_t max_slots);

/**
 * hamidp_policy_set_mix() - which later requests room is kept for
 * @policy: policy
 * @p2_ppm: share of the requests that are for two whole devices, ppm
 * @p4_ppm: share for four
 *
 * Each is taken as at least 1 % (HAMIDP_PPM / 100), and may be at most HAMIDP_PPM. Nothing is
 * learnt, so that equal nodes decide equally.
 *
 * Return: 0, or -EINVAL.
 *
 * Since: 0.1
 */
int hamidp_policy_set_mix(struct hamidp_policy *policy, uint32_t p2_ppm, uint32_t p4_ppm);

/**
 * hamidp_policy_add_resource() - name a resource that slots are offered under
 * @policy: policy
 * @name: "domain/name", both parts as Kubernetes qualifies extended resources
 * @slicing: how its devices are cut, or NULL
 * @ret_resource: where to store the resource's number, or NULL
 * @reason: what is wrong, or NULL
 *
 * At most one resource may be left without hamidp_policy_add_resource_device(): it takes the
 * devices that no other takes. Two resources whose environment prefixes are equal are refused.
 *
 * Return: 0, -EINVAL (name, slicing, a twin) or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_policy_add_resource(struct hamidp_policy *policy, const char *name,
			       const struct hamidp_slicing *slicing, size_t *ret_resource,
			       struct hamidp_reason *reason);

/**
 * hamidp_policy_add_resource_device() - give devices to a resource
 * @policy: policy
 * @resource: number from hamidp_policy_add_resource()
 * @by: how @value names devices
 * @value: UUID, model pattern or index
 * @reason: what is wrong, or NULL
 *
 * A device goes to the first resource that names it.
 *
 * Return: 0, -EINVAL or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_policy_add_resource_device(struct hamidp_policy *policy, size_t resource,
				      enum hamidp_match by, const char *value,
				      struct hamidp_reason *reason);

/**
 * hamidp_policy_add_override() - cut some devices differently
 * @policy: policy
 * @by: how @value names devices
 * @value: UUID, model pattern or index
 * @slicing: values that differ
 * @reason: what is wrong, or NULL
 *
 * UUID rules beat index rules beat model rules; among equals the first one added wins, value by
 * value.
 *
 * Return: 0, -EINVAL or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_policy_add_override(struct hamidp_policy *policy, enum hamidp_match by,
			       const char *value, const struct hamidp_slicing *slicing,
			       struct hamidp_reason *reason);

/**
 * hamidp_layout_new() - apply a policy to an inventory
 * @inv: inventory; a reference is kept
 * @policy: policy with at least one resource; may be released or changed afterwards
 * @ret: where to store the layout
 * @reason: what is wrong, or NULL
 *
 * A device whose memory cannot take its slots is left out (hamidp_layout_device_notice() says why)
 * and the others are served. A slot count above what the driver supports refuses the layout.
 *
 * Return: 0 and *@ret owned by the caller (hamidp_layout_unref()), -EINVAL or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_layout_new(struct hamidp_inventory *inv, const struct hamidp_policy *policy,
		      struct hamidp_layout **ret, struct hamidp_reason *reason);

/** hamidp_layout_ref() - take another reference; thread safe; returns @layout; Since: 0.1 */
struct hamidp_layout *hamidp_layout_ref(struct hamidp_layout *layout);
/** hamidp_layout_unref() - drop a reference (NULL is fine); thread safe; returns NULL; Since: 0.1
 */
struct hamidp_layout *hamidp_layout_unref(struct hamidp_layout *layout);

/** hamidp_layout_inventory() - the inventory it was made from, borrowed; Since: 0.1 */
struct hamidp_inventory *hamidp_layout_inventory(const struct hamidp_layout *layout);

/** hamidp_layout_placement() - the policy's; Since: 0.1 */
enum hamidp_placement hamidp_layout_placement(const struct hamidp_layout *layout);
/** hamidp_layout_split() - the policy's; Since: 0.1 */
enum hamidp_split hamidp_layout_split(const struct hamidp_layout *layout);
/** hamidp_layout_max_per_device() - the policy's, 0 for no limit; Since: 0.1 */
uint32_t hamidp_layout_max_per_device(const struct hamidp_layout *layout);
/** hamidp_placement_to_string() - "pack", "spread", "topology", "fit"; static, never NULL; Since:
 * 0.1 */
const char *hamidp_placement_to_string(enum hamidp_placement placement);
/** hamidp_split_to_string() - "deny", "allow"; static, never NULL; Since: 0.1 */
const char *hamidp_split_to_string(enum hamidp_split split);

/** hamidp_layout_n_resources() - number of resources, in the policy's order; Since: 0.1 */
size_t hamidp_layout_n_resources(const struct hamidp_layout *layout);
/** hamidp_layout_resource_name() - such as "hami.com/vgpu"; NULL past the end; Since: 0.1 */
const char *hamidp_layout_resource_name(const struct hamidp_layout *layout, size_t resource);
/** hamidp_layout_resource_prefix() - prefix of its environment variables, "HAMI_VGPU"; NULL past
 * the end; Since: 0.1 */
const char *hamidp_layout_resource_prefix(const struct hamidp_layout *layout, size_t resource);
/** hamidp_layout_resource_n_slots() - its capacity in slots; 0 past the end; Since: 0.1 */
size_t hamidp_layout_resource_n_slots(const struct hamidp_layout *layout, size_t resource);
/** hamidp_layout_resource_has_numa() - 1 if every device of it has a NUMA node with CPUs, else 0;
 * Since: 0.1 */
int hamidp_layout_resource_has_numa(const struct hamidp_layout *layout, size_t resource);

/**
 * hamidp_layout_find_resource() - number of a resource
 * @layout: layout
 * @name: its full name
 * @ret_resource: where to store the number
 *
 * Return: 0, or -ENOENT.
 *
 * Since: 0.1
 */
int hamidp_layout_find_resource(const struct hamidp_layout *layout, const char *name,
				size_t *ret_resource);

#define HAMIDP_NO_RESOURCE ((size_t)-1) /* a device that no resource serves */

/* Devices, by their position in the inventory. Past the end: 0, HAMIDP_NO_RESOURCE or NULL. */

/** hamidp_layout_device_resource() - resource that serves the device, or HAMIDP_NO_RESOURCE; Since:
 * 0.1 */
size_t hamidp_layout_device_resource(const struct hamidp_layout *layout, size_t pos);
/** hamidp_layout_device_n_slots() - its slots, 0 if left out; Since: 0.1 */
uint32_t hamidp_layout_device_n_slots(const struct hamidp_layout *layout, size_t pos);
/** hamidp_layout_device_first_slot() - number of its slot 0; Since: 0.1 */
size_t hamidp_layout_device_first_slot(const struct hamidp_layout *layout, size_t pos);
/** hamidp_layout_device_notice() - what was changed or why it is left out, one line; NULL if
 * nothing; Since: 0.1 */
const char *hamidp_layout_device_notice(const struct hamidp_layout *layout, size_t pos);
/** hamidp_layout_slice_memory_mib() - memory of a slice of @k slots on a device, MiB; never above
 * the device's; Since: 0.1 */
uint64_t hamidp_layout_slice_memory_mib(const struct hamidp_layout *layout, size_t pos, uint32_t k);
/** hamidp_layout_slice_share_ppm() - compute share of a slice of @k slots, ppm of the device, at
 * most HAMIDP_PPM; Since: 0.1 */
uint32_t hamidp_layout_slice_share_ppm(const struct hamidp_layout *layout, size_t pos, uint32_t k);

/* Slots, by number. */

/** hamidp_layout_n_slots() - slots of all resources together; Since: 0.1 */
size_t hamidp_layout_n_slots(const struct hamidp_layout *layout);
/** hamidp_layout_slot_id() - "<UUID>::<n>"; NULL past the end; Since: 0.1 */
const char *hamidp_layout_slot_id(const struct hamidp_layout *layout, size_t slot);
/** hamidp_layout_slot_device() - position of its device; 0 past the end; Since: 0.1 */
size_t hamidp_layout_slot_device(const struct hamidp_layout *layout, size_t slot);

/**
 * hamidp_layout_find_slot() - number of a slot
 * @layout: layout
 * @id: slot id, compared exactly
 * @ret_slot: where to store the number
 *
 * Return: 0, or -ENOENT.
 *
 * Since: 0.1
 */
int hamidp_layout_find_slot(const struct hamidp_layout *layout, const char *id, size_t *ret_slot);

#ifdef __cplusplus
}
#endif
#endif
