/* SPDX-License-Identifier: Apache-2.0 */
/* The log: what each verbosity shows, and that one message is one line whatever is in it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

START_TEST(verbosity_selects)
{
	static const struct {
		int verbosity;
		const char *shown;
	} cases[] = {
		{ 0, "e\n" },		{ 1, "e\nw\n" },       { 2, "e\nw\ni\n" },
		{ 3, "e\nw\ni\n" },	{ 4, "e\nw\ni\nd\n" }, { 6, "e\nw\ni\nd\n" },
		{ 10, "e\nw\ni\nd\n" },
	};
	char text[256];

	log_set_verbosity(cases[_i].verbosity);
	capture();
	log_err("e");
	log_warning("w");
	log_info("i");
	log_debug("d");
	release(text, sizeof(text));
	ck_assert_str_eq(text, cases[_i].shown);
	ck_assert_int_eq(log_level_enabled(6), cases[_i].verbosity >= 6);
}
END_TEST

START_TEST(control_characters_do_not_break_lines)
{
	char text[256];

	capture();
	log_err("pod '%s' failed", "a\nb\033[31m\tc");
	release(text, sizeof(text));
	ck_assert_str_eq(text, "pod 'a b [31m c' failed\n");
}
END_TEST

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

/* Must run in a process that has not logged yet: the answer is kept. */
START_TEST(journal_gets_priorities)
{
	char text[256], stream[64];
	struct stat st;

	capture();
	ck_assert_int_eq(fstat(STDERR_FILENO, &st), 0);
	(void)snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev,
		       (uintmax_t)st.st_ino);
	ck_assert_int_eq(setenv("JOURNAL_STREAM", stream, 1), 0);
	log_set_verbosity(4);
	log_err("e");
	log_debug("d");
	release(text, sizeof(text));
	ck_assert_str_eq(text, "<3>e\n<7>d\n");
}
END_TEST

START_TEST(long_messages_are_whole)
{
	char message[5000], text[5200];

	memset(message, 'x', sizeof(message) - 1);
	message[sizeof(message) - 1] = '\0';
	capture();
	log_err("%s", message);
	release(text, sizeof(text));
	ck_assert_uint_eq(strlen(text), sizeof(message));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log");
	TCase *tcase = tcase_create("log");
	TCase *journal = tcase_create("journal");
	const char *no_fork = getenv("CK_FORK");

	tcase_add_loop_test(tcase, verbosity_selects, 0, 7);
	tcase_add_test(tcase, control_characters_do_not_break_lines);
	tcase_add_loop_test(tcase, json_is_json, 0, 8);
	tcase_add_test(tcase, long_messages_are_whole);
	suite_add_tcase(suite, tcase);
	if (!no_fork || strcmp(no_fork, "no") != 0) /* it asks for a process of its own */
		tcase_add_test(journal, journal_gets_priorities);
	suite_add_tcase(suite, journal);
	return suite_run(suite);
}
