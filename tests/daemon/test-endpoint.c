/* SPDX-License-Identifier: Apache-2.0 */
/* An endpoint and a kubelet, on real sockets: registration and everything that ends it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "client.h"
#include "endpoint-call.h"
#include "endpoint.h"
#include "fake-kubelet.h"
#include "helper.h"
#include "log.h"

static sd_event *event;
static struct rpc *rpc;
static struct endpoint *ep;
static char *base, *dir, *sock;
static enum endpoint_state last_state;
static struct endpoint_call *kept;

static const struct dp_device devices[] = { { "s-0", true, NULL, 0 }, { "s-1", true, NULL, 0 } };
static const struct dp_list two = { devices, 2 };

static void on_preferred(struct endpoint_call *call, const struct dp_preferred_request *request,
			 void *userdata)
{
	endpoint_call_fail(call, RPC_FAILED_PRECONDITION, "no");
}

static void on_allocate(struct endpoint_call *call, const struct dp_allocate_request *request,
			void *userdata)
{
	kept = call;
}

static void on_state(enum endpoint_state state, const char *why, void *userdata)
{
	last_state = state;
}

static const struct endpoint_ops ops = {
	.preferred = on_preferred,
	.allocate = on_allocate,
	.state = on_state,
};

static const struct endpoint_config basic = {
	.resource_name = "hami.com/vgpu",
	.options = { .preferred_allocation = true },
};

static void make(const struct endpoint_config *config)
{
	struct endpoint_config c = *config;

	c.plugin_dir = dir;
	ck_assert_int_eq(endpoint_new(rpc, event, &c, &ops, NULL, &ep), 0);
	ck_assert_int_eq(endpoint_publish(ep, &two), 0);
}

static void setup(void)
{
	test_log_catch(false);
	last_state = ENDPOINT_WAITING;
	kept = NULL;
	ep = NULL;
	ck_assert_int_ge(sd_event_new(&event), 0);
	base = test_temp_dir();
	dir = test_path(base, "device-plugins");
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	sock = test_path(dir, "hami.com_vgpu.sock");
	ck_assert_int_eq(rpc_new(event, &rpc), 0);
	client_begin();
	fake_begin(rpc, event, dir);
}

static void teardown(void)
{
	if (ep)
		endpoint_stop(ep);
	fake_end();
	client_end();
	ck_assert_int_eq(rpc_stop(rpc), 0);
	ep = endpoint_free(ep);
	rpc = rpc_free(rpc);
	event = sd_event_unref(event);
	test_temp_remove(base);
	free(sock);
	free(dir);
	free(base);
}

/* The kubelet has one live stream with the full list on it. */
static bool registered(void *userdata)
{
	size_t size;

	(void)dp_list_size(&two, &size);
	return last_state == ENDPOINT_REGISTERED && fake.watch && !fake.watch->done &&
	       fake.watch->n_messages && fake.watch->message_len == size &&
	       rpc_server_n_streams(endpoint_server(ep)) == 1;
}

static void expect_registered(unsigned within_ms)
{
	ck_assert_msg(test_run_until(event, registered, NULL, within_ms), "not registered");
	ck_assert(!fake.overlapped);
}

static bool n_registers_reached(void *userdata)
{
	return fake.n_registers >= *(unsigned *)userdata;
}

static void wait_registers(unsigned n, unsigned within_ms)
{
	ck_assert(test_run_until(event, n_registers_reached, &n, within_ms));
}

START_TEST(registers_with_the_dial_back_inside)
{
	fake.style = _i ? FAKE_1_20 : FAKE_NORMAL;
	make(&basic);
	fake_up();
	ck_assert_int_eq(endpoint_start(ep), 0);
	expect_registered(2000);
	ck_assert_uint_eq(fake.n_registers, 1);
	ck_assert_str_eq(fake.resource_name, "hami.com/vgpu");
	ck_assert_str_eq(fake.endpoint, "hami.com_vgpu.sock");
	ck_assert(fake.preferred && !fake.pre_start);
	if (!_i) {
		ck_assert_uint_eq(fake.options->message_len, 2);
		ck_assert_mem_eq(fake.options->message, "\x10\x01", 2);
	}
	test_run_for(event, 200);
	ck_assert_uint_eq(fake.n_registers, 1);
}
END_TEST

START_TEST(starts_before_the_kubelet)
{
	make(&basic);
	ck_assert_int_eq(endpoint_start(ep), 0);
	test_run_for(event, 100);
	ck_assert_uint_eq(endpoint_n_attempts(ep), 0);
	fake_up();
	expect_registered(1000);
}
END_TEST

/* kubelet.sock appears at bind(), refuses until listen(). */
START_TEST(kubelet_socket_that_does_not_listen_yet_is_tried_again)
{
	char *path = test_path(dir, "kubelet.sock");
	int fd;

	make(&basic);
	fd = test_bind(path, SOCK_STREAM, false);
	ck_assert_int_eq(endpoint_start(ep), 0);
	while (endpoint_n_attempts(ep) < 3)
		test_run_for(event, 1);
	(void)close(fd);
	ck_assert_int_eq(unlink(path), 0);
	fake_up();
	expect_registered(1000);
	free(path);
}
END_TEST

START_TEST(follows_when_the_kubelet_closes_the_stream)
{
	make(&basic);
	fake_up();
	ck_assert_int_eq(endpoint_start(ep), 0);
	expect_registered(2000);
	fake_drop_stream();
	wait_registers(2, 1000);
	expect_registered(1000);
}
END_TEST

START_TEST(refusal_is_logged_once_and_tried_again)
{
	fake.style = FAKE_REFUSE;
	make(&basic);
	fake_up();
	ck_assert_int_eq(endpoint_start(ep), 0);
	wait_registers(4, 3000);
	ck_assert_uint_eq(test_log_count(LOG_WARNING), 1);
	ck_assert_ptr_nonnull(strstr(test_log_last(LOG_WARNING), "is invalid"));
	fake.style = FAKE_NORMAL;
	expect_registered(3000);
}
END_TEST

START_TEST(mute_kubelet_is_given_up_at_the_deadline)
{
	struct endpoint_config config = basic;

	config.register_timeout_us = 200000;
	fake.style = FAKE_MUTE;
	make(&config);
	fake_up();
	ck_assert_int_eq(endpoint_start(ep), 0);
	wait_registers(1, 2000);
	/* Ours ends by the deadline; then the fake may forget it. */
	fake.style = FAKE_NORMAL;
	wait_registers(2, 2000);
	expect_registered(2000);
}
END_TEST

START_TEST(removed_socket_comes_back_and_the_stream_stays)
{
	make(&basic);
	fake_up();
	ck_assert_int_eq(endpoint_start(ep), 0);
	expect_registered(2000);
	ck_assert_int_eq(unlink(sock), 0);
	while (access(sock, F_OK) != 0)
		test_run_for(event, 1);
	test_run_for(event, 100);
	ck_assert(registered(NULL));
	ck_assert_uint_eq(fake.n_registers, 1);
}
END_TEST

START_TEST(follows_a_directory_that_is_made_anew)
{
	make(&basic);
	if (_i == 0)
		test_temp_remove(dir);
	else
		fake_up();
	ck_assert_int_eq(endpoint_start(ep), 0);
	if (_i) {
		expect_registered(2000);
		fake_down();
		test_temp_remove(dir);
	}
	test_run_for(event, 50);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	fake_up();
	expect_registered(2000);
}
END_TEST

START_TEST(several_resources_share_one_queue)
{
	static const char *const names[] = { "hami.com/a", "hami.com/b", "hami.com/c" };
	struct endpoint *others[3];

	fake.style = FAKE_NO_STREAM;
	make(&basic);
	fake_up();
	ck_assert_int_eq(endpoint_start(ep), 0);
	for (unsigned i = 0; i < 3; i++) {
		struct endpoint_config config = basic;

		config.plugin_dir = dir;
		config.resource_name = names[i];
		ck_assert_int_eq(endpoint_new(rpc, event, &config, &ops, NULL, &others[i]), 0);
		ck_assert_int_eq(endpoint_publish(others[i], &two), 0);
		ck_assert_int_eq(endpoint_start(others[i]), 0);
	}
	wait_registers(4, 2000);
	for (unsigned i = 0; i < 3; i++) {
		struct client_call *call;
		struct client *c = client_new(test_connect(endpoint_socket_path(others[i])));

		call = client_call(c, ENDPOINT_LIST_AND_WATCH, "", 0, 0, true);
		ck_assert(test_run_until(event, client_has_message, call, 2000));
		ck_assert_int_eq(endpoint_get_state(others[i]), ENDPOINT_REGISTERED);
		others[i] = endpoint_free(others[i]);
		ck_assert(test_run_until(event, client_is_done, call, 2000));
		ck_assert_int_eq(call->status, RPC_UNAVAILABLE);
		client_call_free(call);
		client_free(c);
	}
	ck_assert_int_eq(access(sock, F_OK), 0);
}
END_TEST

START_TEST(second_instance_is_refused)
{
	struct endpoint_config config = basic;
	struct endpoint *other;

	make(&basic);
	ck_assert_int_eq(endpoint_start(ep), 0);
	config.plugin_dir = dir;
	ck_assert_int_eq(endpoint_new(rpc, event, &config, &ops, NULL, &other), 0);
	test_log_catch(true);
	ck_assert_int_eq(endpoint_start(other), -EADDRINUSE);
	ck_assert_ptr_nonnull(strstr(test_log_last(LOG_ERR), "another process answers"));
	other = endpoint_free(other);
	ck_assert_int_eq(access(sock, F_OK), 0);
}
END_TEST

/* Restarts, 0 to 5 ms after a Register came in, in the middle of everything. */
START_TEST(any_number_of_kubelet_restarts_ends_with_one_stream)
{
	uint64_t random = test_seed();
	unsigned n = test_count(1000), fds = 0;
	size_t rss_kib = 0;

	make(&basic);
	ck_assert_int_eq(endpoint_start(ep), 0);
	for (unsigned i = 0; i < n; i++) {
		unsigned before = fake.n_registers;

		fake_wipe();
		fake_up();
		wait_registers(before + 1, 7000);
		if (i % 10 == 9)
			expect_registered(7000);
		test_run_for(event, (unsigned)(test_random(&random) % 6));
		fake_down();
		test_run_for(event, (unsigned)(test_random(&random) % 6));
		if (i == n / 2) {
			fds = test_n_fds();
			rss_kib = test_rss_kib("VmRSS:");
		}
	}
	fake_wipe();
	fake_up();
	expect_registered(7000);
	test_run_for(event, 300);
	ck_assert(registered(NULL));
	ck_assert_uint_eq(rpc_server_n_connections(endpoint_server(ep)), 1);
	ck_assert_uint_le(test_n_fds(), fds + 16); /* of the connections that are up now */
	ck_assert_uint_lt(test_growth_kib(rss_kib), 2048);
}
END_TEST

/* The end */

static uint64_t stop_takes_us(void)
{
	uint64_t start_us = test_now_us();

	endpoint_stop(ep);
	ck_assert_int_eq(rpc_stop(rpc), 0);
	ep = endpoint_free(ep);
	return test_now_us() - start_us;
}

START_TEST(stop_ends_the_stream_and_removes_the_file)
{
	struct client_call *watch;
	uint64_t took_us;

	make(&basic);
	fake_up();
	ck_assert_int_eq(endpoint_start(ep), 0);
	expect_registered(2000);
	watch = fake.watch;
	took_us = stop_takes_us();
	ck_assert_uint_lt(took_us, 500000);
	ck_assert(test_run_until(event, client_is_done, watch, 2000));
	ck_assert_int_eq(watch->status, RPC_UNAVAILABLE);
	ck_assert_str_eq(watch->text, "shutting down");
	ck_assert_int_ne(access(sock, F_OK), 0);
}
END_TEST

START_TEST(stop_does_not_wait_for_a_registration)
{
	fake.style = FAKE_MUTE;
	make(&basic);
	fake_up();
	ck_assert_int_eq(endpoint_start(ep), 0);
	wait_registers(1, 2000);
	ck_assert_uint_lt(stop_takes_us(), 500000);
	/* The server of the fake was stopped with it. */
	rpc_call_fail(fake.pending, RPC_UNAVAILABLE, "down");
	fake.pending = NULL;
}
END_TEST

START_TEST(stop_answers_a_pending_allocate)
{
	struct client_call *call;

	make(&basic);
	fake_up();
	ck_assert_int_eq(endpoint_start(ep), 0);
	expect_registered(2000);
	call = client_call(fake.client, endpoint_methods[ENDPOINT_ALLOCATE], "", 0, 0, false);
	while (!kept)
		test_run_for(event, 1);
	ck_assert_uint_eq(rpc_n_unanswered(rpc), 1);
	ck_assert_uint_lt(stop_takes_us(), 500000);
	ck_assert(test_run_until(event, client_is_done, call, 2000));
	ck_assert_int_eq(call->status, RPC_UNAVAILABLE);
	client_call_free(call);
	endpoint_call_fail(kept, RPC_INTERNAL, "late");
}
END_TEST

START_TEST(allocate_has_a_time_limit)
{
	struct endpoint_config config = basic;
	struct client_call *call;

	config.call_timeout_us = 50000;
	make(&config);
	fake_up();
	ck_assert_int_eq(endpoint_start(ep), 0);
	expect_registered(2000);
	call = client_call(fake.client, endpoint_methods[ENDPOINT_ALLOCATE], "", 0, 0, false);
	ck_assert(test_run_until(event, client_is_done, call, 2000));
	ck_assert_int_eq(call->status, RPC_DEADLINE_EXCEEDED);
	client_call_free(call);
	endpoint_call_fail(kept, RPC_INTERNAL, "late");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("endpoint");
	TCase *t = tcase_create("registration");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 300);
	tcase_add_loop_test(t, registers_with_the_dial_back_inside, 0, 2);
	tcase_add_test(t, starts_before_the_kubelet);
	tcase_add_test(t, kubelet_socket_that_does_not_listen_yet_is_tried_again);
	tcase_add_test(t, follows_when_the_kubelet_closes_the_stream);
	tcase_add_test(t, refusal_is_logged_once_and_tried_again);
	tcase_add_test(t, mute_kubelet_is_given_up_at_the_deadline);
	tcase_add_test(t, removed_socket_comes_back_and_the_stream_stays);
	tcase_add_loop_test(t, follows_a_directory_that_is_made_anew, 0, 2);
	tcase_add_test(t, several_resources_share_one_queue);
	tcase_add_test(t, second_instance_is_refused);
	tcase_add_test(t, any_number_of_kubelet_restarts_ends_with_one_stream);
	tcase_add_test(t, stop_ends_the_stream_and_removes_the_file);
	tcase_add_test(t, stop_does_not_wait_for_a_registration);
	tcase_add_test(t, stop_answers_a_pending_allocate);
	tcase_add_test(t, allocate_has_a_time_limit);
	suite_add_tcase(s, t);
	return test_main(s);
}
