/* SPDX-License-Identifier: Apache-2.0 */

/* See client.h. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_posix.h>
#include <grpc/grpc_security.h>

#include "client.h"
#include "deviceplugin.pb-c.h"

#define METHOD_MAX 128
#define IN_FLIGHT_MAX 64

struct bench_client {
	grpc_completion_queue *cq;
	grpc_channel *channel;
	grpc_call *watch;
};

/* One call under way: what C core writes to until the tag returns. */
struct flight {
	grpc_call *call;
	grpc_metadata_array initial, trailing;
	grpc_byte_buffer *answer;
	grpc_status_code status;
	grpc_slice details;
	uint64_t began_ns;
};

static void die(const char *what)
{
	(void)fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

uint64_t bench_now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static struct sockaddr_un address(const char *dir, const char *name)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int n = snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/%s", dir, name);

	if (n < 0 || (size_t)n >= sizeof(sa.sun_path)) {
		errno = ENAMETOOLONG;
		die(dir);
	}
	return sa;
}

int bench_listen(const char *dir)
{
	struct sockaddr_un sa = address(dir, "kubelet.sock");
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(fd, 16) < 0)
		die(sa.sun_path);
	return fd;
}

static gpr_timespec in_30_s(void)
{
	return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_seconds(30, GPR_TIMESPAN));
}

static void wait_tag(grpc_completion_queue *cq, const void *tag)
{
	grpc_event ev = grpc_completion_queue_next(cq, in_30_s(), NULL);

	if (ev.type != GRPC_OP_COMPLETE || ev.tag != tag || !ev.success) {
		errno = ETIMEDOUT;
		die("waiting for gRPC");
	}
}

static grpc_channel *dial(const char *dir, const char *name)
{
	struct sockaddr_un sa = address(dir, name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	grpc_arg authority = { .type = GRPC_ARG_STRING,
			       .key = (char *)GRPC_ARG_DEFAULT_AUTHORITY,
			       .value.string = (char *)"localhost" };
	grpc_channel_args args = { .num_args = 1, .args = &authority };
	grpc_channel_credentials *creds = grpc_insecure_credentials_create();
	grpc_channel *channel;

	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
	    fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		die(sa.sun_path);
	channel = grpc_channel_create_from_fd("bench", fd, creds, &args);
	grpc_channel_credentials_release(creds);
	return channel;
}

static grpc_byte_buffer *buffer_of(const uint8_t *bytes, size_t len)
{
	grpc_slice slice = grpc_slice_from_copied_buffer((const char *)bytes, len);
	grpc_byte_buffer *bb = grpc_raw_byte_buffer_create(&slice, 1);

	grpc_slice_unref(slice);
	return bb;
}

static uint8_t *bytes_of(grpc_byte_buffer *bb, size_t *ret_len)
{
	grpc_byte_buffer_reader reader;
	grpc_slice all;
	uint8_t *bytes;

	if (!bb || !grpc_byte_buffer_reader_init(&reader, bb))
		die("reading a message");
	all = grpc_byte_buffer_reader_readall(&reader);
	*ret_len = GRPC_SLICE_LENGTH(all);
	bytes = malloc(*ret_len + 1);
	if (!bytes)
		die("malloc");
	memcpy(bytes, GRPC_SLICE_START_PTR(all), *ret_len);
	grpc_slice_unref(all);
	grpc_byte_buffer_reader_destroy(&reader);
	return bytes;
}

static void start(struct bench_client *client, struct flight *f, const char *method,
		  const uint8_t *req, size_t len)
{
	grpc_byte_buffer *bb = buffer_of(req, len);
	char path[METHOD_MAX];
	grpc_slice slice;
	grpc_op ops[6];

	(void)snprintf(path, sizeof(path), "/v1beta1.DevicePlugin/%s", method);
	slice = grpc_slice_from_copied_string(path);
	memset(f, 0, sizeof(*f));
	f->began_ns = bench_now_ns();
	f->call =
		grpc_channel_create_call(client->channel, NULL, GRPC_PROPAGATE_DEFAULTS, client->cq,
					 slice, NULL, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
	grpc_slice_unref(slice);
	memset(ops, 0, sizeof(ops));
	ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
	ops[1].op = GRPC_OP_SEND_MESSAGE;
	ops[1].data.send_message.send_message = bb;
	ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
	ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
	ops[3].data.recv_initial_metadata.recv_initial_metadata = &f->initial;
	ops[4].op = GRPC_OP_RECV_MESSAGE;
	ops[4].data.recv_message.recv_message = &f->answer;
	ops[5].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
	ops[5].data.recv_status_on_client.trailing_metadata = &f->trailing;
	ops[5].data.recv_status_on_client.status = &f->status;
	ops[5].data.recv_status_on_client.status_details = &f->details;
	if (grpc_call_start_batch(f->call, ops, 6, f, NULL) != GRPC_CALL_OK)
		die("grpc_call_start_batch");
	grpc_byte_buffer_destroy(bb);
}

/* Ends a call; returns its time. */
static uint64_t finish(struct flight *f, const char *method, size_t *ret_len)
{
	uint64_t ns = bench_now_ns() - f->began_ns;

	if (f->status != GRPC_STATUS_OK || !f->answer) {
		(void)fprintf(stderr, "bench: %s: status %d '%.*s'\n", method, (int)f->status,
			      (int)GRPC_SLICE_LENGTH(f->details),
			      (const char *)GRPC_SLICE_START_PTR(f->details));
		exit(EXIT_FAILURE);
	}
	if (ret_len)
		*ret_len = grpc_byte_buffer_length(f->answer);
	grpc_byte_buffer_destroy(f->answer);
	grpc_slice_unref(f->details);
	grpc_metadata_array_destroy(&f->initial);
	grpc_metadata_array_destroy(&f->trailing);
	grpc_call_unref(f->call);
	return ns;
}

void bench_calls(struct bench_client *client, const char *method, const uint8_t *req, size_t len,
		 size_t n, size_t in_flight, uint64_t *ret_ns, size_t *ret_len)
{
	struct flight flights[IN_FLIGHT_MAX];
	size_t started = 0, done = 0;

	if (in_flight > IN_FLIGHT_MAX)
		in_flight = IN_FLIGHT_MAX;
	while (started < n && started < in_flight)
		start(client, &flights[started++], method, req, len);
	while (done < n) {
		grpc_event ev = grpc_completion_queue_next(client->cq, in_30_s(), NULL);
		struct flight *f = ev.tag;

		if (ev.type != GRPC_OP_COMPLETE) {
			errno = ETIMEDOUT;
			die(method);
		}
		ret_ns[done++] = finish(f, method, ret_len);
		if (started < n) {
			start(client, f, method, req, len);
			started++;
		}
	}
}

size_t bench_first_frame(struct bench_client *client, uint8_t **ret)
{
	static grpc_metadata_array initial;
	grpc_byte_buffer *frame = NULL, *empty = buffer_of((const uint8_t *)"", 0);
	grpc_slice path = grpc_slice_from_static_string("/v1beta1.DevicePlugin/ListAndWatch");
	grpc_op ops[5];
	size_t len;

	client->watch =
		grpc_channel_create_call(client->channel, NULL, GRPC_PROPAGATE_DEFAULTS, client->cq,
					 path, NULL, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
	memset(ops, 0, sizeof(ops));
	ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
	ops[1].op = GRPC_OP_SEND_MESSAGE;
	ops[1].data.send_message.send_message = empty;
	ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
	ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
	ops[3].data.recv_initial_metadata.recv_initial_metadata = &initial;
	ops[4].op = GRPC_OP_RECV_MESSAGE;
	ops[4].data.recv_message.recv_message = &frame;
	if (grpc_call_start_batch(client->watch, ops, 5, client, NULL) != GRPC_CALL_OK)
		die("ListAndWatch");
	wait_tag(client->cq, client);
	grpc_byte_buffer_destroy(empty);
	*ret = bytes_of(frame, &len);
	grpc_byte_buffer_destroy(frame);
	grpc_metadata_array_destroy(&initial);
	return len;
}

/* The plugin's endpoint out of a RegisterRequest, and its dial-back. */
static struct bench_client *dial_back(const uint8_t *req, size_t len, const char *dir)
{
	V1beta1__RegisterRequest *msg = v1beta1__register_request__unpack(NULL, len, req);
	struct bench_client *client = calloc(1, sizeof(*client));
	uint64_t ns;

	if (!msg || !client)
		die("RegisterRequest");
	client->cq = grpc_completion_queue_create_for_next(NULL);
	client->channel = dial(dir, msg->endpoint);
	v1beta1__register_request__free_unpacked(msg, NULL);
	bench_calls(client, "GetDevicePluginOptions", (const uint8_t *)"", 0, 1, 1, &ns, NULL);
	return client;
}

static void answer_empty(grpc_completion_queue *cq, grpc_call *call)
{
	grpc_byte_buffer *empty = buffer_of((const uint8_t *)"", 0);
	grpc_op ops[3];

	memset(ops, 0, sizeof(ops));
	ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
	ops[1].op = GRPC_OP_SEND_MESSAGE;
	ops[1].data.send_message.send_message = empty;
	ops[2].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
	ops[2].data.send_status_from_server.status = GRPC_STATUS_OK;
	if (grpc_call_start_batch(call, ops, 3, call, NULL) != GRPC_CALL_OK)
		die("answering Register");
	wait_tag(cq, call);
	grpc_byte_buffer_destroy(empty);
}

struct bench_client *bench_accept_plugin(int fd, const char *dir, uint64_t *ret_register_ns)
{
	grpc_completion_queue *cq = grpc_completion_queue_create_for_next(NULL);
	grpc_server_credentials *creds = grpc_insecure_server_credentials_create();
	grpc_server *server = grpc_server_create(NULL, NULL);
	grpc_metadata_array metadata;
	grpc_call_details details;
	grpc_byte_buffer *message = NULL;
	struct bench_client *client;
	grpc_call *call = NULL;
	grpc_op op = { .op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &message };
	uint8_t *req;
	size_t len;
	int conn;

	grpc_server_register_completion_queue(server, cq, NULL);
	grpc_server_start(server);
	grpc_metadata_array_init(&metadata);
	grpc_call_details_init(&details);
	conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (conn < 0)
		die("accept");
	grpc_server_request_call(server, &call, &details, &metadata, cq, cq, &call);
	grpc_server_add_channel_from_fd(server, conn, creds);
	grpc_server_credentials_release(creds);
	wait_tag(cq, &call);
	*ret_register_ns = bench_now_ns();
	if (grpc_call_start_batch(call, &op, 1, &op, NULL) != GRPC_CALL_OK)
		die("reading Register");
	wait_tag(cq, &op);
	req = bytes_of(message, &len);
	grpc_byte_buffer_destroy(message);
	client = dial_back(req, len, dir);
	free(req);
	answer_empty(cq, call);

	grpc_call_unref(call);
	grpc_call_details_destroy(&details);
	grpc_metadata_array_destroy(&metadata);
	grpc_server_shutdown_and_notify(server, cq, server);
	grpc_server_cancel_all_calls(server);
	wait_tag(cq, server);
	grpc_server_destroy(server);
	grpc_completion_queue_shutdown(cq);
	while (grpc_completion_queue_next(cq, in_30_s(), NULL).type != GRPC_QUEUE_SHUTDOWN)
		;
	grpc_completion_queue_destroy(cq);
	return client;
}

void bench_client_rest(struct bench_client *client, unsigned seconds)
{
	gpr_timespec until = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
					  gpr_time_from_seconds((int64_t)seconds, GPR_TIMESPAN));

	if (grpc_completion_queue_next(client->cq, until, NULL).type != GRPC_QUEUE_TIMEOUT) {
		errno = EPROTO;
		die("something ended while nothing was asked");
	}
}

void bench_client_free(struct bench_client *client)
{
	if (client->watch)
		grpc_call_unref(client->watch);
	grpc_channel_destroy(client->channel);
	grpc_completion_queue_shutdown(client->cq);
	while (grpc_completion_queue_next(client->cq, in_30_s(), NULL).type != GRPC_QUEUE_SHUTDOWN)
		;
	grpc_completion_queue_destroy(client->cq);
	free(client);
}
