/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Makes each allocation of ours fail in turn. */

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>

#include <hami/hamidp.h>

#include "wrap.h"

static const char *broken; /* what a step expected in vain */

/* check allocates as well, so steps note and exhaust() asserts. */
#define EXPECT(condition)                    \
	do {                                 \
		if (!(condition))            \
			broken = #condition; \
	} while (0)

/* Run @step with each allocation failing in turn, until one run needs no more. */
static void exhaust(int (*step)(void *arg, struct hamidp_reason *reason), void *arg, long least)
{
	long nth = 0;

	for (bool done = false; !done; nth++) {
		struct hamidp_reason *reason = NULL;
		int r;

		ck_assert_int_lt(nth, 500);
		ck_assert_int_eq(hamidp_reason_new(&reason), 0);
		countdown = nth;
		r = step(arg, reason);
		done = countdown >= 0; /* ran to the end without reaching the failure */
		countdown = -1;
		ck_assert_msg(!broken, "allocation %ld: not %s", nth, broken);
		ck_assert_msg(r == (done ? 0 : -ENOMEM), "allocation %ld: %d, %s", nth, r,
			      hamidp_reason_text(reason));
		hamidp_reason_free(reason);
	}
	ck_assert_int_gt(nth, least); /* the wrapping works */
}
