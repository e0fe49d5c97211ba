/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The insides of edits, for their writers (edits-json.c) and for grants, which keep copies. */

#include <stdbool.h>

#include <hami/edits.h>

#include "macro.h"

#define HDP_EDITS_MAX 4096U	  /* entries of one kind */
#define HDP_EDIT_STRING_MAX 4096U /* bytes of a string without the NUL */
#define HDP_EDIT_ENV_MAX 131070U  /* name and value: Linux takes 128 KiB with '=' and NUL */
#define HDP_EDIT_ARGS_MAX 256U	  /* arguments of a hook */

enum hdp_edit_kind {
	HDP_EDIT_ENV = 0,
	HDP_EDIT_NODE = 1,
	HDP_EDIT_MOUNT = 2,
	HDP_EDIT_CDI = 3,
	HDP_EDIT_ANNOTATION = 4,
	HDP_EDIT_HOOK = 5,
	HDP_EDIT_N_KINDS = 6
};

struct hdp_edit {
	char *key;	     /* variable, container path, CDI name, annotation key or hook name */
	char *value;	     /* value, host path or hook path; NULL for a CDI name */
	char **args;	     /* hooks: NULL-terminated, or NULL */
	char permissions[4]; /* nodes */
	enum hamidp_node_type type; /* nodes */
	uint32_t major, minor;	    /* nodes of known type */
	uint32_t timeout_s;	    /* hooks, 0: not stated */
	bool read_only;		    /* mounts */
};

struct hdp_edit_list {
	struct hdp_edit *items; /* in the order of adding */
	size_t n, cap;
};

struct hamidp_edits {
	struct hdp_edit_list lists[HDP_EDIT_N_KINDS];
};

/* An independent copy. 0 or -ENOMEM. */
int hdp_edits_copy(const struct hamidp_edits *src, struct hamidp_edits **ret) hdp_must_check;

/* Names that may be written into edits and specifications. */
bool hdp_cdi_kind_is_good(const char *kind);	       /* "vendor.com/class" */
bool hdp_cdi_device_is_good(const char *name);	       /* what follows the '=' */
bool hdp_cdi_name_is_good(const char *name);	       /* "vendor.com/class=name" */
bool hdp_edit_text_fits(const char *text, size_t max); /* UTF-8, no control characters */
bool hdp_edit_text_is_good(const char *text); /* UTF-8, no control characters, not too long */
bool hdp_edit_path_is_good(const char *path); /* such a text, absolute */
bool hdp_hook_name_is_good(const char *name);
