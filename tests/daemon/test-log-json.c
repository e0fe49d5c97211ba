/* SPDX-License-Identifier: Apache-2.0 */
/* The log as JSON: one message is one line that a parser takes, whatever bytes are in it. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "../unit/suite.h"
#include "log.h"

static int saved_stderr = -1;
static int pipe_fds[2];

static void capture(void)
{
	saved_stderr = dup(STDERR_FILENO);
	ck_assert_int_ge(saved_stderr, 0);
	ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
	ck_assert_int_ge(dup2(pipe_fds[1], STDERR_FILENO), 0);
}

/* What was logged since capture(), at most @size - 1 bytes. */
static void release(char *buf, size_t size)
{
	ssize_t n;

	ck_assert_int_ge(dup2(saved_stderr, STDERR_FILENO), 0);
	close(saved_stderr);
	close(pipe_fds[1]);
	n = read(pipe_fds[0], buf, size - 1);
	ck_assert_int_ge(n, 0);
	buf[n] = '\0';
	close(pipe_fds[0]);
}

/* Property: whatever is logged, a line of JSON comes out that says it. */
START_TEST(json_is_json)
{
	static const char *const messages[] = {
		"plain",
		"\"quoted\" \\ back",
		"line\nbreak\t\x01",
		"caf\xc3\xa9",
		"broken \xff\xfe utf8 \xc3",
		"\xed\xa0\x80 surrogate",
		"\xf4\x90\x80\x80 too far",
		"",
	};
	char text[512];
	json_error_t error;
	json_t *root;

	log_set_format(LOG_FORMAT_JSON);
	capture();
	log_warning("%s", messages[_i]);
	release(text, sizeof(text));
	log_set_format(LOG_FORMAT_TEXT);
	ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
	root = json_loads(text, 0, &error);
	ck_assert_msg(root != NULL, "%s: %s", error.text, text);
	ck_assert_str_eq(json_string_value(json_object_get(root, "level")), "warning");
	ck_assert_ptr_nonnull(json_object_get(root, "ts"));
	if (_i < 4)
		ck_assert_str_eq(json_string_value(json_object_get(root, "msg")), messages[_i]);
	json_decref(root);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log-json");
	TCase *tcase = tcase_create("log-json");

	tcase_add_loop_test(tcase, json_is_json, 0, 8);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
