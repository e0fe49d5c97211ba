/* SPDX-License-Identifier: Apache-2.0 */
/* From configuration to slicing: what is written is what is cut, and errors name their line. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <hami/hamidp.h>

#include "../unit/suite.h"
#include "complaint.h"
#include "fixture.h"
#include "options.h"
#include "policy.h"

static struct fixture fix;

static const struct fixture_card cards[] = {
	{ "GPU-a", "0000:0a:00.0", 40960, -1, NULL },
	{ "GPU-b", "0000:0b:00.0", 40960, -1, NULL },
	{ "GPU-c", "0000:0c:00.0", 81920, -1, NULL },
};

static void setup(void)
{
	fixture_init(&fix);
	fixture_write_machine(&fix, cards, 3);
}

static void teardown(void)
{
	fixture_done(&fix);
}

static const struct {
	const char *text;
	unsigned line;
	const char *words; /* must be in the complaint */
} bad[] = {
	{ "resources:\n  - name: a.com/vgpu\n    devices: [{index: 0}]\n  - name: b.com/vgpu\n", 5,
	  "b.com/vgpu" },
	{ "resources:\n  - name: vgpu\n", 3, "vgpu" },
	{ "resources:\n  - name: kubernetes.io/vgpu\n", 3, "kubernetes.io/vgpu" },
	{ "resources:\n  - name: a.com/x\n    devices:\n      - index: 01\n", 0, "01" },
};

START_TEST(refused_values_name_their_line)
{
	char *argv[2], name[] = "hami-dp", config[128], *envp[] = { NULL };
	struct hamidp_policy *policy = NULL;
	struct complaint why = { "" };
	struct options *opts = NULL;
	char start[128], text[512];
	int r;

	(void)snprintf(text, sizeof(text), "version: 1\n%s", bad[_i].text);
	fixture_write_config(&fix, text);
	(void)snprintf(config, sizeof(config), "--config=%s", fix.config);
	argv[0] = name;
	argv[1] = config;
	r = options_load(2, argv, envp, &opts, &why);
	if (r == 0)
		r = policy_from_options(opts, &policy, &why);
	(void)snprintf(start, sizeof(start), "%s:%u: ", fix.config, bad[_i].line);
	ck_assert_int_eq(r, -EINVAL);
	ck_assert_msg(!bad[_i].line || !strncmp(why.text, start, strlen(start)), "%s", why.text);
	ck_assert_msg(strstr(why.text, bad[_i].words) != NULL, "%s", why.text);
	ck_assert_ptr_null(policy);
	options_free(opts);
}
END_TEST

static void check_card(size_t pos, const char *resource, uint32_t n_slots, uint64_t mib)
{
	const struct hamidp_layout *layout = fixture_layout(&fix);

	ck_assert_pstr_eq(hamidp_layout_resource_name(layout,
						      hamidp_layout_device_resource(layout, pos)),
			  resource);
	ck_assert_uint_eq(hamidp_layout_device_n_slots(layout, pos), n_slots);
	ck_assert_uint_eq(hamidp_layout_slice_memory_mib(layout, pos, 1), mib);
}

/* Two slots on one card, ten on another, whole cards beside cut ones. */
START_TEST(cards_are_cut_as_written)
{
	fixture_write_config(&fix, "version: 1\n"
				   "cores_per_device: 8\n"
				   "resources:\n"
				   "  - name: hami.com/vgpu\n"
				   "  - name: hami.com/whole\n"
				   "    cores_per_device: 1\n"
				   "    devices: [{uuid: GPU-c}]\n"
				   "overrides:\n"
				   "  - index: 0\n"
				   "    cores_per_device: 2\n"
				   "  - uuid: GPU-b\n"
				   "    cores_per_device: 10\n"
				   "    memory_mb_per_core: 4000\n");
	fixture_open(&fix, NULL);
	check_card(0, "hami.com/vgpu", 2, 20480);
	check_card(1, "hami.com/vgpu", 10, 4000);
	check_card(2, "hami.com/whole", 1, 81920);
}
END_TEST

START_TEST(ratios_enlarge_what_is_handed_out)
{
	fixture_open(&fix, FLAGS("--memory-ratio=1.5", "--cores-ratio=2"));
	check_card(0, "hami.com/vgpu", 4, 15360);
	ck_assert_uint_eq(hamidp_layout_slice_share_ppm(fixture_layout(&fix), 0, 1), 500000);
	ck_assert_uint_eq(hamidp_layout_slice_memory_mib(fixture_layout(&fix), 0, 4), 40960);
}
END_TEST

/* 8 x 5200 is 1.6 % more than a card has. */
START_TEST(strict_fit_is_an_error)
{
	fixture_catch_log(&fix, 2);
	fixture_open(&fix, FLAGS("--cores-per-device=8", "--memory-mb-per-core=5200",
				 _i ? "--memory-fit=strict" : "--memory-fit=shrink"));
	if (_i) {
		ck_assert_int_eq(hamidp_node_state(fix.node, NULL), -EINVAL);
		ck_assert_uint_eq(hamidp_layout_n_slots(fixture_layout(&fix)), 0);
	} else {
		ck_assert_int_eq(hamidp_node_state(fix.node, NULL), 0);
		check_card(0, "hami.com/vgpu", 8, 5120);
		check_card(2, "hami.com/vgpu", 8, 5200);
		ck_assert_uint_eq(fixture_count_log(&fix, "GPU-a: "), 1); /* said once */
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy");
	TCase *tcase = tcase_create("policy");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, refused_values_name_their_line, 0,
			    (int)(sizeof(bad) / sizeof(bad[0])));
	tcase_add_test(tcase, cards_are_cut_as_written);
	tcase_add_test(tcase, ratios_enlarge_what_is_handed_out);
	tcase_add_loop_test(tcase, strict_fit_is_an_error, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
