/* SPDX-License-Identifier: Apache-2.0 */

/* Open addressing, at most half full; see index.h. */

#include <errno.h>

#include "index.h"

void hdp_index_done(struct hdp_index *index)
{
	free(index->cells);
	*index = (struct hdp_index){ 0 };
}

int hdp_index_reserve(struct hdp_index *index)
{
	struct hdp_index bigger = { .size = index->size ? 2 * index->size : 16 };

	if (2 * (index->n + 1) <= index->size)
		return 0;
	bigger.cells = calloc(bigger.size, sizeof(*bigger.cells));
	if (!bigger.cells)
		return -ENOMEM;
	for (size_t i = 0; i < index->size; i++)
		if (index->cells[i].item > 0)
			hdp_index_add(&bigger, index->cells[i].hash, index->cells[i].item - 1);
	free(index->cells);
	*index = bigger;
	return 0;
}

void hdp_index_add(struct hdp_index *index, uint32_t hash, uint32_t item)
{
	size_t at = hash & (index->size - 1);

	while (index->cells[at].item > 0)
		at = (at + 1) & (index->size - 1);
	index->cells[at] = (struct hdp_index_cell){ .hash = hash, .item = item + 1 };
	index->n++;
}

uint32_t hdp_index_next(const struct hdp_index *index, uint32_t hash, size_t *at)
{
	while (index->size > 0) {
		const struct hdp_index_cell *cell = &index->cells[(hash + *at) & (index->size - 1)];

		++*at;
		if (cell->item == 0)
			break;
		if (cell->hash == hash)
			return cell->item - 1;
	}
	return HDP_INDEX_END;
}

uint32_t hdp_hash(uint32_t hash, const void *bytes, size_t len)
{
	const unsigned char *byte = bytes;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ byte[i]) * 16777619U;
	return hash;
}
