/* SPDX-License-Identifier: Apache-2.0 */
/* --help and --print-config: nothing is missing, origins are told, and what is printed reads back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/suite.h"
#include "config.h"
#include "options-fixture.h"
#include "options-print.h"

static char *print(const struct options *opts)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	ck_assert_ptr_nonnull(out);
	if (opts)
		options_print_config(opts, out);
	else
		options_print_help(out);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

START_TEST(help_names_everything)
{
	char *text = print(NULL);

	for (int i = 0; i < OPTION_N; i++) {
		const struct option_spec *spec = option_spec((enum option_id)i);
		char env[OPTION_NAME_MAX], flag[OPTION_NAME_MAX + 8];

		(void)snprintf(flag, sizeof(flag), "  --%s=", spec->flag);
		option_env_name(spec, env);
		ck_assert_msg(strstr(text, flag) != NULL, "%s", flag);
		ck_assert_msg(strstr(text, env) != NULL, "%s", env);
		ck_assert(!spec->alias || strstr(text, spec->alias));
		ck_assert(spec->fallback || spec->unset);
	}
	free(text);
}
END_TEST

START_TEST(printed_config_tells_origins)
{
	struct options *opts;
	char *text, line[256];

	options_write_file(
		"version: 1\nmemory_ratio: 1.5\nresources:\n  - name: a.b/c\n    devices:\n"
		"      - model: it's\noverrides:\n  - index: 0\n    cores_per_device: 2\n");
	opts = options_must_load(LIST("--cores-per-device=8"),
				 LIST(options_config_env, "HAMI_LOG_LEVEL=warn"));
	text = print(opts);
	ck_assert_ptr_nonnull(strstr(text, "\ncores_per_device: 8  # --cores-per-device\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nlog_level: WARN  # HAMI_LOG_LEVEL\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nrun_dir: '/run/hami-dp'  # default\n"));
	(void)snprintf(line, sizeof(line), "\nmemory_ratio: 1.5  # %s:2: memory_ratio\n",
		       options_file);
	ck_assert_ptr_nonnull(strstr(text, line));
	(void)snprintf(line, sizeof(line), "      - model: 'it''s'  # %s:6\n", options_file);
	ck_assert_ptr_nonnull(strstr(text, line));
	options_free(opts);
	free(text);
}
END_TEST

/* Property: what is printed is a file that gives the same values. */
START_TEST(printed_config_reads_back)
{
	struct options *opts, *again;
	char *text;

	options_write_file(
		"version: 1\ncores_per_device: 8\nmemory_mb_per_core: 5120\nv: 6\n"
		"resources: [{name: a.b/c, cores_per_device: 3, devices: [{uuid: GPU-1}]}]\n"
		"overrides: [{model: 'A*', memory_ratio: 1.25, memory_mb_per_core: 9}]\n");
	opts = options_must_load(LIST("--driver=sim:article", "--registration=watcher"),
				 LIST(options_config_env));
	text = print(opts);
	options_write_file(text);
	free(text);
	again = options_must_load(NULL, LIST(options_config_env));
	for (size_t i = 0; i < OPTION_N; i++) {
		ck_assert_pstr_eq(again->values[i].text, opts->values[i].text);
		ck_assert_uint_eq(again->values[i].number, opts->values[i].number);
	}
	ck_assert_uint_eq(again->config->n_resources, 1);
	ck_assert_uint_eq(again->config->resources[0].slicing.slots, 3);
	ck_assert_str_eq(again->config->resources[0].devices[0].value, "GPU-1");
	ck_assert_uint_eq(again->config->n_overrides, 1);
	ck_assert_uint_eq(again->config->overrides[0].slicing.memory_ratio_ppm, 1250000);
	ck_assert_uint_eq(again->config->overrides[0].slicing.memory_mib, 9);
	options_free(opts);
	options_free(again);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("options-print");
	TCase *tcase = tcase_create("options-print");

	tcase_add_checked_fixture(tcase, options_setup, options_teardown);
	tcase_add_test(tcase, help_names_everything);
	tcase_add_test(tcase, printed_config_tells_origins);
	tcase_add_test(tcase, printed_config_reads_back);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
