/* SPDX-License-Identifier: Apache-2.0 */

/* Decisions that somebody else took: slot ids in, a checked decision out. */

#include <errno.h>

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

static const char *name_of(const char *id)
{
	return id ? id : "NULL";
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
				"%s: %zu slots are named, it has %zu; slot " ID " is one too many",
				layout->resources[resource].name, n_ids,
				layout->resources[resource].n_slots,
				name_of(ids[layout->resources[resource].n_slots]));
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

	hdp_decision_settle(decision, layout, resource, false);
	hdp_reason_clear(reason);
	return 0;
}
