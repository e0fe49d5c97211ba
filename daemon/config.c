/* SPDX-License-Identifier: Apache-2.0 */
/* The typed walk over the file's tree: every key known, every value in range. Pure but for memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "complaint.h"
#include "config.h"
#include "units.h"
#include "yaml-tree.h"

struct walk {
	const char *file;
	const char *node_name;
	struct config *config;
	struct complaint *complaint;
};

static int bad(const struct walk *walk, const struct tree *node, const char *what)
{
	return complain(walk->complaint, -EINVAL, "%s:%u: %.80s%s%s", walk->file, node->line,
			node->key ? node->key : "", node->key ? ": " : "", what);
}

static int out_of_memory(const struct walk *walk)
{
	return complain(walk->complaint, -ENOMEM, "%s: out of memory", walk->file);
}

/* Check a scalar against an option's row. */
static int check_option(const struct walk *walk, const struct tree *node, enum option_id id,
			uint64_t *ret)
{
	char where[OPTION_TEXT_MAX];

	if (node->kind != TREE_SCALAR)
		return bad(walk, node, "one value expected");
	(void)snprintf(where, sizeof(where), "%s:%u: %s", walk->file, node->line, node->key);
	return option_check(option_spec(id), where, node->text, ret, walk->complaint);
}

static int read_setting(const struct walk *walk, const struct tree *node, enum option_id id)
{
	struct config_setting *setting = &walk->config->settings[id];
	uint64_t number;
	char *text;
	int r;

	r = check_option(walk, node, id, &number);
	if (r < 0)
		return r;
	text = strdup(node->text);
	if (!text)
		return out_of_memory(walk);
	free(setting->text);
	setting->text = text;
	setting->line = node->line;
	return 0;
}

static int read_text(const struct walk *walk, const struct tree *node, char **ret)
{
	char *text;

	if (node->kind != TREE_SCALAR || !node->text[0])
		return bad(walk, node, "1 to 1024 bytes of text expected");
	for (const char *p = node->text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return bad(walk, node, "control characters are not accepted");
	text = strdup(node->text);
	if (!text)
		return out_of_memory(walk);
	free(*ret);
	*ret = text;
	return 0;
}

/* Slicing keys are options that may be narrower. *@ret_known: @node was one. */
static int read_slicing(const struct walk *walk, const struct tree *node,
			struct config_slicing *slicing, bool *ret_known)
{
	enum option_id id;
	uint64_t number;
	int r;

	*ret_known = false;
	if (option_find_key(node->key, &id) < 0)
		return 0;
	if (id != OPTION_CORES_PER_DEVICE && id != OPTION_MEMORY_MB_PER_CORE &&
	    id != OPTION_MEMORY_RATIO && id != OPTION_CORES_RATIO)
		return 0;
	*ret_known = true;
	r = check_option(walk, node, id, &number);
	if (r < 0)
		return r;
	if (id == OPTION_CORES_PER_DEVICE)
		slicing->slots = (uint32_t)number;
	else if (id == OPTION_MEMORY_MB_PER_CORE)
		slicing->memory_mib = number;
	else if (id == OPTION_MEMORY_RATIO)
		slicing->memory_ratio_ppm = number;
	else
		slicing->cores_ratio_ppm = number;
	return 0;
}

/* "uuid", "model" or "index". *@ret_known: @node was one. */
static int read_match(const struct walk *walk, const struct tree *node, struct config_match *match,
		      bool *ret_known)
{
	static const struct {
		const char *key;
		enum hamidp_match by;
	} kinds[] = { { "uuid", HAMIDP_MATCH_UUID },
		      { "model", HAMIDP_MATCH_MODEL },
		      { "index", HAMIDP_MATCH_INDEX } };
	uint64_t number;
	size_t i = 0;

	while (i < 3 && strcmp(kinds[i].key, node->key) != 0)
		i++;
	*ret_known = i < 3;
	if (i == 3)
		return 0;
	if (match->value)
		return bad(walk, node, "one of uuid, model and index, not two");
	match->by = kinds[i].by;
	match->line = node->line;
	if (match->by == HAMIDP_MATCH_INDEX && node->kind == TREE_SCALAR &&
	    (units_parse_number(node->text, &number) < 0 || number > INT32_MAX))
		return complain(walk->complaint, -EINVAL,
				"%s:%u: index: '%.80s': accepted: a whole number from 0 to %d",
				walk->file, node->line, node->text, INT32_MAX);
	return read_text(walk, node, &match->value);
}

static int unknown_key(const struct walk *walk, const struct tree *node, const char *accepted)
{
	return complain(walk->complaint, -EINVAL, "%s:%u: unknown key '%.80s': accepted: %s",
			walk->file, node->line, node->key, accepted);
}

static int check_list(const struct walk *walk, const struct tree *node, size_t max)
{
	if (node->kind != TREE_LIST)
		return bad(walk, node, "a list expected");
	if (node->n_items > max)
		return complain(walk->complaint, -EINVAL,
				"%s:%u: %s: %zu entries; accepted: at most %zu", walk->file,
				node->line, node->key, node->n_items, max);
	for (size_t i = 0; i < node->n_items; i++)
		if (node->items[i].kind != TREE_MAP)
			return bad(walk, &node->items[i], "an entry of keys and values expected");
	return 0;
}

static int read_devices(const struct walk *walk, const struct tree *list,
			struct config_resource *resource)
{
	int r;

	r = check_list(walk, list, CONFIG_DEVICES_MAX);
	if (r < 0)
		return r;
	if (!list->n_items)
		return bad(walk, list, "empty; leave it out to take all other GPUs");
	resource->devices = calloc(list->n_items, sizeof(*resource->devices));
	if (!resource->devices)
		return out_of_memory(walk);
	resource->n_devices = list->n_items;
	for (size_t i = 0; i < list->n_items; i++) {
		const struct tree *entry = &list->items[i];
		bool known;

		for (size_t k = 0; k < entry->n_items; k++) {
			r = read_match(walk, &entry->items[k], &resource->devices[i], &known);
			if (r < 0)
				return r;
			if (!known)
				return unknown_key(walk, &entry->items[k], "uuid, model, index");
		}
		if (!resource->devices[i].value)
			return bad(walk, entry, "one of uuid, model and index expected");
	}
	return 0;
}

static int read_resource(const struct walk *walk, const struct tree *entry,
			 struct config_resource *resource)
{
	bool known;
	int r;

	resource->line = entry->line;
	for (size_t i = 0; i < entry->n_items; i++) {
		const struct tree *node = &entry->items[i];

		if (!strcmp(node->key, "name")) {
			r = read_text(walk, node, &resource->name);
		} else if (!strcmp(node->key, "devices")) {
			r = read_devices(walk, node, resource);
		} else {
			r = read_slicing(walk, node, &resource->slicing, &known);
			if (r == 0 && !known)
				r = unknown_key(
					walk, node,
					"name, devices, cores_per_device, memory_mb_per_core, "
					"memory_ratio, cores_ratio");
		}
		if (r < 0)
			return r;
	}
	return resource->name ? 0 : bad(walk, entry, "a resource without a name");
}

static void resources_free(struct config *config)
{
	for (size_t i = 0; i < config->n_resources; i++) {
		struct config_resource *resource = &config->resources[i];

		for (size_t k = 0; k < resource->n_devices; k++)
			free(resource->devices[k].value);
		free(resource->devices);
		free(resource->name);
	}
	free(config->resources);
	config->resources = NULL;
	config->n_resources = 0;
}

static int read_resources(const struct walk *walk, const struct tree *list)
{
	struct config *config = walk->config;
	int r;

	r = check_list(walk, list, CONFIG_RESOURCES_MAX);
	if (r < 0)
		return r;
	resources_free(config);
	if (!list->n_items)
		return 0;
	config->resources = calloc(list->n_items, sizeof(*config->resources));
	if (!config->resources)
		return out_of_memory(walk);
	config->n_resources = list->n_items;
	for (size_t i = 0; i < list->n_items && r == 0; i++)
		r = read_resource(walk, &list->items[i], &config->resources[i]);
	return r;
}

static int read_override(const struct walk *walk, const struct tree *entry,
			 struct config_override *override)
{
	bool known;
	int r;

	for (size_t i = 0; i < entry->n_items; i++) {
		const struct tree *node = &entry->items[i];

		r = read_match(walk, node, &override->match, &known);
		if (r == 0 && !known)
			r = read_slicing(walk, node, &override->slicing, &known);
		if (r == 0 && !known)
			r = unknown_key(walk, node,
					"uuid, model, index, cores_per_device, memory_mb_per_core, "
					"memory_ratio, cores_ratio");
		if (r < 0)
			return r;
	}
	return override->match.value ? 0
				     : bad(walk, entry, "one of uuid, model and index expected");
}

static void overrides_free(struct config *config)
{
	for (size_t i = 0; i < config->n_overrides; i++)
		free(config->overrides[i].match.value);
	free(config->overrides);
	config->overrides = NULL;
	config->n_overrides = 0;
}

static int read_overrides(const struct walk *walk, const struct tree *list)
{
	struct config *config = walk->config;
	int r;

	r = check_list(walk, list, CONFIG_OVERRIDES_MAX);
	if (r < 0)
		return r;
	overrides_free(config);
	if (!list->n_items)
		return 0;
	config->overrides = calloc(list->n_items, sizeof(*config->overrides));
	if (!config->overrides)
		return out_of_memory(walk);
	config->n_overrides = list->n_items;
	for (size_t i = 0; i < list->n_items && r == 0; i++)
		r = read_override(walk, &list->items[i], &config->overrides[i]);
	return r;
}

/* A key that may stand at the top and in an entry of "nodes". *@ret_known: @node was one. */
static int read_common(const struct walk *walk, const struct tree *node, bool *ret_known)
{
	enum option_id id;

	*ret_known = true;
	if (!strcmp(node->key, "resources"))
		return read_resources(walk, node);
	if (!strcmp(node->key, "overrides"))
		return read_overrides(walk, node);
	if (option_find_key(node->key, &id) == 0)
		return read_setting(walk, node, id);
	*ret_known = false;
	return 0;
}

static int read_node(const struct walk *walk, const struct tree *entry, char **ret_pattern)
{
	bool known;
	int r;

	for (size_t i = 0; i < entry->n_items; i++) {
		const struct tree *node = &entry->items[i];

		if (!strcmp(node->key, "name")) {
			r = read_text(walk, node, ret_pattern);
		} else {
			r = read_common(walk, node, &known);
			if (r == 0 && !known)
				r = unknown_key(walk, node,
						"name, resources, overrides and every option");
		}
		if (r < 0)
			return r;
	}
	return *ret_pattern ? 0 : bad(walk, entry, "an entry without a name");
}

/* Entries that are for other nodes are checked too, into a configuration that is thrown away. */
static int read_nodes(const struct walk *walk, const struct tree *list)
{
	struct config *config = walk->config;
	int r;

	r = check_list(walk, list, CONFIG_NODES_MAX);
	if (r < 0)
		return r;
	config->n_nodes = list->n_items;
	for (size_t i = 0; i < list->n_items && r == 0; i++) {
		struct walk other = *walk;
		char *pattern = NULL;
		bool match;

		other.config = calloc(1, sizeof(*other.config));
		if (!other.config)
			return out_of_memory(walk);
		r = read_node(&other, &list->items[i], &pattern);
		config_free(other.config);
		match = r == 0 && !config->node_pattern &&
			fnmatch(pattern, walk->node_name, 0) == 0;
		free(pattern);
		if (match)
			r = read_node(walk, &list->items[i], &config->node_pattern);
	}
	return r;
}

static int read_version(const struct walk *walk, const struct tree *node)
{
	if (node->kind == TREE_SCALAR && !strcmp(node->text, "1"))
		return 0;
	return complain(walk->complaint, -EINVAL, "%s:%u: version: '%.80s': accepted: 1",
			walk->file, node->line, node->kind == TREE_SCALAR ? node->text : "");
}

static int read_top(const struct walk *walk, const struct tree *top)
{
	const struct tree *nodes = NULL;
	bool has_version = false;
	bool known;
	int r;

	if (top->kind != TREE_MAP)
		return bad(walk, top, "keys and values expected");
	for (size_t i = 0; i < top->n_items; i++) {
		const struct tree *node = &top->items[i];

		r = 0;
		if (!strcmp(node->key, "version")) {
			has_version = true;
			r = read_version(walk, node);
		} else if (!strcmp(node->key, "nodes")) {
			nodes = node; /* last: it goes over the rest wherever it stands */
		} else {
			r = read_common(walk, node, &known);
			if (r == 0 && !known)
				r = unknown_key(walk, node,
						"version, resources, overrides, nodes and every "
						"option (see hami-dp --help)");
		}
		if (r < 0)
			return r;
	}
	if (!has_version)
		return complain(walk->complaint, -EINVAL,
				"%s:%u: version is missing: accepted: version: 1", walk->file,
				top->line);
	return nodes ? read_nodes(walk, nodes) : 0;
}

struct config *config_free(struct config *config)
{
	if (!config)
		return NULL;
	for (size_t i = 0; i < OPTION_N; i++)
		free(config->settings[i].text);
	resources_free(config);
	overrides_free(config);
	free(config->node_pattern);
	free(config->file);
	free(config);
	return NULL;
}

int config_parse(const char *text, size_t len, const char *file, const char *node_name,
		 struct config **ret, struct complaint *complaint)
{
	struct walk walk = { .file = file, .node_name = node_name, .complaint = complaint };
	struct tree *top = NULL;
	int r;

	r = tree_parse(text, len, file, &top, complaint);
	if (r < 0)
		return r;
	walk.config = calloc(1, sizeof(*walk.config));
	if (walk.config)
		walk.config->file = strdup(file);
	if (!walk.config || !walk.config->file)
		r = out_of_memory(&walk);
	else if (top)
		r = read_top(&walk, top);
	tree_free(top);
	if (r < 0) {
		config_free(walk.config);
		return r;
	}
	*ret = walk.config;
	return 0;
}

int config_read(const char *path, const char *node_name, struct config **ret,
		struct complaint *complaint)
{
	struct stat st = { 0 };
	char *text;
	size_t len;
	FILE *file;
	int fd, r;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO would wait for a writer */
	if (fd < 0)
		return complain(complaint, -errno, "%s: %m", path);
	if (fstat(fd, &st) < 0 || S_ISFIFO(st.st_mode)) {
		(void)close(fd);
		return complain(complaint, -EINVAL, "%s: not a file that can be read", path);
	}
	file = fdopen(fd, "r");
	if (!file) {
		(void)close(fd);
		return complain(complaint, -ENOMEM, "%s: out of memory", path);
	}
	text = malloc(YAML_TREE_BYTES_MAX + 1);
	if (!text) {
		(void)fclose(file);
		return complain(complaint, -ENOMEM, "%s: out of memory", path);
	}
	len = fread(text, 1, YAML_TREE_BYTES_MAX + 1,
		    file); /* one more shows that it is too large */
	if (ferror(file))
		r = complain(complaint, -EIO, "%s: %m", path);
	else
		r = config_parse(text, len, path, node_name, ret, complaint);
	(void)fclose(file);
	free(text);
	return r;
}
