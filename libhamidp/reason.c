/* SPDX-License-Identifier: Apache-2.0 */

/* Why a call failed: filling and reading. Nothing here allocates but hamidp_reason_new(). */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "reason.h"
#include "text.h"

HAMIDP_EXPORT int hamidp_reason_new(struct hamidp_reason **ret)
{
	struct hamidp_reason *reason = calloc(1, sizeof(*reason));

	if (!reason)
		return -ENOMEM;
	*ret = reason;
	return 0;
}

HAMIDP_EXPORT struct hamidp_reason *hamidp_reason_free(struct hamidp_reason *reason)
{
	free(reason);
	return NULL;
}

HAMIDP_EXPORT enum hamidp_reason_code hamidp_reason_code(const struct hamidp_reason *reason)
{
	return reason ? reason->code : HAMIDP_REASON_NONE;
}

HAMIDP_EXPORT const char *hamidp_reason_text(const struct hamidp_reason *reason)
{
	return reason ? reason->text : "";
}

HAMIDP_EXPORT uint32_t hamidp_reason_largest(const struct hamidp_reason *reason)
{
	return reason ? reason->largest : 0;
}

HAMIDP_EXPORT const char *hamidp_reason_code_to_string(enum hamidp_reason_code code)
{
	static const char *const names[] = {
		[HAMIDP_REASON_NONE] = "none",
		[HAMIDP_REASON_BAD_ARGUMENT] = "bad-argument",
		[HAMIDP_REASON_BAD_INPUT] = "bad-input",
		[HAMIDP_REASON_NO_MEMORY] = "no-memory",
		[HAMIDP_REASON_NO_DRIVER] = "no-driver",
		[HAMIDP_REASON_NO_DEVICE] = "no-device",
		[HAMIDP_REASON_DRIVER_FAILED] = "driver-failed",
		[HAMIDP_REASON_DRIVER_LIMIT] = "driver-limit",
		[HAMIDP_REASON_MEMORY_FIT] = "memory-fit",
		[HAMIDP_REASON_UNKNOWN_RESOURCE] = "unknown-resource",
		[HAMIDP_REASON_UNKNOWN_SLOT] = "unknown-slot",
		[HAMIDP_REASON_FOREIGN_SLOT] = "foreign-slot",
		[HAMIDP_REASON_DUPLICATE_SLOT] = "duplicate-slot",
		[HAMIDP_REASON_TOO_LARGE] = "too-large",
		[HAMIDP_REASON_NO_ROOM] = "no-room",
		[HAMIDP_REASON_FRAGMENTED] = "fragmented",
		[HAMIDP_REASON_NOT_HEALTHY] = "not-healthy",
		[HAMIDP_REASON_HELD] = "held",
		[HAMIDP_REASON_STALE] = "stale",
		[HAMIDP_REASON_UNKNOWN_GRANT] = "unknown-grant",
		[HAMIDP_REASON_NOT_SUPPORTED] = "not-supported",
		[HAMIDP_REASON_STORE] = "store",
		[HAMIDP_REASON_DENIED] = "denied",
		[HAMIDP_REASON_CONFLICT] = "conflict",
		[HAMIDP_REASON_SPLIT_DENIED] = "split-denied",
	};
	size_t i = (size_t)code;

	return i < ARRAY_SIZE(names) && names[i] ? names[i] : "unknown";
}

void hdp_reason_clear(struct hamidp_reason *reason)
{
	if (!reason)
		return;
	reason->code = HAMIDP_REASON_NONE;
	reason->largest = 0;
	reason->text[0] = '\0';
}

int hdp_fail(struct hamidp_reason *reason, int err, enum hamidp_reason_code code,
	     const char *format, ...)
{
	char text[HDP_REASON_TEXT_MAX + 1]; /* an argument may be the reason's own text */
	va_list ap;

	if (!reason)
		return err;

	va_start(ap, format);
	if (vsnprintf(text, sizeof(text), format, ap) < 0)
		text[0] = '\0';
	va_end(ap);

	hdp_text_cut(text, sizeof(reason->text));
	hdp_text_clean(text);
	memcpy(reason->text, text, strlen(text) + 1);
	reason->code = code;
	reason->largest = 0;
	return err;
}

int hdp_oom(struct hamidp_reason *reason)
{
	return hdp_fail(reason, -ENOMEM, HAMIDP_REASON_NO_MEMORY, "out of memory");
}

void hdp_reason_set_largest(struct hamidp_reason *reason, uint32_t largest)
{
	if (reason)
		reason->largest = largest;
}

void hdp_reason_copy(struct hamidp_reason *dst, const struct hamidp_reason *src)
{
	if (dst && src && dst != src)
		*dst = *src;
	else if (!src)
		hdp_reason_clear(dst);
}
