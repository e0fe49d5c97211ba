/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spreads that are no normal form: which are granted, which refused, and what is said about them.
 * The kubelet offers a pod nothing else than what its init containers had; such a pod would never
 * start, so what it is offered is granted, and counted.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <hami/hamidp.h>

#include "dp-codec.h"
#include "dp-service-internal.h"
#include "log.h"
#include "macro.h"

/* "3+1": slots on each card, in device order. */
static void print_parts(const struct hamidp_decision *decision, char *buf, size_t size)
{
	const struct hamidp_layout *layout = hamidp_decision_layout(decision);
	size_t n = hamidp_decision_n_slots(decision), len = 0, part = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < n && len < size; i++) {
		size_t pos = hamidp_layout_slot_device(layout, hamidp_decision_slot(decision, i));
		int r;

		part++;
		if (i + 1 < n &&
		    hamidp_layout_slot_device(layout, hamidp_decision_slot(decision, i + 1)) == pos)
			continue;
		r = snprintf(buf + len, size - len, "%s%zu", len ? "+" : "", part);
		if (r < 0)
			return;
		len += (size_t)r;
		part = 0;
	}
}

/* Do all slots belong to one live grant? Then a later container reuses what an earlier one had. */
static bool is_reuse(const struct dp_service *service, const struct hamidp_decision *decision)
{
	const struct hamidp_occupancy *occ = hamidp_node_occupancy(service->node);
	const char *first = hamidp_occupancy_holder(occ, hamidp_decision_slot(decision, 0));

	for (size_t i = 1; first && i < hamidp_decision_n_slots(decision); i++) {
		const char *holder =
			hamidp_occupancy_holder(occ, hamidp_decision_slot(decision, i));

		if (!holder || strcmp(holder, first) != 0)
			return false;
	}
	return first != NULL;
}

/* Why slots are spread that need not be: whom to turn to. */
static const char *whose_choice(const struct dp_service *service, size_t units)
{
	if (hamidp_reason_largest(service->reason) < units)
		return "";
	if (!service->was_asked)
		return "; they would fit, but the kubelet does not ask which slots suit (before "
		       "1.25 it never does with --registration=watcher)";
	return "; they would fit, but the kubelet chose these, as it does where it aligns to a "
	       "NUMA node (Topology Manager)";
}

static enum rpc_status refuse(struct dp_service *service, const struct hamidp_decision *decision,
			      char *text)
{
	size_t units = hamidp_decision_n_slots(decision);
	char parts[64];

	service->n_refusals++;
	service->refused_units = (uint32_t)units;
	print_parts(decision, parts, sizeof(parts));
	log_info("%s: %zu slots as %s refused (--split=deny); refused so far: %" PRIu64,
		 service->resource, units, parts, service->n_refusals);
	return dp_service_fail(RPC_FAILED_PRECONDITION, text, "%s%s",
			       hamidp_reason_text(service->reason), whose_choice(service, units));
}

enum rpc_status dp_service_check_spread(struct dp_service *service, size_t i,
					const struct dp_ids *ids, char *text)
{
	const struct hamidp_layout *layout = hamidp_node_layout(service->node);
	const struct hamidp_decision *decision = service->decisions[i];
	int r;

	service->spreads[i] = DP_SPREAD_NORMAL;
	r = hamidp_decision_check_split(decision, hamidp_node_occupancy(service->node),
					service->reason);
	if (r == 0)
		return RPC_OK;
	if (r == -ENOMEM)
		return dp_service_out_of_memory(text);
	if (hamidp_layout_split(layout) == HAMIDP_SPLIT_ALLOW)
		service->spreads[i] = DP_SPREAD_SPLIT;
	else if (dp_memory_has(&service->answered, ids->ids, ids->n_ids))
		service->spreads[i] = DP_SPREAD_MUST_INCLUDE;
	else if (is_reuse(service, decision))
		service->spreads[i] = DP_SPREAD_REUSE;
	else
		return refuse(service, decision, text);
	return RPC_OK;
}

/* The kubelet had picked them before our list arrived: its word holds, and the hold on them ends.
 */
static void log_not_published(const struct dp_service *service, size_t i)
{
	const struct hamidp_decision *decision = service->decisions[i];
	size_t n_withheld = 0, n_held_down = 0;

	if (!service->publication ||
	    hamidp_publication_layout(service->publication) != hamidp_decision_layout(decision))
		return;
	for (size_t k = 0; k < hamidp_decision_n_slots(decision); k++) {
		enum hamidp_cause cause =
			hamidp_publication_cause(service->publication,
						 hamidp_decision_slot(decision, k));

		n_withheld += cause == HAMIDP_CAUSE_WITHHELD;
		n_held_down += cause == HAMIDP_CAUSE_HOLD_DOWN;
	}
	if (n_withheld + n_held_down > 0)
		log_info("%s: grant %s has slots that were sent as Unhealthy (%zu withheld, %zu "
			 "held down): the kubelet chose them before it had that list",
			 service->resource, hamidp_grant_id(service->grants[i]), n_withheld,
			 n_held_down);
}

static void log_spread(struct dp_service *service, size_t i)
{
	const char *id = hamidp_grant_id(service->grants[i]);
	char parts[64];

	print_parts(service->decisions[i], parts, sizeof(parts));
	switch (service->spreads[i]) {
	case DP_SPREAD_NORMAL:
		break;
	case DP_SPREAD_SPLIT:
		service->n_splits++;
		log_info("%s: grant %s is split as %s (--split=allow); splits so far: %" PRIu64,
			 service->resource, id, parts, service->n_splits);
		break;
	case DP_SPREAD_MUST_INCLUDE:
	case DP_SPREAD_REUSE:
		service->n_kept++;
		log_info("%s: grant %s is spread as %s: its slots %s; such grants so far: %" PRIu64,
			 service->resource, id, parts,
			 service->spreads[i] == DP_SPREAD_REUSE
				 ? "are an earlier container's"
				 : "had to include an earlier container's",
			 service->n_kept);
		break;
	}
}

void dp_service_log_spreads(struct dp_service *service, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		log_spread(service, i);
		log_not_published(service, i);
	}
}

void dp_service_log_counts(const struct dp_service *service)
{
	log_debug("%s: so far %" PRIu64 " splits granted, %" PRIu64 " refused, %" PRIu64
		  " spread grants for what earlier containers had",
		  service->resource, service->n_splits, service->n_refusals, service->n_kept);
}

uint32_t dp_service_take_refused(struct dp_service *service)
{
	uint32_t units = service->refused_units;

	service->refused_units = 0;
	return units;
}
