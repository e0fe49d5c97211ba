/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How many free slots of each card to publish: numbers in, numbers out. Pure: no I/O, no
 * allocation; knows nothing of slots.
 */

#include <stddef.h>
#include <stdint.h>

#define HDP_NO_LIMIT UINT64_MAX

struct hdp_shown {
	uint32_t pos;  /* position of the device */
	uint32_t free; /* free slots */
	uint32_t cap;  /* the largest slice that it can give, at most @free */
	uint32_t part; /* the answer: slots that can be one slice */
	uint32_t more; /* the answer: others, anywhere */
};

/* Tightest first, then as they were. All calls below want them so. */
void hdp_shown_sort(struct hdp_shown *cards, size_t n);

/*
 * The most slots, no more than @limit, of which every number has a normal form. @per_card is what
 * one request gets from one card, at least 1.
 */
void hdp_shown_placeable(struct hdp_shown *cards, size_t n, uint32_t per_card, uint64_t limit);

/*
 * At most @limit slots, so that the largest number of them that can have a normal form has one;
 * what is left of the limit from the tightest cards.
 */
void hdp_shown_tightest(struct hdp_shown *cards, size_t n, uint32_t per_card, uint64_t limit);
