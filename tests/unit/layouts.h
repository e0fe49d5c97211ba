/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Policies, cards and layouts for tests, without ado. */

#include <hami/hamidp.h>

#include "describe.h"
#include "layout.h"

#define SLICING(...) \
	(&(const struct hamidp_slicing){ .size = sizeof(struct hamidp_slicing), __VA_ARGS__ })

static inline struct hamidp_policy *policy_of(const char *resource,
					      const struct hamidp_slicing *slicing)
{
	struct hamidp_policy *policy = NULL;

	ck_assert_int_eq(hamidp_policy_new(&policy), 0);
	if (slicing)
		ck_assert_int_eq(hamidp_policy_set_default(policy, slicing, NULL), 0);
	ck_assert_int_eq(hamidp_policy_add_resource(policy, resource, NULL, NULL, NULL), 0);
	return policy;
}

/* @n cards of @memory_mib, "gpu-0" and so on, indices and NUMA nodes as their positions. */
static inline struct hamidp_inventory *cards(unsigned n, uint64_t memory_mib)
{
	struct hdp_machine m = { 0 };
	char uuid[32], pci[32];

	for (unsigned i = 0; i < n; i++) {
		snprintf(uuid, sizeof(uuid), "gpu-%u", i);
		snprintf(pci, sizeof(pci), "%04x:00:00.0", i);
		add_device(&m, uuid, pci, memory_mib);
		m.devices[i].index = m.devices[i].numa_node = (int)i;
	}
	return sealed(&m);
}

/* Takes both over. */
static inline struct hamidp_layout *laid_out(struct hamidp_inventory *inv,
					     struct hamidp_policy *policy)
{
	struct hamidp_layout *layout = NULL;
	struct hamidp_reason reason;
	int r = hamidp_layout_new(inv, policy, &layout, &reason);

	ck_assert_msg(r == 0, "%s", reason.text);
	ck_assert_int_eq(reason.code, HAMIDP_REASON_NONE);
	hamidp_inventory_unref(inv);
	hamidp_policy_free(policy);
	return layout;
}
