/* SPDX-License-Identifier: Apache-2.0 */
/* The published stream: at once, each change, the newest for who is slow. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rpc-fixture.h"

static bool text_is(struct client_call *call, const char *text)
{
	return call->message_len == strlen(text) && memcmp(call->message, text, strlen(text)) == 0;
}

struct expect {
	struct client_call *call;
	const char *text;
};

static bool has_text(void *userdata)
{
	struct expect *e = userdata;

	return e->call->n_messages && text_is(e->call, e->text);
}

static void wait_text(struct client_call *call, const char *text)
{
	struct expect e = { call, text };

	ck_assert_msg(test_run_until(event, has_text, &e, 5000), "no '%s' came", text);
}

START_TEST(stream_gets_the_list_at_once_and_each_change)
{
	struct client *c = fix_connect();
	struct client_call *call;

	ck_assert_int_eq(rpc_server_publish(server, "one", 3), 0);
	call = client_call(c, "/t.S/Watch", "", 0, 0, true);
	wait_text(call, "one");
	ck_assert_uint_eq(rpc_server_n_streams(server), 1);
	ck_assert_uint_eq(n_opened, 1);
	ck_assert_int_eq(rpc_server_publish(server, "two", 3), 0);
	wait_text(call, "two");
	rpc_server_end_streams(server, RPC_UNAVAILABLE, "bye");
	ck_assert_uint_eq(rpc_server_n_streams(server), 0);
	fix_finish(call);
	ck_assert_int_eq(call->status, RPC_UNAVAILABLE);
	ck_assert_str_eq(call->text, "bye");
	ck_assert_uint_eq(call->n_messages, 2);
	ck_assert_uint_eq(n_closed, 0);
	client_call_free(call);
	client_free(c);
}
END_TEST

START_TEST(stream_opened_before_the_first_list_waits_for_it)
{
	struct client *c = fix_connect();
	struct client_call *call = client_call(c, "/t.S/Watch", "", 0, 0, true);

	while (!n_opened)
		test_run_for(event, 1);
	test_run_for(event, 20);
	ck_assert_uint_eq(call->n_messages, 0);
	ck_assert_int_eq(rpc_server_publish(server, "", 0), 0);
	ck_assert(test_run_until(event, client_has_message, call, 5000));
	ck_assert_uint_eq(call->message_len, 0);
	client_cancel(call);
	fix_finish(call);
	client_call_free(call);
	ck_assert(test_run_until(event, fix_no_calls, NULL, 2000));
	ck_assert_uint_eq(n_closed, 1);
	client_free(c);
}
END_TEST

START_TEST(stream_ended_before_the_first_list_gets_a_status)
{
	struct client *c = fix_connect();
	struct client_call *call = client_call(c, "/t.S/Watch", "", 0, 0, true);

	while (!n_opened)
		test_run_for(event, 1);
	rpc_server_end_streams(server, RPC_UNAVAILABLE, "early");
	fix_finish(call);
	ck_assert_int_eq(call->status, RPC_UNAVAILABLE);
	ck_assert_str_eq(call->text, "early");
	client_call_free(call);
	client_free(c);
}
END_TEST

/* A reader that stops: one send outstanding, the rest coalesced, the newest at the end. */
START_TEST(slow_reader_skips_to_the_newest_list)
{
	size_t len = 335872; /* 4096 devices with topology */
	char *list = calloc(1, len);
	struct client *c = fix_connect(), *other = fix_connect();
	struct rpc_server_stats stats;
	struct client_call *call;
	unsigned n = 770;

	ck_assert_ptr_nonnull(list);
	ck_assert_int_eq(rpc_server_publish(server, list, len), 0);
	call = client_call(c, "/t.S/Watch", "", 0, 0, true);
	call->hold = true;
	ck_assert(test_run_until(event, client_has_message, call, 5000));
	for (unsigned i = 1; i <= n; i++) {
		memcpy(list, &i, sizeof(i));
		ck_assert_int_eq(rpc_server_publish(server, list, len), 0);
		if (i % 10 == 0)
			test_run_for(event, 1);
	}
	ck_assert_int_eq(fix_call_once(other, "/t.S/Echo", "x", 1), RPC_OK);
	rpc_server_get_stats(server, &stats);
	ck_assert_uint_lt(stats.sends, 100);
	ck_assert_uint_gt(stats.coalesced, 600);
	client_read(call);
	while (memcmp(call->message, &n, sizeof(n)) != 0)
		test_run_for(event, 1);
	client_cancel(call);
	fix_finish(call);
	client_call_free(call);
	client_free(c);
	client_free(other);
	free(list);
}
END_TEST

START_TEST(oversized_list_is_refused_and_the_old_one_stays)
{
	char *big = calloc(1, RPC_MESSAGE_MAX + 1);
	struct client *c = fix_connect();
	struct client_call *call;

	ck_assert_int_eq(rpc_server_publish(server, "one", 3), 0);
	ck_assert_int_eq(rpc_server_publish(server, big, RPC_MESSAGE_MAX + 1), -EMSGSIZE);
	call = client_call(c, "/t.S/Watch", "", 0, 0, true);
	wait_text(call, "one");
	client_cancel(call);
	fix_finish(call);
	client_call_free(call);
	client_free(c);
	free(big);
}
END_TEST

START_TEST(many_streams_cancelled_at_once_leave_nothing)
{
	struct client_call *calls[300];
	struct client *c[3];

	ck_assert_int_eq(rpc_server_publish(server, "list", 4), 0);
	for (unsigned i = 0; i < 3; i++)
		c[i] = fix_connect();
	for (unsigned i = 0; i < 300; i++)
		calls[i] = client_call(c[i % 3], "/t.S/Watch", "", 0, 0, true);
	for (unsigned i = 0; i < 300; i++)
		wait_text(calls[i], "list");
	ck_assert_uint_eq(rpc_server_n_streams(server), 300);
	for (unsigned i = 0; i < 300; i++)
		client_cancel(calls[i]);
	for (unsigned i = 0; i < 300; i++) {
		fix_finish(calls[i]);
		client_call_free(calls[i]);
	}
	ck_assert(test_run_until(event, fix_no_calls, NULL, 5000));
	ck_assert_uint_eq(n_closed, 300);
	ck_assert_uint_eq(rpc_server_n_streams(server), 0);
	for (unsigned i = 0; i < 3; i++)
		client_free(c[i]);
	ck_assert(test_run_until(event, fix_no_connections, NULL, 5000));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("stream");
	TCase *t = tcase_create("list");

	tcase_add_checked_fixture(t, fix_setup, fix_teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, stream_gets_the_list_at_once_and_each_change);
	tcase_add_test(t, stream_opened_before_the_first_list_waits_for_it);
	tcase_add_test(t, stream_ended_before_the_first_list_gets_a_status);
	tcase_add_test(t, slow_reader_skips_to_the_newest_list);
	tcase_add_test(t, oversized_list_is_refused_and_the_old_one_stays);
	tcase_add_test(t, many_streams_cancelled_at_once_leave_nothing);
	suite_add_tcase(s, t);
	return test_main(s);
}
