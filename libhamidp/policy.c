/* SPDX-License-Identifier: Apache-2.0 */

/* Policies: rules about how devices are cut, checked as they are added. */

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "grow.h"
#include "layout.h"
#include "policy.h"
#include "reason.h"
#include "resource-name.h"
#include "sized.h"
#include "text.h"

#define VALUE_MAX 256U	 /* bytes of a rule's value */
#define DEFAULT_SLOTS 4U /* per device, where no rule speaks */

DEFINE_CLEANUP(struct hamidp_policy *, hamidp_policy_free)

HAMIDP_EXPORT int hamidp_policy_new(struct hamidp_policy **ret)
{
	struct hamidp_policy *policy = calloc(1, sizeof(*policy));

	if (!policy)
		return -ENOMEM;
	*ret = policy;
	return 0;
}

static void rules_done(struct hdp_rules *rules)
{
	for (size_t i = 0; i < rules->n; i++)
		free(rules->items[i].value);
	free(rules->items);
	*rules = (struct hdp_rules){ 0 };
}

static void resource_done(struct hdp_policy_resource *resource)
{
	free(resource->name);
	free(resource->prefix);
	rules_done(&resource->devices);
	*resource = (struct hdp_policy_resource){ 0 };
}

HAMIDP_EXPORT struct hamidp_policy *hamidp_policy_free(struct hamidp_policy *policy)
{
	if (!policy)
		return NULL;
	for (size_t i = 0; i < policy->n_resources; i++)
		resource_done(&policy->resources[i]);
	free(policy->resources);
	rules_done(&policy->overrides);
	free(policy);
	return NULL;
}

static int read_slicing(const struct hamidp_slicing *from, struct hamidp_slicing *ret,
			struct hamidp_reason *reason)
{
	struct hamidp_slicing own = { 0 };

	if (!hdp_take_sized(&own, sizeof(own), from, from->size, sizeof(own)))
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"slicing: size %zu is not accepted, expected %zu to %u, with "
				"zeroes for what this version does not know",
				from->size, sizeof(own), HDP_SIZED_MAX);
	own.size = sizeof(own);
	*ret = own;
	return 0;
}

static int check_ratio(const char *name, uint64_t ppm, struct hamidp_reason *reason)
{
	if (ppm == 0 || (ppm >= HAMIDP_PPM && ppm <= HAMIDP_RATIO_MAX_PPM))
		return 0;
	return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
			"%s of %llu ppm is not accepted, expected %u to %u", name,
			(unsigned long long)ppm, HAMIDP_PPM, HAMIDP_RATIO_MAX_PPM);
}

static int check_slicing(const struct hamidp_slicing *from, struct hamidp_slicing *ret,
			 struct hamidp_reason *reason)
{
	struct hamidp_slicing own;
	int r = read_slicing(from, &own, reason);

	if (r < 0)
		return r;
	if (own.slots > HAMIDP_SLOTS_MAX)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"%u slots per device are not accepted, expected 1 to %u", own.slots,
				HAMIDP_SLOTS_MAX);
	if (own.memory_mib > HDP_MEMORY_MIB_MAX)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"slot memory of %llu MiB is not accepted, expected 1 to %llu",
				(unsigned long long)own.memory_mib, HDP_MEMORY_MIB_MAX);
	r = check_ratio("memory ratio", own.memory_ratio_ppm, reason);
	if (r == 0)
		r = check_ratio("cores ratio", own.cores_ratio_ppm, reason);
	if (r == 0)
		*ret = own;
	return r;
}

/* Fill what @slicing does not state. */
static void widen(struct hamidp_slicing *slicing, const struct hamidp_slicing *wider)
{
	if (slicing->slots == 0)
		slicing->slots = wider->slots;
	if (slicing->memory_mib == 0)
		slicing->memory_mib = wider->memory_mib;
	if (slicing->memory_ratio_ppm == 0)
		slicing->memory_ratio_ppm = wider->memory_ratio_ppm;
	if (slicing->cores_ratio_ppm == 0)
		slicing->cores_ratio_ppm = wider->cores_ratio_ppm;
}

HAMIDP_EXPORT int hamidp_policy_set_default(struct hamidp_policy *policy,
					    const struct hamidp_slicing *slicing,
					    struct hamidp_reason *reason)
{
	struct hamidp_slicing own;
	int r;

	hdp_reason_clear(reason);
	r = check_slicing(slicing, &own, reason);
	if (r < 0)
		return r;
	widen(&own, &policy->slicing);
	policy->slicing = own;
	return 0;
}

HAMIDP_EXPORT int hamidp_policy_set_memory_fit(struct hamidp_policy *policy,
					       enum hamidp_memory_fit fit)
{
	if (fit != HAMIDP_MEMORY_FIT_SHRINK && fit != HAMIDP_MEMORY_FIT_STRICT)
		return -EINVAL;
	policy->fit = fit;
	return 0;
}

static int check_twin(const struct hamidp_policy *policy, const char *name, const char *prefix,
		      struct hamidp_reason *reason)
{
	for (size_t i = 0; i < policy->n_resources; i++) {
		const struct hdp_policy_resource *other = &policy->resources[i];

		if (strcmp(other->name, name) == 0)
			return hdp_fail(reason, -EINVAL, HAMIDP_REASON_CONFLICT,
					"resource '%s' is named twice", name);
		if (strcmp(other->prefix, prefix) == 0)
			return hdp_fail(
				reason, -EINVAL, HAMIDP_REASON_CONFLICT,
				"resources '%s' and '%s' have the same environment prefix %s",
				other->name, name, prefix);
	}
	return 0;
}

static int check_name(const struct hamidp_policy *policy, const char *name,
		      struct hamidp_reason *reason)
{
	const char *wrong = hdp_resource_name_wrong(name);

	if (wrong)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"resource name '%.330s' is not accepted: %s", name, wrong);
	if (policy->n_resources >= HDP_RESOURCES_MAX)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"resource '%s': at most %u resources are accepted", name,
				HDP_RESOURCES_MAX);
	return 0;
}

static int append_resource(struct hamidp_policy *policy, struct hdp_policy_resource *item)
{
	if (hdp_grow(&policy->resources, &policy->cap_resources, policy->n_resources + 1,
		     sizeof(*item)) < 0)
		return -ENOMEM;
	policy->resources[policy->n_resources++] = *item;
	*item = (struct hdp_policy_resource){ 0 };
	return 0;
}

HAMIDP_EXPORT int hamidp_policy_add_resource(struct hamidp_policy *policy, const char *name,
					     const struct hamidp_slicing *slicing,
					     size_t *ret_resource, struct hamidp_reason *reason)
{
	hdp_cleanup(resource_done) struct hdp_policy_resource item = { 0 };
	int r;

	hdp_reason_clear(reason);
	r = check_name(policy, name, reason);
	if (r == 0 && slicing)
		r = check_slicing(slicing, &item.slicing, reason);
	if (r < 0)
		return r;

	item.name = strdup(name);
	item.prefix = hdp_resource_prefix(name);
	if (!item.name || !item.prefix)
		return hdp_oom(reason);
	r = check_twin(policy, item.name, item.prefix, reason);
	if (r < 0)
		return r;
	if (append_resource(policy, &item) < 0)
		return hdp_oom(reason);
	if (ret_resource)
		*ret_resource = policy->n_resources - 1;
	return 0;
}

static bool read_index(const char *text, int64_t *ret)
{
	int64_t value = 0;
	size_t len = strlen(text);

	if (len < 1 || len > 10 || strspn(text, "0123456789") != len)
		return false;
	for (size_t i = 0; i < len; i++)
		value = value * 10 + (text[i] - '0');
	*ret = value;
	return value <= INT32_MAX;
}

static int check_rule(enum hamidp_match by, const char *value, int64_t *ret_index,
		      struct hamidp_reason *reason)
{
	size_t len = strnlen(value, VALUE_MAX + 1);

	if (by != HAMIDP_MATCH_UUID && by != HAMIDP_MATCH_MODEL && by != HAMIDP_MATCH_INDEX)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"match %d is not accepted, expected UUID, model or index", (int)by);
	if (len < 1 || len > VALUE_MAX || !hdp_text_valid(value, len))
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"device rule '%.260s' is not accepted, expected 1 to %u bytes of "
				"UTF-8",
				value, VALUE_MAX);
	if (by == HAMIDP_MATCH_INDEX && !read_index(value, ret_index))
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"device index '%.260s' is not accepted, expected 0 to %d", value,
				INT32_MAX);
	return 0;
}

static int add_rule(struct hdp_rules *rules, enum hamidp_match by, const char *value,
		    const struct hamidp_slicing *slicing, struct hamidp_reason *reason)
{
	hdp_cleanup_free char *copy = NULL;
	struct hdp_rule rule = { .by = by };
	int r = check_rule(by, value, &rule.index, reason);

	if (r == 0 && slicing)
		r = check_slicing(slicing, &rule.slicing, reason);
	if (r < 0)
		return r;
	if (rules->n >= HDP_RULES_MAX)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"device rule '%s': at most %u rules are accepted", value,
				HDP_RULES_MAX);

	copy = strdup(value);
	if (!copy)
		return hdp_oom(reason);
	if (hdp_grow(&rules->items, &rules->cap, rules->n + 1, sizeof(rule)) < 0)
		return hdp_oom(reason);
	rule.value = take_ptr(copy);
	rules->items[rules->n++] = rule;
	return 0;
}

HAMIDP_EXPORT int hamidp_policy_add_resource_device(struct hamidp_policy *policy, size_t resource,
						    enum hamidp_match by, const char *value,
						    struct hamidp_reason *reason)
{
	hdp_reason_clear(reason);
	if (resource >= policy->n_resources)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"resource %zu is not accepted, the policy has %zu", resource,
				policy->n_resources);
	return add_rule(&policy->resources[resource].devices, by, value, NULL, reason);
}

HAMIDP_EXPORT int hamidp_policy_add_override(struct hamidp_policy *policy, enum hamidp_match by,
					     const char *value,
					     const struct hamidp_slicing *slicing,
					     struct hamidp_reason *reason)
{
	hdp_reason_clear(reason);
	return add_rule(&policy->overrides, by, value, slicing, reason);
}

static int copy_rules(const struct hdp_rules *src, struct hdp_rules *ret)
{
	for (size_t i = 0; i < src->n; i++) {
		const struct hdp_rule *rule = &src->items[i];
		const struct hamidp_slicing *slicing = rule->slicing.size ? &rule->slicing : NULL;

		if (add_rule(ret, rule->by, rule->value, slicing, NULL) < 0)
			return -ENOMEM;
	}
	return 0;
}

int hdp_policy_copy(const struct hamidp_policy *src, struct hamidp_policy **ret)
{
	hdp_cleanup(hamidp_policy_freep) struct hamidp_policy *copy = calloc(1, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	copy->slicing = src->slicing;
	copy->fit = src->fit;
	copy->placing = src->placing;
	if (copy_rules(&src->overrides, &copy->overrides) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < src->n_resources; i++) {
		const struct hdp_policy_resource *from = &src->resources[i];
		hdp_cleanup(resource_done) struct hdp_policy_resource item = { 0 };

		item.slicing = from->slicing;
		item.name = strdup(from->name);
		item.prefix = strdup(from->prefix);
		if (!item.name || !item.prefix || copy_rules(&from->devices, &item.devices) < 0 ||
		    append_resource(copy, &item) < 0)
			return -ENOMEM;
	}
	*ret = take_ptr(copy);
	return 0;
}

bool hdp_rule_matches(const struct hdp_rule *rule, const struct hdp_device_info *info)
{
	switch (rule->by) {
	case HAMIDP_MATCH_UUID:
		return strcmp(rule->value, info->uuid) == 0;
	case HAMIDP_MATCH_MODEL:
		return fnmatch(rule->value, info->model, 0) == 0;
	case HAMIDP_MATCH_INDEX:
		return rule->index == info->index;
	case _HAMIDP_MATCH_PAD:
		break;
	}
	return false;
}

struct hamidp_slicing hdp_policy_slicing(const struct hamidp_policy *policy, size_t resource,
					 const struct hdp_device_info *info)
{
	static const enum hamidp_match order[] = { HAMIDP_MATCH_UUID, HAMIDP_MATCH_INDEX,
						   HAMIDP_MATCH_MODEL };
	static const struct hamidp_slicing last = { .slots = DEFAULT_SLOTS,
						    .memory_ratio_ppm = HAMIDP_PPM,
						    .cores_ratio_ppm = HAMIDP_PPM };
	struct hamidp_slicing slicing = { .size = sizeof(slicing) };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		for (size_t j = 0; j < policy->overrides.n; j++) {
			const struct hdp_rule *rule = &policy->overrides.items[j];

			if (rule->by == order[i] && hdp_rule_matches(rule, info))
				widen(&slicing, &rule->slicing);
		}
	widen(&slicing, &policy->resources[resource].slicing);
	widen(&slicing, &policy->slicing);
	widen(&slicing, &last);
	return slicing;
}
