/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Structs with a size in front, which callers of an earlier or later version may have made. */

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define HDP_SIZED_MAX 4096U /* bytes */

/*
 * Copy the part of a sized struct that both sides know; @dst was zeroed. False if it is too short,
 * or if a newer caller sets what this library does not know.
 */
static inline bool hdp_take_sized(void *dst, size_t dst_size, const void *src, size_t src_size,
				  size_t min_size)
{
	const unsigned char *bytes = src;

	if (src_size < min_size || src_size > HDP_SIZED_MAX)
		return false;
	for (size_t i = dst_size; i < src_size; i++)
		if (bytes[i])
			return false;
	memcpy(dst, src, src_size < dst_size ? src_size : dst_size);
	return true;
}
