/* SPDX-License-Identifier: Apache-2.0 */

/* Growing text; see buffer.h. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buffer.h"

void hdp_buffer_done(struct hdp_buffer *buffer)
{
	free(buffer->text);
	*buffer = (struct hdp_buffer){ 0 };
}

static void append(struct hdp_buffer *buffer, const char *bytes, size_t len)
{
	if (buffer->failed)
		return;
	if (buffer->cap - buffer->len <= len) { /* the NUL needs a byte */
		size_t cap = (buffer->len + len) * 2 + 256;
		char *grown = realloc(buffer->text, cap);

		if (!grown) {
			buffer->failed = true;
			return;
		}
		buffer->text = grown;
		buffer->cap = cap;
	}
	memcpy(buffer->text + buffer->len, bytes, len);
	buffer->len += len;
	buffer->text[buffer->len] = '\0';
}

void hdp_buffer_put(struct hdp_buffer *buffer, const char *text)
{
	append(buffer, text, strlen(text));
}

void hdp_buffer_number(struct hdp_buffer *buffer, uint64_t number)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, number);
	hdp_buffer_put(buffer, text);
}

void hdp_buffer_json_string(struct hdp_buffer *buffer, const char *text)
{
	append(buffer, "\"", 1);
	while (*text) {
		size_t plain = 0;
		char escape[8];

		while ((unsigned char)text[plain] >= 0x20 && text[plain] != '"' &&
		       text[plain] != '\\')
			plain++;
		append(buffer, text, plain);
		text += plain;
		if (!*text)
			break;
		if (*text == '"' || *text == '\\')
			(void)snprintf(escape, sizeof(escape), "\\%c", *text);
		else
			(void)snprintf(escape, sizeof(escape), "\\u%04x", (unsigned char)*text);
		hdp_buffer_put(buffer, escape);
		text++;
	}
	append(buffer, "\"", 1);
}

char *hdp_buffer_take(struct hdp_buffer *buffer, size_t *ret_len)
{
	char *text;

	if (buffer->failed || !buffer->text) {
		hdp_buffer_done(buffer);
		return NULL;
	}
	if (ret_len)
		*ret_len = buffer->len;
	text = take_ptr(buffer->text);
	hdp_buffer_done(buffer);
	return text;
}
