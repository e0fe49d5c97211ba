/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sets of slot numbers as bits in 64-bit words. Pure; the caller keeps to the bounds. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline size_t hdp_bit_words(size_t n_bits)
{
	return (n_bits + 63) / 64;
}

static inline bool hdp_bit_test(const uint64_t *words, size_t bit)
{
	return words[bit / 64] >> (bit % 64) & 1;
}

static inline void hdp_bit_set(uint64_t *words, size_t bit)
{
	words[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static inline void hdp_bit_clear(uint64_t *words, size_t bit)
{
	words[bit / 64] &= ~(UINT64_C(1) << (bit % 64));
}

/* The bits of word @w that lie in [first, end), a range that touches the word. */
static inline uint64_t hdp_bit_mask(size_t w, size_t first, size_t end)
{
	uint64_t mask = UINT64_MAX;

	if (first > w * 64)
		mask &= UINT64_MAX << (first % 64);
	if (end < (w + 1) * 64)
		mask &= ~(UINT64_MAX << (end % 64));
	return mask;
}

/* In the baseline instruction set the builtin is a call. */
static inline uint32_t hdp_popcount(uint64_t word)
{
	word -= word >> 1 & 0x5555555555555555ULL;
	word = (word & 0x3333333333333333ULL) + (word >> 2 & 0x3333333333333333ULL);
	word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (uint32_t)(word * 0x0101010101010101ULL >> 56);
}

/* How many of [first, end) are set. */
static inline uint32_t hdp_bit_count(const uint64_t *words, size_t first, size_t end)
{
	uint32_t n = 0;

	if (first >= end)
		return 0;
	for (size_t w = first / 64; w <= (end - 1) / 64; w++)
		n += hdp_popcount(words[w] & hdp_bit_mask(w, first, end));
	return n;
}

/* The first of [first, end) that is set (or clear, with @flip all ones), or @end. */
static inline size_t hdp_bit_find(const uint64_t *words, uint64_t flip, size_t first, size_t end)
{
	if (first >= end)
		return end;
	for (size_t w = first / 64; w <= (end - 1) / 64; w++) {
		uint64_t bits = (words[w] ^ flip) & hdp_bit_mask(w, first, end);

		if (bits)
			return w * 64 + (size_t)__builtin_ctzll(bits);
	}
	return end;
}

static inline size_t hdp_bit_next_set(const uint64_t *words, size_t first, size_t end)
{
	return hdp_bit_find(words, 0, first, end);
}

static inline size_t hdp_bit_next_clear(const uint64_t *words, size_t first, size_t end)
{
	return hdp_bit_find(words, UINT64_MAX, first, end);
}
