/* SPDX-License-Identifier: Apache-2.0 */

/* Edits: what may be added, what replaces what, and what is got back. */

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <hami/hamidp.h>

#include "edits.h"
#include "suite.h"

static struct hamidp_edits *edits;
static char longest[HDP_EDIT_STRING_MAX + 1];  /* just accepted, a path */
static char too_long[HDP_EDIT_STRING_MAX + 2]; /* just not */

static void setup(void)
{
	ck_assert_int_eq(hamidp_edits_new(&edits), 0);
	memset(longest, '/', HDP_EDIT_STRING_MAX);
	memset(too_long, '/', HDP_EDIT_STRING_MAX + 1);
}

static void teardown(void)
{
	edits = hamidp_edits_free(edits);
}

static const char *const bad_texts[] = {
	"a\nb",
	"a\tb",
	"\x01",
	"\x7f",
	"\xc2\x80" /* C1 */,
	"\x80",
	"\xc3",
	"\xc0\xaf",
	"\xe0\x80\xaf",
	"\xed\xa0\x80" /* a surrogate */,
	"\xf4\x90\x80\x80",
	"\xf8\x88\x80\x80\x80",
	"\xff",
	"\xe2\x82",
	NULL,
	too_long,
};

/* A hundred slot ids are longer than any path. */
START_TEST(variables_carry_what_linux_takes)
{
	static char value[HDP_EDIT_ENV_MAX + 2];

	memset(value, 'x', HDP_EDIT_ENV_MAX);
	ck_assert_int_eq(hamidp_edits_add_env(edits, "NAME", value + 4), 0);
	ck_assert_int_eq(hamidp_edits_add_env(edits, "NAME", value + 3), -EINVAL);
}
END_TEST

START_TEST(bad_texts_are_refused_everywhere)
{
	static const struct hamidp_device_node node = { .size = sizeof(node),
							.container_path = "/dev/a",
							.host_path = "/dev/a",
							.permissions = "rw" };
	const char *bad = bad_texts[_i];
	struct hamidp_device_node bad_node = node;
	const char *args[] = { "a", bad, NULL };
	char path[2 * HDP_EDIT_STRING_MAX];

	snprintf(path, sizeof(path), "/%s", bad ? bad : "");
	ck_assert_int_eq(hamidp_edits_add_env(edits, bad, "b"), -EINVAL);
	if (bad != too_long) /* a variable may carry more, see below */
		ck_assert_int_eq(hamidp_edits_add_env(edits, "a", bad), -EINVAL);
	ck_assert_int_eq(hamidp_edits_add_annotation(edits, bad, "b"), -EINVAL);
	ck_assert_int_eq(hamidp_edits_add_annotation(edits, "a", bad), -EINVAL);
	ck_assert_int_eq(hamidp_edits_add_cdi(edits, bad), -EINVAL);
	ck_assert_int_eq(hamidp_edits_add_mount(edits, bad ? path : NULL, "/b", 1), -EINVAL);
	ck_assert_int_eq(hamidp_edits_add_mount(edits, "/a", bad ? path : NULL, 1), -EINVAL);
	ck_assert_int_eq(hamidp_edits_add_hook(edits, bad, "/a", NULL, 0), -EINVAL);
	ck_assert_int_eq(hamidp_edits_add_hook(edits, "poststop", bad ? path : NULL, NULL, 0),
			 -EINVAL);
	if (bad)
		ck_assert_int_eq(hamidp_edits_add_hook(edits, "poststop", "/a", args, 0), -EINVAL);
	bad_node.container_path = bad ? path : NULL;
	ck_assert_int_eq(hamidp_edits_add_device_node(edits, &bad_node), -EINVAL);
	bad_node = node;
	bad_node.host_path = bad ? path : NULL;
	ck_assert_int_eq(hamidp_edits_add_device_node(edits, &bad_node), -EINVAL);
	bad_node = node;
	bad_node.permissions = bad;
	ck_assert_int_eq(hamidp_edits_add_device_node(edits, &bad_node), -EINVAL);

	for (size_t kind = 0; kind < HDP_EDIT_N_KINDS; kind++)
		ck_assert_uint_eq(edits->lists[kind].n, 0);
}
END_TEST

START_TEST(good_texts_are_kept)
{
	static const char *const good[] = { "",
					    " ",
					    "=",
					    "a=b",
					    "\xc3\xa9",
					    "\xe2\x82\xac",
					    "\xf0\x9f\x98\x80",
					    "\xef\xbf\xbf",
					    longest };
	const char *name, *value;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		ck_assert_int_eq(hamidp_edits_add_env(edits, "NAME", good[i]), 0);
		ck_assert_int_eq(hamidp_edits_env(edits, 0, &name, &value), 0);
		ck_assert_str_eq(name, "NAME");
		ck_assert_str_eq(value, good[i]);
	}
	ck_assert_uint_eq(hamidp_edits_n_env(edits), 1);
	ck_assert_int_eq(hamidp_edits_add_mount(edits, longest, longest, 0), 0);
}
END_TEST

START_TEST(bad_values_are_refused)
{
	static const char *const cdi[] = {
		"",	  "a",	     "a/b",	"a=b",		"/b=c",		"a/=c",
		"a/b=",	  ".a/b=c",  "a/b/c=d", "a/b=c=d",	"a/b=c/d",	"a/b=-c",
		"a/b=c:", "a:a/b=c", "a/b =c",	"a/b=\xc3\xa9", "MIG-GPU-1/7/0"
	};
	static const char *const hooks[] = { "", "prestart", "createruntime", "poststop " };
	static const char *const no_args[] = { NULL };

	ck_assert_int_eq(hamidp_edits_add_env(edits, "", "b"), -EINVAL);
	ck_assert_int_eq(hamidp_edits_add_env(edits, "a=", "b"), -EINVAL);
	ck_assert_int_eq(hamidp_edits_add_annotation(edits, "", "b"), -EINVAL);
	ck_assert_int_eq(hamidp_edits_add_mount(edits, "", "/b", 1), -EINVAL);
	ck_assert_int_eq(hamidp_edits_add_mount(edits, "a", "/b", 1), -EINVAL);
	ck_assert_int_eq(hamidp_edits_add_mount(edits, "/a", "b", 1), -EINVAL);
	ck_assert_int_eq(hamidp_edits_add_mount(edits, "/a", "/b", 2), -EINVAL);
	ck_assert_int_eq(hamidp_edits_add_mount(edits, "/a", "/b", -1), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(cdi); i++)
		ck_assert_msg(hamidp_edits_add_cdi(edits, cdi[i]) == -EINVAL, "'%s'", cdi[i]);
	for (size_t i = 0; i < ARRAY_SIZE(hooks); i++)
		ck_assert_int_eq(hamidp_edits_add_hook(edits, hooks[i], "/a", NULL, 0), -EINVAL);
	ck_assert_int_eq(hamidp_edits_add_hook(edits, "poststop", "a", NULL, 0), -EINVAL);
	ck_assert_int_eq(hamidp_edits_add_hook(edits, "poststop", "/a", no_args, 0), -EINVAL);
	ck_assert_int_eq(hamidp_edits_add_hook(edits, "poststop", "/a", NULL, UINT32_MAX), -EINVAL);
	for (size_t kind = 0; kind < HDP_EDIT_N_KINDS; kind++)
		ck_assert_uint_eq(edits->lists[kind].n, 0);
}
END_TEST

static const struct {
	const char *permissions;
	int err;
} permission_cases[] = {
	{ "r", 0 },	  { "w", 0 },	      { "m", 0 },	   { "rw", 0 },
	{ "rm", 0 },	  { "wm", 0 },	      { "rwm", 0 },	   { "", -EINVAL },
	{ "x", -EINVAL }, { "wr", -EINVAL },  { "rr", -EINVAL },   { "mr", -EINVAL },
	{ "R", -EINVAL }, { "rwx", -EINVAL }, { "rwmm", -EINVAL },
};

START_TEST(permissions_are_an_ordered_subset)
{
	struct hamidp_device_node node = { .size = sizeof(node),
					   .container_path = "/dev/a",
					   .host_path = "/dev/b",
					   .permissions = permission_cases[_i].permissions };
	struct hamidp_device_node got = { .size = sizeof(got) };

	ck_assert_int_eq(hamidp_edits_add_device_node(edits, &node), permission_cases[_i].err);
	if (permission_cases[_i].err < 0) {
		ck_assert_uint_eq(hamidp_edits_n_device_nodes(edits), 0);
		return;
	}
	ck_assert_int_eq(hamidp_edits_device_node(edits, 0, &got), 0);
	ck_assert_str_eq(got.permissions, permission_cases[_i].permissions);
}
END_TEST

START_TEST(device_nodes_come_back_as_given)
{
	struct hamidp_device_node node = { .size = sizeof(node),
					   .container_path = "/dev/nvidia0",
					   .host_path = "/dev/nvidia7",
					   .permissions = "rw",
					   .type = HAMIDP_NODE_TYPE_CHAR,
					   .major = 195,
					   .minor = 7 };
	struct {
		struct hamidp_device_node node;
		uint64_t later;
	} got = { .node = { .size = sizeof(got) }, .later = 99 };

	ck_assert_int_eq(hamidp_edits_add_device_node(edits, &node), 0);
	node.container_path = "/dev/unknown";
	node.type = HAMIDP_NODE_TYPE_UNKNOWN;
	ck_assert_int_eq(hamidp_edits_add_device_node(edits, &node), 0);
	node.type = (enum hamidp_node_type)3;
	ck_assert_int_eq(hamidp_edits_add_device_node(edits, &node), -EINVAL);
	node.type = HAMIDP_NODE_TYPE_CHAR;
	node.size = sizeof(node) - 1;
	ck_assert_int_eq(hamidp_edits_add_device_node(edits, &node), -EINVAL);

	ck_assert_uint_eq(hamidp_edits_n_device_nodes(edits), 2);
	ck_assert_int_eq(hamidp_edits_device_node(edits, 0, &got.node), 0);
	ck_assert_uint_eq(got.node.size, sizeof(got)); /* the caller's own */
	ck_assert_uint_eq(got.later, 0);
	ck_assert_str_eq(got.node.container_path, "/dev/nvidia0");
	ck_assert_str_eq(got.node.host_path, "/dev/nvidia7");
	ck_assert_int_eq(got.node.type, HAMIDP_NODE_TYPE_CHAR);
	ck_assert_uint_eq(got.node.major, 195);
	ck_assert_uint_eq(got.node.minor, 7);
	got.node.size = sizeof(got.node);
	ck_assert_int_eq(hamidp_edits_device_node(edits, 1, &got.node), 0);
	ck_assert_int_eq(got.node.type, HAMIDP_NODE_TYPE_UNKNOWN);
	ck_assert_uint_eq(got.node.major, 0); /* valid with a type only */
	ck_assert_int_eq(hamidp_edits_device_node(edits, 2, &got.node), -ENOENT);
	got.node.size = sizeof(got.node) - 1;
	ck_assert_int_eq(hamidp_edits_device_node(edits, 0, &got.node), -EINVAL);
}
END_TEST

START_TEST(the_same_key_replaces_in_place)
{
	struct hamidp_device_node node = { .size = sizeof(node),
					   .container_path = "/dev/a",
					   .host_path = "/dev/b",
					   .permissions = "rw" };
	const char *key, *value;
	int read_only;

	ck_assert_int_eq(hamidp_edits_add_env(edits, "A", "1"), 0);
	ck_assert_int_eq(hamidp_edits_add_env(edits, "B", "2"), 0);
	ck_assert_int_eq(hamidp_edits_add_env(edits, "A", "3"), 0);
	ck_assert_uint_eq(hamidp_edits_n_env(edits), 2);
	ck_assert_int_eq(hamidp_edits_env(edits, 0, &key, &value), 0);
	ck_assert_str_eq(key, "A");
	ck_assert_str_eq(value, "3");

	ck_assert_int_eq(hamidp_edits_add_mount(edits, "/m", "/1", 0), 0);
	ck_assert_int_eq(hamidp_edits_add_mount(edits, "/m", "/2", 1), 0);
	ck_assert_uint_eq(hamidp_edits_n_mounts(edits), 1);
	ck_assert_int_eq(hamidp_edits_mount(edits, 0, &key, &value, &read_only), 0);
	ck_assert_str_eq(key, "/m");
	ck_assert_str_eq(value, "/2");
	ck_assert_int_eq(read_only, 1);

	ck_assert_int_eq(hamidp_edits_add_device_node(edits, &node), 0);
	node.permissions = "r";
	ck_assert_int_eq(hamidp_edits_add_device_node(edits, &node), 0);
	ck_assert_uint_eq(hamidp_edits_n_device_nodes(edits), 1);
	ck_assert_int_eq(hamidp_edits_device_node(edits, 0, &node), 0);
	ck_assert_str_eq(node.permissions, "r");

	ck_assert_int_eq(hamidp_edits_add_cdi(edits, "hami.com/vgpu=a"), 0);
	ck_assert_int_eq(hamidp_edits_add_cdi(edits, "hami.com/vgpu=GPU-1::3"), 0);
	ck_assert_int_eq(hamidp_edits_add_cdi(edits, "hami.com/vgpu=a"), 0);
	ck_assert_uint_eq(hamidp_edits_n_cdi(edits), 2);
	ck_assert_int_eq(hamidp_edits_cdi(edits, 1, &key), 0);
	ck_assert_str_eq(key, "hami.com/vgpu=GPU-1::3");

	ck_assert_int_eq(hamidp_edits_add_annotation(edits, "k", "1"), 0);
	ck_assert_int_eq(hamidp_edits_add_annotation(edits, "k", "2"), 0);
	ck_assert_uint_eq(hamidp_edits_n_annotations(edits), 1);
	ck_assert_int_eq(hamidp_edits_annotation(edits, 0, &key, &value), 0);
	ck_assert_str_eq(value, "2");

	/* Hooks run one after the other; two that are equal are two. */
	ck_assert_int_eq(hamidp_edits_add_hook(edits, "poststop", "/h", NULL, 0), 0);
	ck_assert_int_eq(hamidp_edits_add_hook(edits, "poststop", "/h", NULL, 0), 0);
	ck_assert_uint_eq(edits->lists[HDP_EDIT_HOOK].n, 2);
}
END_TEST

START_TEST(past_the_end_nothing_is_written)
{
	const char *a = "unchanged", *b = a;
	int n = 7;

	ck_assert_int_eq(hamidp_edits_env(edits, 0, &a, &b), -ENOENT);
	ck_assert_int_eq(hamidp_edits_mount(edits, 0, &a, &b, &n), -ENOENT);
	ck_assert_int_eq(hamidp_edits_cdi(edits, 0, &a), -ENOENT);
	ck_assert_int_eq(hamidp_edits_annotation(edits, SIZE_MAX, &a, &b), -ENOENT);
	ck_assert_str_eq(a, "unchanged");
	ck_assert_ptr_eq(a, b);
	ck_assert_int_eq(n, 7);
}
END_TEST

START_TEST(entries_are_bounded)
{
	char name[32];

	for (unsigned i = 0; i < HDP_EDITS_MAX; i++) {
		snprintf(name, sizeof(name), "N%u", i);
		ck_assert_int_eq(hamidp_edits_add_env(edits, name, ""), 0);
	}
	ck_assert_int_eq(hamidp_edits_add_env(edits, "one-more", ""), -EINVAL);
	ck_assert_int_eq(hamidp_edits_add_env(edits, "N7", "replaced"), 0);
	ck_assert_uint_eq(hamidp_edits_n_env(edits), HDP_EDITS_MAX);
}
END_TEST

START_TEST(copies_are_equal_and_independent)
{
	static const char *const args[] = { "hook", "--grant", "1", NULL };
	struct hamidp_edits *copy;
	char *before, *after;

	ck_assert_int_eq(hamidp_edits_add_env(edits, "A", "1"), 0);
	ck_assert_int_eq(hamidp_edits_add_mount(edits, "/m", "/1", 1), 0);
	ck_assert_int_eq(hamidp_edits_add_cdi(edits, "hami.com/vgpu=a"), 0);
	ck_assert_int_eq(hamidp_edits_add_hook(edits, "createRuntime", "/h", args, 5), 0);
	ck_assert_int_eq(hamidp_edits_to_oci(edits, &before, NULL), 0);
	ck_assert_int_eq(hdp_edits_copy(edits, &copy), 0);
	ck_assert_int_eq(hamidp_edits_add_env(edits, "A", "2"), 0);
	hamidp_edits_free(edits);
	edits = copy;
	ck_assert_int_eq(hamidp_edits_to_oci(edits, &after, NULL), 0);
	ck_assert_str_eq(before, after);
	ck_assert_uint_eq(hamidp_edits_n_cdi(edits), 1);
	free(before);
	free(after);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("edits");
	TCase *tcase = tcase_create("lists");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, variables_carry_what_linux_takes);
	tcase_add_loop_test(tcase, bad_texts_are_refused_everywhere, 0, ARRAY_SIZE(bad_texts));
	tcase_add_test(tcase, good_texts_are_kept);
	tcase_add_test(tcase, bad_values_are_refused);
	tcase_add_loop_test(tcase, permissions_are_an_ordered_subset, 0,
			    ARRAY_SIZE(permission_cases));
	tcase_add_test(tcase, device_nodes_come_back_as_given);
	tcase_add_test(tcase, the_same_key_replaces_in_place);
	tcase_add_test(tcase, past_the_end_nothing_is_written);
	tcase_add_test(tcase, entries_are_bounded);
	tcase_add_test(tcase, copies_are_equal_and_independent);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
