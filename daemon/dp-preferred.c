/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GetPreferredAllocation. The answer is only a wish, but the kubelet fills a wrong one up at
 * random: whatever is odd about a request, as many valid ids as it asks for come back.
 */
#include <errno.h>

#include <hami/hamidp.h>

#include "dp-service-internal.h"
#include "log.h"

/* One container's question, with ids turned into slot numbers. */
struct question {
	const struct hamidp_layout *layout;
	const struct dp_preferred_container *asked;
	size_t resource;
	size_t size;
	size_t *available; /* slots, in the order given */
	size_t n_available;
	size_t *required;
	size_t n_required;
	size_t n_unknown;
	const char *unknown; /* the first of them */
};

static void read_ids(struct question *q, const struct dp_ids *ids, size_t *slots, size_t *ret_n)
{
	size_t n = 0;

	for (size_t i = 0; i < ids->n_ids; i++) {
		if (dp_service_find_slot(q->layout, q->resource, ids->ids[i], &slots[n])) {
			n++;
		} else {
			if (!q->n_unknown++)
				q->unknown = ids->ids[i];
		}
	}
	*ret_n = n;
}

static int read_question(const struct dp_service *service, struct dp_arena *arena,
			 struct question *q)
{
	const struct dp_ids *available = &q->asked->available;
	const struct dp_ids *required = &q->asked->must_include;

	q->available = dp_arena_calloc(arena, available->n_ids + 1, sizeof(*q->available));
	q->required = dp_arena_calloc(arena, required->n_ids + 1, sizeof(*q->required));
	if (!q->available || !q->required)
		return -ENOMEM;
	read_ids(q, available, q->available, &q->n_available);
	read_ids(q, required, q->required, &q->n_required);
	q->size = q->asked->size > 0 ? (size_t)q->asked->size : 0;
	if (q->n_unknown)
		log_warning("%s: %zu ids are none of ours, the first '%.128s', ignoring",
			    service->resource, q->n_unknown, q->unknown);
	return 0;
}

/* The library's choice as slot numbers. 0, or negative: there is none. */
static int place(struct dp_service *service, const struct question *q, size_t *slots)
{
	struct hamidp_decision *decision;
	int r;

	if (!service->decisions[0] && hamidp_decision_new(&service->decisions[0]) < 0)
		return -ENOMEM;
	decision = service->decisions[0];
	hamidp_request_reset(service->request);
	hamidp_request_set_resource(service->request, q->resource);
	hamidp_request_set_units(service->request, (uint32_t)q->size);
	/* The kubelet gets its number of ids whatever the policy: Allocate is what refuses. */
	(void)hamidp_request_set_split(service->request, HAMIDP_SPLIT_ALLOW);
	for (size_t i = 0; i < q->n_available; i++)
		if (hamidp_request_add_available(service->request, q->available[i]) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < q->n_required; i++)
		if (hamidp_request_add_required(service->request, q->required[i]) < 0)
			return -ENOMEM;
	r = hamidp_place(q->layout, hamidp_node_occupancy(service->node), service->request,
			 decision, service->reason);
	if (r < 0)
		return r;
	if (hamidp_decision_n_slots(decision) != q->size)
		return -EIO;
	for (size_t i = 0; i < q->size; i++)
		slots[i] = hamidp_decision_slot(decision, i);
	return 0;
}

/* What must be included, then what is available, in the order given, each once. */
static int take_first(struct dp_arena *arena, const struct question *q, size_t *slots,
		      size_t *ret_n)
{
	char *taken = dp_arena_calloc(arena, hamidp_layout_n_slots(q->layout) + 1, 1);
	size_t n = 0;

	if (!taken)
		return -ENOMEM;
	for (size_t i = 0; i < q->n_required + q->n_available && n < q->size; i++) {
		size_t slot = i < q->n_required ? q->required[i] : q->available[i - q->n_required];

		if (taken[slot])
			continue;
		taken[slot] = 1;
		slots[n++] = slot;
	}
	*ret_n = n;
	return 0;
}

static int choose(struct dp_service *service, struct dp_arena *arena, const struct question *q,
		  struct dp_ids *ret)
{
	size_t room = q->n_available + q->n_required;
	size_t n = q->size < room ? q->size : room;
	size_t *slots = dp_arena_calloc(arena, n + 1, sizeof(*slots));
	const char **ids = dp_arena_calloc(arena, n + 1, sizeof(*ids));

	if (!slots || !ids)
		return -ENOMEM;
	if (!q->n_available || q->size > room || !q->size || place(service, q, slots) < 0) {
		if (take_first(arena, q, slots, &n) < 0)
			return -ENOMEM;
		log_debug("%s: no placement of %zu, answering the first %zu", service->resource,
			  q->size, n);
	}
	for (size_t i = 0; i < n; i++)
		ids[i] = hamidp_layout_slot_id(q->layout, slots[i]);
	*ret = (struct dp_ids){ .ids = ids, .n_ids = n };
	return 0;
}

enum rpc_status dp_service_preferred(struct dp_service *service, struct dp_arena *arena,
				     const struct dp_preferred_request *request,
				     struct dp_preferred_response *ret,
				     char text[static DP_SERVICE_TEXT_MAX])
{
	struct question q = { .layout = hamidp_node_layout(service->node) };
	struct dp_ids *containers;

	if (dp_service_find_resource(service, q.layout, &q.resource, text) != RPC_OK)
		q.resource = HAMIDP_NO_RESOURCE; /* then no id is ours */
	containers = dp_arena_calloc(arena, request->n_containers + 1, sizeof(*containers));
	if (!containers)
		return dp_service_out_of_memory(text);
	for (size_t i = 0; i < request->n_containers; i++) {
		q.asked = &request->containers[i];
		q.n_unknown = 0;
		if (read_question(service, arena, &q) < 0 ||
		    choose(service, arena, &q, &containers[i]) < 0)
			return dp_service_out_of_memory(text);
	}
	ret->containers = containers;
	ret->n_containers = request->n_containers;
	dp_service_log_preferred(service, request, ret);
	return RPC_OK;
}
