/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A strict, table-driven reader of JSON objects into structs: every key is known, every value has a
 * range, and an error names the key's path, the value and what is accepted. Knows no schema.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "reason.h"

#define HDP_JSON_STRING_MAX 4096U

/* Where we are, as a list from the inside out; prints as "devices[2].memory_mib". */
struct hdp_json_at {
	const struct hdp_json_at *up; /* NULL: the whole text */
	const char *key;	      /* NULL: an element */
	size_t index;
};

/* Reads one value into the struct at @out. 0, -EINVAL with a reason, or -ENOMEM with one. */
typedef int (*hdp_json_fn)(const json_t *value, const struct hdp_json_at *at, void *out,
			   struct hamidp_reason *reason);

struct hdp_json_word {
	const char *word;
	int value;
};

enum hdp_json_kind {
	HDP_JSON_STRING = 1, /* char *, a copy; @check may refuse it and @rule says what is asked */
	HDP_JSON_INT64 = 2,
	HDP_JSON_UINT64 = 3,
	HDP_JSON_UINT32 = 4,
	HDP_JSON_INT32 = 5,
	HDP_JSON_BOOL = 6,
	HDP_JSON_WORD = 7, /* an enum, by @words, which end with a NULL word */
	HDP_JSON_FN = 8,   /* @fn gets the whole struct */
};

struct hdp_json_field {
	const char *key;
	enum hdp_json_kind kind;
	bool required;
	size_t offset;
	int64_t min, max; /* integers */
	bool (*check)(const char *text);
	const char *rule;
	const struct hdp_json_word *words;
	hdp_json_fn fn;
};

int hdp_json_object(const json_t *value, const struct hdp_json_at *at,
		    const struct hdp_json_field *fields, size_t n_fields, void *out,
		    struct hamidp_reason *reason) hdp_must_check;

/* Call @fn for each element of an array of at most @max. */
int hdp_json_array(const json_t *value, const struct hdp_json_at *at, size_t max, hdp_json_fn fn,
		   void *out, struct hamidp_reason *reason) hdp_must_check;

/* A copy of a string of 1 to HDP_JSON_STRING_MAX bytes that passes @check (or NULL). */
int hdp_json_string(const json_t *value, const struct hdp_json_at *at,
		    bool (*check)(const char *text), const char *rule, char **ret,
		    struct hamidp_reason *reason) hdp_must_check;

/* The failure of the value at @at: "PATH: VALUE is not accepted, expected RULE". */
int hdp_json_refuse(const json_t *value, const struct hdp_json_at *at, const char *rule,
		    struct hamidp_reason *reason);
