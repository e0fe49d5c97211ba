/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Text to values, strictly: no signs, blanks, suffixes, leading zeros or overflow. Says only
 * whether a text is one; what range is accepted, and the words for it, belong to the caller.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNITS_RATIO_DECIMALS 6 /* ratios are exact in ppm */

/* A whole number in decimal. 0, or -EINVAL (no number, or above UINT64_MAX). */
int units_parse_number(const char *text, uint64_t *ret);
/* A decimal ratio such as "1" or "1.25", at most six decimals, as ppm. 0 or -EINVAL. */
int units_parse_ratio(const char *text, uint64_t *ret_ppm);
/* "true", "1", "false" or "0". 0 or -EINVAL. */
int units_parse_bool(const char *text, bool *ret);
/* One of the NULL-terminated @words, in either case. 0 or -EINVAL. */
int units_parse_word(const char *text, const char *const *words, size_t *ret);
/* The shortest text that units_parse_ratio() reads back, e.g. "1.25", into @buf. */
void units_format_ratio(uint64_t ppm, char *buf, size_t size);
