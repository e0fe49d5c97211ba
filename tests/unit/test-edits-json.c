/* SPDX-License-Identifier: Apache-2.0 */

/* CDI and OCI texts, read back with jansson and compared field by field. */

#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <hami/hamidp.h>

#include "macro.h"
#include "suite.h"

static struct hamidp_edits *edits;
static struct hamidp_reason *reason;

static void add_node(const char *container, const char *host, enum hamidp_node_type type,
		     uint32_t major, uint32_t minor)
{
	struct hamidp_device_node node = { .size = sizeof(node),
					   .container_path = container,
					   .host_path = host,
					   .permissions = "rw",
					   .type = type,
					   .major = major,
					   .minor = minor };

	ck_assert_int_eq(hamidp_edits_add_device_node(edits, &node), 0);
}

static void setup(void)
{
	static const char *const args[] = { "hami-hook", "--grant", "\"1\"", NULL };

	ck_assert_int_eq(hamidp_reason_new(&reason), 0);
	ck_assert_int_eq(hamidp_edits_new(&edits), 0);
	ck_assert_int_eq(hamidp_edits_add_env(edits, "HAMI_VGPU_UUID", "GPU-1::0,GPU-1::1"), 0);
	ck_assert_int_eq(hamidp_edits_add_env(edits, "A", "\\\"\xe2\x82\xac="), 0);
	add_node("/dev/nvidia0", "/dev/nvidia3", HAMIDP_NODE_TYPE_CHAR, 195, 3);
	add_node("/dev/ram0", "/dev/ram0", HAMIDP_NODE_TYPE_BLOCK, 1, UINT32_MAX);
	ck_assert_int_eq(hamidp_edits_add_mount(edits, "/run/hami/vgpu", "/var/lib/g", 1), 0);
	ck_assert_int_eq(hamidp_edits_add_mount(edits, "/dev/extra", "/dev/extra", 0), 0);
	ck_assert_int_eq(hamidp_edits_add_cdi(edits, "hami.com/vgpu=1"), 0);
	ck_assert_int_eq(hamidp_edits_add_annotation(edits, "io.hami/grant", "1"), 0);
	ck_assert_int_eq(hamidp_edits_add_hook(edits, "createRuntime", "/h", args, 5), 0);
	ck_assert_int_eq(hamidp_edits_add_hook(edits, "poststop", "/p", NULL, 0), 0);
	ck_assert_int_eq(hamidp_edits_add_hook(edits, "createRuntime", "/i", NULL, 0), 0);
}

static void teardown(void)
{
	edits = hamidp_edits_free(edits);
	reason = hamidp_reason_free(reason);
}

/* The text is @want, apart from blanks outside strings; keys and entries in this order. */
static void check_text(char *got, const char *want)
{
	json_error_t error;
	json_t *a = json_loads(got, JSON_REJECT_DUPLICATES, &error);
	json_t *b = json_loads(want, JSON_REJECT_DUPLICATES, &error);
	char *compact_a, *compact_b;

	ck_assert_ptr_nonnull(a);
	ck_assert_msg(b != NULL, "%s", error.text);
	compact_a = json_dumps(a, JSON_COMPACT);
	compact_b = json_dumps(b, JSON_COMPACT);
	ck_assert_str_eq(compact_a, compact_b);
	free(compact_a);
	free(compact_b);
	json_decref(a);
	json_decref(b);
	free(got);
}

#define ENV "[\"HAMI_VGPU_UUID=GPU-1::0,GPU-1::1\", \"A=\\\\\\\"\xe2\x82\xac=\"]"
#define ARGS "[\"hami-hook\", \"--grant\", \"\\\"1\\\"\"]"

static const char cdi_text[] =
	"{\"cdiVersion\": \"0.5.0\", \"kind\": \"hami.com/vgpu\", \"devices\": [{"
	"  \"name\": \"GPU-1::3\", \"containerEdits\": {"
	"    \"env\": " ENV ","
	"    \"deviceNodes\": ["
	"      {\"path\": \"/dev/nvidia0\", \"hostPath\": \"/dev/nvidia3\", \"type\": \"c\","
	"       \"major\": 195, \"minor\": 3, \"permissions\": \"rw\"},"
	"      {\"path\": \"/dev/ram0\", \"hostPath\": \"/dev/ram0\", \"type\": \"b\","
	"       \"major\": 1, \"minor\": 4294967295, \"permissions\": \"rw\"}],"
	"    \"mounts\": ["
	"      {\"hostPath\": \"/var/lib/g\", \"containerPath\": \"/run/hami/vgpu\","
	"       \"options\": [\"ro\", \"nosuid\", \"nodev\", \"bind\"]},"
	"      {\"hostPath\": \"/dev/extra\", \"containerPath\": \"/dev/extra\","
	"       \"options\": [\"rw\", \"nosuid\", \"bind\"]}],"
	"    \"hooks\": ["
	"      {\"hookName\": \"createRuntime\", \"path\": \"/h\", \"args\": " ARGS ","
	"       \"timeout\": 5},"
	"      {\"hookName\": \"poststop\", \"path\": \"/p\"},"
	"      {\"hookName\": \"createRuntime\", \"path\": \"/i\"}]}}]}";

START_TEST(cdi_has_every_edit)
{
	char *text;

	ck_assert_int_eq(hamidp_edits_to_cdi(edits, "hami.com/vgpu", "GPU-1::3", &text, reason), 0);
	ck_assert_int_eq(hamidp_reason_code(reason), HAMIDP_REASON_NONE);
	check_text(text, cdi_text);
}
END_TEST

static const char oci_text[] =
	"{\"process\": {\"env\": " ENV "},"
	" \"mounts\": ["
	"   {\"destination\": \"/run/hami/vgpu\", \"type\": \"bind\", \"source\": \"/var/lib/g\","
	"    \"options\": [\"ro\", \"nosuid\", \"nodev\", \"bind\"]},"
	"   {\"destination\": \"/dev/extra\", \"type\": \"bind\", \"source\": \"/dev/extra\","
	"    \"options\": [\"rw\", \"nosuid\", \"bind\"]}],"
	" \"hooks\": {"
	"   \"createRuntime\": [{\"path\": \"/h\", \"args\": " ARGS ", \"timeout\": 5},"
	"                       {\"path\": \"/i\"}],"
	"   \"poststop\": [{\"path\": \"/p\"}]},"
	" \"annotations\": {\"io.hami/grant\": \"1\"},"
	" \"linux\": {"
	"   \"devices\": ["
	"     {\"path\": \"/dev/nvidia0\", \"type\": \"c\", \"major\": 195, \"minor\": 3},"
	"     {\"path\": \"/dev/ram0\", \"type\": \"b\", \"major\": 1, \"minor\": 4294967295}],"
	"   \"resources\": {\"devices\": ["
	"     {\"allow\": true, \"type\": \"c\", \"major\": 195, \"minor\": 3, \"access\": \"rw\"},"
	"     {\"allow\": true, \"type\": \"b\", \"major\": 1, \"minor\": 4294967295,"
	"      \"access\": \"rw\"}]}}}";

START_TEST(oci_has_every_edit)
{
	char *text;

	ck_assert_int_eq(hamidp_edits_to_oci(edits, &text, reason), 0);
	ck_assert_int_eq(hamidp_reason_code(reason), HAMIDP_REASON_NONE);
	check_text(text, oci_text);
}
END_TEST

START_TEST(node_of_unknown_type_is_left_to_the_runtime)
{
	char *text = NULL;

	hamidp_edits_free(edits);
	ck_assert_int_eq(hamidp_edits_new(&edits), 0);
	add_node("/dev/a", "/dev/b", HAMIDP_NODE_TYPE_UNKNOWN, 1, 2);
	ck_assert_int_eq(hamidp_edits_to_oci(edits, &text, reason), -EOPNOTSUPP);
	ck_assert_ptr_null(text);
	ck_assert_int_eq(hamidp_reason_code(reason), HAMIDP_REASON_NOT_SUPPORTED);
	ck_assert_ptr_nonnull(strstr(hamidp_reason_text(reason), "'/dev/a'"));
	ck_assert_int_eq(hamidp_edits_to_cdi(edits, "a/b", "c", &text, reason), 0);
	check_text(text,
		   "{\"cdiVersion\": \"0.5.0\", \"kind\": \"a/b\", \"devices\": [{\"name\": \"c\","
		   "\"containerEdits\": {\"deviceNodes\": [{\"path\": \"/dev/a\","
		   "\"hostPath\": \"/dev/b\", \"permissions\": \"rw\"}]}}]}");
}
END_TEST

START_TEST(empty_edits_are_an_empty_fragment_and_no_specification)
{
	char *text = NULL;

	hamidp_edits_free(edits);
	ck_assert_int_eq(hamidp_edits_new(&edits), 0);
	ck_assert_int_eq(hamidp_edits_to_oci(edits, &text, reason), 0);
	check_text(text, "{}");
	/* These two have no place in a specification. */
	ck_assert_int_eq(hamidp_edits_add_cdi(edits, "a/b=c"), 0);
	ck_assert_int_eq(hamidp_edits_add_annotation(edits, "a", "b"), 0);
	text = NULL;
	ck_assert_int_eq(hamidp_edits_to_cdi(edits, "a/b", "c", &text, reason), -EINVAL);
	ck_assert_ptr_null(text);
	ck_assert_int_eq(hamidp_reason_code(reason), HAMIDP_REASON_BAD_ARGUMENT);
}
END_TEST

static const struct {
	const char *kind, *name;
	int err;
} names[] = {
	{ "hami.com/vgpu", "GPU-8f3a::3", 0 },
	{ "hami.com/vgpu", "0123456789abcdef0123456789abcdef", 0 },
	{ "v_e-n.dor/c_l.a-ss", "a_b.c:d-e", 0 },
	{ "0/0", "0", 0 },
	{ "hami.com", "a", -EINVAL },
	{ "/vgpu", "a", -EINVAL },
	{ "hami.com/", "a", -EINVAL },
	{ "hami.com/v/g", "a", -EINVAL },
	{ "hami.com/vgpu=a", "a", -EINVAL },
	{ "-hami/vgpu", "a", -EINVAL },
	{ "hami/vgpu.", "a", -EINVAL },
	{ "ha:mi/vgpu", "a", -EINVAL },
	{ "", "a", -EINVAL },
	{ NULL, "a", -EINVAL },
	{ "hami.com/vgpu", "", -EINVAL },
	{ "hami.com/vgpu", NULL, -EINVAL },
	{ "hami.com/vgpu", ":a", -EINVAL },
	{ "hami.com/vgpu", "a:", -EINVAL },
	{ "hami.com/vgpu", "a/b", -EINVAL },
	{ "hami.com/vgpu", "a b", -EINVAL },
	{ "hami.com/vgpu", "a\n", -EINVAL },
};

START_TEST(cdi_names_keep_to_their_rules)
{
	char *text = NULL;

	ck_assert_msg(hamidp_edits_to_cdi(edits, names[_i].kind, names[_i].name, &text, reason) ==
			      names[_i].err,
		      "'%s' '%s'", names[_i].kind, names[_i].name);
	ck_assert((names[_i].err == 0) == (text != NULL));
	ck_assert((names[_i].err == 0) == (hamidp_reason_text(reason)[0] == '\0'));
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("edits-json");
	TCase *tcase = tcase_create("texts");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, cdi_has_every_edit);
	tcase_add_test(tcase, oci_has_every_edit);
	tcase_add_test(tcase, node_of_unknown_type_is_left_to_the_runtime);
	tcase_add_test(tcase, empty_edits_are_an_empty_fragment_and_no_specification);
	tcase_add_loop_test(tcase, cdi_names_keep_to_their_rules, 0, ARRAY_SIZE(names));
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
