/* SPDX-License-Identifier: Apache-2.0 */

/* The strict reader of JSON objects; see json-read.h. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "json-read.h"
#include "text.h"

#define PATH_SIZE 160
#define DEPTH_MAX 8 /* of the schemas that are read, not of the text */

/* Append to @path as far as there is room. */
static void put(char path[PATH_SIZE], const char *text)
{
	size_t used = strlen(path);

	(void)snprintf(path + used, PATH_SIZE - used, "%s", text);
}

static void render_path(const struct hdp_json_at *at, char path[PATH_SIZE])
{
	const struct hdp_json_at *chain[DEPTH_MAX];
	size_t n = 0;
	char index[32];

	for (; at && n < DEPTH_MAX; at = at->up)
		chain[n++] = at;
	path[0] = '\0';
	while (n-- > 0) {
		if (chain[n]->key) {
			put(path, *path ? "." : "");
			put(path, chain[n]->key);
		} else if (chain[n]->up) {
			(void)snprintf(index, sizeof(index), "[%zu]", chain[n]->index);
			put(path, index);
		}
	}
	if (!*path)
		put(path, "the text");
}

/* As JSON has it: 1.0 is no integer, and the point is no matter of the locale. */
static void render_real(const json_t *value, char *text, size_t size)
{
	size_t len = json_dumpb(value, text, size - 1, JSON_ENCODE_ANY);

	text[len < size ? len : 0] = '\0';
}

static void render_value(const json_t *value, char *text, size_t size)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		(void)snprintf(text, size, "'%.128s'", json_string_value(value));
		return;
	case JSON_INTEGER:
		(void)snprintf(text, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		return;
	case JSON_REAL:
		render_real(value, text, size);
		return;
	case JSON_OBJECT:
		(void)snprintf(text, size, "an object");
		return;
	case JSON_ARRAY:
		(void)snprintf(text, size, "an array of %zu", json_array_size(value));
		return;
	case JSON_TRUE:
		(void)snprintf(text, size, "true");
		return;
	case JSON_FALSE:
		(void)snprintf(text, size, "false");
		return;
	case JSON_NULL:
		break;
	}
	(void)snprintf(text, size, "null");
}

int hdp_json_refuse(const json_t *value, const struct hdp_json_at *at, const char *rule,
		    struct hamidp_reason *reason)
{
	char path[PATH_SIZE], text[160];

	render_path(at, path);
	render_value(value, text, sizeof(text));
	return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_INPUT,
			"%s: %s is not accepted, expected %s", path, text, rule);
}

int hdp_json_string(const json_t *value, const struct hdp_json_at *at,
		    bool (*check)(const char *text), const char *rule, char **ret,
		    struct hamidp_reason *reason)
{
	const char *text = json_string_value(value);
	size_t len = json_string_length(value);
	char *copy;

	if (!text || len < 1 || len > HDP_JSON_STRING_MAX || !hdp_text_valid(text, len))
		return hdp_json_refuse(
			value, at,
			rule ? rule : "a string of 1 to 4096 bytes without control characters",
			reason);
	if (check && !check(text))
		return hdp_json_refuse(value, at, rule, reason);

	copy = strndup(text, len);
	if (!copy)
		return hdp_oom(reason);
	*ret = copy;
	return 0;
}

static int read_integer(const json_t *value, const struct hdp_json_at *at,
			const struct hdp_json_field *field, int64_t *ret,
			struct hamidp_reason *reason)
{
	char rule[96];

	if (json_is_integer(value) && json_integer_value(value) >= field->min &&
	    json_integer_value(value) <= field->max) {
		*ret = json_integer_value(value);
		return 0;
	}
	(void)snprintf(rule, sizeof(rule), "an integer from %" PRId64 " to %" PRId64, field->min,
		       field->max);
	return hdp_json_refuse(value, at, rule, reason);
}

static int read_word(const json_t *value, const struct hdp_json_at *at,
		     const struct hdp_json_word *words, int *ret, struct hamidp_reason *reason)
{
	const char *text = json_string_value(value);
	char rule[160] = "one of";

	for (const struct hdp_json_word *w = words; w->word; w++) {
		size_t used = strlen(rule);

		if (text && strcmp(w->word, text) == 0) {
			*ret = w->value;
			return 0;
		}
		(void)snprintf(rule + used, sizeof(rule) - used, " %s", w->word);
	}
	return hdp_json_refuse(value, at, rule, reason);
}

static int read_number(const json_t *value, const struct hdp_json_at *at,
		       const struct hdp_json_field *field, void *to, struct hamidp_reason *reason)
{
	int64_t number = 0;
	int r = read_integer(value, at, field, &number, reason);

	if (r < 0)
		return r;
	if (field->kind == HDP_JSON_INT64)
		*(int64_t *)to = number;
	else if (field->kind == HDP_JSON_UINT64)
		*(uint64_t *)to = (uint64_t)number;
	else if (field->kind == HDP_JSON_UINT32)
		*(uint32_t *)to = (uint32_t)number;
	else
		*(int32_t *)to = (int32_t)number;
	return 0;
}

static int read_field(const json_t *value, const struct hdp_json_at *at,
		      const struct hdp_json_field *field, void *out, struct hamidp_reason *reason)
{
	void *to = (char *)out + field->offset;

	switch (field->kind) {
	case HDP_JSON_STRING:
		return hdp_json_string(value, at, field->check, field->rule, to, reason);
	case HDP_JSON_INT64:
	case HDP_JSON_UINT64:
	case HDP_JSON_UINT32:
	case HDP_JSON_INT32:
		return read_number(value, at, field, to, reason);
	case HDP_JSON_BOOL:
		if (!json_is_boolean(value))
			return hdp_json_refuse(value, at, "true or false", reason);
		*(bool *)to = json_is_true(value);
		return 0;
	case HDP_JSON_WORD:
		return read_word(value, at, field->words, to, reason);
	case HDP_JSON_FN:
		return field->fn(value, at, out, reason);
	}
	return hdp_json_refuse(value, at, "nothing", reason);
}

static const struct hdp_json_field *find_field(const struct hdp_json_field *fields, size_t n,
					       const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(fields[i].key, key) == 0)
			return &fields[i];
	return NULL;
}

static int refuse_key(const struct hdp_json_at *at, const char *what, struct hamidp_reason *reason)
{
	char path[PATH_SIZE];

	render_path(at, path);
	return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_INPUT, "%s: %s", path, what);
}

int hdp_json_object(const json_t *value, const struct hdp_json_at *at,
		    const struct hdp_json_field *fields, size_t n_fields, void *out,
		    struct hamidp_reason *reason)
{
	json_t *object = (json_t *)value; /* jansson's iterators are not const */
	const char *key;
	json_t *item;

	if (!json_is_object(value))
		return hdp_json_refuse(value, at, "an object", reason);

	json_object_foreach(object, key, item)
	{
		const struct hdp_json_field *field = find_field(fields, n_fields, key);
		const struct hdp_json_at here = { .up = at, .key = key };
		int r;

		if (!field)
			return refuse_key(&here, "unknown key", reason);
		r = read_field(item, &here, field, out, reason);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < n_fields; i++) {
		const struct hdp_json_at here = { .up = at, .key = fields[i].key };

		if (fields[i].required && !json_object_get(value, fields[i].key))
			return refuse_key(&here, "missing, but required", reason);
	}
	return 0;
}

int hdp_json_array(const json_t *value, const struct hdp_json_at *at, size_t max, hdp_json_fn fn,
		   void *out, struct hamidp_reason *reason)
{
	size_t n = json_array_size(value);
	char rule[64];

	if (!json_is_array(value) || n > max) {
		(void)snprintf(rule, sizeof(rule), "an array of at most %zu", max);
		return hdp_json_refuse(value, at, rule, reason);
	}
	for (size_t i = 0; i < n; i++) {
		const struct hdp_json_at here = { .up = at, .index = i };
		int r = fn(json_array_get(value, i), &here, out, reason);

		if (r < 0)
			return r;
	}
	return 0;
}
