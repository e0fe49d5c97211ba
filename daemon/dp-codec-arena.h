/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Memory for one message: allocations are bumped off chunks, all freed together, and bounded by
 * a budget, since a small message can ask for 45 times its size. Each remembers its size.
 */
struct dp_arena_chunk;

struct dp_arena {
	struct dp_arena_chunk *chunks; /* newest first */
	size_t budget, used;
	bool over_budget, out_of_memory; /* why the last allocation failed */
};

#define DP_ARENA_BUDGET ((size_t)8 * 1024 * 1024)

void dp_arena_init(struct dp_arena *arena, size_t budget);
void dp_arena_done(struct dp_arena *arena);
/* Forget everything allocated; keeps one chunk of at most 256 KiB for the next message. */
void dp_arena_reset(struct dp_arena *arena);

/* Aligned for any type, not cleared. NULL: see @over_budget and @out_of_memory. */
void *dp_arena_alloc(struct dp_arena *arena, size_t size);
void *dp_arena_calloc(struct dp_arena *arena, size_t n, size_t size);
/* The size that @p, which came from dp_arena_alloc(), was asked for with. */
size_t dp_arena_size(const void *p);
