/* SPDX-License-Identifier: Apache-2.0 */
/* Options: which source wins, what is refused in which words, and what is printed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/suite.h"
#include "complaint.h"
#include "config.h"
#include "options-print.h"
#include "options.h"

#define ARGS_MAX 16

static char dir[] = "/tmp/test-options-XXXXXX";
static char file[64];
static char config_env[80];

static void setup(void)
{
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(file, sizeof(file), "%s/c.yaml", dir);
	(void)snprintf(config_env, sizeof(config_env), "HAMI_CONFIG=%s", file);
}

static void teardown(void)
{
	(void)unlink(file);
	ck_assert_int_eq(rmdir(dir), 0);
}

static void write_file(const char *text)
{
	FILE *out = fopen(file, "we");

	ck_assert_ptr_nonnull(out);
	ck_assert_int_ge(fputs(text, out), 0);
	ck_assert_int_eq(fclose(out), 0);
}

/* Load with flags and environment given as NULL-terminated lists; getopt wants its own array. */
static int load(const char *const *flags, const char *const *env, struct options **ret,
		struct complaint *why)
{
	char *argv[ARGS_MAX + 2] = { strdup("hami-dp") };
	char *envp[ARGS_MAX + 1] = { NULL };
	int argc = 1, r;

	for (size_t i = 0; flags && flags[i]; i++)
		argv[argc++] = strdup(flags[i]);
	for (size_t i = 0; env && env[i]; i++)
		envp[i] = strdup(env[i]);
	why->text[0] = '\0';
	r = options_load(argc, argv, envp, ret, why);
	for (int i = 0; i < argc; i++)
		free(argv[i]);
	for (size_t i = 0; envp[i]; i++)
		free(envp[i]);
	return r;
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static struct options *must_load(const char *const *flags, const char *const *env)
{
	struct options *opts = NULL;
	struct complaint why;
	int r;

	r = load(flags, env, &opts, &why);
	ck_assert_msg(r == 0, "%s", why.text);
	return opts;
}

static void refused(const char *const *flags, const char *const *env, const char *want)
{
	struct options *opts = NULL;
	struct complaint why;

	ck_assert_int_eq(load(flags, env, &opts, &why), -EINVAL);
	ck_assert_str_eq(why.text, want);
	ck_assert_ptr_null(opts);
}

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

	write_file("");
	opts = must_load(NULL, LIST(config_env));
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
	const char *env[] = { config_env, in_env ? "HAMI_CORES_PER_DEVICE=6" : NULL, NULL };
	const struct options_value *value;
	char in_file_where[128];
	struct options *opts;

	write_file(in_file ? "version: 1\ncores_per_device: 5\n" : "version: 1\n");
	opts = must_load(flags, env);
	value = &opts->values[OPTION_CORES_PER_DEVICE];
	(void)snprintf(in_file_where, sizeof(in_file_where), "%s:2: cores_per_device", file);
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

	write_file("version: 1\nmemory_ratio: 10\nenable_topology: false\n");
	opts = must_load(LIST("--memory-ratio=1", "--enable-topology"), LIST(config_env));
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

	write_file("");
	(void)snprintf(text, sizeof(text), "--%s=%s", spec->flag, sample);
	opts = must_load(LIST(text), LIST(config_env));
	ck_assert_str_eq(options_text(opts, (enum option_id)_i), sample);
	options_free(opts);

	option_env_name(spec, name);
	(void)snprintf(text, sizeof(text), "%s=%s", name, sample);
	opts = must_load(NULL, LIST(config_env, text));
	ck_assert_str_eq(options_text(opts, (enum option_id)_i), sample);
	options_free(opts);

	option_key_name(spec, name);
	(void)snprintf(text, sizeof(text), "version: 1\n%s: %s\n", name, sample);
	write_file(text);
	opts = must_load(NULL, LIST(config_env));
	ck_assert_str_eq(options_text(opts, (enum option_id)_i), sample);
	options_free(opts);
}
END_TEST

START_TEST(names_of_the_manifest_work)
{
	struct options *opts;

	write_file("");
	opts = must_load(LIST("--v=6", "--fail-on-init-error=true"),
			 LIST(config_env, "HAMI_VGPU_CORES_PER_DEVICE=8",
			      "HAMI_VGPU_MEMORY_MB_PER_CORE=5120", "HAMI_ENABLE_TOPOLOGY=true",
			      "HAMI_LOG_LEVEL=INFO"));
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

	write_file("");
	refused(NULL, LIST(config_env, "HAMI_VGPU_CORES_PER_DEVICE=8", "HAMI_CORES_PER_DEVICE=10"),
		"HAMI_VGPU_CORES_PER_DEVICE: '8' and HAMI_CORES_PER_DEVICE: '10': set one of them, "
		"or both alike");
	opts = must_load(NULL, LIST(config_env, "HAMI_VGPU_CORES_PER_DEVICE=8",
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
	write_file("");
	refused(NULL, LIST(config_env, bad_env[_i].env), bad_env[_i].why);
	refused(LIST("--cores-per-device=8", "--memory-mb-per-core=1", "--v=2"),
		LIST(config_env, bad_env[_i].env), bad_env[_i].why);
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
	write_file("");
	refused(LIST(bad_flags[_i].flag), LIST(config_env), bad_flags[_i].why);
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

	write_file("");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *flags[] = { cases[i].flag, NULL };
		const char *env[] = { config_env, cases[i].env, NULL };
		struct options *opts = must_load(flags, env);

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

	(void)snprintf(want, sizeof(want), "%s: No such file or directory", file);
	(void)snprintf(flag, sizeof(flag), "--config=%s", file);
	ck_assert_int_eq(load(LIST(flag), NULL, &opts, &why), -ENOENT);
	ck_assert_str_eq(why.text, want);
	ck_assert_int_eq(load(NULL, LIST(config_env), &opts, &why), -ENOENT);
	ck_assert_str_eq(why.text, want);
	ck_assert_ptr_null(opts);
}
END_TEST

START_TEST(resources_exclude_a_resource_name)
{
	char want[256];

	write_file("version: 1\nresources:\n  - name: a.b/c\n");
	(void)snprintf(
		want, sizeof(want),
		"--resource-name: 'x.y/z': 'resources' in %s:3 names the resources; keep one "
		"of both",
		file);
	refused(LIST("--resource-name=x.y/z"), LIST(config_env), want);
}
END_TEST

START_TEST(help_and_version_need_nothing)
{
	struct options *opts = must_load(LIST("--help"), LIST("HAMI_V=broken"));

	ck_assert_int_eq(opts->action, OPTIONS_HELP);
	options_free(opts);
	opts = must_load(LIST("--version", "--dry-run"), LIST(config_env));
	ck_assert_int_eq(opts->action, OPTIONS_VERSION);
	options_free(opts);
}
END_TEST

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

	write_file("version: 1\nmemory_ratio: 1.5\nresources:\n  - name: a.b/c\n    devices:\n"
		   "      - model: it's\noverrides:\n  - index: 0\n    cores_per_device: 2\n");
	opts = must_load(LIST("--cores-per-device=8"), LIST(config_env, "HAMI_LOG_LEVEL=warn"));
	text = print(opts);
	ck_assert_ptr_nonnull(strstr(text, "\ncores_per_device: 8  # --cores-per-device\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nlog_level: WARN  # HAMI_LOG_LEVEL\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nrun_dir: '/run/hami-dp'  # default\n"));
	(void)snprintf(line, sizeof(line), "\nmemory_ratio: 1.5  # %s:2: memory_ratio\n", file);
	ck_assert_ptr_nonnull(strstr(text, line));
	(void)snprintf(line, sizeof(line), "      - model: 'it''s'  # %s:6\n", file);
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

	write_file("version: 1\ncores_per_device: 8\nmemory_mb_per_core: 5120\nv: 6\n"
		   "resources: [{name: a.b/c, cores_per_device: 3, devices: [{uuid: GPU-1}]}]\n"
		   "overrides: [{model: 'A*', memory_ratio: 1.25, memory_mb_per_core: 9}]\n");
	opts = must_load(LIST("--driver=sim:article", "--registration=watcher"), LIST(config_env));
	text = print(opts);
	write_file(text);
	free(text);
	again = must_load(NULL, LIST(config_env));
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
	Suite *suite = suite_create("options");
	TCase *tcase = tcase_create("options");

	tcase_add_checked_fixture(tcase, setup, teardown);
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
	tcase_add_test(tcase, resources_exclude_a_resource_name);
	tcase_add_test(tcase, help_and_version_need_nothing);
	tcase_add_test(tcase, help_names_everything);
	tcase_add_test(tcase, printed_config_tells_origins);
	tcase_add_test(tcase, printed_config_reads_back);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
