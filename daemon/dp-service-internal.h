/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shared by dp-*.c of the service: the object, and the small steps that each call takes. */

#include <stdbool.h>

#include "dp-codec.h"
#include "dp-memory.h"
#include "dp-service.h"

struct hamidp_decision;
struct hamidp_grant;
struct hamidp_layout;
struct hamidp_reason;
struct hamidp_request;

enum dp_spread { /* of a container's slots over cards */
		 DP_SPREAD_NORMAL = 0,
		 DP_SPREAD_SPLIT,	 /* none, and that is allowed */
		 DP_SPREAD_MUST_INCLUDE, /* none, but what we answered to a question with
					    must-include ids */
		 DP_SPREAD_REUSE,	 /* none, but ids of one earlier grant */
};

struct dp_service {
	struct hamidp_node *node;
	char *resource;
	struct hamidp_reason *reason;
	struct hamidp_request *request;
	struct hamidp_decision *decisions[DP_CONTAINERS_MAX]; /* made as needed, kept */
	struct hamidp_grant *grants[DP_CONTAINERS_MAX];	      /* the last answer points into them */
	enum dp_spread spreads[DP_CONTAINERS_MAX];
	struct dp_memory answered; /* to questions with must-include ids */
	const struct hamidp_publication *publication;
	bool was_asked; /* which slots suit */
	uint32_t refused_units;
	uint64_t n_splits, n_refusals, n_kept;
};

enum rpc_status dp_service_fail(enum rpc_status status, char *text, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
enum rpc_status dp_service_out_of_memory(char *text);
enum rpc_status dp_service_find_resource(const struct dp_service *service,
					 const struct hamidp_layout *layout, size_t *ret,
					 char *text);
/* Is @id a slot of this resource? */
bool dp_service_find_slot(const struct hamidp_layout *layout, size_t resource, const char *id,
			  size_t *ret);

/* May the @i-th container's slots be spread as they are? RPC_OK, FAILED_PRECONDITION or
 * RESOURCE_EXHAUSTED. */
enum rpc_status dp_service_check_spread(struct dp_service *service, size_t i,
					const struct dp_ids *ids, char *text);
/* Once @n containers are granted. */
void dp_service_log_spreads(struct dp_service *service, size_t n);
void dp_service_log_counts(const struct dp_service *service);

/* The first @n grants' edits as an answer. 0 or -ENOMEM. */
int dp_service_answer(const struct dp_service *service, struct dp_arena *arena, size_t n,
		      struct dp_allocate_response *ret);

void dp_service_log_allocate(const struct dp_service *service,
			     const struct dp_allocate_request *request);
void dp_service_log_granted(const struct dp_service *service,
			    const struct dp_allocate_response *response);
void dp_service_log_preferred(const struct dp_service *service,
			      const struct dp_preferred_request *request,
			      const struct dp_preferred_response *response);
