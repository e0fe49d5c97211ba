/* SPDX-License-Identifier: Apache-2.0 */

/* Looking up the machines that are built in. */

#include <string.h>

#include <hami/node.h>

#include "bundled.h"
#include "macro.h"
#include "sim-json.h"

HAMIDP_EXPORT const char *hamidp_bundled_machine(size_t i)
{
	return i < hdp_bundled_n ? hdp_bundled[i].name : NULL;
}

const char *hdp_bundled_text(const char *name, size_t *ret_len)
{
	for (size_t i = 0; i < hdp_bundled_n; i++)
		if (strcmp(hdp_bundled[i].name, name) == 0) {
			*ret_len = hdp_bundled[i].len;
			return hdp_bundled[i].text;
		}
	return NULL;
}
