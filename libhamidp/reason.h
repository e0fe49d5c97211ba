/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How the library fills a caller's reason. All accept NULL and never allocate. */

#include <hami/reason.h>

#include "macro.h"

#define HDP_REASON_TEXT_MAX 1024 /* bytes with the NUL; longer texts are cut at a character */

struct hamidp_reason {
	enum hamidp_reason_code code;
	uint32_t largest;
	char text[HDP_REASON_TEXT_MAX];
};

/* Empty it: at the start, or on the success, of every public call that takes one. */
void hdp_reason_clear(struct hamidp_reason *reason);

/*
 * Say why, and return @err, so that "return hdp_fail(reason, -EINVAL, HAMIDP_REASON_..., ...)" is
 * the one line of a failure. Control characters and invalid UTF-8 in the result are replaced by
 * '?'.
 */
int hdp_fail(struct hamidp_reason *reason, int err, enum hamidp_reason_code code,
	     const char *format, ...) hdp_printf(4, 5);

/* Out of memory, as a reason; returns -ENOMEM. */
int hdp_oom(struct hamidp_reason *reason);

void hdp_reason_set_largest(struct hamidp_reason *reason, uint32_t largest);
void hdp_reason_copy(struct hamidp_reason *dst, const struct hamidp_reason *src);
