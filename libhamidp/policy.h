/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The insides of a policy, for the layout. */

#include <hami/layout.h>

#include "inventory.h"
#include "layout.h"

#define HDP_RESOURCES_MAX 64U
#define HDP_RULES_MAX 4096U

struct hdp_rule { /* names devices, and maybe says how to cut them */
	enum hamidp_match by;
	char *value;
	int64_t index; /* the value of HAMIDP_MATCH_INDEX */
	struct hamidp_slicing slicing;
};

struct hdp_rules {
	struct hdp_rule *items;
	size_t n, cap;
};

struct hdp_policy_resource {
	char *name;
	char *prefix;
	struct hamidp_slicing slicing;
	struct hdp_rules devices; /* none: all that no other takes */
};

struct hamidp_policy {
	struct hamidp_slicing slicing;
	enum hamidp_memory_fit fit;
	struct hdp_placing placing;
	struct hdp_policy_resource *resources;
	size_t n_resources, cap_resources;
	struct hdp_rules overrides;
};

bool hdp_rule_matches(const struct hdp_rule *rule, const struct hdp_device_info *info);

/* How @info is cut, every value filled in but memory_mib, where 0 means memory / slots. */
struct hamidp_slicing hdp_policy_slicing(const struct hamidp_policy *policy, size_t resource,
					 const struct hdp_device_info *info);
