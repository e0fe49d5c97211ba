/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call on a server, from the armed request to the last tag.
 *
 *   armed -> new -> unary:  message -> handler -> answer -> status sent -> closed
 *                -> stream: first frame at once; then one send outstanding plus a dirty flag
 *                -> other:  UNIMPLEMENTED at once
 *
 * RECV_CLOSE_ON_SERVER is asked for first of all and comes last in a good call, early when the
 * client goes. The object lives until every tag came back and the handler has answered.
 */
#include <errno.h>
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/support/time.h>
#include <malloc.h>
#include <string.h>

#include "log.h"
#include "macro.h"
#include "rpc-internal.h"

#define ARMED_CALLS 24U
#define TEXT_MAX ((size_t)1024)
#define PATH_MAX_LEN ((size_t)255)
#define TRIM_HIGH_WATER 64U /* calls at once, after which memory goes back to the system */

struct srv_call {
	struct rpc_call base;
	LIST_ENTRY(srv_call) list;
	struct rpc_server *server; /* NULL once the server was freed before the answer */
	grpc_call *call;
	grpc_call_details details;
	grpc_metadata_array metadata;
	grpc_byte_buffer *message;
	int cancelled;
	struct rpc_tag on_new, on_close, on_message, on_send;
	unsigned n_pending; /* tags that gRPC has, or whose function is running */
	int method;
	bool live;
	bool closed;
	bool unanswered; /* the handler has it */
	bool answered;	 /* a status was handed to gRPC, or no longer makes sense */
	/* streams */
	bool is_stream, open, sending, headers_sent, dirty, ending;
	uint64_t stream_id;
	enum rpc_status end_status;
	char *end_text;
};

static void call_release(struct srv_call *c)
{
	if (c->call)
		grpc_call_unref(c->call);
	c->call = NULL;
	if (c->message)
		grpc_byte_buffer_destroy(c->message);
	c->message = NULL;
	grpc_call_details_destroy(&c->details);
	grpc_metadata_array_destroy(&c->metadata);
}

/* malloc keeps what a burst took; after it, give it back. */
static void trim_after_burst(struct rpc_server *server)
{
	if (server->high_water >= TRIM_HIGH_WATER)
		(void)malloc_trim(0);
	server->high_water = 0;
}

static void call_maybe_free(struct srv_call *c)
{
	struct rpc_server *server = c->server;

	if (c->n_pending || c->unanswered)
		return;
	call_release(c);
	LIST_REMOVE(c, list);
	if (c->live)
		server->n_live--;
	free(c->end_text);
	free(c);
	if (server->n_live == 0 && server->high_water)
		trim_after_burst(server);
}

static void call_unpend(struct srv_call *c)
{
	c->n_pending--;
	call_maybe_free(c);
}

/* One op, or several, under one tag. */
static bool call_start(struct srv_call *c, const grpc_op *ops, size_t n, struct rpc_tag *tag)
{
	grpc_call_error e;

	rpc_tag_give(tag);
	c->n_pending++;
	e = grpc_call_start_batch(c->call, ops, n, tag, NULL);
	if (e == GRPC_CALL_OK)
		return true;
	c->n_pending--;
	log_err("gRPC refused a batch: %s", grpc_call_error_to_string(e));
	return false;
}

static grpc_byte_buffer *byte_buffer_from(const void *bytes, size_t len)
{
	grpc_slice slice = grpc_slice_from_copied_buffer(bytes, len);
	grpc_byte_buffer *buf = grpc_raw_byte_buffer_create(&slice, 1);

	grpc_slice_unref(slice);
	return buf;
}

/* The last batch of a call: headers if none went out yet, the message if any, the status. */
static void call_send_status(struct srv_call *c, enum rpc_status status, const void *bytes,
			     size_t len, const char *text)
{
	grpc_slice details = grpc_slice_from_copied_buffer(text, strnlen(text, TEXT_MAX));
	grpc_byte_buffer *buf = NULL;
	grpc_op ops[3];
	size_t n = 0;

	memset(ops, 0, sizeof(ops));
	if (!c->headers_sent)
		ops[n++].op = GRPC_OP_SEND_INITIAL_METADATA;
	if (bytes) {
		buf = byte_buffer_from(bytes, len);
		ops[n].op = GRPC_OP_SEND_MESSAGE;
		ops[n++].data.send_message.send_message = buf;
	}
	ops[n].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
	ops[n].data.send_status_from_server.status = (grpc_status_code)status;
	ops[n++].data.send_status_from_server.status_details = &details;
	c->headers_sent = c->answered = true;
	(void)call_start(c, ops, n, &c->on_send);
	if (buf)
		grpc_byte_buffer_destroy(buf);
	grpc_slice_unref(details);
}

/* rpc_call.finish: the handler's answer, perhaps long after the client or the server went. */
static void call_finish(struct rpc_call *base, enum rpc_status status, const void *bytes,
			size_t len, const char *text)
{
	struct srv_call *c = (struct srv_call *)base;

	if (!c->server) {
		free(c);
		return;
	}
	c->unanswered = false;
	c->server->n_unanswered--;
	if (!c->answered && !c->closed) {
		if (status == RPC_OK && len > RPC_MESSAGE_MAX)
			call_send_status(c, RPC_RESOURCE_EXHAUSTED, NULL, 0,
					 "the answer is larger than 4 MiB");
		else if (status == RPC_OK)
			call_send_status(c, status, bytes ? bytes : "", len, text);
		else
			call_send_status(c, status, NULL, 0, text);
	}
	call_maybe_free(c);
}

void rpc_server_fail_unanswered(struct rpc_server *server, const char *text)
{
	struct srv_call *c;

	LIST_FOREACH (c, &server->calls, list)
		if (c->unanswered && !c->answered && !c->closed)
			call_send_status(c, RPC_UNAVAILABLE, NULL, 0, text);
}

void rpc_server_orphan_calls(struct rpc_server *server)
{
	struct srv_call *c;

	while ((c = LIST_FIRST(&server->calls))) {
		LIST_REMOVE(c, list);
		call_release(c);
		c->server = NULL;
	}
}

bool rpc_server_has_pending(const struct rpc_server *server)
{
	const struct srv_call *c;

	LIST_FOREACH (c, &server->calls, list)
		if (c->n_pending)
			return true;
	return false;
}

/* Streams */

static void stream_send_list(struct srv_call *c)
{
	struct rpc_server *server = c->server;
	grpc_byte_buffer *buf;
	grpc_op ops[2];
	size_t n = 0;

	if (!c->open || !server->has_list)
		return;
	if (c->sending) {
		server->n_coalesced += c->dirty;
		c->dirty = true;
		return;
	}
	/* gRPC takes the slices out of the buffer: a new one a stream, the bytes shared. */
	buf = grpc_raw_byte_buffer_create(&server->list_slice, 1);
	memset(ops, 0, sizeof(ops));
	if (!c->headers_sent)
		ops[n++].op = GRPC_OP_SEND_INITIAL_METADATA;
	ops[n].op = GRPC_OP_SEND_MESSAGE;
	ops[n++].data.send_message.send_message = buf;
	c->headers_sent = true;
	c->dirty = false;
	c->sending = call_start(c, ops, n, &c->on_send);
	server->n_sends += c->sending;
	grpc_byte_buffer_destroy(buf);
}

void rpc_server_send_list(struct rpc_server *server)
{
	struct srv_call *c;

	LIST_FOREACH (c, &server->calls, list)
		if (c->is_stream)
			stream_send_list(c);
}

static void stream_closed(struct srv_call *c)
{
	struct rpc_server *server = c->server;

	if (!c->open)
		return;
	c->open = false;
	server->n_streams--;
	if (server->ops->stream_closed && !server->stopping)
		server->ops->stream_closed(c->stream_id, server->n_streams, server->userdata);
}

static void stream_end(struct srv_call *c, enum rpc_status status, const char *text)
{
	if (!c->open)
		return;
	c->open = false;
	c->server->n_streams--;
	if (!c->sending) {
		call_send_status(c, status, NULL, 0, text);
		return;
	}
	c->ending = true;
	c->end_status = status;
	c->end_text = strdup(text);
}

void rpc_server_end_streams(struct rpc_server *server, enum rpc_status status, const char *text)
{
	struct srv_call *c;

	LIST_FOREACH (c, &server->calls, list)
		stream_end(c, status, text);
}

static void stream_open(struct srv_call *c)
{
	struct rpc_server *server = c->server;

	c->is_stream = c->open = true;
	c->stream_id = ++server->last_stream_id;
	server->n_streams++;
	stream_send_list(c);
	if (server->ops->stream_opened)
		server->ops->stream_opened(c->stream_id, server->n_streams, server->userdata);
}

/* Tags */

static void on_send(void *self, bool ok)
{
	struct srv_call *c = self;

	c->sending = false;
	if (c->ending && !c->closed) {
		c->ending = false;
		call_send_status(c, c->end_status, NULL, 0, c->end_text ? c->end_text : "");
	} else if (ok && c->dirty) {
		stream_send_list(c);
	}
	call_unpend(c);
}

static void on_close(void *self, bool ok)
{
	struct srv_call *c = self;

	c->closed = true;
	stream_closed(c);
	call_unpend(c);
}

static uint64_t deadline_of(const struct srv_call *c)
{
	gpr_timespec left;
	int64_t left_us;

	if (gpr_time_cmp(c->details.deadline, gpr_inf_future(c->details.deadline.clock_type)) == 0)
		return RPC_NO_DEADLINE;
	left = gpr_time_sub(gpr_convert_clock_type(c->details.deadline, GPR_CLOCK_MONOTONIC),
			    gpr_now(GPR_CLOCK_MONOTONIC));
	left_us = (int64_t)left.tv_sec * 1000000 + left.tv_nsec / 1000;
	return rpc_now_us() + (left_us > 0 ? (uint64_t)left_us : 0);
}

static void call_handler(struct srv_call *c, const uint8_t *bytes, size_t len)
{
	struct rpc_server *server = c->server;
	char path[PATH_MAX_LEN + 1] = "";
	struct rpc_request req = {
		.method = c->method,
		.path = path,
		.bytes = bytes,
		.len = len,
		.deadline_us = deadline_of(c),
	};

	if (c->method >= 0) {
		req.path = server->ops->methods[c->method];
	} else {
		size_t n = GRPC_SLICE_LENGTH(c->details.method);

		n = n < PATH_MAX_LEN ? n : PATH_MAX_LEN;
		memcpy(path, GRPC_SLICE_START_PTR(c->details.method), n);
		path[n] = '\0';
	}
	c->unanswered = true;
	server->n_unanswered++;
	server->ops->unary(&c->base, &req, server->userdata);
}

static void call_handle_message(struct srv_call *c)
{
	grpc_byte_buffer_reader reader;
	grpc_slice all;

	if (!grpc_byte_buffer_reader_init(&reader, c->message)) {
		call_send_status(c, RPC_INTERNAL, NULL, 0, "the message cannot be read");
		return;
	}
	all = grpc_byte_buffer_reader_readall(&reader);
	grpc_byte_buffer_reader_destroy(&reader);
	call_handler(c, GRPC_SLICE_START_PTR(all), GRPC_SLICE_LENGTH(all));
	grpc_slice_unref(all);
}

/*
 * ok and a buffer: a message, perhaps of 0 bytes. ok and none: the client closed its half without
 * one, or went. Not ok: larger than the limit, and gRPC has told the client.
 */
static void on_message(void *self, bool ok)
{
	struct srv_call *c = self;

	if (!c->is_stream && !c->closed) {
		if (c->server->stopping)
			call_send_status(c, RPC_UNAVAILABLE, NULL, 0, "shutting down");
		else if (c->message)
			call_handle_message(c);
		else if (ok)
			call_send_status(c, RPC_INVALID_ARGUMENT, NULL, 0, "no request message");
		else
			call_send_status(c, RPC_RESOURCE_EXHAUSTED, NULL, 0,
					 "the request is larger than 4 MiB");
	}
	call_unpend(c);
}

static bool path_is(const struct srv_call *c, const char *path)
{
	return path && grpc_slice_str_cmp(c->details.method, path) == 0;
}

static bool find_method(struct srv_call *c)
{
	const char *const *methods = c->server->ops->methods;

	c->method = -1;
	if (!methods)
		return true;
	for (int i = 0; methods[i]; i++)
		if (path_is(c, methods[i])) {
			c->method = i;
			return true;
		}
	return false;
}

static void call_began(struct srv_call *c)
{
	struct rpc_server *server = c->server;
	bool is_stream = path_is(c, server->ops->stream_method);
	grpc_op op;

	c->live = true;
	server->n_calls_total++;
	if (++server->n_live > server->high_water)
		server->high_water = server->n_live;
	memset(&op, 0, sizeof(op));
	op.op = GRPC_OP_RECV_CLOSE_ON_SERVER;
	op.data.recv_close_on_server.cancelled = &c->cancelled;
	(void)call_start(c, &op, 1, &c->on_close);
	if (server->stopping) {
		call_send_status(c, RPC_UNAVAILABLE, NULL, 0, "shutting down");
		return;
	}
	if (!is_stream && !find_method(c)) {
		call_send_status(c, RPC_UNIMPLEMENTED, NULL, 0, "unknown method");
		return;
	}
	c->is_stream = is_stream;
	memset(&op, 0, sizeof(op));
	op.op = GRPC_OP_RECV_MESSAGE;
	op.data.recv_message.recv_message = &c->message;
	(void)call_start(c, &op, 1, &c->on_message);
	if (is_stream)
		stream_open(c);
}

static void on_new(void *self, bool ok)
{
	struct srv_call *c = self;
	struct rpc_server *server = c->server;

	server->n_armed--;
	if (!server->stopping)
		rpc_server_arm(server);
	if (ok && c->call)
		call_began(c);
	call_unpend(c);
}

static bool arm_one(struct rpc_server *server)
{
	struct srv_call *c = calloc(1, sizeof(*c));
	grpc_call_error e;

	if (!c)
		return false;
	c->base.finish = call_finish;
	c->server = server;
	grpc_call_details_init(&c->details);
	grpc_metadata_array_init(&c->metadata);
	rpc_tag_init(&c->on_new, on_new, c);
	rpc_tag_init(&c->on_close, on_close, c);
	rpc_tag_init(&c->on_message, on_message, c);
	rpc_tag_init(&c->on_send, on_send, c);
	c->n_pending = 1;
	LIST_INSERT_HEAD(&server->calls, c, list);
	server->n_armed++;
	rpc_tag_give(&c->on_new);
	e = grpc_server_request_call(server->grpc, &c->call, &c->details, &c->metadata,
				     server->rpc->cq, server->rpc->cq, &c->on_new);
	if (e == GRPC_CALL_OK)
		return true;
	log_err("gRPC refused a request: %s", grpc_call_error_to_string(e));
	server->n_armed--;
	call_unpend(c);
	return false;
}

/* A call for which none is armed waits in gRPC, without a bound: keep enough of them. */
void rpc_server_arm(struct rpc_server *server)
{
	while (server->n_armed < ARMED_CALLS && arm_one(server))
		;
}
