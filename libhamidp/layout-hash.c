/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A hash table from slot ids to slot numbers: every request of a container runtime names slots by
 * id, so this is the hottest loop of a node. The table is at most half full and never changes.
 */

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "layout-hash.h"

static uint64_t load64(const char *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)(hash ^ word) * 0x9e3779b97f4a7c15ULL;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_id(const char *id, size_t len)
{
	uint64_t hash = mix(0x243f6a8885a308d3ULL, len);
	uint64_t tail = 0;
	size_t i = 0;

	for (; i + 8 <= len; i += 8)
		hash = mix(hash, load64(id + i));
	if (len >= 8)
		tail = load64(id + len - 8);
	else
		memcpy(&tail, id, len);
	return mix(hash, tail);
}

int hdp_layout_hash(struct hamidp_layout *layout)
{
	size_t size = 8;

	while (size < layout->n_slots * 2)
		size *= 2;
	layout->hash = calloc(size, sizeof(*layout->hash));
	if (!layout->hash)
		return -ENOMEM;
	layout->hash_mask = size - 1;

	for (size_t i = 0; i < layout->n_slots; i++) {
		const char *id = layout->slots[i].id;
		size_t at = hash_id(id, strlen(id)) & layout->hash_mask;

		while (layout->hash[at])
			at = (at + 1) & layout->hash_mask;
		layout->hash[at] = (uint32_t)i + 1;
	}
	return 0;
}

HAMIDP_EXPORT int hamidp_layout_find_slot(const struct hamidp_layout *layout, const char *id,
					  size_t *ret_slot)
{
	size_t len = strlen(id);
	size_t at = hash_id(id, len) & layout->hash_mask;

	for (; layout->hash[at]; at = (at + 1) & layout->hash_mask) {
		size_t slot = layout->hash[at] - 1;

		if (strcmp(layout->slots[slot].id, id) == 0) {
			*ret_slot = slot;
			return 0;
		}
	}
	return -ENOENT;
}
