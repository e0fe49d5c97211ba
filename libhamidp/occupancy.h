/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The insides of an occupancy, for the placement function, which reads the bits of held slots. */

#include <hami/occupancy.h>

#include "bitmap.h"
#include "layout.h"

struct hdp_holder {
	uint32_t name;	 /* offset of its name in the pool */
	uint32_t n_held; /* 0: unused */
};

/*
 * An empty occupancy is this struct alone: the arrays come with the first slot that is held, and
 * hold no pointer, so that a clone is a handful of copies.
 */
struct hamidp_occupancy {
	struct hamidp_layout *layout;
	uint64_t *held;		    /* a bit for each slot; NULL: none is held */
	uint32_t *slot_holder;	    /* for each slot: index of its holder + 1, 0 is free */
	struct hdp_holder *holders; /* unused ones are taken again, lowest first */
	uint32_t n_holders, cap_holders;
	uint32_t n_used;    /* holders that hold something */
	uint32_t *hash;	    /* open addressing: index of a holder + 1, 0 is empty */
	uint32_t hash_size; /* a power of two, at least twice the holders; 0: no table */
	char *names;	    /* NUL-terminated names one after the other, some no longer used */
	uint32_t names_len, names_cap;
};

/* Is it one of @layout, and does @layout have @resource? 0 or -EINVAL. */
int hdp_occupancy_check(const struct hamidp_occupancy *occ, const struct hamidp_layout *layout,
			size_t resource, struct hamidp_reason *reason) hdp_must_check;

/* The index of a holder that holds something. */
bool hdp_occupancy_find(const struct hamidp_occupancy *occ, const char *name, uint32_t *ret_holder);

/*
 * For a caller that must not fail half-way. Room for one more holder, of this name: 0 or -ENOMEM,
 * and nothing anyone sees changed.
 */
int hdp_occupancy_reserve(struct hamidp_occupancy *occ, const char *holder) hdp_must_check;
/* Give slots to a holder that room was made for, whoever holds them; others keep their rest. */
void hdp_occupancy_take_over(struct hamidp_occupancy *occ, const size_t *slots, size_t n_slots,
			     const char *holder);
