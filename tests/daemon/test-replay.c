/* SPDX-License-Identifier: Apache-2.0 */
/* Real kubelets' bytes, recorded, at our server: every call is answered, and the server lives. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "endpoint-call.h"
#include "helper.h"
#include "log.h"
#include "rpc-registry.h"
#include "rpc.h"

enum frame {
	DATA = 0,
	HEADERS = 1,
	RST_STREAM = 3,
	SETTINGS = 4,
	PING = 6,
	GOAWAY = 7,
};

#define FLAG_ACK 1
#define FLAG_END_STREAM 1
#define PREFACE_LEN ((size_t)24)
#define FRAME_HEADER ((size_t)9)
#define STREAMS_MAX 64

static sd_event *event;
static struct rpc *rpc;
static struct rpc_server *server;
static struct endpoint_calls calls;
static char *dir, *registry_path;
static struct rpc_registry *registry;
static unsigned n_allocated, n_preferred, n_started, n_notified;

/* What came back. */
static struct {
	int fd;
	uint8_t buf[65536];
	size_t len;
	bool settings, eof, went_away;
	struct {
		bool status_200, data, ended, reset;
	} streams[STREAMS_MAX];
} peer;

static void on_preferred(struct endpoint_call *call, const struct dp_preferred_request *request,
			 void *userdata)
{
	const struct dp_preferred_container *in = &request->containers[0];
	struct dp_ids out = { in->available.ids, (size_t)in->size };
	struct dp_preferred_response response = { &out, 1 };

	ck_assert_uint_eq(request->n_containers, 1);
	ck_assert_uint_le(out.n_ids, in->available.n_ids);
	n_preferred++;
	endpoint_reply_preferred(call, &response);
}

static void on_allocate(struct endpoint_call *call, const struct dp_allocate_request *request,
			void *userdata)
{
	struct dp_pair env = { "IDS", request->containers[0].ids[0] };
	struct dp_container_response container = { .envs = &env, .n_envs = 1 };
	struct dp_allocate_response response = { &container, 1 };

	ck_assert_uint_eq(request->n_containers, 1);
	n_allocated++;
	endpoint_reply_allocate(call, &response);
}

static void on_pre_start(struct endpoint_call *call, const struct dp_ids *request, void *userdata)
{
	ck_assert_uint_ge(request->n_ids, 1);
	n_started++;
	endpoint_reply_pre_start(call);
}

static const struct endpoint_ops owner = {
	.preferred = on_preferred,
	.allocate = on_allocate,
	.pre_start = on_pre_start,
};

static void on_unary(struct rpc_call *call, const struct rpc_request *request, void *userdata)
{
	endpoint_calls_handle(&calls, call, request);
}

static const struct rpc_server_ops server_ops = {
	.methods = endpoint_methods,
	.stream_method = ENDPOINT_LIST_AND_WATCH,
	.unary = on_unary,
};

static void on_notified(bool ok, const char *error, void *userdata)
{
	ck_assert(ok);
	n_notified++;
}

static void on_vanished(void *userdata)
{
}

static const struct rpc_registry_ops registry_ops = { on_notified, on_vanished };

static void setup(void)
{
	struct rpc_registry_config config = {
		.type = "DevicePlugin",
		.name = "hami.com/vgpu",
		.endpoint = "/p/a.sock",
	};
	static const struct dp_options options = { true, true };

	test_log_catch(false);
	memset(&peer, 0, sizeof(peer));
	n_allocated = n_preferred = n_started = n_notified = 0;
	dir = test_temp_dir();
	config.path = registry_path = test_path(dir, "reg.sock");
	ck_assert_int_ge(sd_event_new(&event), 0);
	ck_assert_int_eq(rpc_new(event, &rpc), 0);
	ck_assert_int_eq(rpc_server_new(rpc, &server_ops, NULL, &server), 0);
	endpoint_calls_init(&calls, event, &owner, NULL, &options, 1000000);
	ck_assert_int_eq(rpc_server_publish(server, "\x0a\x05\x0a\x03s-0", 7), 0);
	ck_assert_int_eq(rpc_registry_new(rpc, event, &config, &registry_ops, NULL, &registry), 0);
	ck_assert_int_eq(rpc_registry_announce(registry), 0);
}

static void teardown(void)
{
	endpoint_calls_done(&calls);
	registry = rpc_registry_free(registry);
	server = rpc_server_free(server);
	rpc = rpc_free(rpc);
	event = sd_event_unref(event);
	test_temp_remove(dir);
	free(registry_path);
	free(dir);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static size_t frame_len(const uint8_t *p)
{
	return FRAME_HEADER + (get32(p) >> 8);
}

static void take_frame(const uint8_t *p)
{
	uint32_t id = get32(p + 5) & 0x7fffffff;

	ck_assert_uint_lt(id, STREAMS_MAX);
	if (p[3] == SETTINGS && !(p[4] & FLAG_ACK)) {
		peer.settings = true;
	} else if (p[3] == GOAWAY) {
		peer.went_away = true;
		ck_assert_uint_eq(get32(p + FRAME_HEADER + 4), 0);
	} else if (p[3] == RST_STREAM) {
		peer.streams[id].reset = get32(p + FRAME_HEADER) != 0;
	} else if (p[3] == DATA) {
		peer.streams[id].data = true;
	} else if (p[3] == HEADERS) {
		/* The static table's entry 8, indexed; or, later, one of ours. */
		if (p[FRAME_HEADER] == 0x88)
			peer.streams[id].status_200 = true;
		if (p[4] & FLAG_END_STREAM)
			peer.streams[id].ended = true;
	}
}

static void read_peer(void)
{
	for (;;) {
		ssize_t n = recv(peer.fd, peer.buf + peer.len, sizeof(peer.buf) - peer.len,
				 MSG_DONTWAIT);

		peer.eof |= n == 0;
		if (n <= 0)
			break;
		peer.len += (size_t)n;
		while (peer.len >= FRAME_HEADER && peer.len >= frame_len(peer.buf)) {
			size_t take = frame_len(peer.buf);

			take_frame(peer.buf);
			memmove(peer.buf, peer.buf + take, peer.len - take);
			peer.len -= take;
		}
	}
}

static bool has_settings(void *userdata)
{
	read_peer();
	return peer.settings || peer.eof;
}

/* The last call that was sent is answered, or, on the stream, has its first frame. */
static bool is_answered(void *userdata)
{
	uint32_t id = *(uint32_t *)userdata;

	read_peer();
	return !id || peer.eof || peer.streams[id].ended || peer.streams[id].data;
}

/*
 * As the client had it: the first request waits for the server's SETTINGS, and what follows a
 * call, its PING for one, for the answer. PINGs with nothing sent between count as abuse.
 */
static void replay(const char *name)
{
	const char *data = getenv("HAMIDP_TEST_DATA");
	char *path = test_path(data ? data : "tests/data", name);
	uint32_t last = 0;
	size_t len, at;
	uint8_t *bytes = test_read_file(path, &len);

	ck_assert_uint_ge(len, PREFACE_LEN);
	ck_assert_int_eq(send(peer.fd, bytes, PREFACE_LEN, MSG_NOSIGNAL), (ssize_t)PREFACE_LEN);
	for (at = PREFACE_LEN; at + FRAME_HEADER <= len;) {
		const uint8_t *p = bytes + at;
		size_t n = frame_len(p);

		ck_assert_uint_le(at + n, len);
		if (p[3] == HEADERS || p[3] == PING || p[3] == GOAWAY) {
			ck_assert(test_run_until(event, has_settings, NULL, 5000));
			ck_assert_msg(test_run_until(event, is_answered, &last, 5000),
				      "%s: stream %u was not answered", name, last);
		}
		if (p[3] == HEADERS)
			last = get32(p + 5);
		ck_assert_int_eq(send(peer.fd, p, n, MSG_NOSIGNAL), (ssize_t)n);
		at += n;
	}
	ck_assert(test_run_until(event, is_answered, &last, 5000));
	test_run_for(event, 50);
	read_peer();
	free(bytes);
	free(path);
}

static const struct {
	const char *name;
	uint32_t watch, last; /* stream ids */
} plugins[] = {
	{ "kubelet-wire/kubelet-120.1.c2s", 1, 7 },
	{ "kubelet-wire/kubelet-128.1.c2s", 3, 9 },
	{ "kubelet-wire/kubelet-136.1.c2s", 3, 9 },
};

static void connect_pair(void)
{
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	ck_assert_int_eq(rpc_server_add_connection(server, fds[0]), 0);
	peer.fd = fds[1];
}

static bool no_connections(void *userdata)
{
	return rpc_server_n_connections(server) == 0 && rpc_server_n_streams(server) == 0;
}

START_TEST(a_kubelets_connection_is_served_to_its_end)
{
	connect_pair();
	replay(plugins[_i].name);
	for (uint32_t id = 1; id <= plugins[_i].last; id += 2) {
		ck_assert_msg(peer.streams[id].status_200, "stream %u: no status 200", id);
		ck_assert(!peer.streams[id].reset);
		if (id == plugins[_i].watch)
			ck_assert(peer.streams[id].data && !peer.streams[id].ended);
		else
			ck_assert_msg(peer.streams[id].ended, "stream %u has no end", id);
	}
	ck_assert(!peer.went_away && !peer.eof);
	ck_assert_uint_eq(rpc_server_n_streams(server), 1);
	ck_assert_uint_eq(n_allocated, 1);
	ck_assert_uint_eq(n_preferred, 1);
	ck_assert_uint_eq(n_started, 1);
	(void)close(peer.fd);
	ck_assert(test_run_until(event, no_connections, NULL, 2000));
}
END_TEST

START_TEST(a_registry_connection_is_served_to_its_end)
{
	peer.fd = test_connect(registry_path);
	ck_assert_int_ge(peer.fd, 0);
	replay("kubelet-wire/kubelet-136-registry.1.c2s");
	ck_assert(peer.streams[1].status_200 && peer.streams[1].ended);
	ck_assert(peer.streams[3].status_200 && peer.streams[3].ended);
	ck_assert_uint_eq(n_notified, 1);
	(void)close(peer.fd);
}
END_TEST

START_TEST(a_connection_that_hangs_up_after_settings_is_borne)
{
	connect_pair();
	replay("kubelet-wire/kubelet-120.2.c2s");
	(void)close(peer.fd);
	ck_assert(test_run_until(event, no_connections, NULL, 2000));
}
END_TEST

/* Everything at once, cut at every length: no crash, no leak, and the next one is served. */
START_TEST(cut_recordings_are_borne)
{
	const char *data = getenv("HAMIDP_TEST_DATA");
	char *path = test_path(data ? data : "tests/data", "kubelet-wire/kubelet-136.1.c2s");
	size_t len, step = test_count(20) > 1 ? 1 : 13;
	uint8_t *bytes = test_read_file(path, &len);

	for (size_t n = 0; n < len; n += step) {
		connect_pair();
		(void)!send(peer.fd, bytes, n, MSG_NOSIGNAL);
		test_run_for(event, 2);
		(void)close(peer.fd);
		while (rpc_server_n_connections(server) > 8)
			test_run_for(event, 1);
	}
	ck_assert(test_run_until(event, no_connections, NULL, 5000));
	memset(&peer, 0, sizeof(peer));
	connect_pair();
	replay("kubelet-wire/kubelet-136.1.c2s");
	ck_assert(peer.streams[9].ended);
	(void)close(peer.fd);
	free(bytes);
	free(path);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("replay");
	TCase *t = tcase_create("kubelets");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, a_kubelets_connection_is_served_to_its_end, 0,
			    (int)ARRAY_SIZE(plugins));
	tcase_add_test(t, a_registry_connection_is_served_to_its_end);
	tcase_add_test(t, a_connection_that_hangs_up_after_settings_is_borne);
	tcase_add_test(t, cut_recordings_are_borne);
	suite_add_tcase(s, t);
	return test_main(s);
}
