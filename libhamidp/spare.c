/* SPDX-License-Identifier: Apache-2.0 */

/* See spare.h. Pure; writes only its own arrays. */

#include "spare.h"

#define LEFT_MAX 128U /* cards that a torn matching leaves and that are matched anew */

static uint32_t share_of(uint32_t ppm)
{
	return ppm < HAMIDP_PPM / 100 ? HAMIDP_PPM / 100 : ppm;
}

/* p_n n S / Qbest_n, times S as all costs are. */
static int64_t coefficient(uint32_t p_ppm, uint32_t n, uint32_t slots, uint64_t best)
{
	unsigned __int128 value = (unsigned __int128)share_of(p_ppm) * n * slots * slots;

	if (best == 0)
		return 0;
	return (int64_t)((value << (HDP_COST_SHIFT + HDP_COEF_SHIFT)) /
			 ((unsigned __int128)best * HAMIDP_PPM));
}

void hdp_spare_init(struct hdp_spare *spare, const struct hdp_topology *topology,
		    const struct hdp_tables *tables, const struct hdp_placing *placing,
		    uint32_t slots, uint32_t *room)
{
	size_t n = topology->n;

	*spare = (struct hdp_spare){ .topology = topology, .tables = tables };
	if (n >= 2)
		spare->coef2 = coefficient(placing->p2_ppm, 2, slots, tables->best[2]);
	if (n >= 4)
		spare->coef4 = coefficient(placing->p4_ppm, 4, slots, tables->best[4]);
	if (tables->room2)
		return;
	spare->pair = room;
	spare->quad = room + n;
	spare->next = room + 2 * n;
	spare->taken = room + 3 * n;
	for (size_t i = 0; i < n; i++) {
		spare->pair[i] = spare->quad[i] = HDP_SPARE_NONE;
		spare->taken[i] = 0;
	}
}

void hdp_spare_add(struct hdp_spare *spare, uint32_t pos)
{
	if (spare->tables->room2)
		spare->mask |= 1U << pos;
	else
		spare->pair[pos] = pos;
}

static uint32_t quad_quality(const struct hdp_topology *t, const uint32_t *set)
{
	return (uint32_t)hdp_set_quality(t, set, 4);
}

/* Of @n cards, the one after @i that makes the best pair with it; @n: none. */
static size_t best_partner(const struct hdp_topology *t, const uint32_t *cards, size_t n, size_t i)
{
	uint32_t most = 0;
	size_t best = n;

	for (size_t j = i + 1; j < n; j++) {
		uint32_t value;

		if (cards[j] == HDP_SPARE_NONE)
			continue;
		value = hdp_pair_quality(t, cards[i], cards[j]);
		if (best == n || value > most) {
			best = j;
			most = value;
		}
	}
	return best;
}

/* Add to @set (of @size) the card that has the most weight to it; @n: none is left. */
static size_t best_addition(const struct hdp_topology *t, const uint32_t *cards, size_t n,
			    const uint32_t *set, size_t size)
{
	uint32_t most = 0;
	size_t best = n;

	for (size_t j = 0; j < n; j++) {
		uint32_t value = 0;

		if (cards[j] == HDP_SPARE_NONE)
			continue;
		for (size_t k = 0; k < size; k++)
			value += hdp_pair_quality(t, set[k], cards[j]);
		if (best == n || value > most) {
			best = j;
			most = value;
		}
	}
	return best;
}

/* Take the first set of four out of @cards. False: fewer than four are left. */
static bool next_quad(const struct hdp_topology *t, uint32_t *cards, size_t n, size_t *from,
		      uint32_t ret_set[4])
{
	while (*from < n && cards[*from] == HDP_SPARE_NONE)
		(*from)++;
	for (size_t size = 0; size < 4; size++) {
		size_t j = size == 0 ? *from : best_addition(t, cards, n, ret_set, size);

		if (j >= n)
			return false;
		ret_set[size] = cards[j];
		cards[j] = HDP_SPARE_NONE;
	}
	return true;
}

static void match_pairs(struct hdp_spare *spare)
{
	const struct hdp_topology *t = spare->topology;

	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t most = 0, best = i;

		for (uint32_t j = i + 1; spare->pair[i] == i && j < t->n; j++) {
			uint32_t value = spare->pair[j] == j ? hdp_pair_quality(t, i, j) : 0;

			if (value > most) {
				most = value;
				best = j;
			}
		}
		if (best != i) {
			spare->pair[i] = best;
			spare->pair[best] = i;
		}
	}
}

static void match_quads(struct hdp_spare *spare)
{
	uint32_t *cards = spare->taken; /* borrowed until the end of this */
	size_t n = spare->topology->n, from = 0;
	uint32_t set[4];

	for (size_t i = 0; i < n; i++)
		cards[i] = spare->pair[i] == HDP_SPARE_NONE ? HDP_SPARE_NONE : (uint32_t)i;
	while (next_quad(spare->topology, cards, n, &from, set))
		for (size_t k = 0; k < 4; k++) {
			spare->quad[set[k]] = set[0];
			spare->next[set[k]] = set[(k + 1) % 4];
		}
	for (size_t i = 0; i < n; i++)
		cards[i] = 0;
}

void hdp_spare_settle(struct hdp_spare *spare)
{
	if (spare->tables->room2) {
		spare->all2 = spare->tables->room2[spare->mask];
		spare->all4 = spare->tables->room4[spare->mask];
		return;
	}
	match_pairs(spare);
	match_quads(spare);
}

/* Cards that can be matched anew. */
struct left {
	uint32_t cards[LEFT_MAX];
	size_t n;
};

static void leave(struct left *left, uint32_t pos)
{
	if (left->n < LEFT_MAX)
		left->cards[left->n++] = pos;
}

static int64_t loss_of_pairs(const struct hdp_spare *spare, const uint32_t *set, size_t n)
{
	const struct hdp_topology *t = spare->topology;
	struct left left = { .n = 0 };
	int64_t loss = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t other = spare->pair[set[i]];

		if (other == HDP_SPARE_NONE || other == set[i])
			continue;
		if (!spare->taken[other])
			leave(&left, other);
		if (!spare->taken[other] || other > set[i])
			loss += hdp_pair_quality(t, set[i], other);
	}
	for (uint32_t pos = 0; loss > 0 && pos < t->n; pos++)
		if (spare->pair[pos] == pos && !spare->taken[pos])
			leave(&left, pos);
	for (size_t i = 0; i < left.n; i++) {
		size_t j = left.cards[i] == HDP_SPARE_NONE ? left.n
							   : best_partner(t, left.cards, left.n, i);

		if (j == left.n)
			continue;
		loss -= hdp_pair_quality(t, left.cards[i], left.cards[j]);
		left.cards[j] = HDP_SPARE_NONE;
	}
	return loss > 0 ? loss : 0;
}

/* Is @pos the first taken card of its set of four, in the set's own order? */
static bool tears_quad(const struct hdp_spare *spare, uint32_t pos)
{
	for (uint32_t at = spare->quad[pos]; at != pos; at = spare->next[at])
		if (spare->taken[at])
			return false;
	return true;
}

static int64_t loss_of_quads(const struct hdp_spare *spare, const uint32_t *set, size_t n)
{
	const struct hdp_topology *t = spare->topology;
	struct left left = { .n = 0 };
	uint32_t quad[4];
	int64_t loss = 0;
	size_t from = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t at = set[i];

		if (spare->quad[at] == HDP_SPARE_NONE || !tears_quad(spare, at))
			continue;
		for (size_t k = 0; k < 4; k++, at = spare->next[at]) {
			quad[k] = at;
			if (!spare->taken[at])
				leave(&left, at);
		}
		loss += quad_quality(t, quad);
	}
	for (uint32_t pos = 0; loss > 0 && pos < t->n; pos++)
		if (spare->pair[pos] != HDP_SPARE_NONE && spare->quad[pos] == HDP_SPARE_NONE &&
		    !spare->taken[pos])
			leave(&left, pos);
	while (loss > 0 && next_quad(t, left.cards, left.n, &from, quad))
		loss -= quad_quality(t, quad);
	return loss > 0 ? loss : 0;
}

int64_t hdp_spare_loss(const struct hdp_spare *spare, const uint32_t *set, size_t n)
{
	uint32_t mask = 0;
	int64_t loss;

	if (spare->tables->room2) {
		for (size_t i = 0; i < n; i++)
			mask |= 1U << set[i];
		return hdp_spare_loss_mask(spare, mask);
	}
	for (size_t i = 0; i < n; i++)
		spare->taken[set[i]] = 1;
	loss = (loss_of_pairs(spare, set, n) * spare->coef2 +
		loss_of_quads(spare, set, n) * spare->coef4) >>
	       HDP_COEF_SHIFT;
	for (size_t i = 0; i < n; i++)
		spare->taken[set[i]] = 0;
	return loss;
}
