/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Growing text, mostly JSON. A failure sticks until the end, so that callers check once. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "macro.h"

struct hdp_buffer {
	char *text; /* NUL-terminated once anything was put */
	size_t len, cap;
	bool failed;
};

void hdp_buffer_done(struct hdp_buffer *buffer);
void hdp_buffer_put(struct hdp_buffer *buffer, const char *text);
void hdp_buffer_number(struct hdp_buffer *buffer, uint64_t number);
/* In quotes and escaped; @text is valid UTF-8. */
void hdp_buffer_json_string(struct hdp_buffer *buffer, const char *text);
/* The text, now owned by the caller, or NULL: out of memory. */
char *hdp_buffer_take(struct hdp_buffer *buffer, size_t *ret_len) hdp_must_check;
