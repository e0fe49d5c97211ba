/* SPDX-License-Identifier: Apache-2.0 */
/* The DevicePlugin calls as functions: no gRPC, no socket. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "endpoint-call.h"
#include "helper.h"
#include "log.h"

/* A call that remembers its answer. */
struct fake_call {
	struct rpc_call base;
	unsigned n_answers;
	enum rpc_status status;
	uint8_t bytes[256];
	size_t len;
	char text[1200];
};

static sd_event *event;
static struct endpoint_calls calls;
static struct endpoint_call *kept;
static enum {
	ANSWER_NOW,
	ANSWER_LATER,
	ANSWER_BAD_TEXT,
	ANSWER_LONG_TEXT,
} mode;

static void finish(struct rpc_call *base, enum rpc_status status, const void *bytes, size_t len,
		   const char *text)
{
	struct fake_call *c = (struct fake_call *)base;

	ck_assert_uint_le(len, sizeof(c->bytes));
	ck_assert_uint_lt(strlen(text), sizeof(c->text));
	c->n_answers++;
	c->status = status;
	if (len)
		memcpy(c->bytes, bytes, len);
	c->len = len;
	memcpy(c->text, text, strlen(text) + 1);
}

static void answer_allocate(struct endpoint_call *call)
{
	struct dp_container_response container = { 0 };
	struct dp_allocate_response response = { &container, 1 };

	endpoint_reply_allocate(call, &response);
}

static void on_preferred(struct endpoint_call *call, const struct dp_preferred_request *request,
			 void *userdata)
{
	static const char *const ids[] = { "b" };
	static const struct dp_ids container = { ids, 1 };
	struct dp_preferred_response response = { &container, 1 };

	endpoint_reply_preferred(call, &response);
}

static void on_allocate(struct endpoint_call *call, const struct dp_allocate_request *request,
			void *userdata)
{
	struct dp_pair env = { "A", "\xff" };
	struct dp_container_response container = { .envs = &env, .n_envs = 1 };
	struct dp_allocate_response response = { &container, 1 };
	char text[4000];

	switch (mode) {
	case ANSWER_NOW:
		answer_allocate(call);
		return;
	case ANSWER_BAD_TEXT:
		endpoint_reply_allocate(call, &response);
		return;
	case ANSWER_LONG_TEXT:
		for (size_t i = 0; i < sizeof(text) - 2; i += 2)
			memcpy(text + i, "\xc3\xbc", 2);
		text[sizeof(text) - 2] = '\0';
		endpoint_call_fail(call, RPC_NOT_FOUND, "x%s", text);
		return;
	case ANSWER_LATER:
	default:
		kept = call;
		return;
	}
}

static const struct endpoint_ops ops = { .preferred = on_preferred, .allocate = on_allocate };

static void setup(void)
{
	static const struct dp_options options = { false, true };

	test_log_catch(false);
	mode = ANSWER_NOW;
	kept = NULL;
	ck_assert_int_ge(sd_event_new(&event), 0);
	endpoint_calls_init(&calls, event, &ops, NULL, &options, 30000);
}

static void teardown(void)
{
	endpoint_calls_done(&calls);
	event = sd_event_unref(event);
}

static void call_method(struct fake_call *c, int method, const char *hex)
{
	size_t len;
	uint8_t *bytes = test_from_hex(hex, &len);
	struct rpc_request req = { .method = method, .bytes = bytes, .len = len };

	*c = (struct fake_call){ .base.finish = finish };
	endpoint_calls_handle(&calls, &c->base, &req);
	free(bytes);
}

static const struct {
	const char *what;
	int method;
	const char *hex;
	enum rpc_status status;
	const char *answer; /* hex */
} cases[] = {
	{ "options", ENDPOINT_GET_OPTIONS, "", RPC_OK, "1001" },
	{ "options, malformed", ENDPOINT_GET_OPTIONS, "0a", RPC_INVALID_ARGUMENT, NULL },
	{ "preferred", ENDPOINT_PREFERRED, "0a0b0a01610a01621201621801", RPC_OK, "0a030a0162" },
	{ "preferred, malformed", ENDPOINT_PREFERRED, "0a05", RPC_INVALID_ARGUMENT, NULL },
	{ "allocate", ENDPOINT_ALLOCATE, "0a030a0161", RPC_OK, "0a00" },
	{ "allocate of nothing", ENDPOINT_ALLOCATE, "", RPC_OK, "0a00" },
	{ "allocate, NUL in an id", ENDPOINT_ALLOCATE, "0a030a0100", RPC_INVALID_ARGUMENT, NULL },
	{ "pre-start without a function", ENDPOINT_PRE_START, "0a0161", RPC_OK, "" },
	{ "pre-start, malformed", ENDPOINT_PRE_START, "0801", RPC_INVALID_ARGUMENT, NULL },
	{ "no such method", 17, "", RPC_UNIMPLEMENTED, NULL },
};

START_TEST(each_method_answers)
{
	struct fake_call c;

	call_method(&c, cases[_i].method, cases[_i].hex);
	ck_assert_msg(c.n_answers == 1, "%s: %u answers", cases[_i].what, c.n_answers);
	ck_assert_msg(c.status == cases[_i].status, "%s: %d", cases[_i].what, (int)c.status);
	if (cases[_i].answer) {
		size_t len;
		uint8_t *want = test_from_hex(cases[_i].answer, &len);

		ck_assert_uint_eq(c.len, len);
		ck_assert_mem_eq(c.bytes, want, len);
		free(want);
	} else {
		ck_assert_uint_gt(strlen(c.text), 0);
	}
	ck_assert(LIST_EMPTY(&calls.waiting));
}
END_TEST

START_TEST(too_many_containers_are_over_the_limits)
{
	char hex[4 * (DP_CONTAINERS_MAX + 1) + 1];
	struct fake_call c;

	for (size_t i = 0; i <= DP_CONTAINERS_MAX; i++)
		memcpy(hex + 4 * i, "0a00", 5);
	call_method(&c, ENDPOINT_ALLOCATE, hex);
	ck_assert_int_eq(c.status, RPC_RESOURCE_EXHAUSTED);
	ck_assert_ptr_nonnull(strstr(c.text, "64 containers"));
}
END_TEST

START_TEST(answers_may_come_later_and_out_of_order)
{
	struct endpoint_call *first;
	struct fake_call a, b;

	mode = ANSWER_LATER;
	call_method(&a, ENDPOINT_ALLOCATE, "");
	first = kept;
	call_method(&b, ENDPOINT_ALLOCATE, "");
	ck_assert_uint_eq(a.n_answers + b.n_answers, 0);
	answer_allocate(kept);
	ck_assert_uint_eq(b.n_answers, 1);
	ck_assert_int_eq(b.status, RPC_OK);
	ck_assert_uint_eq(a.n_answers, 0);
	endpoint_call_fail(first, RPC_NOT_FOUND, "no device '%s'", "x");
	ck_assert_uint_eq(a.n_answers, 1);
	ck_assert_int_eq(a.status, RPC_NOT_FOUND);
	ck_assert_str_eq(a.text, "no device 'x'");
	ck_assert(LIST_EMPTY(&calls.waiting));
}
END_TEST

static bool answered(void *userdata)
{
	return ((struct fake_call *)userdata)->n_answers > 0;
}

START_TEST(late_answers_are_dropped)
{
	struct fake_call c;

	mode = ANSWER_LATER;
	call_method(&c, ENDPOINT_ALLOCATE, "");
	if (_i) {
		endpoint_calls_done(&calls);
		ck_assert_int_eq(c.status, RPC_UNAVAILABLE);
	} else {
		ck_assert(test_run_until(event, answered, &c, 2000));
		ck_assert_int_eq(c.status, RPC_DEADLINE_EXCEEDED);
		ck_assert_uint_eq(test_log_count(LOG_WARNING), 1);
	}
	answer_allocate(kept);
	ck_assert_uint_eq(c.n_answers, 1);
}
END_TEST

START_TEST(answer_that_cannot_be_encoded_is_an_internal_error)
{
	struct fake_call c;

	test_log_catch(true);
	mode = ANSWER_BAD_TEXT;
	call_method(&c, ENDPOINT_ALLOCATE, "");
	ck_assert_int_eq(c.status, RPC_INTERNAL);
	ck_assert_uint_eq(test_log_count(LOG_ERR), 1);
}
END_TEST

START_TEST(long_text_is_cut_at_a_character)
{
	struct fake_call c;

	mode = ANSWER_LONG_TEXT;
	call_method(&c, ENDPOINT_ALLOCATE, "");
	ck_assert_uint_gt(strlen(c.text), 1000);
	ck_assert_uint_lt(strlen(c.text), 1024);
	ck_assert(dp_is_utf8(c.text));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("call");
	TCase *t = tcase_create("methods");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, each_method_answers, 0, (int)ARRAY_SIZE(cases));
	tcase_add_test(t, too_many_containers_are_over_the_limits);
	tcase_add_test(t, answers_may_come_later_and_out_of_order);
	tcase_add_loop_test(t, late_answers_are_dropped, 0, 2);
	tcase_add_test(t, answer_that_cannot_be_encoded_is_an_internal_error);
	tcase_add_test(t, long_text_is_cut_at_a_character);
	suite_add_tcase(s, t);
	return test_main(s);
}
