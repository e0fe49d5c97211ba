/* SPDX-License-Identifier: Apache-2.0 */
/* The DevicePlugin calls of one endpoint, and the time limit that the kubelet does not set. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "endpoint-call.h"
#include "log.h"

#define TEXT_MAX 1024
#define TIMEOUT_ACCURACY_US UINT64_C(50000)

const char *const endpoint_methods[] = {
	[ENDPOINT_GET_OPTIONS] = "/v1beta1.DevicePlugin/GetDevicePluginOptions",
	[ENDPOINT_PREFERRED] = "/v1beta1.DevicePlugin/GetPreferredAllocation",
	[ENDPOINT_ALLOCATE] = "/v1beta1.DevicePlugin/Allocate",
	[ENDPOINT_PRE_START] = "/v1beta1.DevicePlugin/PreStartContainer",
	NULL,
};

struct endpoint_call {
	LIST_ENTRY(endpoint_call) list;
	struct endpoint_calls *calls; /* NULL: timed out, or the endpoint has gone */
	struct rpc_call *rpc;
	sd_event_source *timer;
};

void endpoint_calls_init(struct endpoint_calls *calls, sd_event *event,
			 const struct endpoint_ops *ops, void *userdata,
			 const struct dp_options *options, uint64_t timeout_us)
{
	*calls = (struct endpoint_calls){
		.event = event,
		.ops = ops,
		.userdata = userdata,
		.options = *options,
		.timeout_us = timeout_us,
	};
	dp_arena_init(&calls->in, DP_ARENA_BUDGET);
	dp_arena_init(&calls->out, 4 * DP_ARENA_BUDGET);
	LIST_INIT(&calls->waiting);
}

/* Answer for the owner, whose own answer will be dropped. */
static void call_abandon(struct endpoint_call *call, enum rpc_status status, const char *text)
{
	LIST_REMOVE(call, list);
	call->calls = NULL;
	call->timer = sd_event_source_disable_unref(call->timer);
	rpc_call_fail(call->rpc, status, text);
	call->rpc = NULL;
}

void endpoint_calls_done(struct endpoint_calls *calls)
{
	while (!LIST_EMPTY(&calls->waiting))
		call_abandon(LIST_FIRST(&calls->waiting), RPC_UNAVAILABLE, "shutting down");
	dp_arena_done(&calls->in);
	dp_arena_done(&calls->out);
}

static int on_timeout(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct endpoint_call *call = userdata;

	log_warning("a call of the kubelet was not answered within %.1f s, failing it",
		    (double)call->calls->timeout_us / 1e6);
	call_abandon(call, RPC_DEADLINE_EXCEEDED, "no answer in time");
	return 0;
}

static struct endpoint_call *call_new(struct endpoint_calls *calls, struct rpc_call *rpc)
{
	struct endpoint_call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	call->calls = calls;
	call->rpc = rpc;
	LIST_INSERT_HEAD(&calls->waiting, call, list);
	return call;
}

/* Hand the rpc call out, to be answered now; NULL if nobody waits any more. */
static struct rpc_call *call_end(struct endpoint_call *call, struct endpoint_calls **ret_calls)
{
	struct rpc_call *rpc = call->rpc;

	*ret_calls = call->calls;
	if (call->calls)
		LIST_REMOVE(call, list);
	sd_event_source_disable_unref(call->timer);
	free(call);
	return rpc;
}

/* Cut at a character's start: the text goes out as UTF-8. */
__attribute__((format(printf, 3, 0))) static void format_text(char *buf, size_t size,
							      const char *fmt, va_list ap)
{
	int n = vsnprintf(buf, size, fmt, ap);

	if (n < (int)size)
		return;
	for (size_t i = size - 1; i-- > 0;)
		if (((unsigned char)buf[i] & 0xc0) != 0x80) {
			buf[i] = '\0';
			return;
		}
}

void endpoint_call_fail(struct endpoint_call *call, enum rpc_status status, const char *fmt, ...)
{
	struct endpoint_calls *calls;
	struct rpc_call *rpc = call_end(call, &calls);
	char text[TEXT_MAX];
	va_list ap;

	if (!rpc)
		return;
	va_start(ap, fmt);
	format_text(text, sizeof(text), fmt, ap);
	va_end(ap);
	rpc_call_fail(rpc, status == RPC_OK ? RPC_INTERNAL : status, text);
}

static void reply(struct endpoint_calls *calls, struct rpc_call *rpc, int error,
		  const struct dp_bytes *bytes)
{
	char text[TEXT_MAX];

	if (error >= 0) {
		rpc_call_reply(rpc, bytes->bytes, bytes->len);
	} else {
		(void)snprintf(text, sizeof(text), "the answer cannot be encoded: %s",
			       strerror(-error));
		log_err("%s", text);
		rpc_call_fail(rpc, error == -EMSGSIZE ? RPC_RESOURCE_EXHAUSTED : RPC_INTERNAL,
			      text);
	}
	dp_arena_reset(&calls->out);
}

void endpoint_reply_preferred(struct endpoint_call *call,
			      const struct dp_preferred_response *response)
{
	struct endpoint_calls *calls;
	struct rpc_call *rpc = call_end(call, &calls);
	struct dp_bytes bytes = { 0 };
	int error;

	if (!rpc)
		return;
	error = dp_encode_preferred(&calls->out, response, &bytes);
	reply(calls, rpc, error, &bytes);
}

void endpoint_reply_allocate(struct endpoint_call *call,
			     const struct dp_allocate_response *response)
{
	struct endpoint_calls *calls;
	struct rpc_call *rpc = call_end(call, &calls);
	struct dp_bytes bytes = { 0 };
	int error;

	if (!rpc)
		return;
	error = dp_encode_allocate(&calls->out, response, &bytes);
	reply(calls, rpc, error, &bytes);
}

void endpoint_reply_pre_start(struct endpoint_call *call)
{
	struct endpoint_calls *calls;
	struct rpc_call *rpc = call_end(call, &calls);

	if (rpc)
		rpc_call_reply(rpc, NULL, 0);
}

static void fail_decode(struct rpc_call *rpc, const char *what, int error)
{
	char text[128];

	if (error == -EBADMSG) {
		(void)snprintf(text, sizeof(text), "malformed %s request", what);
		rpc_call_fail(rpc, RPC_INVALID_ARGUMENT, text);
		return;
	}
	(void)snprintf(text, sizeof(text), "%s request over the limits (%zu containers, %zu ids)",
		       what, DP_CONTAINERS_MAX, DP_IDS_MAX);
	rpc_call_fail(rpc, RPC_RESOURCE_EXHAUSTED, error == -ENOMEM ? "out of memory" : text);
}

/* The call that the owner will answer; NULL: it has been answered, with what went wrong. */
static struct endpoint_call *begin(struct endpoint_calls *calls, struct rpc_call *rpc,
				   const char *what, int error)
{
	struct endpoint_call *call = error < 0 ? NULL : call_new(calls, rpc);

	if (!call)
		fail_decode(rpc, what, error < 0 ? error : -ENOMEM);
	return call;
}

static void handle_options(struct endpoint_calls *calls, struct rpc_call *rpc,
			   const struct rpc_request *req)
{
	struct dp_bytes bytes = { 0 };
	int error = dp_decode_empty(&calls->in, req->bytes, req->len);

	if (error < 0) {
		fail_decode(rpc, "GetDevicePluginOptions", error);
		return;
	}
	error = dp_encode_options(&calls->out, &calls->options, &bytes);
	reply(calls, rpc, error, &bytes);
}

static void handle_preferred(struct endpoint_calls *calls, struct rpc_call *rpc,
			     const struct rpc_request *req)
{
	struct dp_preferred_request request;
	struct endpoint_call *call;
	int error = dp_decode_preferred(&calls->in, req->bytes, req->len, &request);

	call = begin(calls, rpc, "GetPreferredAllocation", error);
	if (call)
		calls->ops->preferred(call, &request, calls->userdata);
}

static void handle_allocate(struct endpoint_calls *calls, struct rpc_call *rpc,
			    const struct rpc_request *req)
{
	struct dp_allocate_request request;
	struct endpoint_call *call;
	int error = dp_decode_allocate(&calls->in, req->bytes, req->len, &request);

	call = begin(calls, rpc, "Allocate", error);
	if (call)
		calls->ops->allocate(call, &request, calls->userdata);
}

static void handle_pre_start(struct endpoint_calls *calls, struct rpc_call *rpc,
			     const struct rpc_request *req)
{
	struct endpoint_call *call;
	struct dp_ids request;
	int error = dp_decode_pre_start(&calls->in, req->bytes, req->len, &request);

	if (error >= 0 && !calls->ops->pre_start) {
		rpc_call_reply(rpc, NULL, 0);
		return;
	}
	call = begin(calls, rpc, "PreStartContainer", error);
	if (call)
		calls->ops->pre_start(call, &request, calls->userdata);
}

/* Time what the owner did not answer at once; that is always at the head of the list. */
static void time_latest(struct endpoint_calls *calls, const struct endpoint_call *head_before)
{
	struct endpoint_call *call = LIST_FIRST(&calls->waiting);

	if (!call || call == head_before || call->timer)
		return;
	if (sd_event_add_time_relative(calls->event, &call->timer, CLOCK_MONOTONIC,
				       calls->timeout_us, TIMEOUT_ACCURACY_US, on_timeout,
				       call) < 0)
		log_warning("cannot set a call's time limit, going on without");
}

void endpoint_calls_handle(struct endpoint_calls *calls, struct rpc_call *call,
			   const struct rpc_request *request)
{
	const struct endpoint_call *head = LIST_FIRST(&calls->waiting);

	switch (request->method) {
	case ENDPOINT_GET_OPTIONS:
		handle_options(calls, call, request);
		break;
	case ENDPOINT_PREFERRED:
		handle_preferred(calls, call, request);
		break;
	case ENDPOINT_ALLOCATE:
		handle_allocate(calls, call, request);
		break;
	case ENDPOINT_PRE_START:
		handle_pre_start(calls, call, request);
		break;
	default:
		rpc_call_fail(call, RPC_UNIMPLEMENTED, "unknown method");
		break;
	}
	dp_arena_reset(&calls->in);
	time_latest(calls, head);
}
