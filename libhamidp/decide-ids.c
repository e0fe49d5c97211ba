/* SPDX-License-Identifier: Apache-2.0 */

/* Decisions that somebody else took: slot ids in, a checked decision out. */

#include <errno.h>
#include <inttypes.h>

#include "place.h"
#include "reason.h"

/* Ids are text from outside: this much of one is shown. */
#define ID "'%.128s'"

enum fault { FAULT_UNKNOWN, FAULT_FOREIGN, FAULT_DUPLICATE, FAULT_HEALTH, N_FAULTS };

static int fail_fault(const struct hamidp_layout *layout, size_t resource, enum fault fault,
		      const char *id, struct hamidp_reason *reason)
{
	const struct hdp_device_info *info = NULL;
	size_t slot;

	if (hamidp_layout_find_slot(layout, id, &slot) == 0)
		info = &layout->inv->devices[layout->slots[slot].device].info;
	switch (fault) {
	case FAULT_FOREIGN:
		return hdp_fail(reason, -ENOENT, HAMIDP_REASON_FOREIGN_SLOT,
				"slot " ID " does not belong to %s", id,
				layout->resources[resource].name);
	case FAULT_DUPLICATE:
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_DUPLICATE_SLOT,
				"slot " ID " is named twice", id);
	case FAULT_HEALTH:
		return hdp_fail(reason, -EAGAIN, HAMIDP_REASON_NOT_HEALTHY,
				"slot " ID ": device %s is %s%s%s", id, info ? info->uuid : "",
				info ? hamidp_health_to_string(info->health) : "",
				info && info->health_cause[0] ? ": " : "",
				info ? info->health_cause : "");
	case FAULT_UNKNOWN:
	case N_FAULTS:
		break;
	}
	return hdp_fail(reason, -ENOENT, HAMIDP_REASON_UNKNOWN_SLOT, "there is no slot " ID, id);
}

/* What is wrong with one id, N_FAULTS if nothing; then its bit is set. */
static enum fault mark(const struct hamidp_layout *layout, size_t resource, const char *id,
		       uint64_t *chosen)
{
	const struct hdp_device_info *info;
	size_t slot, pos;

	if (hamidp_layout_find_slot(layout, id, &slot) < 0)
		return FAULT_UNKNOWN;
	pos = layout->slots[slot].device;
	info = &layout->inv->devices[pos].info;
	if (layout->devices[pos].resource != resource)
		return FAULT_FOREIGN;
	if (hdp_bit_test(chosen, slot))
		return FAULT_DUPLICATE;
	hdp_bit_set(chosen, slot);
	return info->health == HAMIDP_HEALTH_HEALTHY ? N_FAULTS : FAULT_HEALTH;
}

static int check_count(const struct hamidp_layout *layout, size_t resource, const char *const *ids,
		       size_t n_ids, struct hamidp_reason *reason)
{
	if (resource >= layout->n_resources)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_UNKNOWN_RESOURCE,
				"resource number %zu: the layout has %zu", resource,
				layout->n_resources);
	if (n_ids == 0)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"no slot is named, at least 1 is needed");
	if (n_ids > layout->resources[resource].n_slots)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_TOO_LARGE,
				"%s: %zu slots are named, it has %zu",
				layout->resources[resource].name, n_ids,
				layout->resources[resource].n_slots);
	for (size_t i = 0; i < n_ids; i++)
		if (!ids[i])
			return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
					"slot id %zu of %zu is NULL", i + 1, n_ids);
	return 0;
}

HAMIDP_EXPORT int hamidp_decide_ids(const struct hamidp_layout *layout, size_t resource,
				    const char *const *ids, size_t n_ids,
				    struct hamidp_decision *decision, struct hamidp_reason *reason)
{
	struct hdp_place_rules rules;
	size_t first[N_FAULTS] = { SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX };
	int r;

	r = check_count(layout, resource, ids, n_ids, reason);
	if (r < 0)
		return r;
	r = hdp_decision_reserve(decision, layout, n_ids);
	if (r < 0)
		return hdp_oom(reason);

	/* Ids come in any order, so the kind of fault decides which is told, not the place. */
	for (size_t i = 0; i < n_ids; i++) {
		enum fault fault = mark(layout, resource, ids[i], decision->chosen);

		if (fault < N_FAULTS && first[fault] == SIZE_MAX)
			first[fault] = i;
	}
	for (unsigned fault = 0; fault < N_FAULTS; fault++)
		if (first[fault] != SIZE_MAX)
			return fail_fault(layout, resource, (enum fault)fault, ids[first[fault]],
					  reason);

	rules = hdp_place_rules(layout, resource, NULL);
	hdp_decision_settle(decision, layout, resource, &rules);
	decision->cost = 0;
	hdp_reason_clear(reason);
	return 0;
}

/* What one request could get now, in the normal form. */
static int find_largest(const struct hamidp_layout *layout, const struct hamidp_occupancy *occ,
			size_t resource, uint32_t *ret_largest, uint64_t *ret_free)
{
	struct hamidp_request req = { .resource = resource, .numa_node = -1 };
	struct hdp_place_rules rules = hdp_place_rules(layout, resource, NULL);
	struct hamidp_decision *scratch = NULL;
	uint64_t n_free = 0;
	size_t n;
	int r;

	if (!hdp_topology_tables(layout->inv->topology))
		return -ENOMEM;
	r = hamidp_decision_new(&scratch);
	if (r == 0)
		r = hdp_decision_reserve(scratch, layout, 1);
	if (r == 0) {
		hdp_cards_collect(layout, occ, &req, &rules, scratch, &n);
		for (size_t i = 0; i < n; i++)
			n_free += scratch->cards[i].free;
		*ret_largest = hdp_place_largest(&rules, scratch->cards, n);
		*ret_free = n_free;
	}
	hamidp_decision_free(scratch);
	return r;
}

HAMIDP_EXPORT int hamidp_decision_check_split(const struct hamidp_decision *decision,
					      const struct hamidp_occupancy *occ,
					      struct hamidp_reason *reason)
{
	const struct hamidp_layout *layout = decision->layout;
	uint64_t n_free = 0;
	uint32_t largest = 0;

	if (!layout || occ->layout != layout)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"the decision is empty, or one about another layout");
	if (!decision->is_split) {
		hdp_reason_clear(reason);
		return 0;
	}
	if (find_largest(layout, occ, decision->resource, &largest, &n_free) < 0)
		return hdp_oom(reason);
	(void)hdp_fail(reason, -ENOSPC, HAMIDP_REASON_SPLIT_DENIED,
		       "%s: %zu slots on %zu devices are a split, which is denied; %" PRIu64
		       " slots are free, at most %" PRIu32 " in one request",
		       layout->resources[decision->resource].name, decision->n_slots,
		       decision->n_devices, n_free, largest);
	hdp_reason_set_largest(reason, largest);
	return -ENOSPC;
}
