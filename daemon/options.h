/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the daemon was told: flag over environment over file over default, each value with where it
 * came from. Reads the command line and the file; touches nothing else.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "option-table.h"

struct complaint;
struct config;

#define OPTIONS_CONFIG_DEFAULT "/etc/hami/hami-dp.yaml"

enum options_action {
	OPTIONS_RUN = 0,
	OPTIONS_HELP = 1,
	OPTIONS_VERSION = 2,
	OPTIONS_PRINT_CONFIG = 3,
	OPTIONS_DRY_RUN = 4,
};

enum options_origin {
	OPTIONS_FROM_DEFAULT = 0,
	OPTIONS_FROM_FILE = 1,
	OPTIONS_FROM_ENV = 2,
	OPTIONS_FROM_FLAG = 3,
};

struct options_value {
	char *text; /* NULL: unset */
	uint64_t number;
	enum options_origin origin;
	char *where; /* "--driver", "HAMI_DRIVER", "FILE:LINE: driver"; NULL for a default */
};

struct options {
	enum options_action action;
	struct options_value values[OPTION_N];
	struct config *config; /* NULL: there is no file */
	char *config_path;     /* as given, or the default one */
	char *node_name;       /* NODE_NAME, "" if not set */
};

/*
 * Read @argv, @envp and the file. @argv is permuted, as getopt_long(3) does. With --help and
 * --version nothing else is looked at.
 *
 * Return: 0 with *@ret owned by the caller (options_free()), -EINVAL (usage or configuration) or
 * another errno of reading the file, with a complaint.
 */
int options_load(int argc, char **argv, char *const *envp, struct options **ret,
		 struct complaint *complaint);
struct options *options_free(struct options *opts);

/* NULL where it is unset and has no default. */
const char *options_text(const struct options *opts, enum option_id id);
uint64_t options_number(const struct options *opts, enum option_id id);
bool options_bool(const struct options *opts, enum option_id id);
bool options_is_set(const struct options *opts, enum option_id id);
/* How much to log: --v, or what HAMI_LOG_LEVEL says where that comes from a stronger source. */
int options_verbosity(const struct options *opts);
