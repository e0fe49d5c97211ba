/* SPDX-License-Identifier: Apache-2.0 */

/* The search for libhamivgpu.so, and what is said of what it finds. */

#include <sys/stat.h>

#include "node-fixture.h"
#include "stand-in.h"
#include "suite.h"

static struct hamidp_node *node;

static void open_with(const char *driver, const struct hdp_driver *const *table)
{
	const struct hdp_node_parts parts = { .drivers = table, .store = &stand_in_store };
	struct hamidp_policy *policy = new_policy(4);
	struct hamidp_node_options opts = {
		.size = sizeof(opts),
		.driver = driver,
		.driver_root = dir,
		.policy = policy,
		.log_fn = fixture_log,
		.log_priority = LOG_DEBUG,
		.now_fn = fixture_now,
	};

	ck_assert_int_eq(hdp_node_open_with(&opts, &parts, &node, why), 0);
	hamidp_policy_free(policy);
}

static void setup(void)
{
	fixture_setup();
	stand_in_setup();
	node = NULL;
}

static void teardown(void)
{
	hamidp_node_close(node);
	stand_in_teardown();
	fixture_teardown();
}

static void make_dir(const char *name)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	ck_assert_int_eq(mkdir(path, 0755), 0);
}

/* The state must be no driver, with this sentence and the path of the file below the root. */
static void expect_failed_to_open(const char *name)
{
	char sentence[256];

	(void)snprintf(sentence, sizeof(sentence),
		       "failed to open HAMI driver library '%s/%s': ", dir, name);
	ck_assert_int_eq(state_of(node), -ENODEV);
	ck_assert_int_eq(hamidp_reason_code(why), HAMIDP_REASON_NO_DRIVER);
	ck_assert_msg(strncmp(hamidp_reason_text(why), sentence, strlen(sentence)) == 0,
		      "'%s' does not begin with '%s'", hamidp_reason_text(why), sentence);
	ck_assert_uint_gt(strlen(hamidp_reason_text(why)), strlen(sentence) + 10);
	ck_assert_msg(strstr(logged, sentence) && n_logged == 1, "logged: %s", logged);
}

START_TEST(missing_library_is_said_with_path_and_loader_s_words)
{
	open_with(_i ? "hamivgpu" : "auto", NULL);
	expect_failed_to_open("libhamivgpu.so");
	ck_assert_ptr_nonnull(strstr(hamidp_reason_text(why), "No such file or directory"));
	for (int i = 0; i < 10; i++)
		advance(node, 30);
	ck_assert_uint_eq(n_logged, 1);
}
END_TEST

START_TEST(file_that_is_no_library_is_said_with_its_own_path)
{
	char path[64];

	make_dir("lib64");
	(void)snprintf(path, sizeof(path), "%s/lib64/libhamivgpu.so", dir);
	put_file(path, "this is no library");
	open_with("auto", NULL);
	expect_failed_to_open("lib64/libhamivgpu.so");
}
END_TEST

START_TEST(directory_in_the_library_s_place_is_said)
{
	make_dir("libhamivgpu.so");
	open_with("auto", NULL);
	expect_failed_to_open("libhamivgpu.so");
}
END_TEST

static void link_library(const char *name)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	ck_assert_int_eq(symlink(HAMIDP_TEST_LIBRARY, path), 0);
}

static void expect_no_abi(void)
{
	ck_assert_int_eq(state_of(node), -ENODEV);
	ck_assert_int_eq(hamidp_reason_code(why), HAMIDP_REASON_NO_DRIVER);
	ck_assert_ptr_nonnull(strstr(hamidp_reason_text(why), "no supported driver ABI"));
	ck_assert_ptr_nonnull(strstr(hamidp_reason_text(why), "hamivgpu.so"));
	ck_assert_msg(n_logged == 1 && strstr(logged, "no supported driver ABI"), "%s", logged);
}

START_TEST(library_that_opens_is_refused_with_one_line)
{
	static const char *const below[] = { "", "lib", "lib64" };

	if (below[_i][0])
		make_dir(below[_i]);
	link_library(_i == 0   ? "libhamivgpu.so"
		     : _i == 1 ? "lib/libhamivgpu.so"
			       : "lib64/libhamivgpu.so");
	open_with("hamivgpu", NULL);
	expect_no_abi();
	advance(node, 100);
	ck_assert_uint_eq(n_logged, 1);
}
END_TEST

START_TEST(library_can_be_named)
{
	open_with("hamivgpu:" HAMIDP_TEST_LIBRARY, NULL);
	expect_no_abi();
	node = hamidp_node_close(node);
	logged[0] = '\0';
	n_logged = 0;
	open_with("hamivgpu:libother.so", NULL); /* a name is searched for, below the root */
	expect_failed_to_open("libother.so");
}
END_TEST

START_TEST(refused_library_is_noted_and_the_choice_goes_on)
{
	static const struct hdp_driver *const table[] = { &hdp_driver_hamivgpu, &stand_in_driver,
							  NULL };

	link_library("libhamivgpu.so");
	open_with("auto", table);
	ck_assert_int_eq(state_of(node), 0);
	ck_assert_uint_eq(n_devices(node), 4);
	ck_assert_msg(n_logged == 1 && strstr(logged, "no supported driver ABI"), "%s", logged);
}
END_TEST

START_TEST(missing_library_is_passed_over_quietly)
{
	static const struct hdp_driver *const table[] = { &hdp_driver_hamivgpu, &stand_in_driver,
							  NULL };

	open_with("auto", table);
	ck_assert_int_eq(state_of(node), 0);
	ck_assert_msg(n_logged == 0, "%s", logged);
}
END_TEST

START_TEST(driver_that_appears_later_is_found)
{
	static const struct hdp_driver *const table[] = { &stand_in_driver, NULL };

	stand_in.open_rc = -ENODEV;
	open_with("auto", table);
	ck_assert_int_eq(state_of(node), -ENODEV);
	advance(node, 1);
	stand_in.open_rc = 0;
	clock_us = hamidp_node_deadline_us(node);
	settle(node);
	ck_assert_int_eq(state_of(node), 0);
	ck_assert_uint_eq(n_devices(node), 4);
	ck_assert_uint_eq(take_events(node, HAMIDP_EVENT_DRIVER, NULL), 1);
	ck_assert_uint_eq(stand_in.n_open, 3);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		file_that_is_no_library_is_said_with_its_own_path,
		directory_in_the_library_s_place_is_said,
		library_can_be_named,
		refused_library_is_noted_and_the_choice_goes_on,
		missing_library_is_passed_over_quietly,
		driver_that_appears_later_is_found,
	};
	Suite *s = suite_create("hamivgpu");
	TCase *tc = tcase_create("hamivgpu");

	tcase_add_checked_fixture(tc, setup, teardown);
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_add_loop_test(tc, missing_library_is_said_with_path_and_loader_s_words, 0, 2);
	tcase_add_loop_test(tc, library_that_opens_is_refused_with_one_line, 0, 3);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
