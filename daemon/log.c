/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's log sink: formats one line and writes it under a lock, so that lines of different
 * threads do not mix; never waits for a reader for long. Knows nothing about who logs.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "log.h"
#include "utf8.h"

#define LINE_MAX_LEN 65536
#define LINE_STACK_LEN 1024
#define STUCK_MS 200 /* this long a reader is waited for, once */

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

/* C0, DEL and C1, which is two bytes from U+0080 on: they break a line apart or fool a terminal. */
static bool is_control(const unsigned char *s)
{
	return s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0);
}

static void put_text(FILE *f, const char *s)
{
	while (*s) {
		size_t n = utf8_len(s);

		if (n && !is_control((const unsigned char *)s))
			(void)fwrite(s, 1, n, f);
		else
			(void)fputc(n ? ' ' : '?', f);
		s += n ? n : 1;
	}
}

/* Readers of JSON refuse a line for one byte that is not UTF-8. */
static void put_json(FILE *f, const char *s)
{
	while (*s) {
		unsigned char c = (unsigned char)*s;
		size_t n = utf8_len(s);

		if (c == '"' || c == '\\')
			(void)fprintf(f, "\\%c", c);
		else if (n && is_control((const unsigned char *)s))
			(void)fprintf(f, "\\u%04x", n == 2 ? (unsigned char)s[1] : c);
		else if (!n)
			(void)fputs("\\ufffd", f);
		else
			(void)fwrite(s, 1, n, f);
		s += n ? n : 1;
	}
}

/* What writes has it; under it are the two below. */
static pthread_mutex_t write_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long n_lost; /* lines since somebody last read */
static bool is_cut;	     /* the last line has no end */

/* In pieces that a pipe takes whole once it takes anything, so that no write blocks. */
static bool write_all(const char *text, size_t len, int wait_ms)
{
	struct pollfd fd = { .fd = STDERR_FILENO, .events = POLLOUT };

	while (len) {
		size_t size = len < PIPE_BUF ? len : PIPE_BUF;
		ssize_t n = -1;

		errno = EAGAIN;
		if (poll(&fd, 1, wait_ms) > 0)
			n = write(STDERR_FILENO, text, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno != EAGAIN; /* anything else is no reader's doing */
		text += n;
		len -= (size_t)n;
		is_cut = len > 0;
	}
	return true;
}

/*
 * A log that nobody reads must not stop the daemon: while its reader is stuck lines are dropped,
 * and afterwards their number is told.
 */
static void write_or_drop(const char *line, size_t len)
{
	char lost[96] = "";

	(void)pthread_mutex_lock(&write_lock);
	if (n_lost)
		(void)snprintf(lost, sizeof(lost), "%s%lu log lines lost, nobody read them\n",
			       is_cut ? "\n" : "", n_lost);
	if (!write_all(lost, strlen(lost), 0)) {
		n_lost++;
	} else {
		n_lost = write_all(line, len, n_lost ? 0 : STUCK_MS) ? 0 : 1;
	}
	(void)pthread_mutex_unlock(&write_lock);
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
		write_or_drop(line, len);
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
