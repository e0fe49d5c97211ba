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
 *
 * Where every even spread is a normal form, all N of them lie evenly on some number of cards, and
 * then every smaller number does so on the same cards: the largest N is the largest normal form.
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

/* Where the fewest cards are the normal form. */
static void give_whole_cards(struct hdp_shown *cards, size_t n, uint32_t per_card, uint64_t limit)
{
	uint32_t most = cards[n - 1].cap;

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

/* The normal form of the most slots up to @limit that have one; n is 0 if none has. */
static struct hdp_form largest_form(const struct hdp_shown *cards, size_t n,
				    struct hdp_room_rules rules, uint64_t limit)
{
	struct hdp_form form = { 0 };
	uint64_t largest = 0;

	for (uint32_t k = 1; k <= n; k++) { /* on the k freest cards, which can give the most */
		uint32_t least = lesser(cards[n - k].cap, rules.per_card);
		uint64_t units = (uint64_t)k * least;
		uint64_t fewer = rules.any_even ? k - 1 : (uint64_t)(k - 1) * rules.per_card;

		for (size_t i = n - k; i < n && least < rules.per_card; i++)
			units += cards[i].cap > least;
		units = limit < units ? limit : units;
		if (units <= fewer || units <= largest)
			continue;
		largest = units;
		form = (struct hdp_form){ k, (uint32_t)(units / k), (uint32_t)(units % k) };
	}
	return form;
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

void hdp_shown_placeable(struct hdp_shown *cards, size_t n, struct hdp_room_rules rules,
			 uint64_t limit)
{
	clear(cards, n);
	if (n == 0 || limit == 0)
		return;
	if (rules.any_even)
		give_form(cards, n, largest_form(cards, n, rules, limit));
	else
		give_whole_cards(cards, n, rules.per_card, limit);
}

void hdp_shown_tightest(struct hdp_shown *cards, size_t n, struct hdp_room_rules rules,
			uint64_t limit)
{
	struct hdp_form form = largest_form(cards, n, rules, limit);

	clear(cards, n);
	give_form(cards, n, form);
	limit -= (uint64_t)form.n * form.base + form.rem;
	for (size_t i = 0; i < n && limit > 0; i++) {
		uint32_t left = cards[i].free - cards[i].part;

		cards[i].more = limit < left ? (uint32_t)limit : left;
		limit -= cards[i].more;
	}
}
