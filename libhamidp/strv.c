/* SPDX-License-Identifier: Apache-2.0 */

/* Owns copying and freeing of arrays of strings. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "strv.h"

size_t hdp_strv_len(const char *const *strv)
{
	size_t n = 0;

	while (strv && strv[n])
		n++;
	return n;
}

int hdp_strv_dup(const char *const *src, size_t n, char ***ret)
{
	char **copy = calloc(n + 1, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		copy[i] = strdup(src[i]);
		if (!copy[i]) {
			hdp_strv_free(copy, i);
			return -ENOMEM;
		}
	}
	*ret = copy;
	return 0;
}

void hdp_strv_free(char **strv, size_t n)
{
	for (size_t i = 0; strv && i < n; i++)
		free(strv[i]);
	free(strv);
}
