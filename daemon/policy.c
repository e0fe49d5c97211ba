/* SPDX-License-Identifier: Apache-2.0 */
/* Hands the configured values to the library, which judges them; adds where they were set. */
#include <errno.h>

#include <hami/hamidp.h>

#include "complaint.h"
#include "config.h"
#include "options.h"
#include "policy.h"

struct builder {
	struct hamidp_policy *policy;
	struct hamidp_reason *reason;
	const struct options *opts;
	struct complaint *complaint;
};

static int refuse_line(const struct builder *b, int r, unsigned line)
{
	return complain(b->complaint, r, "%s:%u: %s", b->opts->config->file, line,
			hamidp_reason_text(b->reason));
}

static struct hamidp_slicing to_slicing(const struct config_slicing *slicing)
{
	return (struct hamidp_slicing){
		.size = sizeof(struct hamidp_slicing),
		.slots = slicing->slots,
		.memory_mib = slicing->memory_mib,
		.memory_ratio_ppm = slicing->memory_ratio_ppm,
		.cores_ratio_ppm = slicing->cores_ratio_ppm,
	};
}

static int set_default(const struct builder *b)
{
	struct hamidp_slicing slicing = {
		.size = sizeof(slicing),
		.slots = (uint32_t)options_number(b->opts, OPTION_CORES_PER_DEVICE),
		.memory_mib = options_number(b->opts, OPTION_MEMORY_MB_PER_CORE),
		.memory_ratio_ppm = options_number(b->opts, OPTION_MEMORY_RATIO),
		.cores_ratio_ppm = options_number(b->opts, OPTION_CORES_RATIO),
	};
	enum hamidp_memory_fit fit = HAMIDP_MEMORY_FIT_SHRINK;
	int r;

	if (options_number(b->opts, OPTION_MEMORY_FIT) == OPTION_MEMORY_FIT_STRICT)
		fit = HAMIDP_MEMORY_FIT_STRICT;
	r = hamidp_policy_set_default(b->policy, &slicing, b->reason);
	if (r < 0)
		return complain(b->complaint, r, "%s", hamidp_reason_text(b->reason));
	return hamidp_policy_set_memory_fit(b->policy, fit);
}

static enum hamidp_placement to_placement(uint64_t word)
{
	switch ((enum option_placement)word) {
	case OPTION_PLACEMENT_SPREAD:
		return HAMIDP_PLACEMENT_SPREAD;
	case OPTION_PLACEMENT_TOPOLOGY:
		return HAMIDP_PLACEMENT_TOPOLOGY;
	case OPTION_PLACEMENT_FIT:
		return HAMIDP_PLACEMENT_FIT;
	case OPTION_PLACEMENT_PACK:
		break;
	}
	return HAMIDP_PLACEMENT_PACK;
}

static int set_placing(const struct builder *b)
{
	uint32_t max = (uint32_t)options_number(b->opts, OPTION_MAX_PER_DEVICE);
	enum hamidp_split split = HAMIDP_SPLIT_DENY;
	int r;

	if (options_number(b->opts, OPTION_SPLIT) == OPTION_SPLIT_ALLOW)
		split = HAMIDP_SPLIT_ALLOW;
	r = hamidp_policy_set_placement(b->policy,
					to_placement(options_number(b->opts, OPTION_PLACEMENT)));
	if (r == 0)
		r = hamidp_policy_set_split(b->policy, split);
	if (r == 0)
		r = hamidp_policy_set_max_per_device(b->policy, max);
	return r < 0 ? complain(b->complaint, r, "%s", hamidp_strerror(r)) : 0;
}

static int add_resource(const struct builder *b, const struct config_resource *resource)
{
	struct hamidp_slicing slicing = to_slicing(&resource->slicing);
	size_t number;
	int r;

	r = hamidp_policy_add_resource(b->policy, resource->name, &slicing, &number, b->reason);
	if (r < 0)
		return refuse_line(b, r, resource->line);
	for (size_t i = 0; i < resource->n_devices; i++) {
		const struct config_match *match = &resource->devices[i];

		r = hamidp_policy_add_resource_device(b->policy, number, match->by, match->value,
						      b->reason);
		if (r < 0)
			return refuse_line(b, r, match->line);
	}
	return 0;
}

static int add_resources(const struct builder *b)
{
	const struct options_value *name = &b->opts->values[OPTION_RESOURCE_NAME];
	const struct config *config = b->opts->config;
	int r = 0;

	if (config && config->n_resources) {
		for (size_t i = 0; i < config->n_resources && r == 0; i++)
			r = add_resource(b, &config->resources[i]);
		return r;
	}
	r = hamidp_policy_add_resource(b->policy, name->text, NULL, NULL, b->reason);
	if (r < 0)
		return complain(b->complaint, r, "%s: %s",
				name->where ? name->where : "--resource-name",
				hamidp_reason_text(b->reason));
	return 0;
}

static int add_overrides(const struct builder *b)
{
	const struct config *config = b->opts->config;

	for (size_t i = 0; config && i < config->n_overrides; i++) {
		const struct config_override *override = &config->overrides[i];
		struct hamidp_slicing slicing = to_slicing(&override->slicing);
		int r;

		r = hamidp_policy_add_override(b->policy, override->match.by, override->match.value,
					       &slicing, b->reason);
		if (r < 0)
			return refuse_line(b, r, override->match.line);
	}
	return 0;
}

int policy_from_options(const struct options *opts, struct hamidp_policy **ret,
			struct complaint *complaint)
{
	struct builder b = { .opts = opts, .complaint = complaint };
	int r;

	r = hamidp_policy_new(&b.policy);
	if (r == 0)
		r = hamidp_reason_new(&b.reason);
	if (r < 0)
		(void)complain(complaint, r, "%s", hamidp_strerror(r));
	if (r == 0)
		r = set_default(&b);
	if (r == 0)
		r = set_placing(&b);
	if (r == 0)
		r = add_resources(&b);
	if (r == 0)
		r = add_overrides(&b);
	hamidp_reason_free(b.reason);
	if (r < 0) {
		hamidp_policy_free(b.policy);
		return r;
	}
	*ret = b.policy;
	return 0;
}
