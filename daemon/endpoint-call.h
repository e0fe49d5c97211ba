/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/queue.h>

#include "endpoint.h"

/*
 * The unary methods of DevicePlugin: bytes to structs, the owner's function, structs to bytes.
 * Needs no gRPC: a test calls endpoint_calls_handle() with a struct rpc_call of its own.
 */
enum endpoint_method {
	ENDPOINT_GET_OPTIONS,
	ENDPOINT_PREFERRED,
	ENDPOINT_ALLOCATE,
	ENDPOINT_PRE_START,
};

extern const char *const endpoint_methods[]; /* by enum endpoint_method, NULL-terminated */
#define ENDPOINT_LIST_AND_WATCH "/v1beta1.DevicePlugin/ListAndWatch"

struct endpoint_calls {
	sd_event *event;
	const struct endpoint_ops *ops;
	void *userdata;
	struct dp_options options;
	uint64_t timeout_us;
	struct dp_arena in, out;
	LIST_HEAD(, endpoint_call) waiting;
};

void endpoint_calls_init(struct endpoint_calls *calls, sd_event *event,
			 const struct endpoint_ops *ops, void *userdata,
			 const struct dp_options *options, uint64_t timeout_us);
/* Answer what waits with UNAVAILABLE. */
void endpoint_calls_done(struct endpoint_calls *calls);
void endpoint_calls_handle(struct endpoint_calls *calls, struct rpc_call *call,
			   const struct rpc_request *request);
