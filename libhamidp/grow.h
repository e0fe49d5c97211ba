/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Arrays that keep their contents and grow by half, so that they soon stay as they are. */

#include <errno.h>
#include <string.h>

#include "macro.h"

/* Room for @need items; @array points to the pointer, which stays NULL or valid. 0 or -ENOMEM. */
static inline hdp_must_check int hdp_grow(void *array, size_t *cap, size_t need, size_t item_size)
{
	size_t n = need > *cap + *cap / 2 ? need : *cap + *cap / 2;
	void *old, *bigger;

	if (need <= *cap)
		return 0;
	memcpy(&old, array, sizeof(old));
	bigger = reallocarray(old, n, item_size);
	if (!bigger)
		return -ENOMEM;
	memcpy(array, &bigger, sizeof(bigger));
	*cap = n;
	return 0;
}
