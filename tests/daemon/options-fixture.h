/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Options loaded from flags, an environment and a file that a test gives. */

#include <check.h>

#include "complaint.h"
#include "options.h"

/* The file, and "HAMI_CONFIG=" with its path. */
extern char options_file[64];
extern char options_config_env[80];

void options_setup(void);
void options_teardown(void);
void options_write_file(const char *text);

/* Flags and environment are NULL-terminated lists, or NULL. */
#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })
int options_try(const char *const *flags, const char *const *env, struct options **ret,
		struct complaint *why);
struct options *options_must_load(const char *const *flags, const char *const *env);
void options_refused(const char *const *flags, const char *const *env, const char *want);
