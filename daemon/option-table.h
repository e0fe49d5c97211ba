/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The one table of options: flag, variable, key, type, range, default and help come from here, for
 * the command line, the environment, the file, --help and --print-config alike.
 */

#include <stddef.h>
#include <stdint.h>

struct complaint;

enum option_id {
	OPTION_DRIVER = 0,
	OPTION_DRIVER_ROOT,
	OPTION_RESOURCE_NAME,
	OPTION_CORES_PER_DEVICE,
	OPTION_MEMORY_MB_PER_CORE,
	OPTION_MEMORY_RATIO,
	OPTION_CORES_RATIO,
	OPTION_MEMORY_FIT,
	OPTION_ENABLE_TOPOLOGY,
	OPTION_PLACEMENT,
	OPTION_SPLIT,
	OPTION_MAX_PER_DEVICE,
	OPTION_PUBLISH,
	OPTION_DEVICE_PLUGIN_DIR,
	OPTION_KUBELET_ROOT_DIR,
	OPTION_REGISTRATION,
	OPTION_STATE_DIR,
	OPTION_RUN_DIR,
	OPTION_FAIL_ON_INIT_ERROR,
	OPTION_V,
	OPTION_LOG_LEVEL,
	OPTION_LOG_FORMAT,
	OPTION_SYSROOT,
	OPTION_N
};

enum option_type {
	OPTION_TYPE_TEXT,
	OPTION_TYPE_PATH,   /* absolute */
	OPTION_TYPE_DRIVER, /* kind[:argument] */
	OPTION_TYPE_NUMBER,
	OPTION_TYPE_RATIO, /* the number is in ppm */
	OPTION_TYPE_BOOL,  /* the number is 0 or 1 */
	OPTION_TYPE_WORD,  /* the number is the word's position */
};

/* Positions of the words, in the order of the table. */
enum option_registration { OPTION_REGISTRATION_RPC = 0, OPTION_REGISTRATION_WATCHER = 1 };
enum option_log_format { OPTION_LOG_FORMAT_TEXT = 0, OPTION_LOG_FORMAT_JSON = 1 };
enum option_placement {
	OPTION_PLACEMENT_PACK = 0,
	OPTION_PLACEMENT_SPREAD = 1,
	OPTION_PLACEMENT_TOPOLOGY = 2,
	OPTION_PLACEMENT_FIT = 3,
};
enum option_split { OPTION_SPLIT_DENY = 0, OPTION_SPLIT_ALLOW = 1 };
enum option_publish { OPTION_PUBLISH_ALL = 0, OPTION_PUBLISH_PLACEABLE = 1 };
enum option_memory_fit { OPTION_MEMORY_FIT_SHRINK = 0, OPTION_MEMORY_FIT_STRICT = 1 };

struct option_spec {
	const char *flag; /* without "--" */
	enum option_type type;
	const char *alias;	  /* a further variable, or NULL */
	const char *const *words; /* OPTION_TYPE_WORD */
	uint64_t min;
	uint64_t max;
	const char *fallback; /* the default as text, or NULL: unset */
	const char *unset;    /* what unset means, for people, or NULL */
	const char *help;
};

#define OPTION_NAME_MAX 64   /* bytes of a flag's, variable's or key's name with the NUL */
#define OPTION_TEXT_MAX 1024 /* bytes of any value, without the NUL */
#define OPTION_MEMORY_MB_MAX 16777216U

/* The table's row, never NULL. */
const struct option_spec *option_spec(enum option_id id);
/* "HAMI_A_B" of "a-b". */
void option_env_name(const struct option_spec *spec, char buf[static OPTION_NAME_MAX]);
/* "a_b" of "a-b". */
void option_key_name(const struct option_spec *spec, char buf[static OPTION_NAME_MAX]);
/* Row of a key of the file. 0 or -ENOENT. */
int option_find_key(const char *key, enum option_id *ret);
/* What is accepted, for people: "a whole number from 1 to 1024". */
void option_accepted(const struct option_spec *spec, char *buf, size_t size);

/*
 * Is @text a value of this option? @where is the flag, the variable or "file:line: key". 0 with
 * *@ret_number set as the type says (0 for texts); or -EINVAL with a complaint.
 */
int option_check(const struct option_spec *spec, const char *where, const char *text,
		 uint64_t *ret_number, struct complaint *complaint);
