/* SPDX-License-Identifier: Apache-2.0 */
/* The end, whatever the peers do; and the beginning without threads. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "endpoint.h"
#include "helper.h"
#include "listener.h"
#include "log.h"
#include "rpc.h"

static sd_event *event;
static struct rpc *rpc;
static struct rpc_server *server;
static unsigned n_calls, n_opened;

static void on_unary(struct rpc_call *call, const struct rpc_request *req, void *userdata)
{
	n_calls++;
	rpc_call_reply(call, req->bytes, req->len);
}

static void on_opened(uint64_t id, unsigned n_open, void *userdata)
{
	n_opened++;
}

static const struct rpc_server_ops ops = {
	.stream_method = "/v1beta1.DevicePlugin/ListAndWatch",
	.unary = on_unary,
	.stream_opened = on_opened,
};

static void setup(void)
{
	test_log_catch(false);
	n_calls = n_opened = 0;
	ck_assert_int_ge(sd_event_new(&event), 0);
	ck_assert_int_eq(rpc_new(event, &rpc), 0);
	ck_assert_int_eq(rpc_server_new(rpc, &ops, NULL, &server), 0);
}

static void teardown(void)
{
	server = rpc_server_free(server);
	rpc = rpc_free(rpc);
	event = sd_event_unref(event);
}

static int connect_raw(int sndbuf)
{
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	if (sndbuf)
		ck_assert_int_eq(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf)),
				 0);
	ck_assert_int_eq(rpc_server_add_connection(server, fds[0]), 0);
	return fds[1];
}

static uint64_t stop_takes_us(void)
{
	uint64_t start_us = test_now_us();

	ck_assert_int_eq(rpc_stop(rpc), 0);
	ck_assert_int_eq(rpc_stop(rpc), 0);
	return test_now_us() - start_us;
}

START_TEST(stop_without_connections_is_at_once)
{
	ck_assert_uint_lt(stop_takes_us(), 500000);
}
END_TEST

START_TEST(silent_connections_do_not_hold_the_end_up)
{
	int fds[10];
	char byte;

	for (unsigned i = 0; i < 10; i++)
		fds[i] = connect_raw(0);
	test_run_for(event, 20);
	ck_assert_uint_lt(stop_takes_us(), 1000000);
	server = rpc_server_free(server);
	for (unsigned i = 0; i < 10; i++) {
		while (recv(fds[i], &byte, 1, 0) > 0)
			;
		(void)close(fds[i]);
	}
}
END_TEST

/*
 * A kubelet that is stopped while the list goes out: the socket is full, gRPC's write is stuck,
 * and neither cancelling nor its shutdown ends that.
 */
START_TEST(reader_that_is_stopped_with_a_full_socket_is_cut)
{
	const char *data = getenv("HAMIDP_TEST_DATA");
	char *path = test_path(data ? data : "tests/data", "kubelet-wire/kubelet-120.1.c2s");
	size_t len, list_len = 1 << 20;
	uint8_t *bytes = test_read_file(path, &len), *list = calloc(1, list_len);
	int fd = connect_raw(4096);

	ck_assert_int_eq(rpc_server_publish(server, list, list_len), 0);
	/* The first call of a 1.20 kubelet is ListAndWatch; not a byte of the answer is read. */
	ck_assert_int_eq(send(fd, bytes, len < 300 ? len : 300, MSG_NOSIGNAL), 300);
	while (!n_opened)
		test_run_for(event, 1);
	test_run_for(event, 100);
	if (_i) {
		rpc_server_end_streams(server, RPC_UNAVAILABLE, "the kubelet is another one");
		test_run_for(event, 100);
		ck_assert_uint_eq(rpc_server_n_streams(server), 0);
	}
	ck_assert_uint_lt(stop_takes_us(), RPC_STOP_MAX_US);
	(void)close(fd);
	free(list);
	free(bytes);
	free(path);
}
END_TEST

START_TEST(client_that_dies_leaves_nothing)
{
	struct rpc_server_stats stats;

	for (unsigned i = 0; i < test_count(200); i++) {
		const char *data = getenv("HAMIDP_TEST_DATA");
		char *path =
			test_path(data ? data : "tests/data", "kubelet-wire/kubelet-120.1.c2s");
		size_t len;
		uint8_t *bytes = test_read_file(path, &len);
		unsigned before = n_opened;
		int fd = connect_raw(0);

		ck_assert_int_eq(rpc_server_publish(server, "list", 4), 0);
		ck_assert_int_eq(send(fd, bytes, 300, MSG_NOSIGNAL), 300);
		while (n_opened == before)
			test_run_for(event, 1);
		(void)close(fd);
		free(bytes);
		free(path);
	}
	for (unsigned i = 0; i < 5000 && rpc_server_n_streams(server); i++)
		test_run_for(event, 1);
	while (rpc_server_n_connections(server))
		test_run_for(event, 1);
	rpc_server_get_stats(server, &stats);
	ck_assert_uint_eq(stats.n_calls, 0);
}
END_TEST

static void on_client(enum rpc_status status, const char *text, const uint8_t *bytes, size_t len,
		      void *userdata)
{
	*(int *)userdata = (int)status;
}

static bool got_status(void *userdata)
{
	return *(int *)userdata >= 0;
}

static int on_accept(int fd, void *userdata)
{
	return rpc_server_add_connection(server, fd);
}

START_TEST(client_call_works_and_ends_on_time)
{
	char *dir = test_temp_dir(), *sock = test_path(dir, "s.sock"),
	     *mute = test_path(dir, "m.sock"), *none = test_path(dir, "none");
	int fd = test_bind(mute, SOCK_STREAM, true), status = -1;
	struct rpc_client *client;
	struct listener *l;
	uint64_t start_us;

	ck_assert_int_eq(listener_new(event, sock, on_accept, NULL, &l), 0);
	ck_assert_int_eq(listener_open(l), 0);
	ck_assert_int_eq(rpc_client_call(rpc, none, "/a/b", "", 0, 1000000, on_client, &status,
					 &client),
			 -ENOENT);
	ck_assert_int_eq(rpc_client_call(rpc, sock, "/a/b", "hi", 2, 1000000, on_client, &status,
					 &client),
			 0);
	ck_assert(test_run_until(event, got_status, &status, 2000));
	ck_assert_int_eq(status, RPC_OK);
	status = -1;
	start_us = test_now_us();
	ck_assert_int_eq(rpc_client_call(rpc, mute, "/a/b", "", 0, 200000, on_client, &status,
					 &client),
			 0);
	ck_assert(test_run_until(event, got_status, &status, 5000));
	ck_assert_int_eq(status, RPC_DEADLINE_EXCEEDED);
	ck_assert_uint_ge(test_now_us() - start_us, 150000);
	status = -1;
	ck_assert_int_eq(rpc_client_call(rpc, mute, "/a/b", "", 0, 60000000, on_client, &status,
					 &client),
			 0);
	if (_i)
		client = rpc_client_cancel(client);
	test_run_for(event, 50);
	ck_assert_uint_lt(stop_takes_us(), 500000);
	ck_assert_int_eq(status, -1);
	(void)close(fd);
	l = listener_free(l);
	test_temp_remove(dir);
	free(none);
	free(mute);
	free(sock);
	free(dir);
}
END_TEST

START_TEST(starting_and_stopping_again_and_again_grows_nothing)
{
	size_t before_kib = 0;
	unsigned fds = 0;

	for (unsigned i = 0; i < test_count(200); i++) {
		server = rpc_server_free(server);
		rpc = rpc_free(rpc);
		ck_assert_int_eq(rpc_new(event, &rpc), 0);
		ck_assert_int_eq(rpc_server_new(rpc, &ops, NULL, &server), 0);
		if (i == 2) {
			before_kib = test_rss_kib("VmRSS:");
			fds = test_n_fds();
		}
	}
	ck_assert_uint_lt(test_growth_kib(before_kib), 2048);
	ck_assert_uint_le(test_n_fds(), fds + 2);
}
END_TEST

/* Without threads */

static void on_state(enum endpoint_state state, const char *why, void *userdata)
{
	*(enum endpoint_state *)userdata = state;
}

static void never_preferred(struct endpoint_call *call, const struct dp_preferred_request *request,
			    void *userdata)
{
	endpoint_call_fail(call, RPC_INTERNAL, "unexpected");
}

static void never_allocate(struct endpoint_call *call, const struct dp_allocate_request *request,
			   void *userdata)
{
	endpoint_call_fail(call, RPC_INTERNAL, "unexpected");
}

static const struct endpoint_ops starved_ops = {
	.preferred = never_preferred,
	.allocate = never_allocate,
	.state = on_state,
};

/* Exit code: 0 served, 10 told so by the probe, 11 told so by rpc_new(). */
static void run_starved(unsigned n_threads, const char *dir)
{
	struct rlimit limit = { n_threads, n_threads };
	struct endpoint_config config = { .resource_name = "hami.com/vgpu" };
	enum endpoint_state state = ENDPOINT_WAITING;
	struct endpoint *e;
	sd_event *ev;
	struct rpc *r;

	config.plugin_dir = dir;
	config.probe_timeout_us = 300000;
	if (setgid(65534) < 0 || setuid(65534) < 0 || setrlimit(RLIMIT_NPROC, &limit) < 0)
		_exit(77);
	test_log_catch(true);
	if (sd_event_new(&ev) < 0)
		_exit(1);
	if (rpc_new(ev, &r) < 0)
		_exit(11);
	if (endpoint_new(r, ev, &config, &starved_ops, &state, &e) < 0 || endpoint_start(e) < 0)
		_exit(2);
	for (int i = 0; i < 100 && state == ENDPOINT_WAITING; i++)
		test_run_for(ev, 20);
	endpoint_stop(e);
	(void)rpc_stop(r);
	(void)endpoint_free(e);
	(void)rpc_free(r);
	if (state == ENDPOINT_FAILED)
		_exit(strstr(test_log_last(LOG_ERR), "does not answer") ? 10 : 3);
	_exit(0);
}

/* gRPC starts "successfully" without threads, and then nothing works: that must be told. */
START_TEST(too_few_threads_are_told)
{
	static const unsigned limits[] = { 1, 4, 6, 8, 60 };
	char *dir = test_temp_dir();
	int status;
	pid_t pid;

	if (geteuid() != 0) { /* the limit counts all processes of the user; root has none */
		test_temp_remove(dir);
		free(dir);
		return;
	}
	ck_assert_int_eq(chown(dir, 65534, 65534), 0);
	pid = fork();
	if (pid == 0)
		run_starved(limits[_i], dir);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	(void)fprintf(stderr, "limit %u: exit %d\n", limits[_i], WEXITSTATUS(status));
	ck_assert(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 10 ||
		  WEXITSTATUS(status) == 11 || WEXITSTATUS(status) == 77);
	if (limits[_i] < 8) /* two processors' worth at least */
		ck_assert_int_ne(WEXITSTATUS(status), 0);
	test_temp_remove(dir);
	free(dir);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("stop");
	TCase *t = tcase_create("ends"), *threads = tcase_create("threads");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, stop_without_connections_is_at_once);
	tcase_add_test(t, silent_connections_do_not_hold_the_end_up);
	tcase_add_loop_test(t, reader_that_is_stopped_with_a_full_socket_is_cut, 0, 2);
	tcase_add_test(t, client_that_dies_leaves_nothing);
	tcase_add_loop_test(t, client_call_works_and_ends_on_time, 0, 2);
	tcase_add_test(t, starting_and_stopping_again_and_again_grows_nothing);
	suite_add_tcase(s, t);
	tcase_add_loop_test(threads, too_few_threads_are_told, 0, 5);
	suite_add_tcase(s, threads);
	return test_main(s);
}
