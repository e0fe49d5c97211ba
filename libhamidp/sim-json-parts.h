/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the files that read "hami.inventory/1" share. */

#include "json-read.h"
#include "machine.h"

#define HDP_JSON_TEXT(type, name, form, what)                                          \
	{                                                                              \
		.key = #name, .kind = HDP_JSON_STRING, .offset = offsetof(type, name), \
		.check = form, .rule = what                                            \
	}
#define HDP_JSON_NUMBER(type, name, a_kind, lowest, highest)                                 \
	{                                                                                    \
		.key = #name, .kind = a_kind, .offset = offsetof(type, name), .min = lowest, \
		.max = highest                                                               \
	}
#define HDP_JSON_PATH_RULE "an absolute path of at most 4096 bytes"

bool hdp_json_is_path(const char *text);

/* Each reads one element of its array; @out is the machine. */
int hdp_json_read_device(const json_t *value, const struct hdp_json_at *at, void *out,
			 struct hamidp_reason *reason) hdp_must_check;
int hdp_json_read_link(const json_t *value, const struct hdp_json_at *at, void *out,
		       struct hamidp_reason *reason) hdp_must_check;
