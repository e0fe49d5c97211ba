/* SPDX-License-Identifier: Apache-2.0 */
/* Strict text-to-value parsers. Pure. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "units.h"

#define PPM 1000000U

/* Read digits up to @end; the caller has made sure that there is at least one. */
static int parse_digits(const char *text, const char *end, uint64_t *ret)
{
	uint64_t value = 0;

	for (const char *p = text; p < end; p++) {
		unsigned digit;

		if (*p < '0' || *p > '9')
			return -EINVAL;
		digit = (unsigned)(*p - '0');
		if (value > (UINT64_MAX - digit) / 10)
			return -EINVAL;
		value = value * 10 + digit;
	}
	*ret = value;
	return 0;
}

static int parse_whole(const char *text, const char *end, uint64_t *ret)
{
	if (end == text)
		return -EINVAL;
	if (*text == '0' && end - text > 1) /* 010: ten, or eight? */
		return -EINVAL;
	return parse_digits(text, end, ret);
}

int units_parse_number(const char *text, uint64_t *ret)
{
	return parse_whole(text, text + strlen(text), ret);
}

int units_parse_ratio(const char *text, uint64_t *ret_ppm)
{
	const char *end = text + strlen(text);
	const char *point = strchr(text, '.');
	uint64_t whole, part = 0;
	int r;

	r = parse_whole(text, point ? point : end, &whole);
	if (r < 0)
		return r;
	if (whole > (UINT64_MAX - PPM) / PPM)
		return -EINVAL;
	if (point) {
		ptrdiff_t n = end - (point + 1);

		if (n < 1 || n > UNITS_RATIO_DECIMALS)
			return -EINVAL;
		r = parse_digits(point + 1, end, &part);
		if (r < 0)
			return r;
		for (; n < UNITS_RATIO_DECIMALS; n++)
			part *= 10;
	}
	*ret_ppm = whole * PPM + part;
	return 0;
}

int units_parse_bool(const char *text, bool *ret)
{
	if (!strcmp(text, "true") || !strcmp(text, "1"))
		*ret = true;
	else if (!strcmp(text, "false") || !strcmp(text, "0"))
		*ret = false;
	else
		return -EINVAL;
	return 0;
}

int units_parse_word(const char *text, const char *const *words, size_t *ret)
{
	for (size_t i = 0; words[i]; i++) {
		if (!strcasecmp(text, words[i])) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

void units_format_ratio(uint64_t ppm, char *buf, size_t size)
{
	char digits[32];
	size_t n;

	(void)snprintf(digits, sizeof(digits), "%" PRIu64 ".%06" PRIu64, ppm / PPM, ppm % PPM);
	n = strlen(digits);
	while (digits[n - 1] == '0')
		n--;
	if (digits[n - 1] == '.')
		n--;
	(void)snprintf(buf, size, "%.*s", (int)n, digits);
}
