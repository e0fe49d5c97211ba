/* SPDX-License-Identifier: Apache-2.0 */
/* The log's lines, as they come out of stderr. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helper.h"
#include "log.h"

static int pipe_fds[2], saved_stderr;
static char out[131072];

static void setup(void)
{
	ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK), 0);
	saved_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	ck_assert_int_ge(dup2(pipe_fds[1], STDERR_FILENO), 0);
	log_set_sink(NULL, NULL);
	log_set_verbosity(2);
	log_set_format(LOG_FORMAT_TEXT);
	(void)unsetenv("JOURNAL_STREAM");
}

static void teardown(void)
{
	(void)dup2(saved_stderr, STDERR_FILENO);
	(void)close(saved_stderr);
	(void)close(pipe_fds[0]);
	(void)close(pipe_fds[1]);
}

static const char *read_out(void)
{
	ssize_t n = read(pipe_fds[0], out, sizeof(out) - 1);

	out[n > 0 ? n : 0] = '\0';
	return out;
}

static const struct {
	int verbosity;
	const char *expect;
} levels[] = {
	{ -1, "e\n" },	    { 0, "e\n" },	   { 1, "e\nw\n" },	   { 2, "e\nw\ni\n" },
	{ 3, "e\nw\ni\n" }, { 4, "e\nw\ni\nd\n" }, { 99, "e\nw\ni\nd\n" },
};

START_TEST(verbosity_chooses_the_lines)
{
	log_set_verbosity(levels[_i].verbosity);
	log_err("e");
	log_warning("w");
	log_info("i");
	log_debug("d");
	ck_assert_str_eq(read_out(), levels[_i].expect);
}
END_TEST

START_TEST(a_line_stays_a_line)
{
	log_info("id '%s'", "a\nb\tc\x1b[0m");
	ck_assert_str_eq(read_out(), "id 'a b c [0m'\n");
}
END_TEST

START_TEST(json_is_escaped)
{
	const char *msg;

	log_set_format(LOG_FORMAT_JSON);
	log_warning("say \"%s\"\\\n", "x");
	msg = strstr(read_out(), "\"level\"");
	ck_assert_ptr_nonnull(msg);
	ck_assert_str_eq(msg, "\"level\":\"warning\",\"msg\":\"say \\\"x\\\"\\\\\\u000a\"}\n");
}
END_TEST

START_TEST(journal_gets_the_priority)
{
	struct stat st;
	char env[64];

	ck_assert_int_eq(fstat(STDERR_FILENO, &st), 0);
	(void)snprintf(env, sizeof(env), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	ck_assert_int_eq(setenv("JOURNAL_STREAM", env, 1), 0);
	log_err("e");
	ck_assert_str_eq(read_out(), "<3>e\n");
}
END_TEST

START_TEST(long_lines_come_whole_and_endless_ones_cut)
{
	char text[40000];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	log_info("%s", text);
	ck_assert_uint_eq(strlen(read_out()), sizeof(text));
	log_info("%s%s", text, text);
	ck_assert_uint_eq(strlen(read_out()), 65536);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("log");
	TCase *t = tcase_create("lines");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, verbosity_chooses_the_lines, 0, (int)ARRAY_SIZE(levels));
	tcase_add_test(t, a_line_stays_a_line);
	tcase_add_test(t, json_is_escaped);
	tcase_add_test(t, long_lines_come_whole_and_endless_ones_cut);
	tcase_add_test(t, journal_gets_the_priority);
	suite_add_tcase(s, t);
	return test_main(s);
}
