/* SPDX-License-Identifier: Apache-2.0 */

/* The part of a policy that says how requests are placed: setters, and the layout's getters. */

#include <errno.h>

#include "layout.h"
#include "policy.h"

HAMIDP_EXPORT int hamidp_policy_set_placement(struct hamidp_policy *policy,
					      enum hamidp_placement placement)
{
	if ((unsigned)placement > HAMIDP_PLACEMENT_FIT)
		return -EINVAL;
	policy->placing.placement = placement;
	return 0;
}

HAMIDP_EXPORT int hamidp_policy_set_split(struct hamidp_policy *policy, enum hamidp_split split)
{
	if ((unsigned)split > HAMIDP_SPLIT_ALLOW)
		return -EINVAL;
	policy->placing.split = split;
	return 0;
}

HAMIDP_EXPORT int hamidp_policy_set_max_per_device(struct hamidp_policy *policy, uint32_t max_slots)
{
	if (max_slots > HAMIDP_SLOTS_MAX)
		return -EINVAL;
	policy->placing.max_per_device = max_slots;
	return 0;
}

HAMIDP_EXPORT int hamidp_policy_set_mix(struct hamidp_policy *policy, uint32_t p2_ppm,
					uint32_t p4_ppm)
{
	if (p2_ppm > HAMIDP_PPM || p4_ppm > HAMIDP_PPM)
		return -EINVAL;
	policy->placing.p2_ppm = p2_ppm;
	policy->placing.p4_ppm = p4_ppm;
	return 0;
}

HAMIDP_EXPORT enum hamidp_placement hamidp_layout_placement(const struct hamidp_layout *layout)
{
	return layout->placing.placement;
}

HAMIDP_EXPORT enum hamidp_split hamidp_layout_split(const struct hamidp_layout *layout)
{
	return layout->placing.split;
}

HAMIDP_EXPORT uint32_t hamidp_layout_max_per_device(const struct hamidp_layout *layout)
{
	return layout->placing.max_per_device;
}

HAMIDP_EXPORT const char *hamidp_placement_to_string(enum hamidp_placement placement)
{
	static const char *const names[] = { "pack", "spread", "topology", "fit" };

	return (unsigned)placement < ARRAY_SIZE(names) ? names[placement] : "unknown";
}

HAMIDP_EXPORT const char *hamidp_split_to_string(enum hamidp_split split)
{
	static const char *const names[] = { "deny", "allow" };

	return (unsigned)split < ARRAY_SIZE(names) ? names[split] : "unknown";
}
