/* SPDX-License-Identifier: Apache-2.0 */
/* YAML events to a bounded tree. The only file that sees libyaml; knows no key. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "complaint.h"
#include "yaml-tree.h"

struct reader {
	yaml_parser_t parser;
	const char *file;
	size_t n_nodes;
	struct complaint *complaint;
};

static unsigned event_line(const yaml_event_t *event)
{
	return (unsigned)event->start_mark.line + 1;
}

static int refuse(struct reader *reader, const yaml_event_t *event, const char *what)
{
	return complain(reader->complaint, -EINVAL, "%s:%u: %s", reader->file, event_line(event),
			what);
}

/* Next event; the caller deletes it. */
static int next_event(struct reader *reader, yaml_event_t *event)
{
	const yaml_parser_t *parser = &reader->parser;
	size_t line;

	if (yaml_parser_parse(&reader->parser, event))
		return 0;
	if (parser->error == YAML_MEMORY_ERROR)
		return complain(reader->complaint, -ENOMEM, "%s: out of memory", reader->file);
	line = parser->problem_mark.line + 1;
	return complain(reader->complaint, -EINVAL, "%s:%zu: no valid YAML: %s%s%s", reader->file,
			line, parser->problem ? parser->problem : "unreadable",
			parser->context ? " " : "", parser->context ? parser->context : "");
}

static int expect_event(struct reader *reader, yaml_event_type_t type, const char *what)
{
	yaml_event_t event;
	int r;

	r = next_event(reader, &event);
	if (r < 0)
		return r;
	if (event.type != type)
		r = refuse(reader, &event, what);
	yaml_event_delete(&event);
	return r;
}

static void tree_done(struct tree *tree)
{
	for (size_t i = 0; i < tree->n_items; i++)
		tree_done(&tree->items[i]);
	free(tree->items);
	free(tree->key);
	free(tree->text);
}

struct tree *tree_free(struct tree *tree)
{
	if (!tree)
		return NULL;
	tree_done(tree);
	free(tree);
	return NULL;
}

static int take_scalar(struct reader *reader, const yaml_event_t *event, char **ret)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t len = event->data.scalar.length;

	if (event->data.scalar.anchor || event->data.scalar.tag)
		return refuse(reader, event, "anchors and tags are not accepted");
	if (len > YAML_TREE_SCALAR_MAX)
		return refuse(reader, event, "a value of more than 1024 bytes");
	if (memchr(text, '\0', len))
		return refuse(reader, event, "a value with a NUL character");
	*ret = strndup(text, len);
	return *ret ? 0 : -ENOMEM;
}

/* Room for one more item, zeroed; it counts once it is filled. */
static struct tree *grow(struct tree *tree)
{
	if ((tree->n_items & (tree->n_items - 1)) == 0) { /* full at each power of two */
		size_t n = tree->n_items ? tree->n_items * 2 : 1;
		struct tree *items = reallocarray(tree->items, n, sizeof(*items));

		if (!items)
			return NULL;
		tree->items = items;
	}
	memset(&tree->items[tree->n_items], 0, sizeof(*tree->items));
	return &tree->items[tree->n_items];
}

static int check_key(struct reader *reader, const struct tree *map, const yaml_event_t *event,
		     const char *key)
{
	for (size_t i = 0; i < map->n_items; i++)
		if (!strcmp(map->items[i].key, key))
			return complain(reader->complaint, -EINVAL,
					"%s:%u: %.80s: given twice, first in line %u", reader->file,
					event_line(event), key, map->items[i].line);
	return 0;
}

static int read_node(struct reader *reader, yaml_event_t *event, unsigned depth, struct tree *ret);

/* One "key: value" of @map; @event is the key's. */
static int read_pair(struct reader *reader, yaml_event_t *event, unsigned depth, struct tree *map)
{
	yaml_event_t value;
	struct tree *item;
	char *key = NULL;
	int r;

	if (event->type != YAML_SCALAR_EVENT)
		return refuse(reader, event, "a key must be plain text");
	r = take_scalar(reader, event, &key);
	if (r < 0)
		return r;
	r = check_key(reader, map, event, key);
	if (r < 0)
		goto out;
	item = grow(map);
	r = item ? next_event(reader, &value) : -ENOMEM;
	if (r < 0)
		goto out;
	r = read_node(reader, &value, depth, item);
	yaml_event_delete(&value);
	if (r < 0)
		goto out;
	item->key = key;
	item->line = event_line(event);
	map->n_items++;
	return 0;
out:
	free(key);
	return r;
}

static int read_item(struct reader *reader, yaml_event_t *event, unsigned depth, struct tree *list)
{
	struct tree *item = grow(list);
	int r;

	if (!item)
		return -ENOMEM;
	r = read_node(reader, event, depth, item);
	if (r < 0)
		return r;
	list->n_items++;
	return 0;
}

static int read_items(struct reader *reader, yaml_event_type_t end, unsigned depth,
		      struct tree *tree)
{
	for (;;) {
		yaml_event_t event;
		bool done;
		int r;

		r = next_event(reader, &event);
		if (r < 0)
			return r;
		done = event.type == end;
		if (!done)
			r = tree->kind == TREE_MAP ? read_pair(reader, &event, depth + 1, tree)
						   : read_item(reader, &event, depth + 1, tree);
		yaml_event_delete(&event);
		if (r < 0 || done)
			return r;
	}
}

static int read_collection(struct reader *reader, const yaml_event_t *event, unsigned depth,
			   struct tree *tree)
{
	bool is_map = event->type == YAML_MAPPING_START_EVENT;

	if (is_map ? event->data.mapping_start.anchor || event->data.mapping_start.tag
		   : event->data.sequence_start.anchor || event->data.sequence_start.tag)
		return refuse(reader, event, "anchors and tags are not accepted");
	tree->kind = is_map ? TREE_MAP : TREE_LIST;
	return read_items(reader, is_map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT, depth,
			  tree);
}

/* @ret is zeroed; on failure nothing of it has to be released. */
static int read_node(struct reader *reader, yaml_event_t *event, unsigned depth, struct tree *ret)
{
	struct tree tree = { .line = event_line(event) };
	int r;

	if (depth > YAML_TREE_DEPTH_MAX)
		return refuse(reader, event, "nested more than 8 deep");
	if (++reader->n_nodes > YAML_TREE_NODES_MAX)
		return refuse(reader, event, "more than 16384 values");
	switch ((int)event->type) {
	case YAML_SCALAR_EVENT:
		r = take_scalar(reader, event, &tree.text);
		break;
	case YAML_MAPPING_START_EVENT:
	case YAML_SEQUENCE_START_EVENT:
		r = read_collection(reader, event, depth, &tree);
		break;
	case YAML_ALIAS_EVENT:
		r = refuse(reader, event, "aliases are not accepted");
		break;
	default:
		r = refuse(reader, event, "no value");
		break;
	}
	if (r < 0) {
		tree_done(&tree);
		return r;
	}
	*ret = tree;
	return 0;
}

static int read_document(struct reader *reader, struct tree *ret)
{
	yaml_event_t event;
	int r;

	r = next_event(reader, &event);
	if (r < 0)
		return r;
	r = read_node(reader, &event, 0, ret);
	yaml_event_delete(&event);
	if (r < 0)
		return r;
	r = expect_event(reader, YAML_DOCUMENT_END_EVENT, "one value expected");
	if (r == 0)
		r = expect_event(reader, YAML_STREAM_END_EVENT, "more than one document");
	return r;
}

/* *@ret_empty: nothing but comments. */
static int read_stream(struct reader *reader, struct tree *ret, bool *ret_empty)
{
	yaml_event_t event;
	int r;

	r = expect_event(reader, YAML_STREAM_START_EVENT, "no stream");
	if (r < 0)
		return r;
	r = next_event(reader, &event);
	if (r < 0)
		return r;
	*ret_empty = event.type == YAML_STREAM_END_EVENT;
	yaml_event_delete(&event);
	return *ret_empty ? 0 : read_document(reader, ret);
}

int tree_parse(const char *text, size_t len, const char *file, struct tree **ret,
	       struct complaint *complaint)
{
	struct reader reader = { .file = file, .complaint = complaint };
	struct tree *tree;
	bool empty = true;
	int r;

	if (len > YAML_TREE_BYTES_MAX)
		return complain(complaint, -EINVAL, "%s: %zu bytes; accepted: at most %d", file,
				len, YAML_TREE_BYTES_MAX);
	tree = calloc(1, sizeof(*tree));
	if (!tree || !yaml_parser_initialize(&reader.parser)) {
		free(tree);
		return complain(complaint, -ENOMEM, "%s: out of memory", file);
	}
	yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, len);
	yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
	r = read_stream(&reader, tree, &empty);
	yaml_parser_delete(&reader.parser);
	if (r == -ENOMEM)
		(void)complain(complaint, r, "%s: out of memory", file);
	if (r < 0 || empty)
		tree = tree_free(tree);
	if (r == 0)
		*ret = tree;
	return r;
}
