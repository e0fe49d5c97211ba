/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The tables of a topology. Up to HDP_TABLE_DEVICES_MAX devices they are exact, by dynamic
 * programming over masks of devices (a bit for each position); beyond, the best sets are grown
 * greedily and no masks are kept.
 */

#include <errno.h>
#include <string.h>

#include "topology.h"

#define SEEDS_MAX 64U /* devices that greedy sets are grown from */

void hdp_tables_free(struct hdp_tables *tables)
{
	if (!tables)
		return;
	free(tables->best);
	free(tables->twins);
	free(tables->best_set);
	free(tables->room2);
	free(tables->room4);
	free(tables);
}
DEFINE_CLEANUP(struct hdp_tables *, hdp_tables_free)

static unsigned lowest(uint32_t mask)
{
	return (unsigned)__builtin_ctz(mask);
}

/* Sum of the weights from @pos to the devices of a mask. */
static uint32_t weight_to(const struct hdp_topology *t, size_t pos, uint32_t mask)
{
	uint32_t sum = 0;

	for (; mask; mask &= mask - 1)
		sum += hdp_weight(t, pos, lowest(mask));
	return sum;
}

/* The devices on the NUMA node of @pos; none if it has none. */
static uint32_t node_mask(const struct hdp_topology *t, size_t pos)
{
	uint32_t mask = 0;

	for (size_t i = 0; t->numa[pos] >= 0 && i < t->n; i++)
		mask |= (uint32_t)(t->numa[i] == t->numa[pos]) << i;
	return mask;
}

/* The quality of every set of devices. NULL: out of memory. */
static uint32_t *make_quality(const struct hdp_topology *t)
{
	uint32_t *quality = calloc((size_t)1 << t->n, sizeof(*quality));
	uint32_t nodes[HDP_TABLE_DEVICES_MAX];

	if (!quality)
		return NULL;
	for (size_t i = 0; i < t->n; i++)
		nodes[i] = node_mask(t, i);
	for (uint32_t mask = 1; mask < 1U << t->n; mask++) {
		uint32_t rest = mask & (mask - 1);

		quality[mask] = quality[rest] + weight_to(t, lowest(mask), rest);
	}
	for (uint32_t mask = 1; mask < 1U << t->n; mask++)
		quality[mask] *= mask & ~nodes[lowest(mask)] ? HDP_QUALITY_PLAIN : HDP_QUALITY_NUMA;
	return quality;
}

/* Of two different sets of one size: is @a the lexicographically smaller one? */
static bool comes_first(uint32_t a, uint32_t b)
{
	return (a >> lowest(a ^ b)) & 1;
}

static void find_best(const uint32_t *quality, size_t n, struct hdp_tables *tables)
{
	for (uint32_t mask = 1; mask < 1U << n; mask++) {
		unsigned size = (unsigned)__builtin_popcount(mask);
		uint32_t *set = &tables->best_set[size];

		if (*set == 0 || quality[mask] > quality[*set] ||
		    (quality[mask] == quality[*set] && comes_first(mask, *set)))
			*set = mask;
	}
	for (size_t size = 1; size <= n; size++)
		tables->best[size] = quality[tables->best_set[size]];
}

/* The lowest device stays alone, or goes with each other one. */
static void fill_room2(const uint32_t *quality, size_t n, uint32_t *room)
{
	for (uint32_t mask = 1; mask < 1U << n; mask++) {
		uint32_t low = mask & -mask, rest = mask ^ low, most = room[rest];

		for (uint32_t a = rest; a; a &= a - 1) {
			uint32_t pair = low | (a & -a);
			uint32_t value = quality[pair] + room[mask ^ pair];

			most = value > most ? value : most;
		}
		room[mask] = most;
	}
}

/* The best that the lowest device of @mask can do in a set of four. */
static uint32_t room_with_lowest(const uint32_t *quality, const uint32_t *room, uint32_t mask)
{
	uint32_t low = mask & -mask, rest = mask ^ low, most = 0;

	for (uint32_t a = rest; a; a &= a - 1)
		for (uint32_t b = a & (a - 1); b; b &= b - 1)
			for (uint32_t c = b & (b - 1); c; c &= c - 1) {
				uint32_t set = low | (a & -a) | (b & -b) | (c & -c);
				uint32_t value = quality[set] + room[mask ^ set];

				most = value > most ? value : most;
			}
	return most;
}

static void fill_room4(const uint32_t *quality, size_t n, uint32_t *room)
{
	for (uint32_t mask = 1; mask < 1U << n; mask++) {
		uint32_t without = room[mask & (mask - 1)];
		uint32_t with = room_with_lowest(quality, room, mask);

		room[mask] = with > without ? with : without;
	}
}

static bool fill_exact(const struct hdp_topology *t, struct hdp_tables *tables)
{
	hdp_cleanup_free uint32_t *quality = make_quality(t);
	size_t n_masks = (size_t)1 << t->n;

	tables->best_set = calloc(t->n + 1, sizeof(*tables->best_set));
	tables->room2 = calloc(n_masks, sizeof(*tables->room2));
	tables->room4 = calloc(n_masks, sizeof(*tables->room4));
	if (!quality || !tables->best_set || !tables->room2 || !tables->room4)
		return false;
	find_best(quality, t->n, tables);
	fill_room2(quality, t->n, tables->room2);
	fill_room4(quality, t->n, tables->room4);
	return true;
}

/* A set that grows by the device with the most weight to it, the first of equals. */
struct growth {
	const struct hdp_topology *t;
	uint64_t *to_set; /* weight from each device to the set; taken ones have UINT64_MAX */
	uint64_t sum;
	bool one_node;
	size_t last;
};

static void growth_take(struct growth *g, size_t pos)
{
	g->one_node = g->last == SIZE_MAX ? g->t->numa[pos] >= 0
					  : g->one_node && hdp_same_numa(g->t, pos, g->last);
	g->sum += g->to_set[pos];
	for (size_t i = 0; i < g->t->n; i++)
		if (g->to_set[i] != UINT64_MAX)
			g->to_set[i] += hdp_weight(g->t, pos, i);
	g->to_set[pos] = UINT64_MAX;
	g->last = pos;
}

static void growth_start(struct growth *g, const struct hdp_topology *t, uint64_t *to_set,
			 size_t seed)
{
	*g = (struct growth){ .t = t, .to_set = to_set, .last = SIZE_MAX };
	memset(to_set, 0, t->n * sizeof(*to_set));
	growth_take(g, seed);
}

/* A device of the same NUMA node is preferred by as much as it is worth. */
static size_t growth_next(const struct growth *g)
{
	uint64_t most = 0;
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < g->t->n; i++) {
		uint64_t value = g->to_set[i];

		if (value == UINT64_MAX)
			continue;
		value = (g->sum + value) * (g->one_node && hdp_same_numa(g->t, i, g->last)
						    ? HDP_QUALITY_NUMA
						    : HDP_QUALITY_PLAIN);
		if (best == SIZE_MAX || value > most) {
			best = i;
			most = value;
		}
	}
	return best;
}

static uint64_t growth_quality(const struct growth *g)
{
	return g->sum * (g->one_node ? HDP_QUALITY_NUMA : HDP_QUALITY_PLAIN);
}

static size_t n_seeds(const struct hdp_topology *t)
{
	return t->n < SEEDS_MAX ? t->n : SEEDS_MAX;
}

static bool fill_greedy(const struct hdp_topology *t, struct hdp_tables *tables)
{
	hdp_cleanup_free uint64_t *to_set = calloc(t->n, sizeof(*to_set));
	struct growth g;

	if (!to_set)
		return false;
	for (size_t seed = 0; seed < n_seeds(t); seed++) {
		growth_start(&g, t, to_set, seed);
		for (size_t size = 2; size <= t->n; size++) {
			growth_take(&g, growth_next(&g));
			if (growth_quality(&g) > tables->best[size])
				tables->best[size] = growth_quality(&g);
		}
	}
	return true;
}

/* Devices are twins if nobody can tell them apart by weights and NUMA nodes. */
static bool are_twins(const struct hdp_topology *t, size_t a, size_t b)
{
	if (t->numa[a] != t->numa[b])
		return false;
	for (size_t i = 0; i < t->n; i++)
		if (i != a && i != b && hdp_weight(t, a, i) != hdp_weight(t, b, i))
			return false;
	return true;
}

static void fill_twins(const struct hdp_topology *t, uint32_t *twins)
{
	for (size_t i = 0; i < t->n; i++) {
		twins[i] = (uint32_t)i;
		for (size_t j = 0; j < i; j++)
			if (twins[j] == j && are_twins(t, i, j)) {
				twins[i] = (uint32_t)j;
				break;
			}
	}
}

struct hdp_tables *hdp_tables_new(const struct hdp_topology *t)
{
	hdp_cleanup(hdp_tables_freep) struct hdp_tables *tables = calloc(1, sizeof(*tables));
	bool exact = t->n <= HDP_TABLE_DEVICES_MAX;

	if (!tables)
		return NULL;
	tables->best = calloc(t->n + 1, sizeof(*tables->best));
	tables->twins = calloc(t->n + 1, sizeof(*tables->twins));
	if (!tables->best || !tables->twins)
		return NULL;
	for (int64_t f = 0; f <= (int64_t)HAMIDP_SLOTS_MAX; f++)
		tables->phi[f] = (f * f) << HDP_COST_SHIFT;
	fill_twins(t, tables->twins);
	if (!(exact ? fill_exact(t, tables) : fill_greedy(t, tables)))
		return NULL;
	return take_ptr(tables);
}

static void take_mask(uint32_t mask, uint32_t *ret_set)
{
	for (; mask; mask &= mask - 1)
		*ret_set++ = lowest(mask);
}

static int grow_best_set(const struct hdp_topology *t, size_t n, uint32_t *ret_set)
{
	hdp_cleanup_free uint64_t *to_set = calloc(t->n, sizeof(*to_set));
	struct growth g;
	uint64_t most = 0;
	size_t best = 0;

	if (!to_set)
		return -ENOMEM;
	for (size_t seed = 0; seed < n_seeds(t); seed++) {
		growth_start(&g, t, to_set, seed);
		for (size_t size = 1; size < n; size++)
			growth_take(&g, growth_next(&g));
		if (growth_quality(&g) > most) {
			most = growth_quality(&g);
			best = seed;
		}
	}
	growth_start(&g, t, to_set, best);
	for (size_t size = 1; size < n; size++)
		growth_take(&g, growth_next(&g));
	for (size_t i = 0; i < t->n; i++)
		if (to_set[i] == UINT64_MAX)
			*ret_set++ = (uint32_t)i;
	return 0;
}

int hdp_topology_best_set(const struct hdp_topology *t, const struct hdp_tables *tables, size_t n,
			  uint32_t *ret_set)
{
	if (n == 0)
		return 0;
	if (!tables->best_set)
		return grow_best_set(t, n, ret_set);
	take_mask(tables->best_set[n], ret_set);
	return 0;
}
