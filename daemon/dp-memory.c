/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of ids as texts in one canonical order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dp-memory.h"
#include "macro.h"

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int to_text(const char *const *ids, size_t n_ids, char **ret)
{
	dp_cleanup_free const char **sorted = calloc(n_ids + 1, sizeof(*sorted));
	size_t size = 1;
	char *text, *end;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < n_ids && size <= DP_MEMORY_TEXT_MAX; i++) {
		sorted[i] = ids[i];
		size += strlen(ids[i]) + 1;
	}
	if (size > DP_MEMORY_TEXT_MAX)
		return -E2BIG;
	qsort(sorted, n_ids, sizeof(*sorted), compare);
	text = malloc(size);
	if (!text)
		return -ENOMEM;
	end = text;
	for (size_t i = 0; i < n_ids; i++) {
		end = stpcpy(end, sorted[i]);
		*end++ = ',';
	}
	*end = '\0';
	*ret = text;
	return 0;
}

int dp_memory_add(struct dp_memory *memory, const char *const *ids, size_t n_ids)
{
	char *text;
	int r;

	r = to_text(ids, n_ids, &text);
	if (r < 0)
		return r;
	free(memory->sets[memory->next]);
	memory->sets[memory->next] = text;
	memory->next = (memory->next + 1) % DP_MEMORY_SETS;
	return 0;
}

bool dp_memory_has(const struct dp_memory *memory, const char *const *ids, size_t n_ids)
{
	dp_cleanup_free char *text = NULL;

	if (to_text(ids, n_ids, &text) < 0)
		return false;
	for (size_t i = 0; i < DP_MEMORY_SETS; i++)
		if (memory->sets[i] && !strcmp(memory->sets[i], text))
			return true;
	return false;
}

void dp_memory_done(struct dp_memory *memory)
{
	for (size_t i = 0; i < DP_MEMORY_SETS; i++)
		free(memory->sets[i]);
	*memory = (struct dp_memory){ 0 };
}
