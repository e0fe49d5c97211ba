/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The one line that says what is wrong with an input: the thing, the value, what is accepted. */

#include <stdarg.h>

struct complaint {
	char text[768];
};

/*
 * Fill @complaint (NULL is fine) and return @rc, so that a check ends in one statement. Control
 * characters become '?': the values quoted come from outside, and one complaint is one line.
 */
int complain(struct complaint *complaint, int rc, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
