/* SPDX-License-Identifier: Apache-2.0 */

/* What a node says about links that its driver describes in different ways. */

#include "node-fixture.h"
#include "suite.h"

/* Two devices whose link has so many lanes seen from one, and from the other. */
static void edit_lanes(unsigned there, unsigned back)
{
	char text[1024];

	(void)snprintf(
		text, sizeof(text),
		"{\"schema\":\"hami.inventory/1\",\"devices\":["
		"{\"uuid\":\"GPU-a\",\"memory_mib\":40960,\"health\":\"healthy\"},"
		"{\"uuid\":\"GPU-b\",\"memory_mib\":40960,\"health\":\"healthy\"}],\"links\":["
		"{\"a\":\"GPU-a\",\"b\":\"GPU-b\",\"type\":\"nvlink\",\"lanes\":%u},"
		"{\"a\":\"GPU-b\",\"b\":\"GPU-a\",\"type\":\"nvlink\",\"lanes\":%u}]}",
		there, back);
	replace_file(file_path, text);
}

START_TEST(contradictions_are_said_once_for_each_change)
{
	static const struct {
		unsigned there, back;
		size_t n_lines; /* logged since the start */
		const char *last;
	} steps[] = {
		{ 4, 2, 1, "GPU-a and GPU-b: 2 or 4 lanes" },
		{ 2, 4, 1, NULL }, /* the same contradiction */
		{ 4, 3, 2, "GPU-a and GPU-b: 3 or 4 lanes" },
		{ 4, 4, 2, NULL },
		{ 4, 3, 3, "GPU-a and GPU-b: 3 or 4 lanes" },
	};
	struct hamidp_node *node;

	edit_lanes(1, 1);
	node = open_file();
	ck_assert_msg(n_logged == 0, "%s", logged);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		logged[0] = '\0';
		edit_lanes(steps[i].there, steps[i].back);
		wait_for_work(node);
		ck_assert_msg(n_logged == steps[i].n_lines, "step %zu: %s", i, logged);
		ck_assert_msg(!steps[i].last || strstr(logged, steps[i].last), "%s", logged);
	}
	hamidp_node_close(node);
}
END_TEST

START_TEST(contradictions_of_the_first_look_are_said)
{
	struct hamidp_node *node;

	edit_lanes(12, 6);
	node = open_file();
	ck_assert_msg(n_logged == 1 && strstr(logged, "GPU-a and GPU-b: 6 or 12 lanes"), "%s",
		      logged);
	hamidp_node_close(node);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("node-links");
	TCase *tc = tcase_create("node-links");

	tcase_add_checked_fixture(tc, fixture_setup, fixture_teardown);
	tcase_add_test(tc, contradictions_of_the_first_look_are_said);
	tcase_add_test(tc, contradictions_are_said_once_for_each_change);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
