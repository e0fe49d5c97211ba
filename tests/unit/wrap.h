/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Counts the allocations of a program and makes one fail. For programs linked with --wrap for the
 * functions below, so that the library needs no hooks.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

static long countdown = -1; /* allocations until one fails; < 0: never */
static unsigned long n_allocations;

static bool fail_now(void)
{
	n_allocations++;
	return countdown >= 0 && countdown-- == 0;
}

#define WRAP(name, params, args)           \
	void *__real_##name params;        \
	void *__wrap_##name params;        \
	void *__wrap_##name params         \
	{                                  \
		if (fail_now()) {          \
			errno = ENOMEM;    \
			return NULL;       \
		}                          \
		return __real_##name args; \
	}
WRAP(malloc, (size_t n), (n))
WRAP(calloc, (size_t n, size_t m), (n, m))
WRAP(realloc, (void *p, size_t n), (p, n))
WRAP(reallocarray, (void *p, size_t n, size_t m), (p, n, m))
WRAP(strdup, (const char *s), (s))
WRAP(strndup, (const char *s, size_t n), (s, n))
