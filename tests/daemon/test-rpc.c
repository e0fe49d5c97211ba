/* SPDX-License-Identifier: Apache-2.0 */
/* The gRPC server: unary calls, limits, connections. Over socketpairs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "log.h"
#include "rpc-fixture.h"

START_TEST(unary_call_gets_its_bytes_back)
{
	struct client *c = fix_connect();
	struct client_call *call = client_call(c, "/t.S/Echo", "a\0b", 3, 0, false);

	fix_finish(call);
	ck_assert_int_eq(call->status, RPC_OK);
	ck_assert_uint_eq(call->message_len, 3);
	ck_assert_mem_eq(call->message, "a\0b", 3);
	client_call_free(call);
	client_free(c);
}
END_TEST

START_TEST(empty_message_is_a_message)
{
	struct client *c = fix_connect();
	struct client_call *call = client_call(c, "/t.S/Echo", "", 0, 0, false);

	fix_finish(call);
	ck_assert_int_eq(call->status, RPC_OK);
	ck_assert_uint_eq(call->n_messages, 1);
	ck_assert_uint_eq(call->message_len, 0);
	client_call_free(call);
	client_free(c);
}
END_TEST

START_TEST(failure_carries_code_and_text)
{
	struct client *c = fix_connect();
	struct client_call *call = client_call(c, "/t.S/Fail", "x", 1, 0, false);

	fix_finish(call);
	ck_assert_int_eq(call->status, RPC_NOT_FOUND);
	ck_assert_str_eq(call->text, "no slot 'sl\xc3\xbct-1'");
	client_call_free(call);
	client_free(c);
}
END_TEST

START_TEST(unknown_methods_are_refused_at_once_and_cost_nothing)
{
	static const char *const unknown[] = { "/t.S/Nope", "/x.Y/Echo", "/t.S/", "/" };
	struct client *c = fix_connect();
	unsigned n = test_count(20000);
	size_t before_kib;

	for (unsigned i = 0; i < 100; i++)
		ck_assert_int_eq(fix_call_once(c, unknown[i % 4], "x", 1), RPC_UNIMPLEMENTED);
	before_kib = test_rss_kib("VmRSS:");
	for (unsigned i = 0; i < n; i++)
		ck_assert_int_eq(fix_call_once(c, unknown[i % 4], "x", 1), RPC_UNIMPLEMENTED);
	ck_assert_uint_lt(test_growth_kib(before_kib), 2048);
	ck_assert_int_eq(fix_call_once(c, "/t.S/Echo", "x", 1), RPC_OK);
	client_free(c);
}
END_TEST

START_TEST(requests_stay_armed_whatever_calls_end_in)
{
	struct client *c = fix_connect();
	unsigned n = test_count(2000);
	struct rpc_server_stats stats;

	for (unsigned i = 0; i < n; i++) {
		(void)fix_call_once(c, i % 2 ? "/t.S/Fail" : "/nope", "x", 1);
		if (i % 10 == 0) {
			struct client_call *call = client_call(c, "/t.S/Keep", "", 0, 1, false);

			fix_finish(call);
			client_call_free(call);
		}
		while (n_kept)
			rpc_call_reply(kept[--n_kept], "", 0);
	}
	ck_assert_int_eq(fix_call_once(c, "/t.S/Echo", "x", 1), RPC_OK);
	ck_assert(test_run_until(event, fix_no_calls, NULL, 2000));
	rpc_server_get_stats(server, &stats);
	ck_assert_uint_ge(stats.n_armed, 16);
	ck_assert_uint_le(stats.n_armed, 32);
	client_free(c);
}
END_TEST

static const struct {
	const char *what;
	size_t len;
	int expect;
} sizes[] = {
	{ "just below the limit", RPC_MESSAGE_MAX - 100, RPC_OK },
	{ "the limit itself", RPC_MESSAGE_MAX, RPC_OK },
	{ "just above", RPC_MESSAGE_MAX + 100, RPC_RESOURCE_EXHAUSTED },
	{ "64 MiB", (size_t)64 << 20, RPC_RESOURCE_EXHAUSTED },
};

START_TEST(oversized_requests_are_refused)
{
	struct client *c = fix_connect();
	uint8_t *bytes = calloc(1, sizes[_i].len);
	int status;

	ck_assert_ptr_nonnull(bytes);
	status = fix_call_once(c, "/t.S/Fail", bytes, sizes[_i].len);
	if (sizes[_i].expect == RPC_OK)
		ck_assert_msg(status == RPC_NOT_FOUND, "%s: %d", sizes[_i].what, status);
	else
		ck_assert_msg(status == sizes[_i].expect, "%s: %d", sizes[_i].what, status);
	ck_assert_int_eq(fix_call_once(c, "/t.S/Echo", "x", 1), RPC_OK);
	free(bytes);
	client_free(c);
}
END_TEST

/* gRPC would inflate before it looks at the size. */
START_TEST(compressed_requests_are_refused_uninflated)
{
	size_t len = _i ? (size_t)64 << 20 : 1000;
	struct client *c = client_new_odd(fix_connect_fd(), true, 0), *plain;
	uint8_t *bytes = calloc(1, len);
	size_t before_kib;

	ck_assert_ptr_nonnull(bytes);
	memset(bytes, 0, len);
	before_kib = test_rss_kib("VmRSS:");
	ck_assert_int_eq(fix_call_once(c, "/t.S/Echo", bytes, len), RPC_UNIMPLEMENTED);
	free(bytes);
	ck_assert_uint_lt(test_growth_kib(before_kib), 80 * 1024); /* the client's own copy */
	client_free(c);
	plain = fix_connect();
	ck_assert_int_eq(fix_call_once(plain, "/t.S/Echo", "x", 1), RPC_OK);
	client_free(plain);
}
END_TEST

START_TEST(large_metadata_is_refused)
{
	struct client *c = client_new_odd(fix_connect_fd(), false, 9000), *plain;

	/* The limit goes out with the server's SETTINGS and holds once they are acknowledged. */
	(void)fix_call_once(c, "/t.S/Echo", "x", 1);
	ck_assert_int_ne(fix_call_once(c, "/t.S/Echo", "x", 1), RPC_OK);
	client_free(c);
	plain = fix_connect();
	ck_assert_int_eq(fix_call_once(plain, "/t.S/Echo", "x", 1), RPC_OK);
	client_free(plain);
}
END_TEST

START_TEST(late_answers_arrive)
{
	struct client *c = fix_connect();
	struct client_call *calls[200];

	for (unsigned i = 0; i < 100; i++)
		calls[i] = client_call(c, "/t.S/Keep", &i, sizeof(i), 0, false);
	while (n_kept < 100)
		test_run_for(event, 1);
	ck_assert_uint_eq(rpc_n_unanswered(rpc), 100);
	for (unsigned i = 0; i < 100; i++)
		rpc_call_reply(kept[i], &i, sizeof(i));
	ck_assert_uint_eq(rpc_n_unanswered(rpc), 0);
	for (unsigned i = 0; i < 100; i++) {
		fix_finish(calls[i]);
		ck_assert_int_eq(calls[i]->status, RPC_OK);
		client_call_free(calls[i]);
	}
	ck_assert(test_run_until(event, fix_no_calls, NULL, 2000));
	client_free(c);
}
END_TEST

START_TEST(answer_after_the_client_gave_up_is_dropped)
{
	struct client *c = fix_connect();
	struct client_call *call = client_call(c, "/t.S/Keep", "", 0, 30, false);

	fix_finish(call);
	ck_assert_int_eq(call->status, RPC_DEADLINE_EXCEEDED);
	client_call_free(call);
	while (n_kept < 1)
		test_run_for(event, 1);
	test_run_for(event, 20);
	rpc_call_reply(kept[0], "late", 4);
	ck_assert(test_run_until(event, fix_no_calls, NULL, 2000));
	client_free(c);
}
END_TEST

START_TEST(answer_after_the_server_was_freed_is_dropped)
{
	struct client *c = fix_connect();
	struct client_call *call = client_call(c, "/t.S/Keep", "", 0, 0, false);

	while (n_kept < 1)
		test_run_for(event, 1);
	server = rpc_server_free(server);
	fix_finish(call);
	ck_assert_int_eq(call->status, RPC_UNAVAILABLE);
	client_call_free(call);
	client_free(c);
	rpc_call_fail(kept[0], RPC_INTERNAL, "late");
}
END_TEST

START_TEST(burst_is_answered_whole)
{
	unsigned n = test_count(10000);
	struct client_call **calls = calloc(n, sizeof(*calls));
	struct client *c = fix_connect();

	ck_assert_ptr_nonnull(calls);
	for (unsigned i = 0; i < n; i++)
		calls[i] = client_call(c, "/t.S/Echo", "x", 1, 0, false);
	for (unsigned i = 0; i < n; i++) {
		fix_finish(calls[i]);
		ck_assert_int_eq(calls[i]->status, RPC_OK);
	}
	for (unsigned i = 0; i < n; i++)
		client_call_free(calls[i]);
	ck_assert(test_run_until(event, fix_no_calls, NULL, 5000));
	client_free(c);
	free(calls);
}
END_TEST

START_TEST(connections_are_capped)
{
	int fds[RPC_CONNECTIONS_MAX + 1][2];

	for (unsigned i = 0; i <= RPC_CONNECTIONS_MAX; i++) {
		int r;

		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds[i]), 0);
		r = rpc_server_add_connection(server, fds[i][0]);
		ck_assert_int_eq(r, i < RPC_CONNECTIONS_MAX ? 0 : -EUSERS);
	}
	ck_assert_uint_eq(test_log_count(LOG_WARNING), 1);
	(void)close(fds[RPC_CONNECTIONS_MAX][0]);
	for (unsigned i = 0; i <= RPC_CONNECTIONS_MAX; i++)
		(void)close(fds[i][1]);
	ck_assert(test_run_until(event, fix_no_connections, NULL, 5000));
}
END_TEST

START_TEST(garbage_connections_leave_no_fd_behind)
{
	static const char *const junk[] = { "GET / HTTP/1.1\r\n\r\n", "\xff\xff\xff\xff\xff",
					    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "" };
	unsigned n = test_count(5000), before;
	struct client *c = fix_connect();

	ck_assert_int_eq(fix_call_once(c, "/t.S/Echo", "x", 1), RPC_OK);
	before = test_n_fds();
	for (unsigned i = 0; i < n; i++) {
		int fds[2];

		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
		ck_assert_int_eq(rpc_server_add_connection(server, fds[0]), 0);
		(void)!write(fds[1], junk[i % 4], strlen(junk[i % 4]));
		(void)close(fds[1]);
		while (rpc_server_n_connections(server) > 20)
			test_run_for(event, 1);
	}
	while (rpc_server_n_connections(server) > 1)
		test_run_for(event, 1);
	for (unsigned i = 0; i < 100 && test_n_fds() > before; i++)
		test_run_for(event, 10);
	ck_assert_uint_le(test_n_fds(), before);
	ck_assert_int_eq(fix_call_once(c, "/t.S/Echo", "x", 1), RPC_OK);
	client_free(c);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rpc");
	TCase *t = tcase_create("server");

	tcase_add_checked_fixture(t, fix_setup, fix_teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, unary_call_gets_its_bytes_back);
	tcase_add_test(t, empty_message_is_a_message);
	tcase_add_test(t, failure_carries_code_and_text);
	tcase_add_test(t, unknown_methods_are_refused_at_once_and_cost_nothing);
	tcase_add_test(t, requests_stay_armed_whatever_calls_end_in);
	tcase_add_loop_test(t, oversized_requests_are_refused, 0, (int)ARRAY_SIZE(sizes));
	tcase_add_loop_test(t, compressed_requests_are_refused_uninflated, 0, 2);
	tcase_add_test(t, large_metadata_is_refused);
	tcase_add_test(t, late_answers_arrive);
	tcase_add_test(t, answer_after_the_client_gave_up_is_dropped);
	tcase_add_test(t, answer_after_the_server_was_freed_is_dropped);
	tcase_add_test(t, burst_is_answered_whole);
	tcase_add_test(t, connections_are_capped);
	tcase_add_test(t, garbage_connections_leave_no_fd_behind);
	suite_add_tcase(s, t);
	return test_main(s);
}
