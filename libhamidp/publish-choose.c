/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How many free slots of each card to publish.
 *
 * Let m be what one request gets from one card, and N slots be published, of which every number
 * from 1 to N has a normal form. All N of them as one request take every published slot, so they
 * lie on n = ceil(N / m) cards, evenly. If n = 1 that is one card with N of at most m slots. If
 * n > 1, the m slots that some request asks for need a card with m, so evenly means that each card
 * has m or m - 1; and as j * m slots need j cards with m for every j, at most one card has m - 1.
 * Conversely such sets do serve every number. So with a cards that can give m, the largest N is
 * a * m, plus m - 1 if one more card can give those; and if a = 0, the most that one card can give.
 */

#include <stdbool.h>

#include "choose.h"
#include "publish-choose.h"

void hdp_shown_sort(struct hdp_shown *cards, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct hdp_shown card = cards[i];
		size_t at = i;

		for (; at > 0 && cards[at - 1].cap > card.cap; at--)
			cards[at] = cards[at - 1];
		cards[at] = card;
	}
}

static void clear(struct hdp_shown *cards, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cards[i].part = cards[i].more = 0;
}

/* Give @part slots of the tightest card that has them and gives nothing yet, if there is one. */
static bool give(struct hdp_shown *cards, size_t n, uint32_t part)
{
	for (size_t i = 0; i < n; i++)
		if (cards[i].part == 0 && cards[i].cap >= part) {
			cards[i].part = part;
			return true;
		}
	return false;
}

void hdp_shown_placeable(struct hdp_shown *cards, size_t n, uint32_t per_card, uint64_t limit)
{
	uint32_t most;

	clear(cards, n);
	if (n == 0 || limit == 0)
		return;
	most = cards[n - 1].cap;
	if (limit < per_card || most < per_card) {
		most = limit < most ? (uint32_t)limit : most;
		if (most > 0)
			(void)give(cards, n, most);
		return;
	}
	while (limit >= per_card && give(cards, n, per_card))
		limit -= per_card;
	if (per_card > 1 && limit >= per_card - 1)
		(void)give(cards, n, per_card - 1);
}

static uint32_t lesser(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The largest number of slots up to @limit that has a normal form; 0 if none has. */
static uint64_t largest_form(const struct hdp_shown *cards, size_t n, uint32_t per_card,
			     uint64_t limit)
{
	uint64_t largest = 0;

	for (size_t k = 1; k <= n; k++) { /* on the k freest cards, which can give the most */
		uint32_t least = lesser(cards[n - k].cap, per_card);
		uint64_t units = (uint64_t)k * least;

		for (size_t i = n - k; i < n && least < per_card; i++)
			units += cards[i].cap > least;
		units = limit < units ? limit : units;
		if (units > (uint64_t)(k - 1) * per_card && units > largest)
			largest = units;
	}
	return largest;
}

/* The tightest cards that have the form: at most n - rem of them may be too small for one more. */
static void give_form(struct hdp_shown *cards, size_t n, struct hdp_form form)
{
	uint32_t n_small = form.n - form.rem, left = form.n;

	for (size_t i = 0; i < n && left > 0; i++) {
		if (cards[i].cap < form.base || (cards[i].cap == form.base && n_small == 0))
			continue;
		n_small -= cards[i].cap == form.base;
		cards[i].part = form.base;
		left--;
	}
	for (size_t i = 0; i < n && form.rem > 0; i++)
		if (cards[i].part > 0 && cards[i].cap > form.base) {
			cards[i].part++;
			form.rem--;
		}
}

void hdp_shown_tightest(struct hdp_shown *cards, size_t n, uint32_t per_card, uint64_t limit)
{
	uint64_t units = largest_form(cards, n, per_card, limit);

	clear(cards, n);
	if (units > 0)
		give_form(cards, n, hdp_form_of_units((uint32_t)units, per_card));
	limit -= units;
	for (size_t i = 0; i < n && limit > 0; i++) {
		uint32_t left = cards[i].free - cards[i].part;

		cards[i].more = limit < left ? (uint32_t)limit : left;
		limit -= cards[i].more;
	}
}
