/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Which cards can serve a request at all, and which are the tightest: what search.c starts from,
 * and all there is to a plain best fit.
 *
 * A set of n cards has the form (n, base, rem) if each can give base slots, rem of them can give
 * one more, and at most rem of them must. So at most n - rem cards of the set may be "small", not
 * able to give base + 1. Sets with a bounded number of small cards are the independent sets of a
 * matroid: taking the best card that keeps the bound, one after the other, gives the set with the
 * smallest sum of free slots, and among equals the lexicographically first.
 */

#include "choose.h"

struct hdp_form hdp_form_of_units(uint32_t units, uint32_t per_card)
{
	struct hdp_form form = { .n = units / per_card + (units % per_card != 0) };

	form.base = units / form.n;
	form.rem = units % form.n;
	return form;
}

bool hdp_form_is_split(uint32_t units, uint32_t per_card, size_t n_cards, uint32_t min_part,
		       uint32_t max_part)
{
	return n_cards != hdp_form_of_units(units, per_card).n || max_part - min_part > 1;
}

bool hdp_form_is_uneven(uint32_t per_card, uint32_t min_part, uint32_t max_part)
{
	return max_part > per_card || max_part - min_part > 1;
}

void hdp_choose_need(struct hdp_card *cards, size_t n_cards, uint32_t base)
{
	for (size_t i = 0; i < n_cards; i++)
		cards[i].need = base;
}

static bool card_is_small(const struct hdp_card *card, struct hdp_form form)
{
	return form.rem > 0 && card->cap == card->need;
}

static bool card_fits(const struct hdp_card *card, struct hdp_form form)
{
	return card->cap >= card->need && card->min <= card->cap &&
	       card->min <= card->need + (form.rem > 0);
}

/* The tighter one; the caller goes through the cards in order, so the first of equals stays. */
static bool card_is_better(const struct hdp_card *a, const struct hdp_card *b)
{
	return a->free < b->free;
}

/* Take what is required. False if the rest of the form cannot make up for it. */
static bool take_required(struct hdp_card *cards, size_t n_cards, struct hdp_form form,
			  uint32_t *ret_n, uint32_t *ret_small)
{
	uint32_t n = 0, n_small = 0, n_large = 0;

	for (size_t i = 0; i < n_cards; i++) {
		cards[i].part = 0;
		if (cards[i].min == 0)
			continue;
		if (!card_fits(&cards[i], form))
			return false;
		cards[i].part = cards[i].need;
		n++;
		n_small += card_is_small(&cards[i], form);
		n_large += cards[i].min > cards[i].need;
	}
	if (n > form.n || n_small > form.n - form.rem || n_large > form.rem)
		return false;
	*ret_n = n;
	*ret_small = n_small;
	return true;
}

/* The remainder: first where it is required, then on the first cards that can give it. */
static void spread_remainder(struct hdp_card *cards, size_t n_cards, struct hdp_form form)
{
	uint32_t rem = form.rem;

	for (size_t i = 0; i < n_cards && rem > 0; i++)
		if (cards[i].min > cards[i].need) {
			cards[i].part++;
			rem--;
		}
	for (size_t i = 0; i < n_cards && rem > 0; i++)
		if (cards[i].part > 0 && cards[i].part == cards[i].need &&
		    cards[i].cap > cards[i].need) {
			cards[i].part++;
			rem--;
		}
}

bool hdp_choose_form(struct hdp_card *cards, size_t n_cards, struct hdp_form form)
{
	uint32_t n, n_small, n_fit = 0;

	for (size_t i = 0; i < n_cards; i++)
		n_fit += card_fits(&cards[i], form);
	if (form.n == 0 || form.n > n_fit)
		return false;
	if (!take_required(cards, n_cards, form, &n, &n_small))
		return false;

	for (; n < form.n; n++) {
		struct hdp_card *best = NULL;

		for (size_t i = 0; i < n_cards; i++) {
			struct hdp_card *card = &cards[i];

			if (card->part > 0 || !card_fits(card, form))
				continue;
			if (card_is_small(card, form) && n_small == form.n - form.rem)
				continue;
			if (!best || card_is_better(card, best))
				best = card;
		}
		if (!best)
			return false;
		best->part = best->need;
		n_small += card_is_small(best, form);
	}
	spread_remainder(cards, n_cards, form);
	return true;
}

/* What is required first, then the required cards from the largest down. Returns what is left. */
static uint32_t split_required(struct hdp_card *cards, size_t n_cards, uint32_t units)
{
	for (size_t i = 0; i < n_cards; i++) {
		cards[i].part = cards[i].min;
		units -= cards[i].min;
	}
	while (units > 0) {
		struct hdp_card *best = NULL;

		for (size_t i = 0; i < n_cards; i++)
			if (cards[i].part > 0 && cards[i].part < cards[i].cap &&
			    (!best || cards[i].cap > best->cap))
				best = &cards[i];
		if (!best)
			break;
		if (units < best->cap - best->part) {
			best->part += units;
			return 0;
		}
		units -= best->cap - best->part;
		best->part = best->cap;
	}
	return units;
}

/* The tightest unused card that takes all of @units, else the largest one. */
static struct hdp_card *split_next(struct hdp_card *cards, size_t n_cards, uint32_t units)
{
	struct hdp_card *last = NULL, *largest = NULL;

	for (size_t i = 0; i < n_cards; i++) {
		struct hdp_card *card = &cards[i];

		if (card->part > 0 || card->cap == 0)
			continue;
		if (card->cap >= units && (!last || card_is_better(card, last)))
			last = card;
		if (!largest || card->cap > largest->cap ||
		    (card->cap == largest->cap && card_is_better(card, largest)))
			largest = card;
	}
	return last ? last : largest;
}

bool hdp_choose_split(struct hdp_card *cards, size_t n_cards, uint32_t units)
{
	uint64_t least = 0, most = 0;

	for (size_t i = 0; i < n_cards; i++) {
		if (cards[i].min > cards[i].cap)
			return false;
		least += cards[i].min;
		most += cards[i].cap;
	}
	if (units < least || units > most)
		return false;

	units = split_required(cards, n_cards, units);
	while (units > 0) {
		struct hdp_card *card = split_next(cards, n_cards, units);

		if (!card)
			return false;
		card->part = units < card->cap ? units : card->cap;
		units -= card->part;
	}
	return true;
}

/* Cards gathered from the required ones down, and what their even spread could carry. */
struct gathered {
	uint32_t n;
	uint32_t least;	  /* smallest cap of them */
	uint32_t n_least; /* how many have it */
};

static void gather(struct gathered *g, uint32_t cap)
{
	if (g->n == 0 || cap < g->least) {
		g->least = cap;
		g->n_least = 0;
	}
	g->n_least += cap == g->least;
	g->n++;
}

/*
 * Units of the largest normal form on the gathered cards, or 0. All that can give more than the
 * least do, so there is a larger part for every card that must give one.
 */
static uint32_t gathered_units(const struct gathered *g, const struct hdp_card *cards,
			       size_t n_cards, uint32_t per_card)
{
	struct hdp_form form = { .n = g->n, .base = g->least, .rem = g->n - g->n_least };
	uint32_t units = form.n * form.base + form.rem;

	if (g->n == 0 || form.base == 0 || units <= (form.n - 1) * per_card)
		return 0;
	for (size_t i = 0; i < n_cards; i++)
		if (cards[i].min > form.base + 1 || cards[i].min > cards[i].cap)
			return 0;
	return units;
}

/* The largest cap below @below of cards that are not required, and how many have it; 0: none. */
static uint32_t next_cap(const struct hdp_card *cards, size_t n_cards, uint32_t below,
			 uint32_t *ret_count)
{
	uint32_t cap = 0, count = 0;

	for (size_t i = 0; i < n_cards; i++) {
		if (cards[i].min > 0 || cards[i].cap >= below || cards[i].cap < cap)
			continue;
		if (cards[i].cap > cap) {
			cap = cards[i].cap;
			count = 0;
		}
		count++;
	}
	*ret_count = count;
	return cap;
}

uint32_t hdp_choose_largest_units(const struct hdp_card *cards, size_t n_cards, uint32_t per_card)
{
	struct gathered g = { 0 };
	uint32_t largest = 0, count = 0, units;

	for (size_t i = 0; i < n_cards; i++)
		if (cards[i].min > 0)
			gather(&g, cards[i].cap);
	largest = gathered_units(&g, cards, n_cards, per_card);

	/* The freest cards carry the most for every number of cards, so only they are tried. */
	for (uint32_t cap = next_cap(cards, n_cards, UINT32_MAX, &count); cap > 0;
	     cap = next_cap(cards, n_cards, cap, &count))
		for (; count > 0; count--) {
			gather(&g, cap);
			units = gathered_units(&g, cards, n_cards, per_card);
			largest = units > largest ? units : largest;
		}
	return largest;
}

uint32_t hdp_choose_largest_each(const struct hdp_card *cards, size_t n_cards, uint32_t n_devices)
{
	struct gathered g = { 0 };
	uint32_t count = 0, most_required = 0;

	for (size_t i = 0; i < n_cards; i++)
		if (cards[i].min > 0) {
			gather(&g, cards[i].cap);
			most_required = cards[i].min > most_required ? cards[i].min : most_required;
		}
	for (uint32_t cap = next_cap(cards, n_cards, UINT32_MAX, &count);
	     cap > 0 && g.n < n_devices; cap = next_cap(cards, n_cards, cap, &count))
		for (; count > 0 && g.n < n_devices; count--)
			gather(&g, cap);
	return g.n == n_devices && g.least >= most_required ? g.least : 0;
}
