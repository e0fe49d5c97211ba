/* SPDX-License-Identifier: Apache-2.0 */
/* Options: which source wins, and what is refused in which words. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/suite.h"
#include "options-fixture.h"

START_TEST(defaults_are_the_documented_ones)
{
	static const struct {
		enum option_id id;
		const char *text;
		uint64_t number;
	} cases[] = {
		{ OPTION_DRIVER, "auto", 0 },
		{ OPTION_DRIVER_ROOT, NULL, 0 },
		{ OPTION_RESOURCE_NAME, "hami.com/vgpu", 0 },
		{ OPTION_CORES_PER_DEVICE, "4", 4 },
		{ OPTION_MEMORY_MB_PER_CORE, NULL, 0 },
		{ OPTION_MEMORY_RATIO, "1", 1000000 },
		{ OPTION_CORES_RATIO, "1", 1000000 },
		{ OPTION_MEMORY_FIT, "shrink", OPTION_MEMORY_FIT_SHRINK },
		{ OPTION_ENABLE_TOPOLOGY, "true", 1 },
		{ OPTION_PLACEMENT, "pack", 0 },
		{ OPTION_DEVICE_PLUGIN_DIR, "/var/lib/kubelet/device-plugins", 0 },
		{ OPTION_KUBELET_ROOT_DIR, "/var/lib/kubelet", 0 },
		{ OPTION_REGISTRATION, "rpc", OPTION_REGISTRATION_RPC },
		{ OPTION_STATE_DIR, "/var/lib/hami-dp", 0 },
		{ OPTION_RUN_DIR, "/run/hami-dp", 0 },
		{ OPTION_FAIL_ON_INIT_ERROR, "true", 1 },
		{ OPTION_V, "2", 2 },
		{ OPTION_LOG_LEVEL, NULL, 0 },
		{ OPTION_LOG_FORMAT, "text", OPTION_LOG_FORMAT_TEXT },
		{ OPTION_SYSROOT, "/", 0 },
	};
	struct options *opts;

	options_write_file("");
	opts = options_must_load(NULL, LIST(options_config_env));
	ck_assert_uint_eq(sizeof(cases) / sizeof(cases[0]), OPTION_N);
	for (size_t i = 0; i < OPTION_N; i++) {
		ck_assert_pstr_eq(options_text(opts, cases[i].id), cases[i].text);
		ck_assert_uint_eq(options_number(opts, cases[i].id), cases[i].number);
		ck_assert(!options_is_set(opts, cases[i].id));
	}
	ck_assert_int_eq(opts->action, OPTIONS_RUN);
	options_free(opts);
}
END_TEST

/* Property: of any set of sources the strongest one that is set wins, and is named as origin. */
START_TEST(strongest_source_wins)
{
	bool in_file = _i & 1, in_env = _i & 2, in_flag = _i & 4;
	const char *flags[] = { in_flag ? "--cores-per-device=7" : NULL, NULL };
	const char *env[] = { options_config_env, in_env ? "HAMI_CORES_PER_DEVICE=6" : NULL, NULL };
	const struct options_value *value;
	char in_file_where[128];
	struct options *opts;

	options_write_file(in_file ? "version: 1\ncores_per_device: 5\n" : "version: 1\n");
	opts = options_must_load(flags, env);
	value = &opts->values[OPTION_CORES_PER_DEVICE];
	(void)snprintf(in_file_where, sizeof(in_file_where), "%s:2: cores_per_device",
		       options_file);
	ck_assert_uint_eq(value->number, in_flag ? 7 : in_env ? 6 : in_file ? 5 : 4);
	ck_assert_pstr_eq(value->where, in_flag	  ? "--cores-per-device"
					: in_env  ? "HAMI_CORES_PER_DEVICE"
					: in_file ? in_file_where
						  : NULL);
	options_free(opts);
}
END_TEST

/* A flag that repeats the default still beats the file. */
START_TEST(explicit_default_beats_file)
{
	struct options *opts;

	options_write_file("version: 1\nmemory_ratio: 10\nenable_topology: false\n");
	opts = options_must_load(LIST("--memory-ratio=1", "--enable-topology"),
				 LIST(options_config_env));
	ck_assert_uint_eq(options_number(opts, OPTION_MEMORY_RATIO), 1000000);
	ck_assert(options_bool(opts, OPTION_ENABLE_TOPOLOGY));
	options_free(opts);
}
END_TEST

START_TEST(every_option_has_three_names)
{
	static const char *const samples[] = {
		[OPTION_TYPE_TEXT] = "a.b/c",
		[OPTION_TYPE_PATH] = "/x",
		[OPTION_TYPE_DRIVER] = "sim:article",
		[OPTION_TYPE_NUMBER] = "3",
		[OPTION_TYPE_RATIO] = "2",
		[OPTION_TYPE_BOOL] = "false",
	};
	const struct option_spec *spec = option_spec((enum option_id)_i);
	const char *sample = spec->type == OPTION_TYPE_WORD ? spec->words[0] : samples[spec->type];
	char name[OPTION_NAME_MAX], text[256];
	struct options *opts;

	options_write_file("");
	(void)snprintf(text, sizeof(text), "--%s=%s", spec->flag, sample);
	opts = options_must_load(LIST(text), LIST(options_config_env));
	ck_assert_str_eq(options_text(opts, (enum option_id)_i), sample);
	options_free(opts);

	option_env_name(spec, name);
	(void)snprintf(text, sizeof(text), "%s=%s", name, sample);
	opts = options_must_load(NULL, LIST(options_config_env, text));
	ck_assert_str_eq(options_text(opts, (enum option_id)_i), sample);
	options_free(opts);

	option_key_name(spec, name);
	(void)snprintf(text, sizeof(text), "version: 1\n%s: %s\n", name, sample);
	options_write_file(text);
	opts = options_must_load(NULL, LIST(options_config_env));
	ck_assert_str_eq(options_text(opts, (enum option_id)_i), sample);
	options_free(opts);
}
END_TEST

START_TEST(names_of_the_manifest_work)
{
	struct options *opts;

	options_write_file("");
	opts = options_must_load(LIST("--v=6", "--fail-on-init-error=true"),
				 LIST(options_config_env, "HAMI_VGPU_CORES_PER_DEVICE=8",
				      "HAMI_VGPU_MEMORY_MB_PER_CORE=5120",
				      "HAMI_ENABLE_TOPOLOGY=true", "HAMI_LOG_LEVEL=INFO"));
	ck_assert_uint_eq(options_number(opts, OPTION_CORES_PER_DEVICE), 8);
	ck_assert_uint_eq(options_number(opts, OPTION_MEMORY_MB_PER_CORE), 5120);
	ck_assert_int_eq(options_verbosity(opts), 6);
	ck_assert_str_eq(opts->values[OPTION_CORES_PER_DEVICE].where, "HAMI_VGPU_CORES_PER_DEVICE");
	options_free(opts);
}
END_TEST

START_TEST(two_names_must_agree)
{
	struct options *opts;

	options_write_file("");
	options_refused(
		NULL,
		LIST(options_config_env, "HAMI_VGPU_CORES_PER_DEVICE=8",
		     "HAMI_CORES_PER_DEVICE=10"),
		"HAMI_VGPU_CORES_PER_DEVICE: '8' and HAMI_CORES_PER_DEVICE: '10': set one of them, "
		"or both alike");
	opts = options_must_load(NULL, LIST(options_config_env, "HAMI_VGPU_CORES_PER_DEVICE=8",
					    "HAMI_CORES_PER_DEVICE=8"));
	ck_assert_uint_eq(options_number(opts, OPTION_CORES_PER_DEVICE), 8);
	options_free(opts);
}
END_TEST

static const struct {
	const char *env;
	const char *why;
} bad_env[] = {
	{ "HAMI_VGPU_CORES_PER_DEVICE=0",
	  "HAMI_VGPU_CORES_PER_DEVICE: '0': accepted: a whole number from 1 to 1024" },
	{ "HAMI_VGPU_CORES_PER_DEVICE=",
	  "HAMI_VGPU_CORES_PER_DEVICE: '': accepted: a whole number from 1 to 1024" },
	{ "HAMI_VGPU_CORES_PER_DEVICE=-1",
	  "HAMI_VGPU_CORES_PER_DEVICE: '-1': accepted: a whole number from 1 to 1024" },
	{ "HAMI_VGPU_CORES_PER_DEVICE=eight",
	  "HAMI_VGPU_CORES_PER_DEVICE: 'eight': accepted: a whole number from 1 to 1024" },
	{ "HAMI_VGPU_CORES_PER_DEVICE=18446744073709551624",
	  "HAMI_VGPU_CORES_PER_DEVICE: '18446744073709551624': accepted: a whole number from 1 to "
	  "1024" },
	{ "HAMI_VGPU_CORES_PER_DEVICE=4294967304",
	  "HAMI_VGPU_CORES_PER_DEVICE: '4294967304': accepted: a whole number from 1 to 1024" },
	{ "HAMI_CORES_PER_DEVICE=8\n",
	  "HAMI_CORES_PER_DEVICE: '8?': accepted: a whole number from 1 to 1024" },
	{ "HAMI_VGPU_MEMORY_MB_PER_CORE=0",
	  "HAMI_VGPU_MEMORY_MB_PER_CORE: '0': accepted: a whole number from 1 to 16777216" },
	{ "HAMI_VGPU_MEMORY_MB_PER_CORE=5120MB",
	  "HAMI_VGPU_MEMORY_MB_PER_CORE: '5120MB': accepted: a whole number from 1 to 16777216" },
	{ "HAMI_VGPU_MEMORY_MB_PER_CORE=5G",
	  "HAMI_VGPU_MEMORY_MB_PER_CORE: '5G': accepted: a whole number from 1 to 16777216" },
	{ "HAMI_MEMORY_RATIO=0",
	  "HAMI_MEMORY_RATIO: '0': accepted: a decimal from 1 to 100 with at most 6 decimals" },
	{ "HAMI_MEMORY_RATIO=150%",
	  "HAMI_MEMORY_RATIO: '150%': accepted: a decimal from 1 to 100 with at most 6 decimals" },
	{ "HAMI_ENABLE_TOPOLOGY=yes", "HAMI_ENABLE_TOPOLOGY: 'yes': accepted: true|false|1|0" },
	{ "HAMI_LOG_LEVEL=LOUD", "HAMI_LOG_LEVEL: 'LOUD': accepted: ERROR|WARN|INFO|DEBUG" },
	{ "HAMI_V=six", "HAMI_V: 'six': accepted: a whole number from 0 to 10" },
	{ "HAMI_RUN_DIR=run",
	  "HAMI_RUN_DIR: 'run': accepted: an absolute path of at most 1024 bytes" },
	{ "HAMI_DRIVER=sim:", "HAMI_DRIVER: 'sim:': accepted: auto|sim:NAME|sim:FILE|"
			      "hamivgpu[:LIBRARY]" },
	{ "HAMI_PLACEMENT=fit",
	  "HAMI_PLACEMENT: 'fit' is not available in this version: accepted: pack" },
};

/* Also where a flag would win over it: a variable that is wrong is wrong. */
START_TEST(bad_variable_is_named)
{
	options_write_file("");
	options_refused(NULL, LIST(options_config_env, bad_env[_i].env), bad_env[_i].why);
	options_refused(LIST("--cores-per-device=8", "--memory-mb-per-core=1", "--v=2"),
			LIST(options_config_env, bad_env[_i].env), bad_env[_i].why);
}
END_TEST

static const struct {
	const char *flag;
	const char *why;
} bad_flags[] = {
	{ "--cores-per-device=0",
	  "--cores-per-device: '0': accepted: a whole number from 1 to 1024" },
	{ "--cores-per-device=",
	  "--cores-per-device: '': accepted: a whole number from 1 to 1024" },
	{ "--cores-per-device", "--cores-per-device: a value is missing" },
	{ "--enable-topology=maybe", "--enable-topology: 'maybe': accepted: true|false|1|0" },
	{ "--no-such", "--no-such: no such flag, or one without a value; see --help" },
	{ "--dry-run=true", "--dry-run=true: no such flag, or one without a value; see --help" },
	{ "--cores=8", "--cores=8: no such flag, or one without a value; see --help" },
	{ "--resource=a.b/c",
	  "--resource=a.b/c: no such flag, or one without a value; see --help" },
	{ "-x", "-x: no such flag, or one without a value; see --help" },
	{ "false", "'false': unexpected argument; see --help" },
	{ "--v=-1", "--v: '-1': accepted: a whole number from 0 to 10" },
};

START_TEST(bad_flag_is_named)
{
	options_write_file("");
	options_refused(LIST(bad_flags[_i].flag), LIST(options_config_env), bad_flags[_i].why);
}
END_TEST

START_TEST(verbosity_of_levels)
{
	static const struct {
		const char *flag;
		const char *env;
		int verbosity;
	} cases[] = {
		{ NULL, NULL, 2 },
		{ NULL, "HAMI_LOG_LEVEL=ERROR", 0 },
		{ NULL, "HAMI_LOG_LEVEL=warn", 1 },
		{ NULL, "HAMI_LOG_LEVEL=INFO", 2 },
		{ NULL, "HAMI_LOG_LEVEL=DEBUG", 4 },
		{ "--v=6", "HAMI_LOG_LEVEL=ERROR", 6 },
		{ "--log-level=DEBUG", "HAMI_V=1", 4 },
		{ "--log-level=DEBUG", NULL, 4 },
		{ "--v=0", "HAMI_LOG_LEVEL=DEBUG", 0 },
	};

	options_write_file("");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *flags[] = { cases[i].flag, NULL };
		const char *env[] = { options_config_env, cases[i].env, NULL };
		struct options *opts = options_must_load(flags, env);

		ck_assert_int_eq(options_verbosity(opts), cases[i].verbosity);
		options_free(opts);
	}
}
END_TEST

START_TEST(named_file_must_exist)
{
	struct options *opts = NULL;
	struct complaint why;
	char want[128], flag[96];

	(void)snprintf(want, sizeof(want), "%s: No such file or directory", options_file);
	(void)snprintf(flag, sizeof(flag), "--config=%s", options_file);
	ck_assert_int_eq(options_try(LIST(flag), NULL, &opts, &why), -ENOENT);
	ck_assert_str_eq(why.text, want);
	ck_assert_int_eq(options_try(NULL, LIST(options_config_env), &opts, &why), -ENOENT);
	ck_assert_str_eq(why.text, want);
	ck_assert_ptr_null(opts);
}
END_TEST

START_TEST(empty_path_names_no_file)
{
	options_refused(LIST("--config="), NULL, "--config: '': accepted: the path of a file");
	options_refused(NULL, LIST("HAMI_CONFIG="),
			"HAMI_CONFIG: '': accepted: the path of a file");
}
END_TEST

START_TEST(resources_exclude_a_resource_name)
{
	char want[256];

	options_write_file("version: 1\nresources:\n  - name: a.b/c\n");
	(void)snprintf(
		want, sizeof(want),
		"--resource-name: 'x.y/z': 'resources' in %s:3 names the resources; keep one "
		"of both",
		options_file);
	options_refused(LIST("--resource-name=x.y/z"), LIST(options_config_env), want);
}
END_TEST

START_TEST(help_and_version_need_nothing)
{
	struct options *opts = options_must_load(LIST("--help"), LIST("HAMI_V=broken"));

	ck_assert_int_eq(opts->action, OPTIONS_HELP);
	options_free(opts);
	opts = options_must_load(LIST("--version", "--dry-run"), LIST(options_config_env));
	ck_assert_int_eq(opts->action, OPTIONS_VERSION);
	options_free(opts);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("options");
	TCase *tcase = tcase_create("options");

	tcase_add_checked_fixture(tcase, options_setup, options_teardown);
	tcase_add_test(tcase, defaults_are_the_documented_ones);
	tcase_add_loop_test(tcase, strongest_source_wins, 0, 8);
	tcase_add_test(tcase, explicit_default_beats_file);
	tcase_add_loop_test(tcase, every_option_has_three_names, 0, OPTION_N);
	tcase_add_test(tcase, names_of_the_manifest_work);
	tcase_add_test(tcase, two_names_must_agree);
	tcase_add_loop_test(tcase, bad_variable_is_named, 0,
			    (int)(sizeof(bad_env) / sizeof(bad_env[0])));
	tcase_add_loop_test(tcase, bad_flag_is_named, 0,
			    (int)(sizeof(bad_flags) / sizeof(bad_flags[0])));
	tcase_add_test(tcase, verbosity_of_levels);
	tcase_add_test(tcase, named_file_must_exist);
	tcase_add_test(tcase, empty_path_names_no_file);
	tcase_add_test(tcase, resources_exclude_a_resource_name);
	tcase_add_test(tcase, help_and_version_need_nothing);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
