/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The configuration file as plain values, checked against the option table, with the lines that
 * they came from. Of "nodes" only the first entry whose pattern matches this node is kept, merged.
 */

#include <stddef.h>
#include <stdint.h>

#include <hami/layout.h>

#include "option-table.h"

struct complaint;

#define CONFIG_RESOURCES_MAX 64
#define CONFIG_OVERRIDES_MAX 256
#define CONFIG_NODES_MAX 1024
#define CONFIG_DEVICES_MAX 256 /* of one resource */

struct config_setting {
	char *text; /* NULL: not in the file */
	unsigned line;
};

/* What struct hamidp_slicing holds; 0: not stated. */
struct config_slicing {
	uint32_t slots;
	uint64_t memory_mib;
	uint64_t memory_ratio_ppm;
	uint64_t cores_ratio_ppm;
};

struct config_match {
	enum hamidp_match by;
	char *value;
	unsigned line;
};

struct config_resource {
	char *name;
	unsigned line;
	struct config_slicing slicing;
	struct config_match *devices;
	size_t n_devices;
};

struct config_override {
	struct config_match match;
	struct config_slicing slicing;
};

struct config {
	char *file;
	struct config_setting settings[OPTION_N];
	struct config_resource *resources;
	size_t n_resources;
	struct config_override *overrides;
	size_t n_overrides;
	char *node_pattern; /* of the entry of "nodes" that was merged, or NULL */
	size_t n_nodes;	    /* entries that the file has */
};

/*
 * Read a configuration out of @text. @file is for complaints, @node_name ("" if not known) selects
 * among "nodes". 0 with *@ret owned by the caller (config_free()), -EINVAL or -ENOMEM.
 */
int config_parse(const char *text, size_t len, const char *file, const char *node_name,
		 struct config **ret, struct complaint *complaint);
/* The same from a file. Also -ENOENT, -EACCES, -EIO, with path and errno text in the complaint. */
int config_read(const char *path, const char *node_name, struct config **ret,
		struct complaint *complaint);
struct config *config_free(struct config *config);
