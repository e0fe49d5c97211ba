/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered of our answers, and what the kubelet's checkpoint says of holders. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/suite.h"
#include "checkpoint.h"
#include "dp-memory.h"
#include "helper.h"

#define IDS(...)                                \
	((const char *const[]){ __VA_ARGS__ }), \
		sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *)

START_TEST(exactly_the_same_ids_are_recognised)
{
	struct dp_memory memory = { 0 };

	ck_assert(!dp_memory_has(&memory, IDS("a::0")));
	ck_assert_int_eq(dp_memory_add(&memory, IDS("b::1", "a::0", "a::10")), 0);
	ck_assert(dp_memory_has(&memory, IDS("a::10", "b::1", "a::0")));
	ck_assert(!dp_memory_has(&memory, IDS("a::10", "b::1")));
	ck_assert(!dp_memory_has(&memory, IDS("a::10", "b::1", "a::0", "a::1")));
	ck_assert(!dp_memory_has(&memory, IDS("a::10", "b::1", "a::1")));
	dp_memory_done(&memory);
	ck_assert(!dp_memory_has(&memory, IDS("a::10", "b::1", "a::0")));
}
END_TEST

START_TEST(the_oldest_answers_give_way)
{
	struct dp_memory memory = { 0 };
	char id[16];

	for (int i = 0; i < DP_MEMORY_SETS + 1; i++) {
		(void)snprintf(id, sizeof(id), "a::%d", i);
		ck_assert_int_eq(dp_memory_add(&memory, IDS(id)), 0);
	}
	ck_assert(!dp_memory_has(&memory, IDS("a::0")));
	for (int i = 1; i < DP_MEMORY_SETS + 1; i++) {
		(void)snprintf(id, sizeof(id), "a::%d", i);
		ck_assert(dp_memory_has(&memory, IDS(id)));
	}
	dp_memory_done(&memory);
}
END_TEST

START_TEST(one_answer_cannot_fill_the_memory)
{
	static char large[DP_MEMORY_TEXT_MAX + 1];
	struct dp_memory memory = { 0 };

	memset(large, 'x', DP_MEMORY_TEXT_MAX);
	ck_assert_int_eq(dp_memory_add(&memory, IDS(large)), -E2BIG);
	ck_assert(!dp_memory_has(&memory, IDS(large)));
	large[DP_MEMORY_TEXT_MAX - 2] = '\0'; /* with its ',' and the NUL it just fits */
	ck_assert_int_eq(dp_memory_add(&memory, IDS(large)), 0);
	ck_assert(dp_memory_has(&memory, IDS(large)));
	dp_memory_done(&memory);
}
END_TEST

static char *dir, *path;

static void setup(void)
{
	dir = test_temp_dir();
	path = test_path(dir, "kubelet_internal_checkpoint");
}

static void teardown(void)
{
	test_temp_remove(dir);
	free(path);
	free(dir);
}

static void write_checkpoint(size_t padding, const char *text)
{
	FILE *out = fopen(path, "we");

	ck_assert_ptr_nonnull(out);
	ck_assert_int_ge(fprintf(out, "%*s%s", (int)padding, "", text), 0);
	ck_assert_int_eq(fclose(out), 0);
}

#define ENTRY(resource)                                                                     \
	"{\"Data\":{\"PodDeviceEntries\":[{\"PodUID\":\"u\",\"ContainerName\":\"c\","       \
	"\"ResourceName\":\"" resource "\",\"DeviceIDs\":{\"0\":[\"a::0\"]},\"AllocResp\":" \
	"\"\"}],\"RegisteredDevices\":{\"hami.com/vgpu\":[\"a::0\",\"a::1\"]}},\"Checksum\":1}"

START_TEST(a_checkpoint_without_entries_shows_no_holder)
{
	ck_assert(checkpoint_shows_no_holder(dir, "hami.com/vgpu")); /* there is none */
	write_checkpoint(0, ENTRY("hami.com/vgpu"));
	ck_assert(!checkpoint_shows_no_holder(dir, "hami.com/vgpu"));
	ck_assert(checkpoint_shows_no_holder(dir, "hami.com/vgp"));
	write_checkpoint(0, ENTRY("hami.com/vgpu-b"));
	ck_assert(checkpoint_shows_no_holder(dir, "hami.com/vgpu"));
	write_checkpoint(0, "");
	ck_assert(checkpoint_shows_no_holder(dir, "hami.com/vgpu"));
}
END_TEST

START_TEST(an_entry_is_found_wherever_reads_end)
{
	for (size_t i = 0; i < 200; i++) {
		write_checkpoint((size_t)64 * 1024 - i, ENTRY("hami.com/vgpu"));
		ck_assert(!checkpoint_shows_no_holder(dir, "hami.com/vgpu"));
	}
}
END_TEST

START_TEST(what_cannot_be_read_shows_nothing)
{
	ck_assert_int_eq(symlink("kubelet_internal_checkpoint", path), 0);
	ck_assert(!checkpoint_shows_no_holder(dir, "hami.com/vgpu"));
	ck_assert(!checkpoint_shows_no_holder(path, "hami.com/vgpu"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory");
	TCase *tcase = tcase_create("memory");
	TCase *file = tcase_create("checkpoint");

	tcase_add_test(tcase, exactly_the_same_ids_are_recognised);
	tcase_add_test(tcase, the_oldest_answers_give_way);
	tcase_add_test(tcase, one_answer_cannot_fill_the_memory);
	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(file, setup, teardown);
	tcase_add_test(file, a_checkpoint_without_entries_shows_no_holder);
	tcase_add_test(file, an_entry_is_found_wherever_reads_end);
	tcase_add_test(file, what_cannot_be_read_shows_nothing);
	suite_add_tcase(suite, file);
	return suite_run(suite);
}
