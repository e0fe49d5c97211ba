/* SPDX-License-Identifier: Apache-2.0 */

/* What people read: error codes, reasons, log messages, and the text they are made of. */

#include <errno.h>
#include <string.h>

#include <hami/hamidp.h>

#include "buffer.h"
#include "log.h"
#include "reason.h"
#include "suite.h"
#include "text.h"

START_TEST(every_error_code_has_its_own_words)
{
	static const int codes[] = { 0,	      -EINVAL, -ENOMEM,	    -ENODEV, -ENOENT,
				     -ENOSPC, -EBUSY,  -ESTALE,	    -EAGAIN, -ETIMEDOUT,
				     -EACCES, -EPROTO, -EOPNOTSUPP, -EIO };

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		ck_assert_str_ne(hamidp_strerror(codes[i]), "unknown error");
		for (size_t j = 0; j < i; j++)
			ck_assert_str_ne(hamidp_strerror(codes[i]), hamidp_strerror(codes[j]));
	}
	ck_assert_str_eq(hamidp_strerror(-EXDEV), "unknown error");
	ck_assert_str_eq(hamidp_strerror(EINVAL), "unknown error");
}
END_TEST

START_TEST(every_reason_code_has_its_own_name)
{
	for (int i = 0; i <= HAMIDP_REASON_SPLIT_DENIED; i++) {
		const char *name = hamidp_reason_code_to_string((enum hamidp_reason_code)i);

		ck_assert_str_ne(name, "unknown");
		for (int j = 0; j < i; j++)
			ck_assert_str_ne(name,
					 hamidp_reason_code_to_string((enum hamidp_reason_code)j));
	}
	ck_assert_str_eq(hamidp_reason_code_to_string(_HAMIDP_REASON_PAD), "unknown");
	ck_assert_str_eq(hamidp_reason_code_to_string(
				 (enum hamidp_reason_code)(HAMIDP_REASON_SPLIT_DENIED + 1)),
			 "unknown");
}
END_TEST

START_TEST(a_failure_fills_code_and_text_and_returns_the_error)
{
	struct hamidp_reason *reason = NULL;

	ck_assert_int_eq(hamidp_reason_new(&reason), 0);
	ck_assert_int_eq(hamidp_reason_code(reason), HAMIDP_REASON_NONE);
	ck_assert_str_eq(hamidp_reason_text(reason), "");

	ck_assert_int_eq(hdp_fail(reason, -EBUSY, HAMIDP_REASON_HELD, "slot %d is held", 3),
			 -EBUSY);
	hdp_reason_set_largest(reason, 7);
	ck_assert_int_eq(hamidp_reason_code(reason), HAMIDP_REASON_HELD);
	ck_assert_str_eq(hamidp_reason_text(reason), "slot 3 is held");
	ck_assert_uint_eq(hamidp_reason_largest(reason), 7);

	ck_assert_int_eq(hdp_fail(reason, -EIO, HAMIDP_REASON_STORE, "again: %s",
				  hamidp_reason_text(reason)),
			 -EIO);
	ck_assert_str_eq(hamidp_reason_text(reason), "again: slot 3 is held");
	ck_assert_uint_eq(hamidp_reason_largest(reason), 0);

	hdp_reason_clear(reason);
	ck_assert_int_eq(hamidp_reason_code(reason), HAMIDP_REASON_NONE);
	ck_assert_str_eq(hamidp_reason_text(reason), "");
	ck_assert_ptr_null(hamidp_reason_free(reason));
}
END_TEST

START_TEST(no_reason_is_accepted_everywhere)
{
	struct hamidp_reason kept = { .code = HAMIDP_REASON_HELD, .largest = 1, .text = "x" };

	ck_assert_int_eq(hdp_fail(NULL, -EIO, HAMIDP_REASON_STORE, "%s", "lost"), -EIO);
	ck_assert_int_eq(hdp_oom(NULL), -ENOMEM);
	hdp_reason_clear(NULL);
	hdp_reason_set_largest(NULL, 1);
	hdp_reason_copy(NULL, &kept);
	ck_assert_int_eq(hamidp_reason_code(NULL), HAMIDP_REASON_NONE);
	ck_assert_str_eq(hamidp_reason_text(NULL), "");
	ck_assert_uint_eq(hamidp_reason_largest(NULL), 0);
	ck_assert_ptr_null(hamidp_reason_free(NULL));

	hdp_reason_copy(&kept, NULL);
	ck_assert_int_eq(kept.code, HAMIDP_REASON_NONE);
}
END_TEST

static const struct {
	const char *what, *in, *out;
} texts[] = {
	{ "plain", "slot 3", "slot 3" },
	{ "two, three and four bytes", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
	  "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
	{ "newline, escape, delete", "a\nb\033c\177", "a?b?c?" },
	{ "C1 control", "a\xc2\x85z", "a??z" },
	{ "lone continuation", "a\x80z", "a?z" },
	{ "cut sequence", "a\xe2\x82", "a??" },
	{ "overlong slash", "\xc0\xaf", "??" },
	{ "overlong in three bytes", "\xe0\x80\xaf", "???" },
	{ "surrogate", "\xed\xa0\x80", "???" },
	{ "above U+10FFFF", "\xf4\x90\x80\x80", "????" },
	{ "five bytes", "\xf8\x88\x80\x80\x80", "?????" },
};

START_TEST(text_is_cleaned_to_one_valid_line)
{
	struct hamidp_reason reason;
	bool clean = strcmp(texts[_i].in, texts[_i].out) == 0;

	ck_assert_msg(hdp_text_valid(texts[_i].in, strlen(texts[_i].in)) == clean, "%s",
		      texts[_i].what);
	(void)hdp_fail(&reason, -EIO, HAMIDP_REASON_STORE, "%s", texts[_i].in);
	ck_assert_msg(strcmp(reason.text, texts[_i].out) == 0, "%s: %s", texts[_i].what,
		      reason.text);
}
END_TEST

/* Property: whatever is cut, what is left is valid and as long as it can be. */
START_TEST(long_text_is_cut_between_characters)
{
	static const char character[] = "\xe2\x82\xac"; /* three bytes */
	char text[HDP_REASON_TEXT_MAX * 3 + 1] = "";
	struct hamidp_reason reason;
	size_t len;

	memset(text, 'a', (size_t)_i);
	for (size_t i = (size_t)_i; i + 3 < sizeof(text); i += 3)
		memcpy(text + i, character, 4);

	(void)hdp_fail(&reason, -EIO, HAMIDP_REASON_STORE, "%s", text);
	len = strlen(reason.text);
	ck_assert_uint_lt(len, HDP_REASON_TEXT_MAX);
	ck_assert_uint_ge(len, HDP_REASON_TEXT_MAX - 3);
	ck_assert(hdp_text_valid(reason.text, len));
	ck_assert_ptr_null(strchr(reason.text, '?'));
	ck_assert_int_eq(strncmp(reason.text, text, len), 0);
}
END_TEST

struct seen {
	unsigned n;
	int priority;
	char func[64];
	char message[256];
};

static void sink(void *userdata, int priority, const char *func, const char *message)
{
	struct seen *seen = userdata;

	seen->n++;
	seen->priority = priority;
	strncpy(seen->func, func, sizeof(seen->func) - 1);
	strncpy(seen->message, message, sizeof(seen->message) - 1);
	errno = EXDEV;
}

START_TEST(log_messages_arrive_clean_and_keep_errno)
{
	struct seen seen = { 0 };
	struct hdp_log log = { .fn = sink, .userdata = &seen, .max_priority = LOG_INFO };

	errno = ENOENT;
	log_warning(&log, "card '%s' is odd\n", "x\ty");
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_uint_eq(seen.n, 1);
	ck_assert_int_eq(seen.priority, LOG_WARNING);
	ck_assert_ptr_nonnull(strstr(seen.func, "log_messages_arrive"));
	ck_assert_str_eq(seen.message, "card 'x?y' is odd");
}
END_TEST

START_TEST(messages_below_the_level_are_not_even_formatted)
{
	struct seen seen = { 0 };
	struct hdp_log log = { .fn = sink, .userdata = &seen, .max_priority = LOG_INFO };
	struct hdp_log silent = { .max_priority = LOG_DEBUG };
	int evaluated = 0;

	log_dbg(&log, "%d", ++evaluated);
	log_err(&silent, "%d", ++evaluated);
	ck_assert_int_eq(evaluated, 0);
	ck_assert_uint_eq(seen.n, 0);
	log_info(&log, "%d", ++evaluated);
	ck_assert_uint_eq(seen.n, 1);
}
END_TEST

START_TEST(buffers_escape_json_and_grow)
{
	static const char start[] =
		"\"a\\\"b\\\\c\\u000ad\\u0001\xc3\xa9\"18446744073709551615xyxy";
	struct hdp_buffer buffer = { 0 };
	size_t len = 0;
	char *text;

	ck_assert_ptr_null(hdp_buffer_take(&buffer, &len));
	hdp_buffer_json_string(&buffer, "a\"b\\c\nd\001\xc3\xa9");
	hdp_buffer_number(&buffer, UINT64_MAX);
	for (int i = 0; i < 1000; i++)
		hdp_buffer_put(&buffer, "xy");
	text = hdp_buffer_take(&buffer, &len);
	ck_assert_ptr_nonnull(text);
	ck_assert_uint_eq(len, strlen(text));
	ck_assert_uint_eq(len, strlen(start) + 2 * 998);
	ck_assert_int_eq(strncmp(text, start, strlen(start)), 0);
	free(text);
}
END_TEST

START_TEST(version_is_the_headers)
{
	ck_assert_str_eq(hamidp_version(), HAMIDP_VERSION);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("reason");
	TCase *t = tcase_create("reason");

	tcase_add_test(t, every_error_code_has_its_own_words);
	tcase_add_test(t, every_reason_code_has_its_own_name);
	tcase_add_test(t, a_failure_fills_code_and_text_and_returns_the_error);
	tcase_add_test(t, no_reason_is_accepted_everywhere);
	tcase_add_loop_test(t, text_is_cleaned_to_one_valid_line, 0, ARRAY_SIZE(texts));
	tcase_add_loop_test(t, long_text_is_cut_between_characters, 0, 6);
	tcase_add_test(t, log_messages_arrive_clean_and_keep_errno);
	tcase_add_test(t, messages_below_the_level_are_not_even_formatted);
	tcase_add_test(t, buffers_escape_json_and_grow);
	tcase_add_test(t, version_is_the_headers);
	suite_add_tcase(suite, t);
	return suite_run(suite);
}
