/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of ours to somebody else's socket, one connection a call: no resolver, no balancer, no
 * hidden back-off of gRPC's, and a plain errno when nobody listens. The kubelet is its reason;
 * the probe of our own server uses it as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_posix.h>
#include <grpc/grpc_security.h>
#include <grpc/support/time.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "log.h"
#include "macro.h"
#include "rpc-internal.h"

struct rpc_client {
	LIST_ENTRY(rpc_client) list;
	struct rpc *rpc;
	rpc_client_fn fn; /* NULL: forgotten */
	void *userdata;
	int fd; /* a dup, to cut the connection */
	grpc_channel *channel;
	grpc_call *call;
	struct rpc_tag on_done;
	grpc_metadata_array initial, trailing;
	grpc_byte_buffer *message;
	grpc_status_code status;
	grpc_slice details;
};

static void client_free(struct rpc_client *c)
{
	if (c->call)
		grpc_call_unref(c->call);
	if (c->channel)
		grpc_channel_destroy(c->channel);
	if (c->message)
		grpc_byte_buffer_destroy(c->message);
	grpc_metadata_array_destroy(&c->initial);
	grpc_metadata_array_destroy(&c->trailing);
	grpc_slice_unref(c->details);
	(void)dp_close(c->fd);
	LIST_REMOVE(c, list);
	free(c);
}

static void client_report(struct rpc_client *c)
{
	dp_cleanup_free char *text = NULL;
	grpc_byte_buffer_reader reader;
	grpc_slice all = grpc_empty_slice();

	text = strndup((const char *)GRPC_SLICE_START_PTR(c->details),
		       GRPC_SLICE_LENGTH(c->details));
	if (c->message && grpc_byte_buffer_reader_init(&reader, c->message)) {
		all = grpc_byte_buffer_reader_readall(&reader);
		grpc_byte_buffer_reader_destroy(&reader);
	}
	c->fn((enum rpc_status)c->status, text ? text : "", GRPC_SLICE_START_PTR(all),
	      GRPC_SLICE_LENGTH(all), c->userdata);
	grpc_slice_unref(all);
}

static void on_done(void *self, bool ok)
{
	struct rpc_client *c = self;

	if (c->fn)
		client_report(c);
	client_free(c);
}

static int connect_to(const char *path, int *ret_fd)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	dp_cleanup(dp_closep) int fd = -1;
	size_t len = strlen(path);

	if (len >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, len);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return -errno;
	*ret_fd = take_fd(fd);
	return 0;
}

static grpc_channel *channel_from_fd(int fd)
{
	grpc_arg args[] = {
		{ .type = GRPC_ARG_STRING,
		  .key = (char *)GRPC_ARG_DEFAULT_AUTHORITY,
		  .value.string = (char *)"localhost" },
		{ .type = GRPC_ARG_INTEGER,
		  .key = (char *)GRPC_ARG_ENABLE_RETRIES,
		  .value.integer = 0 },
	};
	grpc_channel_args list = { .num_args = ARRAY_SIZE(args), .args = args };
	grpc_channel_credentials *creds = grpc_insecure_credentials_create();
	grpc_channel *channel = grpc_channel_create_from_fd("kubelet", fd, creds, &list);

	grpc_channel_credentials_release(creds);
	return channel;
}

static grpc_call_error client_start(struct rpc_client *c, const void *bytes, size_t len)
{
	grpc_slice slice = grpc_slice_from_copied_buffer(bytes ? bytes : "", len);
	grpc_byte_buffer *buf = grpc_raw_byte_buffer_create(&slice, 1);
	grpc_call_error e;
	grpc_op ops[6];

	memset(ops, 0, sizeof(ops));
	ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
	ops[1].op = GRPC_OP_SEND_MESSAGE;
	ops[1].data.send_message.send_message = buf;
	ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
	ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
	ops[3].data.recv_initial_metadata.recv_initial_metadata = &c->initial;
	ops[4].op = GRPC_OP_RECV_MESSAGE;
	ops[4].data.recv_message.recv_message = &c->message;
	ops[5].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
	ops[5].data.recv_status_on_client.trailing_metadata = &c->trailing;
	ops[5].data.recv_status_on_client.status = &c->status;
	ops[5].data.recv_status_on_client.status_details = &c->details;
	rpc_tag_give(&c->on_done);
	e = grpc_call_start_batch(c->call, ops, ARRAY_SIZE(ops), &c->on_done, NULL);
	grpc_byte_buffer_destroy(buf);
	grpc_slice_unref(slice);
	return e;
}

/* Takes @fd. */
static struct rpc_client *client_new(struct rpc *rpc, int fd)
{
	struct rpc_client *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (c->fd < 0) {
		free(c);
		return NULL;
	}
	c->rpc = rpc;
	grpc_metadata_array_init(&c->initial);
	grpc_metadata_array_init(&c->trailing);
	c->details = grpc_empty_slice();
	rpc_tag_init(&c->on_done, on_done, c);
	LIST_INSERT_HEAD(&rpc->clients, c, list);
	c->channel = channel_from_fd(fd);
	return c;
}

int rpc_client_call(struct rpc *rpc, const char *path, const char *method, const void *bytes,
		    size_t len, uint64_t timeout_us, rpc_client_fn fn, void *userdata,
		    struct rpc_client **ret)
{
	gpr_timespec deadline =
		gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
			     gpr_time_from_micros((int64_t)timeout_us, GPR_TIMESPAN));
	struct rpc_client *c;
	grpc_slice path_slice;
	int fd = -1, r;

	r = connect_to(path, &fd);
	if (r < 0)
		return r;
	c = client_new(rpc, fd);
	if (!c) {
		(void)dp_close(fd);
		return -ENOMEM;
	}
	c->fn = fn;
	c->userdata = userdata;
	path_slice = grpc_slice_from_copied_string(method);
	c->call = grpc_channel_create_call(c->channel, NULL, GRPC_PROPAGATE_DEFAULTS, rpc->cq,
					   path_slice, NULL, deadline, NULL);
	grpc_slice_unref(path_slice);
	if (client_start(c, bytes, len) != GRPC_CALL_OK) {
		client_free(c);
		return -ENOMEM;
	}
	*ret = c;
	return 0;
}

struct rpc_client *rpc_client_cancel(struct rpc_client *client)
{
	if (!client)
		return NULL;
	client->fn = NULL;
	(void)grpc_call_cancel(client->call, NULL);
	return NULL;
}

void rpc_clients_stop_begin(struct rpc *rpc)
{
	struct rpc_client *c;

	LIST_FOREACH (c, &rpc->clients, list)
		(void)rpc_client_cancel(c);
}

void rpc_clients_stop_force(struct rpc *rpc)
{
	struct rpc_client *c;

	LIST_FOREACH (c, &rpc->clients, list)
		(void)shutdown(c->fd, SHUT_RDWR);
}
