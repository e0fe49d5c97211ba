/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which cards serve a request, and how much each gives: numbers in, numbers out. Pure: no I/O, no
 * allocation, no clock; knows nothing of slots.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hdp_card {      /* in PCI order */
	uint32_t pos;  /* position of the device */
	uint32_t free; /* free slots, required ones included */
	uint32_t cap;  /* the most that one slice can have here: less than @free where slots must
			* be neighbours */
	uint32_t min;  /* the least that it must give for what is required here; 0: not required */
	uint32_t need; /* what it gives as one of a form: the form's base, or its own number */
	uint32_t part; /* the answer: what it gives, 0 for nothing */
};

/*
 * @n cards: @rem of them with @base + 1 slots, the others with @base. With @base 0 each card gives
 * what it needs by itself; there is no @rem then.
 */
struct hdp_form {
	uint32_t n;
	uint32_t base;
	uint32_t rem;
};

/* The normal form of @units slots where the largest card has @per_card; both at least 1. */
struct hdp_form hdp_form_of_units(uint32_t units, uint32_t per_card);

/* True unless @n_cards cards that give @min_part to @max_part slots are a normal form. */
bool hdp_form_is_split(uint32_t units, uint32_t per_card, size_t n_cards, uint32_t min_part,
		       uint32_t max_part);

/* The same for a spread that is even, and on as many cards as it likes. */
bool hdp_form_is_uneven(uint32_t per_card, uint32_t min_part, uint32_t max_part);

/* Every card needs the form's base. */
void hdp_choose_need(struct hdp_card *cards, size_t n_cards, uint32_t base);

/* Set the parts of the tightest cards that have the form, or return false. */
bool hdp_choose_form(struct hdp_card *cards, size_t n_cards, struct hdp_form form);

/* Set the parts of the fewest cards that have the units in whatever parts, or return false. */
bool hdp_choose_split(struct hdp_card *cards, size_t n_cards, uint32_t units);

/*
 * The most units of which the cards have a normal form; with @per_card 0 any even spread is one.
 */
uint32_t hdp_choose_largest_units(const struct hdp_card *cards, size_t n_cards, uint32_t per_card);

/* The most slots that each of @n_devices distinct cards can give. */
uint32_t hdp_choose_largest_each(const struct hdp_card *cards, size_t n_cards, uint32_t n_devices);
