/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A hash table from hashes to item numbers, for whoever keeps the items elsewhere. It is looked up
 * and grown, never walked, so that no order depends on it.
 */

#include <stddef.h>
#include <stdint.h>

#include "macro.h"

struct hdp_index_cell {
	uint32_t hash;
	uint32_t item; /* + 1; 0: empty */
};

struct hdp_index {
	struct hdp_index_cell *cells;
	size_t size; /* a power of two, at least twice the items; 0: none */
	size_t n;
};

#define HDP_INDEX_END UINT32_MAX

void hdp_index_done(struct hdp_index *index);
/* Room for one item more. 0 or -ENOMEM. */
int hdp_index_reserve(struct hdp_index *index) hdp_must_check;
/* Cannot fail after hdp_index_reserve(). */
void hdp_index_add(struct hdp_index *index, uint32_t hash, uint32_t item);
/* The next item with this hash, or HDP_INDEX_END; *@at is 0 at first and kept between calls. */
uint32_t hdp_index_next(const struct hdp_index *index, uint32_t hash, size_t *at);

/* FNV-1a, piece by piece; start with HDP_HASH_START. */
#define HDP_HASH_START 2166136261U
uint32_t hdp_hash(uint32_t hash, const void *bytes, size_t len);
