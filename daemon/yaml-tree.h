/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A small tree of scalars, lists and maps out of YAML text, with line numbers and hard limits. No
 * anchors, aliases, tags, further documents, or keys given twice.
 */

#include <stddef.h>

struct complaint;

#define YAML_TREE_BYTES_MAX 262144 /* of the text */
#define YAML_TREE_DEPTH_MAX 8
#define YAML_TREE_NODES_MAX 16384
#define YAML_TREE_SCALAR_MAX 1024 /* bytes */

enum tree_kind { TREE_SCALAR = 0, TREE_LIST = 1, TREE_MAP = 2 };

struct tree {
	enum tree_kind kind;
	unsigned line; /* from 1 */
	char *key;     /* in a map, else NULL */
	char *text;    /* of a scalar, else NULL */
	struct tree *items;
	size_t n_items;
};

/*
 * Parse the one document in @text; @file is for complaints only ("file:line: what"). An empty text
 * gives NULL. 0 with *@ret owned by the caller (tree_free()), -EINVAL or -ENOMEM.
 */
int tree_parse(const char *text, size_t len, const char *file, struct tree **ret,
	       struct complaint *complaint);
struct tree *tree_free(struct tree *tree);
