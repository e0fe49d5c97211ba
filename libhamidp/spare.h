/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the wholly free cards are worth for later requests of two and of four whole cards, and what
 * taking some of them loses: T(F) - T(F \ A). With tables it is exact. Without (more than
 * HDP_TABLE_DEVICES_MAX devices) the free cards are matched greedily in card order, and a loss is
 * what taking cards tears apart, less what is left of it can still be matched to.
 */

#include "layout.h"
#include "topology.h"

#define HDP_COEF_SHIFT 12

struct hdp_spare {
	const struct hdp_topology *topology;
	const struct hdp_tables *tables;
	int64_t coef2, coef4; /* cost of one unit of quality, << HDP_COEF_SHIFT */
	uint32_t mask;	      /* wholly free positions */
	uint32_t all2, all4;  /* room of @mask */
	/* Without tables, by position: */
	uint32_t *pair;	 /* the other one of its pair, itself if alone, NONE if not free */
	uint32_t *quad;	 /* first card of its set of four, NONE if in no set */
	uint32_t *next;	 /* next card of the set of four, a ring */
	uint32_t *taken; /* 1: in the set that is being weighed */
};

#define HDP_SPARE_NONE UINT32_MAX
#define HDP_SPARE_ARRAYS 4 /* of as many numbers as there are devices */

/* Later requests' shares; @slots is S. @room: HDP_SPARE_ARRAYS arrays, one after the other. */
void hdp_spare_init(struct hdp_spare *spare, const struct hdp_topology *topology,
		    const struct hdp_tables *tables, const struct hdp_placing *placing,
		    uint32_t slots, uint32_t *room);
/* This device is wholly free. Each at most once, in ascending order. */
void hdp_spare_add(struct hdp_spare *spare, uint32_t pos);
/* All are added. */
void hdp_spare_settle(struct hdp_spare *spare);

/* Is the device one that was added? */
static inline bool hdp_spare_has(const struct hdp_spare *spare, uint32_t pos)
{
	return spare->tables->room2 ? spare->mask >> pos & 1 : spare->pair[pos] != HDP_SPARE_NONE;
}

/* Loss of taking a set that is given as a mask; with tables only. */
static inline int64_t hdp_spare_loss_mask(const struct hdp_spare *spare, uint32_t set)
{
	uint32_t left = spare->mask & ~set;

	return ((int64_t)(spare->all2 - spare->tables->room2[left]) * spare->coef2 +
		(int64_t)(spare->all4 - spare->tables->room4[left]) * spare->coef4) >>
	       HDP_COEF_SHIFT;
}

/* Loss of taking a set of positions, with or without tables. */
int64_t hdp_spare_loss(const struct hdp_spare *spare, const uint32_t *set, size_t n);
