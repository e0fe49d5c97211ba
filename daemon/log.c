/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's log sink: formats one line and writes it with one write(2), so that lines of
 * different threads do not mix. Knows nothing about who logs.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "log.h"

#define LINE_MAX_LEN 65536
#define LINE_STACK_LEN 1024

static atomic_int max_verbosity = 2;
static atomic_int line_format = LOG_FORMAT_TEXT;
static log_sink_fn test_sink;
static void *test_sink_userdata;

static int verbosity_of(int priority)
{
	if (priority <= LOG_ERR)
		return 0;
	if (priority == LOG_WARNING)
		return 1;
	return priority <= LOG_INFO ? 2 : 4;
}

void log_set_verbosity(int verbosity)
{
	if (verbosity < 0)
		verbosity = 0;
	if (verbosity > LOG_VERBOSITY_MAX)
		verbosity = LOG_VERBOSITY_MAX;
	atomic_store(&max_verbosity, verbosity);
}

void log_set_format(enum log_format format)
{
	atomic_store(&line_format, (int)format);
}

void log_set_sink(log_sink_fn sink, void *userdata)
{
	test_sink = sink;
	test_sink_userdata = userdata;
}

bool log_level_enabled(int verbosity)
{
	return verbosity <= atomic_load_explicit(&max_verbosity, memory_order_relaxed);
}

bool log_priority_enabled(int priority)
{
	return log_level_enabled(verbosity_of(priority));
}

/* systemd sets JOURNAL_STREAM to "dev:inode" of the stderr it gave us. */
static bool stderr_is_journal(void)
{
	const char *env = getenv("JOURNAL_STREAM");
	char mine[64];
	struct stat st;

	if (!env || fstat(STDERR_FILENO, &st) < 0)
		return false;
	(void)snprintf(mine, sizeof(mine), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return strcmp(mine, env) == 0;
}

static const char *level_name(int priority)
{
	if (priority <= LOG_ERR)
		return "error";
	if (priority == LOG_WARNING)
		return "warning";
	return priority <= LOG_INFO ? "info" : "debug";
}

/* Control characters would break the line apart or fool a terminal. */
static void put_text(FILE *f, const char *s)
{
	for (; *s; s++)
		(void)fputc((unsigned char)*s < 0x20 || *s == 0x7f ? ' ' : *s, f);
}

/* Bytes of the UTF-8 character at @s, 0 if it is none. */
static size_t utf8_len(const unsigned char *s)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (s[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* Readers of JSON refuse a line for one byte that is not UTF-8. */
static void put_json(FILE *f, const char *s)
{
	while (*s) {
		unsigned char c = (unsigned char)*s;
		size_t n = utf8_len((const unsigned char *)s);

		if (c == '"' || c == '\\')
			(void)fprintf(f, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			(void)fprintf(f, "\\u%04x", c);
		else if (!n)
			(void)fputs("\\ufffd", f);
		else
			(void)fwrite(s, 1, n, f);
		s += n ? n : 1;
	}
}

static void write_line(int priority, const char *message)
{
	dp_cleanup_free char *line = NULL;
	struct timespec ts;
	size_t len = 0;
	FILE *f;

	f = open_memstream(&line, &len);
	if (!f)
		return;
	if (atomic_load(&line_format) == LOG_FORMAT_JSON) {
		(void)clock_gettime(CLOCK_REALTIME, &ts);
		(void)fprintf(f, "{\"ts\":%jd.%06ld,\"level\":\"%s\",\"msg\":\"",
			      (intmax_t)ts.tv_sec, ts.tv_nsec / 1000, level_name(priority));
		put_json(f, message);
		(void)fputs("\"}\n", f);
	} else {
		if (stderr_is_journal())
			(void)fprintf(f, "<%d>", priority);
		put_text(f, message);
		(void)fputc('\n', f);
	}
	if (fclose(f) == 0 && line)
		while (write(STDERR_FILENO, line, len) < 0 && errno == EINTR)
			;
}

void log_msg(int priority, const char *fmt, ...)
{
	dp_cleanup_free char *heap = NULL;
	char stack[LINE_STACK_LEN], *text = stack;
	int saved_errno = errno, n;
	va_list ap;

	if (!log_priority_enabled(priority))
		return;
	va_start(ap, fmt);
	n = vsnprintf(stack, sizeof(stack), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(stack)) {
		size_t size = n < LINE_MAX_LEN ? (size_t)n + 1 : LINE_MAX_LEN;

		heap = malloc(size);
		if (heap) {
			va_start(ap, fmt);
			(void)vsnprintf(heap, size, fmt, ap);
			va_end(ap);
			text = heap;
		}
	}
	if (n >= 0) {
		if (test_sink)
			test_sink(priority, text, test_sink_userdata);
		else
			write_line(priority, text);
	}
	errno = saved_errno;
}
