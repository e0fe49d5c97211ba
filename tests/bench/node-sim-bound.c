/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How well pairs of cards could lie on NUMA nodes, on up to 8 cards. All of these take the tightest
 * sets, as best-fit does, and of those
 *
 *   local-pairs  a pair on one NUMA node if there is one, then what breaks the fewest such pairs
 *   departures   the same, then what delays the least that such pairs are free again: it knows when
 *		  each grant will end
 *   foresight    what turns out best over the next arrivals, all of which it knows, if "departures"
 *		  goes on from there
 *
 * The last two know what no node does. They are run only when named.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "node-sim.h"

#define BOUND_CARDS 8U
#define BOUND_HELD (BOUND_CARDS * 16U)
#define BOUND_SETS 70U /* of 4 out of 8 cards */
#define HORIZON 40U    /* arrivals that foresight looks at */

struct held {
	double leaves_at;
	uint32_t set, slots;
};

struct state {
	uint32_t free[BOUND_CARDS];
	double until[BOUND_CARDS]; /* when the last of a card's grants ends */
	struct held held[BOUND_HELD];
	size_t n_held;
};

struct bound {
	struct state now;
	bool is_pair[BOUND_CARDS][BOUND_CARDS]; /* on one NUMA node */
	bool knows_departures;
	uint32_t n_cards, slots;
	uint32_t sets[BOUND_CARDS + 1][BOUND_SETS], n_sets[BOUND_CARDS + 1]; /* by size */
};

int bound_new(const struct node *node, struct bound **ret)
{
	const struct machine *machine = node->machine;
	struct bound *b;

	if (node->n_cards > BOUND_CARDS || node->n_cards * node->slots > BOUND_HELD)
		return -EINVAL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->n_cards = node->n_cards;
	b->slots = node->slots;
	for (uint32_t card = 0; card < b->n_cards; card++) {
		b->now.free[card] = b->slots;
		for (uint32_t other = 0; other < b->n_cards; other++)
			b->is_pair[card][other] = card != other && machine->numa[card] >= 0 &&
						  machine->numa[card] == machine->numa[other];
	}
	for (uint32_t set = 1; set < 1U << b->n_cards; set++) {
		size_t size = (size_t)__builtin_popcount(set);

		b->sets[size][b->n_sets[size]++] = set;
	}
	*ret = b;
	return 0;
}

static bool has(uint32_t set, uint32_t card)
{
	return set >> card & 1;
}

static void leave_until(struct state *s, double at)
{
	for (size_t i = 0; i < s->n_held;) {
		if (s->held[i].leaves_at > at) {
			i++;
			continue;
		}
		for (uint32_t card = 0; card < BOUND_CARDS; card++)
			if (has(s->held[i].set, card))
				s->free[card] += s->held[i].slots;
		s->held[i] = s->held[--s->n_held];
	}
}

static void take(struct state *s, uint32_t set, const struct arrival *arrival)
{
	for (uint32_t card = 0; card < BOUND_CARDS; card++) {
		if (!has(set, card))
			continue;
		s->free[card] -= arrival->slots;
		if (s->until[card] < arrival->leaves_at)
			s->until[card] = arrival->leaves_at;
	}
	s->held[s->n_held++] = (struct held){ arrival->leaves_at, set, arrival->slots };
}

static uint32_t count_pairs(const struct bound *b, uint32_t set)
{
	uint32_t n = 0;

	for (uint32_t card = 0; card < b->n_cards; card++)
		for (uint32_t other = 0; other < card; other++)
			n += has(set, card) && has(set, other) && b->is_pair[card][other];
	return n;
}

/* By how much taking a set puts off that pairs are free, all pairs together. */
static double delay(const struct bound *b, const struct state *s, uint32_t set,
		    const struct arrival *arrival)
{
	double sum = 0;

	for (uint32_t card = 0; card < b->n_cards; card++)
		for (uint32_t other = 0; other < card; other++) {
			double until = arrival->at;

			if (!b->is_pair[card][other] || (!has(set, card) && !has(set, other)))
				continue;
			until = s->until[card] > until ? s->until[card] : until;
			until = s->until[other] > until ? s->until[other] : until;
			if (arrival->leaves_at > until)
				sum += arrival->leaves_at - until;
		}
	return sum;
}

static bool is_apart(const struct bound *b, const struct arrival *arrival, uint32_t set)
{
	return arrival->n_cards == 2 && count_pairs(b, set) == 0;
}

/* The tightest sets; how many there are. */
static size_t tightest(const struct bound *b, const struct state *s, const struct arrival *arrival,
		       uint32_t ret_sets[static BOUND_SETS])
{
	uint32_t least = UINT32_MAX;
	size_t n = 0;

	for (uint32_t i = 0; i < b->n_sets[arrival->n_cards]; i++) {
		uint32_t set = b->sets[arrival->n_cards][i], sum = 0;
		bool fits = true;

		for (uint32_t card = 0; card < b->n_cards; card++)
			if (has(set, card)) {
				fits = fits && s->free[card] >= arrival->slots;
				sum += s->free[card];
			}
		if (!fits || sum > least)
			continue;
		n = sum < least ? 0 : n;
		least = sum;
		ret_sets[n++] = set;
	}
	return n;
}

/* Of @n sets the one that "local-pairs" or "departures" takes. */
static size_t choose_set(const struct bound *b, const struct state *s,
			 const struct arrival *arrival, const uint32_t *sets, size_t n)
{
	uint32_t whole = 0;
	double least = 0;
	size_t best = 0;

	for (uint32_t card = 0; card < b->n_cards; card++)
		whole |= (uint32_t)(s->free[card] == b->slots) << card;
	for (size_t i = 0; i < n; i++) {
		/* one after the other: there are fewer than 1000 pairs, and delays of a lifetime */
		double cost = is_apart(b, arrival, sets[i]) * 1e6 +
			      (count_pairs(b, whole) - count_pairs(b, whole & ~sets[i])) * 1e3;

		if (b->knows_departures)
			cost += delay(b, s, sets[i], arrival);
		if (i == 0 || cost < least) {
			least = cost;
			best = i;
		}
	}
	return best;
}

/* Pairs apart, and refusals, over the next arrivals if it goes on from @s. */
static uint32_t look_ahead(const struct bound *b, struct state *s, const struct arrival *arrival,
			   size_t n)
{
	uint32_t sets[BOUND_SETS], sum = 0;

	for (size_t i = 0; i < n; i++) {
		size_t n_sets;

		leave_until(s, arrival[i].at);
		n_sets = tightest(b, s, &arrival[i], sets);
		if (n_sets > 0) {
			size_t best = choose_set(b, s, &arrival[i], sets, n_sets);

			sum += is_apart(b, &arrival[i], sets[best]);
			take(s, sets[best], &arrival[i]);
		} else {
			sum++;
		}
	}
	return sum;
}

static int choose(struct node *node, const struct arrival *arrival, size_t horizon,
		  uint32_t *ret_parts)
{
	struct bound *b = node->bound;
	uint32_t sets[BOUND_SETS], least = UINT32_MAX;
	size_t n_left = (size_t)(node->arrivals_end - arrival) - 1, n, best, first;

	leave_until(&b->now, arrival->at);
	n = tightest(b, &b->now, arrival, sets);
	if (n == 0)
		return -ENOSPC;
	best = first = choose_set(b, &b->now, arrival, sets, n);
	for (size_t i = 0; horizon > 0 && n > 1 && i < n; i++) {
		size_t at = (first + i) % n; /* so that of equals the usual one is taken */
		struct state s = b->now;
		uint32_t sum;

		take(&s, sets[at], arrival);
		sum = is_apart(b, arrival, sets[at]) +
		      look_ahead(b, &s, arrival + 1, n_left < horizon ? n_left : horizon);
		if (sum < least) {
			least = sum;
			best = at;
		}
	}
	take(&b->now, sets[best], arrival);
	for (uint32_t card = 0; card < b->n_cards; card++)
		ret_parts[card] = has(sets[best], card) ? arrival->slots : 0;
	return 0;
}

int bound_local_pairs(struct node *node, const struct arrival *arrival, uint64_t holder,
		      uint32_t *ret_parts)
{
	return choose(node, arrival, 0, ret_parts);
}

int bound_departures(struct node *node, const struct arrival *arrival, uint64_t holder,
		     uint32_t *ret_parts)
{
	node->bound->knows_departures = true;
	return choose(node, arrival, 0, ret_parts);
}

int bound_foresight(struct node *node, const struct arrival *arrival, uint64_t holder,
		    uint32_t *ret_parts)
{
	node->bound->knows_departures = true;
	return choose(node, arrival, HORIZON, ret_parts);
}
