/* SPDX-License-Identifier: Apache-2.0 */
/* A bump allocator with a budget. Knows nothing about messages. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dp-codec-arena.h"

#define ALIGN ((size_t)16)
#define CHUNK_MIN ((size_t)16 * 1024)
#define CHUNK_KEEP ((size_t)256 * 1024)

struct dp_arena_chunk {
	struct dp_arena_chunk *next;
	size_t size, used; /* of what follows */
};

/* In front of each allocation. */
struct block {
	size_t size;
	size_t pad;
};

_Static_assert(sizeof(struct block) == ALIGN || sizeof(size_t) != 8, "blocks keep alignment");
#define HEADER ((sizeof(struct block) + ALIGN - 1) / ALIGN * ALIGN)
#define CHUNK_HEADER ((sizeof(struct dp_arena_chunk) + ALIGN - 1) / ALIGN * ALIGN)

void dp_arena_init(struct dp_arena *arena, size_t budget)
{
	*arena = (struct dp_arena){ .budget = budget };
}

void dp_arena_done(struct dp_arena *arena)
{
	while (arena->chunks) {
		struct dp_arena_chunk *next = arena->chunks->next;

		free(arena->chunks);
		arena->chunks = next;
	}
}

void dp_arena_reset(struct dp_arena *arena)
{
	struct dp_arena_chunk *keep = NULL;

	while (arena->chunks) {
		struct dp_arena_chunk *chunk = arena->chunks;

		arena->chunks = chunk->next;
		if (chunk->size <= CHUNK_KEEP && (!keep || chunk->size > keep->size)) {
			free(keep);
			keep = chunk;
		} else {
			free(chunk);
		}
	}
	if (keep) {
		keep->next = NULL;
		keep->used = 0;
	}
	arena->chunks = keep;
	arena->used = 0;
	arena->over_budget = arena->out_of_memory = false;
}

static struct dp_arena_chunk *add_chunk(struct dp_arena *arena, size_t need)
{
	size_t size = arena->chunks ? arena->chunks->size * 2 : CHUNK_MIN;
	struct dp_arena_chunk *chunk;

	if (size > CHUNK_KEEP)
		size = CHUNK_KEEP;
	if (size < need)
		size = need;
	chunk = malloc(CHUNK_HEADER + size);
	if (!chunk) {
		arena->out_of_memory = true;
		return NULL;
	}
	chunk->size = size;
	chunk->used = 0;
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	return chunk;
}

void *dp_arena_alloc(struct dp_arena *arena, size_t size)
{
	struct dp_arena_chunk *chunk = arena->chunks;
	struct block *block;
	size_t need;

	if (size > arena->budget || arena->used > arena->budget - size) {
		arena->over_budget = true;
		return NULL;
	}
	need = HEADER + (size + ALIGN - 1) / ALIGN * ALIGN;
	if (need > arena->budget - arena->used) {
		arena->over_budget = true;
		return NULL;
	}
	if (!chunk || chunk->size - chunk->used < need)
		chunk = add_chunk(arena, need);
	if (!chunk)
		return NULL;
	block = (struct block *)(void *)((char *)chunk + CHUNK_HEADER + chunk->used);
	chunk->used += need;
	arena->used += need;
	block->size = size;
	return (char *)block + HEADER;
}

void *dp_arena_calloc(struct dp_arena *arena, size_t n, size_t size)
{
	size_t total;
	void *p;

	if (__builtin_mul_overflow(n, size, &total)) {
		arena->over_budget = true;
		return NULL;
	}
	p = dp_arena_alloc(arena, total);
	return p ? memset(p, 0, total) : NULL;
}

size_t dp_arena_size(const void *p)
{
	const struct block *block = (const void *)((const char *)p - HEADER);

	return block->size;
}
