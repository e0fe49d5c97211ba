/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The last few sets of slot ids that were named to the kubelet. Bounded; the oldest give way. */

#include <stdbool.h>
#include <stddef.h>

#define DP_MEMORY_SETS 16
#define DP_MEMORY_TEXT_MAX ((size_t)64 * 1024) /* bytes of one set; larger ones are not kept */

struct dp_memory {
	char *sets[DP_MEMORY_SETS]; /* ids in order, each once, with a ',' after each */
	size_t next;
};

/* @ids in any order. 0, -E2BIG (not kept) or -ENOMEM. */
int dp_memory_add(struct dp_memory *memory, const char *const *ids, size_t n_ids);
/* Exactly these, in whatever order? */
bool dp_memory_has(const struct dp_memory *memory, const char *const *ids, size_t n_ids);
void dp_memory_done(struct dp_memory *memory);
