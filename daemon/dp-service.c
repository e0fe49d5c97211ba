/* SPDX-License-Identifier: Apache-2.0 */
/* Allocate, GetPreferredAllocation and PreStartContainer on the node. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/hamidp.h>

#include "dp-codec.h"
#include "dp-service-internal.h"
#include "log.h"
#include "macro.h"

int dp_service_new(struct hamidp_node *node, const char *resource_name, struct dp_service **ret)
{
	struct dp_service *service = calloc(1, sizeof(*service));

	if (!service)
		return -ENOMEM;
	service->node = node;
	service->resource = strdup(resource_name);
	if (!service->resource || hamidp_reason_new(&service->reason) < 0 ||
	    hamidp_request_new(&service->request) < 0) {
		dp_service_free(service);
		return -ENOMEM;
	}
	*ret = service;
	return 0;
}

static void drop_grants(struct dp_service *service)
{
	for (size_t i = 0; i < DP_CONTAINERS_MAX; i++)
		service->grants[i] = hamidp_grant_unref(service->grants[i]);
}

struct dp_service *dp_service_free(struct dp_service *service)
{
	if (!service)
		return NULL;
	drop_grants(service);
	for (size_t i = 0; i < DP_CONTAINERS_MAX; i++)
		hamidp_decision_free(service->decisions[i]);
	hamidp_request_free(service->request);
	hamidp_reason_free(service->reason);
	free(service->resource);
	free(service);
	return NULL;
}

static enum rpc_status status_of(enum hamidp_reason_code code)
{
	switch (code) {
	case HAMIDP_REASON_BAD_ARGUMENT:
	case HAMIDP_REASON_DUPLICATE_SLOT:
	case HAMIDP_REASON_TOO_LARGE:
		return RPC_INVALID_ARGUMENT;
	case HAMIDP_REASON_UNKNOWN_RESOURCE:
	case HAMIDP_REASON_UNKNOWN_SLOT:
	case HAMIDP_REASON_FOREIGN_SLOT:
		return RPC_NOT_FOUND;
	case HAMIDP_REASON_NOT_HEALTHY:
		return RPC_FAILED_PRECONDITION;
	case HAMIDP_REASON_NO_DRIVER:
	case HAMIDP_REASON_NO_DEVICE:
	case HAMIDP_REASON_DRIVER_FAILED:
	case HAMIDP_REASON_STALE:
		return RPC_UNAVAILABLE;
	case HAMIDP_REASON_NO_MEMORY:
	case HAMIDP_REASON_SPLIT_DENIED:
		return RPC_RESOURCE_EXHAUSTED;
	case HAMIDP_REASON_NONE:
	case HAMIDP_REASON_BAD_INPUT:
	case HAMIDP_REASON_DRIVER_LIMIT:
	case HAMIDP_REASON_MEMORY_FIT:
	case HAMIDP_REASON_NO_ROOM:
	case HAMIDP_REASON_FRAGMENTED:
	case HAMIDP_REASON_HELD:
	case HAMIDP_REASON_UNKNOWN_GRANT:
	case HAMIDP_REASON_NOT_SUPPORTED:
	case HAMIDP_REASON_STORE:
	case HAMIDP_REASON_DENIED:
	case HAMIDP_REASON_CONFLICT:
	case _HAMIDP_REASON_PAD:
		break;
	}
	return RPC_INTERNAL;
}

enum rpc_status dp_service_fail(enum rpc_status status, char *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, DP_SERVICE_TEXT_MAX, format, args);
	va_end(args);
	return status;
}

enum rpc_status dp_service_out_of_memory(char *text)
{
	return dp_service_fail(RPC_RESOURCE_EXHAUSTED, text, "out of memory");
}

/* What the library said, in its words, with our resource in front if it is not there yet. */
static enum rpc_status fail_reason(const struct dp_service *service, int r, char *text)
{
	const char *why = hamidp_reason_text(service->reason);
	enum rpc_status status = status_of(hamidp_reason_code(service->reason));

	if (!strncmp(why, service->resource, strlen(service->resource)))
		return dp_service_fail(status, text, "%s", why);
	return dp_service_fail(status, text, "%s: %s", service->resource,
			       why[0] ? why : hamidp_strerror(r));
}

enum rpc_status dp_service_find_resource(const struct dp_service *service,
					 const struct hamidp_layout *layout, size_t *ret,
					 char *text)
{
	if (hamidp_layout_find_resource(layout, service->resource, ret) == 0)
		return RPC_OK;
	return dp_service_fail(RPC_UNAVAILABLE, text, "%s: not served at present",
			       service->resource);
}

bool dp_service_find_slot(const struct hamidp_layout *layout, size_t resource, const char *id,
			  size_t *ret)
{
	return hamidp_layout_find_slot(layout, id, ret) == 0 &&
	       hamidp_layout_device_resource(layout, hamidp_layout_slot_device(layout, *ret)) ==
		       resource;
}

/*
 * Decide on one container's ids. @taken has a byte for each slot: the same id for two containers of
 * one request would be one slot with two holders from the start.
 */
static enum rpc_status decide(struct dp_service *service, size_t i, const struct dp_ids *ids,
			      size_t resource, char *taken, char *text)
{
	struct hamidp_layout *layout = hamidp_node_layout(service->node);
	int r;

	if (!service->decisions[i] && hamidp_decision_new(&service->decisions[i]) < 0)
		return dp_service_out_of_memory(text);
	r = hamidp_decide_ids(layout, resource, ids->ids, ids->n_ids, service->decisions[i],
			      service->reason);
	if (r < 0)
		return fail_reason(service, r, text);
	for (size_t k = 0; k < hamidp_decision_n_slots(service->decisions[i]); k++) {
		size_t slot = hamidp_decision_slot(service->decisions[i], k);

		if (taken[slot])
			return dp_service_fail(
				RPC_INVALID_ARGUMENT, text,
				"%s: '%s' is asked for by two containers of one request",
				service->resource, hamidp_layout_slot_id(layout, slot));
		taken[slot] = 1;
	}
	return RPC_OK;
}

static enum rpc_status decide_all(struct dp_service *service, struct dp_arena *arena,
				  const struct dp_allocate_request *request, char *text)
{
	struct hamidp_layout *layout = hamidp_node_layout(service->node);
	enum rpc_status status;
	size_t resource;
	char *taken;

	if (!request->n_containers || request->n_containers > DP_CONTAINERS_MAX)
		return dp_service_fail(RPC_INVALID_ARGUMENT, text,
				       "%s: a request for %zu containers: accepted: 1 to %zu",
				       service->resource, request->n_containers, DP_CONTAINERS_MAX);
	status = dp_service_find_resource(service, layout, &resource, text);
	if (status != RPC_OK)
		return status;
	taken = dp_arena_calloc(arena, hamidp_layout_n_slots(layout) + 1, 1);
	if (!taken)
		return dp_service_out_of_memory(text);
	for (size_t i = 0; i < request->n_containers && status == RPC_OK; i++)
		status = decide(service, i, &request->containers[i], resource, taken, text);
	return status;
}

/* End the grants of the first @n containers again: the request as a whole has failed. */
static void take_back(struct dp_service *service, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *id = hamidp_grant_id(service->grants[i]);
		int r = hamidp_node_release(service->node, id, service->reason);

		if (r < 0)
			log_err("%s: grant %s cannot be taken back: %s", service->resource, id,
				hamidp_reason_text(service->reason));
	}
	drop_grants(service);
}

static enum rpc_status commit_all(struct dp_service *service, size_t n, char *text)
{
	struct hamidp_commit_options opts = {
		.size = sizeof(opts),
		.flags = HAMIDP_COMMIT_SUPERSEDE, /* the kubelet is the authority on who holds what
						   */
		.owner = "kubelet",
	};

	for (size_t i = 0; i < n; i++) {
		enum rpc_status status;
		int r;

		r = hamidp_node_commit(service->node, service->decisions[i], &opts,
				       &service->grants[i], service->reason);
		if (r == 0)
			continue;
		status = fail_reason(service, r, text);
		take_back(service, i);
		return status;
	}
	return RPC_OK;
}

enum rpc_status dp_service_allocate(struct dp_service *service, struct dp_arena *arena,
				    const struct dp_allocate_request *request,
				    struct dp_allocate_response *ret,
				    char text[static DP_SERVICE_TEXT_MAX])
{
	enum rpc_status status;

	drop_grants(service);
	dp_service_log_allocate(service, request);
	status = decide_all(service, arena, request, text);
	if (status == RPC_OK)
		status = commit_all(service, request->n_containers, text);
	if (status == RPC_OK && dp_service_answer(service, arena, request->n_containers, ret) < 0) {
		take_back(service, request->n_containers);
		status = dp_service_out_of_memory(text);
	}
	if (status == RPC_OK)
		dp_service_log_granted(service, ret);
	else
		log_warning("Allocate refused: %s", text);
	return status;
}

enum rpc_status dp_service_pre_start(struct dp_service *service, const struct dp_ids *ids,
				     char text[static DP_SERVICE_TEXT_MAX])
{
	const struct hamidp_layout *layout = hamidp_node_layout(service->node);
	enum rpc_status status;
	size_t resource, slot;

	status = dp_service_find_resource(service, layout, &resource, text);
	for (size_t i = 0; i < ids->n_ids && status == RPC_OK; i++)
		if (!dp_service_find_slot(layout, resource, ids->ids[i], &slot))
			status = dp_service_fail(RPC_NOT_FOUND, text, "%s: '%.128s': no such slot",
						 service->resource, ids->ids[i]);
	return status;
}
