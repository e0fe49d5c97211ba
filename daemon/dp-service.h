/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the kubelet's calls do, for one resource, as functions over plain structs. No gRPC, no
 * encoding: who answers is the caller. All policy is the library's.
 */

#include <stddef.h>

#include "rpc.h"

struct dp_allocate_request;
struct dp_allocate_response;
struct dp_arena;
struct dp_ids;
struct dp_preferred_request;
struct dp_preferred_response;
struct hamidp_node;
struct hamidp_publication;

#define DP_SERVICE_TEXT_MAX 512

struct dp_service;

/* @node is borrowed and must outlive the service. 0 or -ENOMEM. */
int dp_service_new(struct hamidp_node *node, const char *resource_name, struct dp_service **ret);
struct dp_service *dp_service_free(struct dp_service *service);
/* What the kubelet was sent last, for the log; borrowed, may change at any time. */
void dp_service_set_publication(struct dp_service *service,
				const struct hamidp_publication *publication);

/*
 * Grant exactly the ids asked for, taking them over from older grants, unless --split=deny refuses
 * how they are spread. All containers of the request or none: nothing has changed after a failure.
 * What *@ret points to lives in @arena and in the service, until the next call.
 *
 * Return: RPC_OK, or INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION, UNAVAILABLE,
 * RESOURCE_EXHAUSTED or INTERNAL with the text for the pod's owner in @text.
 */
enum rpc_status dp_service_allocate(struct dp_service *service, struct dp_arena *arena,
				    const struct dp_allocate_request *request,
				    struct dp_allocate_response *ret,
				    char text[static DP_SERVICE_TEXT_MAX]);

/* Slots of the container that the last call refused for their spread, once; 0 if none was. */
uint32_t dp_service_take_refused(struct dp_service *service);

/*
 * Which of the available ids suit best: as many as asked for, wherever there are that many.
 * Changes nothing and asks no driver. Return: RPC_OK or RESOURCE_EXHAUSTED.
 */
enum rpc_status dp_service_preferred(struct dp_service *service, struct dp_arena *arena,
				     const struct dp_preferred_request *request,
				     struct dp_preferred_response *ret,
				     char text[static DP_SERVICE_TEXT_MAX]);

/* We never ask for this call; a kubelet that makes it all the same may go on for known ids. */
enum rpc_status dp_service_pre_start(struct dp_service *service, const struct dp_ids *ids,
				     char text[static DP_SERVICE_TEXT_MAX]);
