/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever the wire brings: every decoder, on a small budget and on the real one. */
#include <stdint.h>
#include <stdlib.h>

#include "dp-codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_ids(const struct dp_ids *ids)
{
	if (ids->n_ids > DP_IDS_MAX)
		abort();
	for (size_t i = 0; i < ids->n_ids; i++)
		if (!dp_is_utf8(ids->ids[i]))
			abort();
}

static void decode_all(struct dp_arena *arena, const uint8_t *data, size_t size)
{
	struct dp_registration_status status;
	struct dp_preferred_request preferred;
	struct dp_allocate_request allocate;
	struct dp_options options;
	struct dp_ids ids;

	if (dp_decode_allocate(arena, data, size, &allocate) == 0)
		for (size_t i = 0; i < allocate.n_containers; i++)
			check_ids(&allocate.containers[i]);
	dp_arena_reset(arena);
	if (dp_decode_preferred(arena, data, size, &preferred) == 0)
		for (size_t i = 0; i < preferred.n_containers; i++) {
			check_ids(&preferred.containers[i].available);
			check_ids(&preferred.containers[i].must_include);
		}
	dp_arena_reset(arena);
	if (dp_decode_pre_start(arena, data, size, &ids) == 0)
		check_ids(&ids);
	dp_arena_reset(arena);
	if (dp_decode_registration_status(arena, data, size, &status) == 0 &&
	    !dp_is_utf8(status.error))
		abort();
	(void)dp_decode_options(arena, data, size, &options);
	(void)dp_decode_empty(arena, data, size);
	dp_arena_reset(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dp_arena arena;

	dp_arena_init(&arena, 4096);
	decode_all(&arena, data, size);
	dp_arena_done(&arena);
	dp_arena_init(&arena, DP_ARENA_BUDGET);
	decode_all(&arena, data, size);
	dp_arena_done(&arena);
	return 0;
}
