/* SPDX-License-Identifier: Apache-2.0 */
/* The listening socket's file, and the watch on such files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "helper.h"
#include "kubelet-watch.h"
#include "listener.h"
#include "log.h"

static sd_event *event;
static char *dir, *path;
static struct listener *l;
static unsigned n_accepted, n_changes;
static int accepted_fds[256];
static struct kubelet_identity seen;

static int on_accept(int fd, void *userdata)
{
	accepted_fds[n_accepted++] = fd;
	return 0;
}

static void on_change(const struct kubelet_identity *now, void *userdata)
{
	seen = *now;
	n_changes++;
}

static void setup(void)
{
	test_log_catch(false);
	n_accepted = n_changes = 0;
	seen = (struct kubelet_identity){ 0 };
	ck_assert_int_ge(sd_event_new(&event), 0);
	dir = test_temp_dir();
	path = test_path(dir, "hami.com_vgpu.sock");
	ck_assert_int_eq(listener_new(event, path, on_accept, NULL, &l), 0);
}

static void teardown(void)
{
	l = listener_free(l);
	for (unsigned i = 0; i < n_accepted; i++)
		(void)close(accepted_fds[i]);
	test_temp_remove(dir);
	free(path);
	free(dir);
	event = sd_event_unref(event);
}

static bool accepted(void *userdata)
{
	return n_accepted >= *(unsigned *)userdata;
}

static void expect_reachable(void)
{
	unsigned want = n_accepted + 1;
	int fd = test_connect(path);

	ck_assert_int_ge(fd, 0);
	ck_assert(test_run_until(event, accepted, &want, 2000));
	(void)close(fd);
}

START_TEST(mode_is_0600_under_any_umask)
{
	static const mode_t masks[] = { 0, 022, 077 };
	struct stat st;
	mode_t old = umask(masks[_i]);

	ck_assert_int_eq(listener_open(l), 0);
	(void)umask(old);
	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert(S_ISSOCK(st.st_mode));
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	ck_assert_uint_eq(test_n_entries(dir), 1); /* no temporary name is left */
	expect_reachable();
}
END_TEST

START_TEST(stale_socket_is_replaced)
{
	(void)close(test_bind(path, SOCK_STREAM, true));
	ck_assert_int_eq(listener_open(l), 0);
	expect_reachable();
}
END_TEST

START_TEST(live_instance_is_refused_and_untouched)
{
	int other = test_bind(path, _i ? SOCK_DGRAM : SOCK_STREAM, !_i), fd;

	ck_assert_int_eq(listener_open(l), -EADDRINUSE);
	ck_assert_ptr_nonnull(strstr(listener_reason(l, -EADDRINUSE), path));
	if (!_i) {
		fd = test_connect(path);
		ck_assert_int_ge(fd, 0);
		(void)close(fd);
	}
	l = listener_free(l);
	ck_assert_int_eq(access(path, F_OK), 0);
	(void)close(other);
}
END_TEST

START_TEST(instance_with_a_full_backlog_is_alive)
{
	int other = test_bind(path, SOCK_STREAM, false), fds[2];

	ck_assert_int_eq(listen(other, 0), 0);
	fds[0] = test_connect(path);
	fds[1] = test_connect(path);
	ck_assert_int_eq(fds[1], -EAGAIN);
	ck_assert_int_eq(listener_open(l), -EADDRINUSE);
	(void)close(fds[0]);
	(void)close(other);
}
END_TEST

START_TEST(what_is_not_a_socket_is_refused_and_untouched)
{
	struct stat st;

	if (_i == 0)
		(void)close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	else if (_i == 1)
		ck_assert_int_eq(mkdir(path, 0700), 0);
	else
		ck_assert_int_eq(symlink("elsewhere", path), 0);
	ck_assert_int_eq(listener_open(l), -ENOTSOCK);
	ck_assert_ptr_nonnull(strstr(listener_reason(l, -ENOTSOCK), "not a socket"));
	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert_uint_eq(test_n_entries(dir), 1);
}
END_TEST

START_TEST(too_long_paths_are_refused)
{
	char name[160];
	struct listener *other;

	memset(name, 'a', sizeof(name));
	name[0] = '/';
	name[107] = '\0';
	ck_assert_int_eq(listener_new(event, name, on_accept, NULL, &other), 0);
	other = listener_free(other);
	name[107] = 'a';
	name[108] = '\0';
	ck_assert_int_eq(listener_new(event, name, on_accept, NULL, &other), -ENAMETOOLONG);
	ck_assert_int_eq(listener_new(event, "no-slash", on_accept, NULL, &other), -EINVAL);
	ck_assert_int_eq(listener_new(event, "/tmp/", on_accept, NULL, &other), -EINVAL);
}
END_TEST

START_TEST(missing_directory_is_told)
{
	test_temp_remove(dir);
	ck_assert_int_eq(listener_open(l), -ENOENT);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	ck_assert_int_eq(listener_open(l), 0);
	expect_reachable();
}
END_TEST

START_TEST(file_is_removed_at_the_end_only_if_it_is_still_ours)
{
	struct listener *other;
	struct stat st;

	ck_assert_int_eq(listener_open(l), 0);
	ck_assert(listener_is_current(l));
	ck_assert_int_eq(unlink(path), 0);
	ck_assert(!listener_is_current(l));
	/* The successor; on ext4 it would get the same inode number, were ours not pinned. */
	ck_assert_int_eq(listener_new(event, path, on_accept, NULL, &other), 0);
	ck_assert_int_eq(listener_open(other), 0);
	l = listener_free(l);
	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert(listener_is_current(other));
	expect_reachable();
	other = listener_free(other);
	ck_assert_int_eq(lstat(path, &st), -1);
}
END_TEST

START_TEST(listening_again_after_each_wipe_grows_nothing)
{
	unsigned n = test_count(4000), before = 0;

	for (unsigned i = 0; i < n; i++) {
		ck_assert_int_eq(listener_open(l), 0);
		ck_assert_int_eq(listener_open(l), 0); /* nothing to do */
		if (i == 0)
			before = test_n_fds();
		ck_assert_int_eq(unlink(path), 0);
	}
	ck_assert_uint_eq(test_n_fds(), before);
	ck_assert_int_eq(listener_open(l), 0);
	expect_reachable();
	ck_assert_uint_eq(test_n_entries(dir), 1);
}
END_TEST

/* accept() fails for want of fds while the socket stays readable. */
START_TEST(fd_shortage_burns_no_cpu_and_ends)
{
	struct rlimit old, low;
	int clients[40];
	struct rusage use0, use1;
	unsigned want = ARRAY_SIZE(clients);

	if (test_is_valgrind()) /* has a limit of its own */
		return;
	ck_assert_int_eq(listener_open(l), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(clients); i++) {
		clients[i] = test_connect(path);
		ck_assert_int_ge(clients[i], 0);
	}
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = old;
	low.rlim_cur = (rlim_t)clients[ARRAY_SIZE(clients) - 1] + 4;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	test_run_for(event, 50);
	ck_assert_uint_lt(n_accepted, ARRAY_SIZE(clients));
	(void)getrusage(RUSAGE_SELF, &use0);
	test_run_for(event, 300);
	(void)getrusage(RUSAGE_SELF, &use1);
	/* The test's own loop turns each ms; a hot loop would take all of the 300. */
	ck_assert_int_lt((use1.ru_utime.tv_sec - use0.ru_utime.tv_sec) * 1000000 +
				 (use1.ru_utime.tv_usec - use0.ru_utime.tv_usec) +
				 (use1.ru_stime.tv_sec - use0.ru_stime.tv_sec) * 1000000 +
				 (use1.ru_stime.tv_usec - use0.ru_stime.tv_usec),
			 100000);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	ck_assert(test_run_until(event, accepted, &want, 2000));
	for (unsigned i = 0; i < ARRAY_SIZE(clients); i++)
		(void)close(clients[i]);
}
END_TEST

/* The watch */

static bool changed(void *userdata)
{
	return n_changes >= *(unsigned *)userdata;
}

static void expect_change(unsigned n, bool present)
{
	ck_assert_msg(test_run_until(event, changed, &n, 3000), "no change came");
	ck_assert_int_eq(seen.present, present);
}

START_TEST(watch_tells_a_new_socket_from_the_old_one)
{
	struct kubelet_watch *w;
	uint64_t first;
	int fd;

	fd = test_bind(path, SOCK_STREAM, true);
	ck_assert_int_eq(kubelet_watch_new(event, path, on_change, NULL, &w), 0);
	ck_assert(kubelet_watch_get(w)->present);
	first = kubelet_watch_get(w)->generation;
	/* Events that change nothing. */
	ck_assert_int_eq(chmod(path, 0700), 0);
	ck_assert_int_eq(listener_open(l), -EADDRINUSE);
	test_run_for(event, 50);
	ck_assert_uint_eq(n_changes, 0);
	(void)close(fd);
	ck_assert_int_eq(unlink(path), 0);
	fd = test_bind(path, SOCK_STREAM, true);
	test_run_for(event, 50);
	ck_assert_uint_ge(n_changes, 1);
	ck_assert(seen.present);
	ck_assert_uint_ne(seen.generation, first);
	n_changes = 0;
	ck_assert_int_eq(unlink(path), 0);
	expect_change(1, false);
	ck_assert_uint_eq(seen.generation, 0);
	(void)close(fd);
	w = kubelet_watch_free(w);
}
END_TEST

START_TEST(watch_sees_every_one_of_many_replacements)
{
	unsigned n = test_count(2000);
	struct kubelet_watch *w;
	uint64_t last = 0;

	ck_assert_int_eq(kubelet_watch_new(event, path, on_change, NULL, &w), 0);
	for (unsigned i = 0; i < n; i++) {
		unsigned want = n_changes + 1;

		(void)unlink(path);
		(void)close(test_bind(path, SOCK_STREAM, true));
		ck_assert(test_run_until(event, changed, &want, 2000));
		ck_assert(kubelet_watch_get(w)->present);
		ck_assert_uint_gt(kubelet_watch_get(w)->generation, last);
		last = kubelet_watch_get(w)->generation;
	}
	w = kubelet_watch_free(w);
}
END_TEST

START_TEST(watch_survives_its_directory)
{
	char *deep = test_path(dir, "a/b"), *sock = test_path(dir, "a/b/kubelet.sock");
	char *a = test_path(dir, "a"), *away = test_path(dir, "away");
	struct kubelet_watch *w;

	ck_assert_int_eq(kubelet_watch_new(event, sock, on_change, NULL, &w), 0);
	for (unsigned round = 0; round < 3; round++) {
		n_changes = 0;
		ck_assert_int_eq(mkdir(a, 0700), 0);
		if (round)
			test_run_for(event, 5);
		ck_assert_int_eq(mkdir(deep, 0700), 0);
		if (round == 1)
			test_run_for(event, 5);
		(void)close(test_bind(sock, SOCK_STREAM, true));
		expect_change(1, true);
		if (round == 2) {
			ck_assert_int_eq(rename(deep, away), 0);
		} else {
			ck_assert_int_eq(unlink(sock), 0);
			ck_assert_int_eq(rmdir(deep), 0);
		}
		ck_assert_int_eq(rmdir(a), 0);
		expect_change(2, false);
	}
	w = kubelet_watch_free(w);
	free(away);
	free(a);
	free(sock);
	free(deep);
}
END_TEST

/* Somebody's working directory, say: then the directory does not tell of its own end. */
START_TEST(watch_sees_a_directory_go_that_somebody_holds_open)
{
	char *a = test_path(dir, "a"), *sock = test_path(dir, "a/kubelet.sock");
	struct kubelet_watch *w;
	int fd;

	ck_assert_int_eq(mkdir(a, 0700), 0);
	fd = open(a, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(kubelet_watch_new(event, sock, on_change, NULL, &w), 0);
	ck_assert_int_eq(rmdir(a), 0);
	test_run_for(event, 10);
	ck_assert_int_eq(mkdir(a, 0700), 0);
	test_run_for(event, 10);
	(void)close(test_bind(sock, SOCK_STREAM, true));
	expect_change(1, true);
	(void)close(fd);
	w = kubelet_watch_free(w);
	free(sock);
	free(a);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("listener");
	TCase *t = tcase_create("files");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, mode_is_0600_under_any_umask, 0, 3);
	tcase_add_test(t, stale_socket_is_replaced);
	tcase_add_loop_test(t, live_instance_is_refused_and_untouched, 0, 2);
	tcase_add_test(t, instance_with_a_full_backlog_is_alive);
	tcase_add_loop_test(t, what_is_not_a_socket_is_refused_and_untouched, 0, 3);
	tcase_add_test(t, too_long_paths_are_refused);
	tcase_add_test(t, missing_directory_is_told);
	tcase_add_test(t, file_is_removed_at_the_end_only_if_it_is_still_ours);
	tcase_add_test(t, listening_again_after_each_wipe_grows_nothing);
	tcase_add_test(t, fd_shortage_burns_no_cpu_and_ends);
	tcase_add_test(t, watch_tells_a_new_socket_from_the_old_one);
	tcase_add_test(t, watch_sees_every_one_of_many_replacements);
	tcase_add_test(t, watch_survives_its_directory);
	tcase_add_test(t, watch_sees_a_directory_go_that_somebody_holds_open);
	suite_add_tcase(s, t);
	return test_main(s);
}
