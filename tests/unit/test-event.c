/* SPDX-License-Identifier: Apache-2.0 */

/* The bounded queue of events. */

#include <string.h>

#include "event.h"
#include "suite.h"

static struct hdp_event_queue queue;

static void push(uint64_t code)
{
	const struct hdp_event_info info = {
		.type = HAMIDP_EVENT_ERROR, .time_us = 1000 + code, .device = "GPU-a", .code = code
	};

	hdp_event_push(&queue, &info, "GPU-a: error %u", (unsigned)code);
}

static void setup(void)
{
	memset(&queue, 0, sizeof(queue));
}

static void teardown(void)
{
	hdp_event_queue_done(&queue);
}

START_TEST(events_come_in_order_with_all_they_were_given)
{
	const struct hdp_event_info info = { .type = HAMIDP_EVENT_HEALTH,
					     .time_us = 7,
					     .device = "GPU-b",
					     .health = HAMIDP_HEALTH_GONE };
	struct hamidp_event *event;

	ck_assert_ptr_null(hdp_event_pop(&queue));
	push(5);
	hdp_event_push(&queue, &info, "%s", "GPU-b: gone");
	event = hdp_event_pop(&queue);
	ck_assert_int_eq(hamidp_event_type(event), HAMIDP_EVENT_ERROR);
	ck_assert_uint_eq(hamidp_event_code(event), 5);
	ck_assert_uint_eq(hamidp_event_time_us(event), 1005);
	ck_assert_str_eq(hamidp_event_text(event), "GPU-a: error 5");
	ck_assert_str_eq(hamidp_event_device(event), "GPU-a");
	ck_assert_str_eq(hamidp_event_grant(event), "");
	hamidp_event_free(event);
	event = hdp_event_pop(&queue);
	ck_assert_int_eq(hamidp_event_health(event), HAMIDP_HEALTH_GONE);
	hamidp_event_free(event);
	ck_assert_ptr_null(hdp_event_pop(&queue));
}
END_TEST

START_TEST(what_does_not_fit_pushes_out_the_oldest_and_is_told)
{
	struct hamidp_event *event;
	size_t n = 0;

	for (unsigned i = 0; i < 3 * HDP_EVENTS_MAX; i++)
		push(i);
	event = hdp_event_pop(&queue);
	ck_assert_int_eq(hamidp_event_type(event), HAMIDP_EVENT_LOST);
	ck_assert_str_eq(hamidp_event_device(event), "");
	hamidp_event_free(event);
	while ((event = hdp_event_pop(&queue))) {
		ck_assert_int_eq(hamidp_event_type(event), HAMIDP_EVENT_ERROR);
		ck_assert_uint_eq(hamidp_event_code(event), 2 * HDP_EVENTS_MAX + 1 + n);
		hamidp_event_free(event);
		n++;
	}
	ck_assert_uint_eq(n, HDP_EVENTS_MAX - 1);
}
END_TEST

START_TEST(long_texts_are_cut)
{
	const struct hdp_event_info info = { .type = HAMIDP_EVENT_GRANTED };
	struct hamidp_event *event;
	char text[5000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	hdp_event_push(&queue, &info, "%s", text);
	event = hdp_event_pop(&queue);
	ck_assert_uint_gt(strlen(hamidp_event_text(event)), 100);
	ck_assert_uint_lt(strlen(hamidp_event_text(event)), 1024);
	hamidp_event_free(event);
}
END_TEST

START_TEST(every_type_has_a_name_of_its_own)
{
	for (int i = HAMIDP_EVENT_DRIVER; i <= HAMIDP_EVENT_LOST; i++) {
		ck_assert_str_ne(hamidp_event_type_to_string((enum hamidp_event_type)i), "unknown");
		for (int j = HAMIDP_EVENT_DRIVER; j < i; j++)
			ck_assert_str_ne(hamidp_event_type_to_string((enum hamidp_event_type)i),
					 hamidp_event_type_to_string((enum hamidp_event_type)j));
	}
	ck_assert_str_eq(hamidp_event_type_to_string((enum hamidp_event_type)0), "unknown");
	ck_assert_str_eq(hamidp_event_type_to_string((enum hamidp_event_type)99), "unknown");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("event");
	TCase *tc = tcase_create("event");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, events_come_in_order_with_all_they_were_given);
	tcase_add_test(tc, what_does_not_fit_pushes_out_the_oldest_and_is_told);
	tcase_add_test(tc, long_texts_are_cut);
	tcase_add_test(tc, every_type_has_a_name_of_its_own);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
