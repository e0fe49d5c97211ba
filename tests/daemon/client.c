/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/compression.h>
#include <grpc/grpc.h>
#include <grpc/grpc_posix.h>
#include <grpc/grpc_security.h>
#include <grpc/support/time.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "helper.h"

#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
#else
#define __tsan_acquire(p) ((void)(p))
#define __tsan_release(p) ((void)(p))
#endif

struct client {
	grpc_channel *channel;
};

struct tag {
	struct client_call *call;
	void (*fn)(struct client_call *call, bool ok);
};

struct client_call_private {
	grpc_call *call;
	bool stream;
	unsigned n_pending;
	struct tag on_start, on_message, on_status;
	grpc_metadata_array initial, trailing;
	grpc_byte_buffer *received;
	grpc_status_code status;
	grpc_slice details;
};

static grpc_completion_queue *cq;
static unsigned n_calls;

static void run_event(grpc_event ev)
{
	struct tag *tag = ev.tag;

	__tsan_acquire(tag);
	tag->call->private->n_pending--;
	tag->fn(tag->call, ev.success);
}

void client_poll(void)
{
	for (;;) {
		grpc_event ev =
			grpc_completion_queue_next(cq, gpr_inf_past(GPR_CLOCK_REALTIME), NULL);

		if (ev.type != GRPC_OP_COMPLETE)
			return;
		run_event(ev);
	}
}

void client_begin(void)
{
	grpc_init();
	cq = grpc_completion_queue_create_for_next(NULL);
	n_calls = 0;
	test_set_poll(client_poll);
}

void client_end(void)
{
	ck_assert_uint_eq(n_calls, 0);
	test_set_poll(NULL);
	grpc_completion_queue_shutdown(cq);
	while (grpc_completion_queue_next(cq, gpr_inf_future(GPR_CLOCK_REALTIME), NULL).type !=
	       GRPC_QUEUE_SHUTDOWN)
		;
	grpc_completion_queue_destroy(cq);
	grpc_shutdown();
}

static grpc_arg int_arg(const char *key, int value)
{
	return (grpc_arg){ .type = GRPC_ARG_INTEGER, .key = (char *)key, .value.integer = value };
}

static grpc_arg string_arg(const char *key, const char *value)
{
	return (grpc_arg){ .type = GRPC_ARG_STRING,
			   .key = (char *)key,
			   .value.string = (char *)value };
}

struct client *client_new_odd(int fd, bool gzip, size_t header_len)
{
	char *header = calloc(1, header_len + 1);
	grpc_arg args[] = {
		string_arg(GRPC_ARG_DEFAULT_AUTHORITY, "localhost"),
		int_arg(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1),
		int_arg(GRPC_COMPRESSION_CHANNEL_DEFAULT_ALGORITHM,
			gzip ? GRPC_COMPRESS_GZIP : GRPC_COMPRESS_NONE),
		string_arg(GRPC_ARG_PRIMARY_USER_AGENT_STRING, header),
	};
	grpc_channel_args list = { .num_args = ARRAY_SIZE(args), .args = args };
	grpc_channel_credentials *creds = grpc_insecure_credentials_create();
	struct client *c = calloc(1, sizeof(*c));

	ck_assert(c && header);
	memset(header, 'x', header_len);
	c->channel = grpc_channel_create_from_fd("test", fd, creds, &list);
	grpc_channel_credentials_release(creds);
	free(header);
	return c;
}

struct client *client_new(int fd)
{
	return client_new_odd(fd, false, 0);
}

void client_free(struct client *c)
{
	grpc_channel_destroy(c->channel);
	free(c);
}

static void start(struct client_call *call, const grpc_op *ops, size_t n, struct tag *tag)
{
	call->private->n_pending++;
	__tsan_release(tag);
	ck_assert_int_eq(grpc_call_start_batch(call->private->call, ops, n, tag, NULL),
			 GRPC_CALL_OK);
}

static void read_one(struct client_call *call)
{
	grpc_op op;

	memset(&op, 0, sizeof(op));
	op.op = GRPC_OP_RECV_MESSAGE;
	op.data.recv_message.recv_message = &call->private->received;
	start(call, &op, 1, &call->private->on_message);
}

static void on_start(struct client_call *call, bool ok)
{
}

static void on_message(struct client_call *call, bool ok)
{
	struct client_call_private *p = call->private;
	grpc_byte_buffer_reader reader;
	grpc_slice all;

	if (!p->received)
		return;
	ck_assert(grpc_byte_buffer_reader_init(&reader, p->received));
	all = grpc_byte_buffer_reader_readall(&reader);
	grpc_byte_buffer_reader_destroy(&reader);
	free(call->message);
	call->message_len = GRPC_SLICE_LENGTH(all);
	call->message = malloc(call->message_len + 1);
	ck_assert_ptr_nonnull(call->message);
	memcpy(call->message, GRPC_SLICE_START_PTR(all), call->message_len);
	call->n_messages++;
	grpc_slice_unref(all);
	grpc_byte_buffer_destroy(p->received);
	p->received = NULL;
	if (p->stream && !call->hold)
		read_one(call);
}

static void on_status(struct client_call *call, bool ok)
{
	struct client_call_private *p = call->private;
	size_t n = GRPC_SLICE_LENGTH(p->details);

	call->status = (int)p->status;
	n = n < sizeof(call->text) ? n : sizeof(call->text) - 1;
	memcpy(call->text, GRPC_SLICE_START_PTR(p->details), n);
	call->text[n] = '\0';
	call->done = true;
}

struct client_call *client_call(struct client *c, const char *method, const void *bytes, size_t len,
				unsigned timeout_ms, bool stream)
{
	gpr_timespec deadline = gpr_inf_future(GPR_CLOCK_MONOTONIC);
	struct client_call *call = calloc(1, sizeof(*call));
	struct client_call_private *p = calloc(1, sizeof(*p));
	grpc_slice slice = grpc_slice_from_copied_buffer(bytes ? bytes : "", len);
	grpc_byte_buffer *buf = grpc_raw_byte_buffer_create(&slice, 1);
	grpc_slice path = grpc_slice_from_copied_string(method);
	grpc_op ops[4];

	ck_assert(call && p);
	if (timeout_ms)
		deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
					gpr_time_from_millis(timeout_ms, GPR_TIMESPAN));
	call->private = p;
	p->stream = stream;
	p->on_start = (struct tag){ call, on_start };
	p->on_message = (struct tag){ call, on_message };
	p->on_status = (struct tag){ call, on_status };
	grpc_metadata_array_init(&p->initial);
	grpc_metadata_array_init(&p->trailing);
	p->details = grpc_empty_slice();
	p->call = grpc_channel_create_call(c->channel, NULL, GRPC_PROPAGATE_DEFAULTS, cq, path,
					   NULL, deadline, NULL);
	n_calls++;
	memset(ops, 0, sizeof(ops));
	ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
	ops[1].op = GRPC_OP_SEND_MESSAGE;
	ops[1].data.send_message.send_message = buf;
	ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
	ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
	ops[3].data.recv_initial_metadata.recv_initial_metadata = &p->initial;
	start(call, ops, 4, &p->on_start);
	memset(ops, 0, sizeof(ops));
	ops[0].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
	ops[0].data.recv_status_on_client.trailing_metadata = &p->trailing;
	ops[0].data.recv_status_on_client.status = &p->status;
	ops[0].data.recv_status_on_client.status_details = &p->details;
	start(call, ops, 1, &p->on_status);
	read_one(call);
	grpc_byte_buffer_destroy(buf);
	grpc_slice_unref(slice);
	grpc_slice_unref(path);
	return call;
}

void client_cancel(struct client_call *call)
{
	(void)grpc_call_cancel(call->private->call, NULL);
}

void client_read(struct client_call *call)
{
	call->hold = false;
	read_one(call);
}

void client_call_free(struct client_call *call)
{
	struct client_call_private *p = call->private;

	ck_assert(call->done);
	while (p->n_pending)
		run_event(grpc_completion_queue_next(cq, gpr_inf_future(GPR_CLOCK_REALTIME), NULL));
	grpc_call_unref(p->call);
	grpc_metadata_array_destroy(&p->initial);
	grpc_metadata_array_destroy(&p->trailing);
	grpc_slice_unref(p->details);
	if (p->received)
		grpc_byte_buffer_destroy(p->received);
	free(call->message);
	free(p);
	free(call);
	n_calls--;
}

bool client_is_done(void *call)
{
	return ((struct client_call *)call)->done;
}

bool client_has_message(void *call)
{
	return ((struct client_call *)call)->n_messages > 0;
}
