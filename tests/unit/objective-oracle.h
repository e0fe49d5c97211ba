/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The objective as docs/placement.md writes it down, in floating point and with recursion: every
 * set of cards is weighed. Shares nothing with the library but the forms of a request.
 */

#include <math.h>

#include "topology-file.h"

#define CARDS_MAX 12
#define CLOSE 1e-3 /* the library's fixed point may be off by this, in slots */

struct oracle {
	struct topology_file t;
	uint32_t n_slots[CARDS_MAX], free[CARDS_MAX], min[CARDS_MAX], cap[CARDS_MAX];
	uint32_t need[CARDS_MAX]; /* of amounts; 0: the form's base */
	uint32_t slots;		  /* S */
	double p2, p4;
	uint32_t n, base, rem, units;
	enum hamidp_placement placement;
	double room[2][1 << CARDS_MAX]; /* < 0: not yet */
	double best[CARDS_MAX + 1];
};

static uint64_t rnd_state;

static inline uint32_t rnd(uint32_t below)
{
	rnd_state = rnd_state * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(rnd_state >> 33) % below;
}

static inline double quality(const struct oracle *o, uint32_t set)
{
	int32_t node = o->t.numa[__builtin_ctz(set)];
	bool one = node >= 0;
	double sum = 0;

	for (size_t a = 0; a < o->t.n; a++)
		for (size_t b = 0; b <= a; b++) {
			if (!(set >> a & 1) || !(set >> b & 1))
				continue;
			one = one && o->t.numa[a] == node && o->t.numa[b] == node;
			if (a != b)
				sum += 100.0 * o->t.lanes[a][b] + o->t.pcie[a][b];
		}
	return one ? sum * 1.02 : sum;
}

/* The best disjoint sets of @n inside: the lowest card is in one or in none. */
static inline double best_parts(struct oracle *o, uint32_t inside, unsigned n)
{
	double *known = &o->room[n / 4][inside], most = 0;
	uint32_t low = inside & -inside;

	if ((unsigned)__builtin_popcount(inside) < n)
		return 0;
	if (*known >= 0)
		return *known;
	most = best_parts(o, inside ^ low, n);
	for (uint32_t rest = (inside ^ low); rest; rest = (rest - 1) & (inside ^ low)) {
		double value;

		if ((unsigned)__builtin_popcount(rest) != n - 1)
			continue;
		value = quality(o, rest | low) + best_parts(o, inside ^ (rest | low), n);
		most = value > most ? value : most;
	}
	*known = most;
	return most;
}

static inline double worth(struct oracle *o, uint32_t inside)
{
	double sum = 0;

	if (o->t.n >= 2)
		sum += o->p2 * 2 * o->slots * best_parts(o, inside, 2) / o->best[2];
	if (o->t.n >= 4)
		sum += o->p4 * 4 * o->slots * best_parts(o, inside, 4) / o->best[4];
	return sum;
}

static inline uint32_t wholly_free(const struct oracle *o)
{
	uint32_t mask = 0;

	for (size_t i = 0; i < o->t.n && i < CARDS_MAX; i++)
		mask |= (uint32_t)(o->free[i] == o->n_slots[i]) << i;
	return mask;
}

/* Who gives what in a set. False: the set does not have the form. */
static inline bool parts_of(const struct oracle *o, uint32_t set, uint32_t *ret)
{
	uint32_t rem = o->rem;

	for (size_t i = 0; i < o->t.n; i++) {
		uint32_t need = o->need[i] ? o->need[i] : o->base;

		ret[i] = 0;
		if (o->min[i] > 0 && !(set >> i & 1))
			return false;
		if (!(set >> i & 1))
			continue;
		ret[i] = need;
		if (o->min[i] > need) {
			ret[i]++;
			if (rem-- == 0)
				return false;
		}
	}
	for (size_t i = 0; i < o->t.n && rem > 0; i++)
		if (ret[i] > 0 && o->min[i] <= o->base && o->cap[i] > o->base) {
			ret[i]++;
			rem--;
		}
	for (size_t i = 0; i < o->t.n; i++)
		if (ret[i] > o->cap[i] || (ret[i] > 0 && ret[i] < o->min[i]))
			return false;
	return rem == 0;
}

/* What a set costs; *ret_first comes before it. */
static inline double cost(struct oracle *o, uint32_t set, const uint32_t *parts, double *ret_first)
{
	uint32_t whole = wholly_free(o);
	double load = 0, lost = 0;

	for (size_t i = 0; i < o->t.n; i++) {
		double f = o->free[i], after = f - parts[i];

		load += (f * f - after * after) / o->slots;
	}
	if (o->n >= 2)
		lost = 1 - quality(o, set) / o->best[o->n];
	*ret_first = o->placement == HAMIDP_PLACEMENT_TOPOLOGY ? lost : 0;
	return (o->placement == HAMIDP_PLACEMENT_SPREAD ? -load : load) + worth(o, whole) -
	       worth(o, whole & ~set) + o->units * lost;
}

static inline uint32_t sum_free(const struct oracle *o, uint32_t set)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < o->t.n; i++)
		sum += set >> i & 1 ? o->free[i] : 0;
	return sum;
}

static inline bool comes_before(const struct oracle *o, uint32_t a, uint32_t b)
{
	if (sum_free(o, a) != sum_free(o, b))
		return sum_free(o, a) < sum_free(o, b);
	return a >> __builtin_ctz(a ^ b) & 1;
}

struct optimum {
	uint32_t set; /* 0: there is none */
	double first, cost;
	bool unsure; /* another set is so near that rounding decides */
};

static inline struct optimum solve(struct oracle *o)
{
	struct optimum best = { 0 };
	uint32_t parts[CARDS_MAX];

	for (uint32_t set = 1; set < 1U << o->t.n; set++) {
		double first, value, gap;

		if ((uint32_t)__builtin_popcount(set) != o->n || !parts_of(o, set, parts))
			continue;
		value = cost(o, set, parts, &first);
		gap = best.set == 0 ? -1 : first - best.first;
		if (fabs(gap) < 1e-9)
			gap = value - best.cost;
		if (fabs(gap) >= 1e-9 && fabs(gap) < CLOSE && fabs(first - best.first) < 1e-9)
			best.unsure = true;
		if (best.set == 0 || gap < -1e-9 ||
		    (gap < 1e-9 && comes_before(o, set, best.set))) {
			best.unsure = best.unsure && gap > -CLOSE;
			best.set = set;
			best.first = first;
			best.cost = value;
		}
	}
	return best;
}

static inline void draw_links(struct topology_file *t, size_t n)
{
	static const enum hamidp_pcie_level levels[] = { HAMIDP_PCIE_PIX, HAMIDP_PCIE_PXB,
							 HAMIDP_PCIE_PHB, HAMIDP_PCIE_NODE,
							 HAMIDP_PCIE_SYS };
	uint32_t most_lanes = rnd(4), n_nodes = 1 + rnd(2), kinds = 1 + rnd(5);

	*t = (struct topology_file){ .n = n };
	for (size_t a = 0; a < n; a++) {
		(void)snprintf(t->bdf[a], sizeof(t->bdf[a]), "0000:%02zx:00.0", a + 1);
		t->numa[a] = rnd(6) ? (int32_t)rnd(n_nodes) : -1;
		for (size_t b = 0; b < a; b++) {
			t->lanes[a][b] = t->lanes[b][a] = rnd(most_lanes + 1);
			t->pcie[a][b] = t->pcie[b][a] = levels[rnd(kinds)];
		}
	}
}
