/* SPDX-License-Identifier: Apache-2.0 */
/* Loads options for tests. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options-fixture.h"

#define ARGS_MAX 16

static char dir[40];
char options_file[64];
char options_config_env[80];

void options_setup(void)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/test-options-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(options_file, sizeof(options_file), "%s/c.yaml", dir);
	(void)snprintf(options_config_env, sizeof(options_config_env), "HAMI_CONFIG=%s",
		       options_file);
}

void options_teardown(void)
{
	(void)unlink(options_file);
	ck_assert_int_eq(rmdir(dir), 0);
}

void options_write_file(const char *text)
{
	FILE *out = fopen(options_file, "we");

	ck_assert_ptr_nonnull(out);
	ck_assert_int_ge(fputs(text, out), 0);
	ck_assert_int_eq(fclose(out), 0);
}

/* Load with flags and environment given as NULL-terminated lists; getopt wants its own array. */
int options_try(const char *const *flags, const char *const *env, struct options **ret,
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

struct options *options_must_load(const char *const *flags, const char *const *env)
{
	struct options *opts = NULL;
	struct complaint why;
	int r;

	r = options_try(flags, env, &opts, &why);
	ck_assert_msg(r == 0, "%s", why.text);
	return opts;
}

void options_refused(const char *const *flags, const char *const *env, const char *want)
{
	struct options *opts = NULL;
	struct complaint why;

	ck_assert_int_eq(options_try(flags, env, &opts, &why), -EINVAL);
	ck_assert_str_eq(why.text, want);
	ck_assert_ptr_null(opts);
}
