/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon's tests share: a loop with a limit, temporary directories, counts. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "helper.h"
#include "log.h"

static void (*extra_poll)(void);
static bool errors_allowed;
static char last_line[8][512];
static unsigned n_lines[8];

uint64_t test_now_us(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

void test_set_poll(void (*poll_fn)(void))
{
	extra_poll = poll_fn;
}

bool test_run_until(sd_event *event, test_done_fn done, void *userdata, unsigned timeout_ms)
{
	uint64_t end_us = test_now_us() + (uint64_t)timeout_ms * 1000;

	while (!done(userdata)) {
		if (test_now_us() >= end_us)
			return false;
		ck_assert_int_ge(sd_event_run(event, 1000), 0);
		if (extra_poll)
			extra_poll();
	}
	return true;
}

static bool never(void *userdata)
{
	return false;
}

void test_run_for(sd_event *event, unsigned ms)
{
	(void)test_run_until(event, never, NULL, ms);
}

char *test_temp_dir(void)
{
	const char *base = getenv("TMPDIR");
	char *dir;

	ck_assert_int_ge(asprintf(&dir, "%s/hami-test-XXXXXX", base ? base : "/tmp"), 0);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	return dir;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void test_temp_remove(const char *dir)
{
	(void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

char *test_path(const char *dir, const char *name)
{
	char *path;

	ck_assert_int_ge(asprintf(&path, "%s/%s", dir, name), 0);
	return path;
}

unsigned test_n_entries(const char *dir)
{
	DIR *d = opendir(dir);
	unsigned n = 0;

	ck_assert_ptr_nonnull(d);
	for (struct dirent *entry = readdir(d); entry; entry = readdir(d))
		n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	(void)closedir(d);
	return n;
}

unsigned test_n_fds(void)
{
	return test_n_entries("/proc/self/fd") - 1;
}

size_t test_rss_kib(const char *field)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	size_t kib = 0;

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f))
		if (strncmp(line, field, strlen(field)) == 0)
			kib = strtoul(line + strlen(field), NULL, 10);
	(void)fclose(f);
	return kib;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif

bool test_is_valgrind(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload && strstr(preload, "vgpreload");
}

size_t test_growth_kib(size_t before_kib)
{
#ifdef IS_SANITIZED
	return 0;
#else
	size_t now_kib = test_rss_kib("VmRSS:");

	return now_kib > before_kib && !test_is_valgrind() ? now_kib - before_kib : 0;
#endif
}

static void fill_addr(struct sockaddr_un *addr, const char *path)
{
	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	ck_assert_uint_lt(strlen(path), sizeof(addr->sun_path));
	memcpy(addr->sun_path, path, strlen(path));
}

int test_connect(const char *path)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un addr;

	if (fd < 0)
		return -errno;
	fill_addr(&addr, path);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		int r = -errno;

		(void)close(fd);
		return r;
	}
	return fd;
}

int test_bind(const char *path, int type, bool do_listen)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un addr;

	ck_assert_int_ge(fd, 0);
	fill_addr(&addr, path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	if (do_listen)
		ck_assert_int_eq(listen(fd, 64), 0);
	return fd;
}

unsigned test_count(unsigned full)
{
	const char *env = getenv("HAMI_LONG");

	if (env && strcmp(env, "1") == 0)
		return full;
	return full / 20 ? full / 20 : 1;
}

uint64_t test_seed(void)
{
	const char *env = getenv("HAMI_SEED");
	uint64_t seed = env ? strtoull(env, NULL, 0) : (uint64_t)time(NULL);

	(void)fprintf(stderr, "seed %ju\n", (uintmax_t)seed);
	return seed * 2654435761U | 1;
}

uint64_t test_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 11;
}

uint8_t *test_read_file(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "re");
	uint8_t *buf = malloc(1 << 20);

	ck_assert_msg(f != NULL, "%s", path);
	ck_assert_ptr_nonnull(buf);
	*ret_len = fread(buf, 1, 1 << 20, f);
	(void)fclose(f);
	return buf;
}

static unsigned hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *p = strchr(digits, c);

	ck_assert_ptr_nonnull(p);
	return (unsigned)(p - digits);
}

uint8_t *test_from_hex(const char *hex, size_t *ret_len)
{
	size_t len = strlen(hex) / 2;
	uint8_t *buf = malloc(len + 1);

	ck_assert_ptr_nonnull(buf);
	for (size_t i = 0; i < len; i++)
		buf[i] = (uint8_t)(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]));
	*ret_len = len;
	return buf;
}

/* gRPC's threads log too, but at LOG_WARNING: a plain copy is good enough for tests. */
static void catch_line(int priority, const char *message, void *userdata)
{
	if (priority == LOG_ERR && !errors_allowed) {
		(void)fprintf(stderr, "unexpected error line: %s\n", message);
		abort();
	}
	(void)snprintf(last_line[priority & 7], sizeof(last_line[0]), "%s", message);
	__atomic_add_fetch(&n_lines[priority & 7], 1, __ATOMIC_RELAXED);
	if (getenv("HAMI_TEST_VERBOSE")) {
		log_set_verbosity(6);
		(void)fprintf(stderr, "%ju <%d>%s\n", (uintmax_t)test_now_us(), priority, message);
	}
}

void test_log_catch(bool allow_errors)
{
	errors_allowed = allow_errors;
	memset(last_line, 0, sizeof(last_line));
	memset(n_lines, 0, sizeof(n_lines));
	log_set_sink(catch_line, NULL);
}

const char *test_log_last(int priority)
{
	return last_line[priority & 7];
}

unsigned test_log_count(int priority)
{
	return __atomic_load_n(&n_lines[priority & 7], __ATOMIC_RELAXED);
}

int test_main(Suite *s)
{
	SRunner *runner = srunner_create(s);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
