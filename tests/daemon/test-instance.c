/* SPDX-License-Identifier: Apache-2.0 */
/* One instance per resource, with and without a directory for the lock. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../unit/suite.h"
#include "complaint.h"
#include "instance.h"
#include "log.h"

static char dir[64];
static char run_dir[80];
static char plugin_dir[80];
static unsigned n_warnings;

static void count_warnings(int priority, const char *message, void *userdata)
{
	if (priority == LOG_WARNING)
		n_warnings++;
}

static void setup(void)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/test-instance-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(run_dir, sizeof(run_dir), "%s/run", dir);
	(void)snprintf(plugin_dir, sizeof(plugin_dir), "%s/plugins", dir);
	n_warnings = 0;
	log_set_sink(count_warnings, NULL);
}

static void teardown(void)
{
	char command[128];

	log_set_sink(NULL, NULL);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	ck_assert_int_eq(system(command), 0);
}

static struct instance *must_take(const char *run, const char *plugins, const char *name)
{
	struct instance *instance = NULL;
	struct complaint why = { "" };

	ck_assert_msg(instance_new(run, plugins, name, &instance, &why) == 0, "%s", why.text);
	return instance;
}

static void must_fail(const char *run, const char *plugins, const char *name, const char *want)
{
	struct instance *instance = NULL;
	struct complaint why = { "" };

	ck_assert_int_eq(instance_new(run, plugins, name, &instance, &why), -EBUSY);
	ck_assert_str_eq(why.text, want);
	ck_assert_ptr_null(instance);
}

START_TEST(second_one_learns_who_has_it)
{
	struct instance *first = must_take(run_dir, plugin_dir, "hami.com/vgpu");
	char want[256];

	(void)snprintf(want, sizeof(want),
		       "hami.com/vgpu: another hami-dp serves it: pid %jd has the lock on "
		       "%s/hami.com_vgpu.lock",
		       (intmax_t)getpid(), run_dir);
	must_fail(run_dir, plugin_dir, "hami.com/vgpu", want);
	instance_free(first);
	instance_free(must_take(run_dir, plugin_dir, "hami.com/vgpu"));
	ck_assert_uint_eq(n_warnings, 0);
}
END_TEST

START_TEST(resources_do_not_meet)
{
	struct instance *a = must_take(run_dir, plugin_dir, "hami.com/a");
	struct instance *b = must_take(run_dir, plugin_dir, "hami.com/b");

	instance_free(a);
	instance_free(b);
}
END_TEST

/* Two containers with a run directory each, on the host's network and its plugin directory. */
START_TEST(private_run_directories_are_no_way_around)
{
	struct instance *first = must_take(run_dir, plugin_dir, "hami.com/vgpu");
	char other_run[96], want[256];

	(void)snprintf(other_run, sizeof(other_run), "%s/other", dir);
	(void)snprintf(want, sizeof(want), "hami.com/vgpu: another hami-dp serves %s: pid %jd",
		       plugin_dir, (intmax_t)getpid());
	must_fail(other_run, plugin_dir, "hami.com/vgpu", want);
	instance_free(first);
}
END_TEST

START_TEST(another_plugin_directory_is_another_kubelet)
{
	struct instance *first = must_take(run_dir, plugin_dir, "hami.com/vgpu");
	char other_run[96];

	(void)snprintf(other_run, sizeof(other_run), "%s/other", dir);
	instance_free(must_take(other_run, dir, "hami.com/vgpu"));
	instance_free(first);
}
END_TEST

START_TEST(no_run_directory_is_one_warning)
{
	struct instance *first = must_take("/proc/no/such/dir", plugin_dir, "hami.com/vgpu");
	char want[256];

	ck_assert_uint_eq(n_warnings, 1);
	(void)snprintf(want, sizeof(want), "hami.com/vgpu: another hami-dp serves %s: pid %jd",
		       plugin_dir, (intmax_t)getpid());
	must_fail("/proc/no/such/dir", plugin_dir, "hami.com/vgpu", want);
	instance_free(first);
}
END_TEST

/* A link in the way must not make us write somewhere else. */
START_TEST(link_is_not_followed)
{
	char link[128], target[128];
	struct stat st;

	ck_assert_int_eq(mkdir(run_dir, 0755), 0);
	(void)snprintf(link, sizeof(link), "%s/hami.com_vgpu.lock", run_dir);
	(void)snprintf(target, sizeof(target), "%s/target", dir);
	ck_assert_int_eq(symlink(target, link), 0);
	instance_free(must_take(run_dir, plugin_dir, "hami.com/vgpu"));
	ck_assert_uint_eq(n_warnings, 1);
	ck_assert_int_lt(stat(target, &st), 0);
}
END_TEST

START_TEST(lock_file_is_private_and_names_us)
{
	struct instance *first = must_take(run_dir, plugin_dir, "hami.com/vgpu");
	char path[128], text[32] = "", want[32];
	struct stat st;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/hami.com_vgpu.lock", run_dir);
	(void)snprintf(want, sizeof(want), "%jd\n", (intmax_t)getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
	ck_assert_str_eq(text, want);
	instance_free(first);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_size, 0);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("instance");
	TCase *tcase = tcase_create("instance");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, second_one_learns_who_has_it);
	tcase_add_test(tcase, resources_do_not_meet);
	tcase_add_test(tcase, private_run_directories_are_no_way_around);
	tcase_add_test(tcase, another_plugin_directory_is_another_kubelet);
	tcase_add_test(tcase, no_run_directory_is_one_warning);
	tcase_add_test(tcase, link_is_not_followed);
	tcase_add_test(tcase, lock_file_is_private_and_names_us);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
