/* SPDX-License-Identifier: Apache-2.0 */

/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */

#include <stdint.h>
#include <string.h>

#include "text.h"

static bool is_continuation(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/* Bytes of the sequence that @lead starts and its payload bits, or 0. */
static size_t lead_length(unsigned char lead, uint32_t *ret_bits)
{
	if (lead >= 0xc2 && lead <= 0xdf) {
		*ret_bits = lead & 0x1fU;
		return 2;
	}
	if (lead >= 0xe0 && lead <= 0xef) {
		*ret_bits = lead & 0x0fU;
		return 3;
	}
	if (lead >= 0xf0 && lead <= 0xf4) {
		*ret_bits = lead & 0x07U;
		return 4;
	}
	return 0;
}

/* Bytes of the printable character at @text (@len > 0), or 0 if it is none. */
static size_t char_length(const char *text, size_t len)
{
	static const uint32_t lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char c = (unsigned char)text[0];
	uint32_t code = 0;
	size_t n;

	if (c < 0x80)
		return c >= 0x20 && c != 0x7f;

	n = lead_length(c, &code);
	if (n == 0 || n > len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if (!is_continuation((unsigned char)text[i]))
			return 0;
		code = code << 6 | ((unsigned char)text[i] & 0x3fU);
	}
	if (code < lowest[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	return code < 0xa0 ? 0 : n;
}

bool hdp_text_valid(const char *text, size_t len)
{
	while (len > 0) {
		size_t n = char_length(text, len);

		if (n == 0)
			return false;
		text += n;
		len -= n;
	}
	return true;
}

void hdp_text_clean(char *text)
{
	size_t len = strlen(text);

	while (len > 0) {
		size_t n = char_length(text, len);

		if (n == 0) {
			*text = '?';
			n = 1;
		}
		text += n;
		len -= n;
	}
}

void hdp_text_cut(char *text, size_t size)
{
	size_t len;

	if (strnlen(text, size) < size)
		return;
	len = size - 1;
	while (len > 0 && is_continuation((unsigned char)text[len]))
		len--;
	text[len] = '\0';
}
