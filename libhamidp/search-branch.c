/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Branch and bound over sets of candidates, in lexicographic order: the first of equal sets that it
 * comes to is the one that ties are to give, so from then on only a better one counts. A candidate
 * is passed over while one that can stand in for it was left out before.
 */

#include <string.h>

#include "bitmap.h"
#include "search-branch.h"

#define NUMA_ANY (-2) /* of the empty set */

struct partial {
	uint64_t set;
	uint32_t mask;
	uint32_t n, n_small;
	uint32_t rem; /* larger parts that are not given yet, nor promised */
	uint32_t sum_free;
	int32_t numa; /* -1: more than one node, or none */
	uint64_t weight;
	int64_t load;
};

static int32_t join_numa(int32_t numa, const struct hdp_candidate *c)
{
	if (numa == NUMA_ANY || numa == c->numa)
		return c->numa;
	return -1;
}

static uint64_t quality_of(uint64_t weight, int32_t numa)
{
	return weight * (numa == -1 ? HDP_QUALITY_PLAIN : HDP_QUALITY_NUMA);
}

/* @p with one more; the weight to it is the caller's to know. */
static struct partial join(const struct hdp_search *s, const struct partial *p, size_t i,
			   uint32_t weight)
{
	const struct hdp_candidate *c = &s->cand[i];
	bool more = c->large || (p->rem > 0 && !c->small);

	return (struct partial){
		.set = p->set | UINT64_C(1) << i,
		.mask = p->mask | c->bit,
		.n = p->n + 1,
		.n_small = p->n_small + c->small,
		.rem = p->rem - (more && !c->large),
		.sum_free = p->sum_free + c->free,
		.numa = join_numa(p->numa, c),
		.weight = p->weight + weight,
		.load = p->load + c->delta[more],
	};
}

static struct hdp_cost cost_of(const struct hdp_goal *goal, int64_t load, uint64_t quality)
{
	struct hdp_cost cost = { .cost = load + hdp_goal_quality(goal, quality) };

	if (goal->placement == HAMIDP_PLACEMENT_TOPOLOGY && quality < goal->best)
		cost.first = (int64_t)(goal->best - quality);
	return cost;
}

static int64_t room_of(struct hdp_search *s, const struct partial *p)
{
	uint32_t set[HDP_SEARCH_CARDS];
	size_t n = 0;

	if (s->goal->tables->room2)
		return hdp_spare_loss_mask(s->goal->spare, p->mask);
	if (s->weighings > 0)
		s->weighings--;
	for (uint64_t left = p->set; left; left &= left - 1)
		set[n++] = s->cand[__builtin_ctzll(left)].pos;
	return hdp_spare_loss(s->goal->spare, set, n);
}

/* Of two different sets: is @a the lexicographically smaller one? */
static bool comes_first(uint64_t a, uint64_t b)
{
	return a >> __builtin_ctzll(a ^ b) & 1;
}

static void consider(struct hdp_search *s, const struct partial *p, bool branch)
{
	struct hdp_cost cost = cost_of(s->goal, p->load, quality_of(p->weight, p->numa));

	/* Room is dear to weigh without tables, and never negative. */
	if (s->set && hdp_cost_less(s->cost, cost))
		return;
	cost.cost += room_of(s, p);
	if (s->set && hdp_cost_less(s->cost, cost))
		return;
	if (s->set && !hdp_cost_less(cost, s->cost)) {
		if (p->sum_free > s->sum_free)
			return;
		if (p->set == s->set) {
			s->found = s->found || branch;
			return;
		}
		if (p->sum_free == s->sum_free && !comes_first(p->set, s->set))
			return;
	}
	s->set = p->set;
	s->cost = cost;
	s->sum_free = p->sum_free;
	s->found = branch;
}

void hdp_search_offer(struct hdp_search *s, uint64_t set)
{
	struct partial p = { .numa = NUMA_ANY, .rem = s->form.rem - s->n_large };
	uint64_t taken = 0;

	for (; set; set &= set - 1) {
		size_t i = (size_t)__builtin_ctzll(set);
		uint32_t weight = 0;

		for (uint64_t left = taken; left; left &= left - 1)
			weight += hdp_weight(s->goal->topology, s->cand[i].pos,
					     s->cand[__builtin_ctzll(left)].pos);
		taken |= UINT64_C(1) << i;
		p = join(s, &p, i, weight);
	}
	if (p.n == s->form.n && p.rem == 0)
		consider(s, &p, false);
}

/* Keep @values, of @n sorted down, the largest seen. */
static void insert_largest(uint64_t *values, size_t n, uint64_t value)
{
	size_t at = n;

	for (; at > 0 && values[at - 1] < value; at--)
		if (at < n)
			values[at] = values[at - 1];
	if (at < n)
		values[at] = value;
}

/* The most weight that a set can have that @left more candidates from @from on make of @p. */
static uint64_t most_weight(const struct hdp_search *s, const struct partial *p, size_t from,
			    uint32_t left)
{
	const uint32_t *to_set = s->to_set[p->n];
	uint64_t most[HDP_SEARCH_DEPTH] = { 0 };
	uint64_t twice = 2 * p->weight;

	for (size_t i = from; i < s->n; i++)
		insert_largest(most, left, 2 * (uint64_t)to_set[i] + s->top[i][left - 1]);
	for (uint32_t j = 0; j < left; j++)
		twice += most[j];
	return twice / 2;
}

/* No set that @left more from @from on make of @p can be better than the best. */
static bool is_hopeless(struct hdp_search *s, const struct partial *p, size_t from, uint32_t left)
{
	int64_t load = p->load + s->least[left][from];
	struct hdp_cost cost;

	if (s->goal->tables->room2)
		load += hdp_spare_loss_mask(s->goal->spare, p->mask);
	cost = cost_of(s->goal, load, quality_of(most_weight(s, p, from, left), p->numa));
	if (hdp_cost_less(s->cost, cost))
		return true;
	if (hdp_cost_less(cost, s->cost))
		return false;
	return s->found && p->sum_free + left * s->least_free[from] >= s->sum_free;
}

static bool is_passed_over(const struct hdp_search *s, const struct partial *p, size_t i)
{
	const struct hdp_candidate *c = &s->cand[i];

	if (s->forced && !c->forced && p->n + hdp_popcount(s->forced & ~p->set) >= s->form.n)
		return true;
	if (c->twin >= 0 && !(p->set >> c->twin & 1))
		return true;
	return s->form.rem > 0 && c->small && p->n_small == s->form.n - s->form.rem;
}

static void extend_weights(struct hdp_search *s, uint32_t depth, size_t i)
{
	const uint32_t *row = &s->goal->topology->weights[s->cand[i].pos * s->goal->topology->n];

	for (size_t j = i + 1; j < s->n; j++)
		s->to_set[depth + 1][j] = s->to_set[depth][j] + row[s->cand[j].pos];
}

/* Each candidate from @from on joins @p, as long as a forced one is not left out. */
static void branch(struct hdp_search *s, const struct partial *p, size_t from)
{
	uint32_t left = s->form.n - p->n;

	for (size_t i = from; i + left <= s->n; i++) {
		struct partial next;

		if (!is_passed_over(s, p, i)) {
			next = join(s, p, i, s->to_set[p->n][i]);
			if (left == 1) {
				consider(s, &next, true);
			} else if (s->nodes > 0 && s->weighings > 0) {
				s->nodes--;
				extend_weights(s, p->n, i);
				if (!is_hopeless(s, &next, i + 1, left - 1))
					branch(s, &next, i + 1);
			}
		}
		if (s->cand[i].forced)
			return;
	}
}

/* For each candidate the sums of its largest weights to any other. */
static void find_top(struct hdp_search *s)
{
	const struct hdp_topology *t = s->goal->topology;
	size_t depth = s->form.n - 1;

	for (size_t i = 0; i < s->n; i++) {
		uint64_t most[HDP_SEARCH_DEPTH] = { 0 };

		for (size_t j = 0; j < s->n; j++)
			insert_largest(most, depth, hdp_weight(t, s->cand[i].pos, s->cand[j].pos));
		s->top[i][0] = 0;
		for (size_t k = 1; k < depth; k++)
			s->top[i][k] = s->top[i][k - 1] + (uint32_t)most[k - 1];
	}
}

/* For each suffix of the candidates the sums of its smallest loads, and its smallest free. */
static void find_least(struct hdp_search *s)
{
	int64_t sorted[HDP_SEARCH_DEPTH + 1];
	size_t n = 0, depth = s->form.n;

	s->least_free[s->n] = UINT32_MAX / 2 / HDP_SEARCH_DEPTH;
	for (size_t i = s->n; i-- > 0;) {
		const struct hdp_candidate *c = &s->cand[i];
		int64_t load = c->delta[0] < c->delta[1] ? c->delta[0] : c->delta[1];
		size_t at = n < depth ? n++ : n;

		if (s->form.rem == 0)
			load = c->delta[0];
		for (; at > 0 && sorted[at - 1] > load; at--)
			if (at < n)
				sorted[at] = sorted[at - 1];
		if (at < n)
			sorted[at] = load;
		s->least[0][i] = 0;
		for (size_t j = 1; j <= n; j++)
			s->least[j][i] = s->least[j - 1][i] + sorted[j - 1];
		for (size_t j = n + 1; j <= depth; j++)
			s->least[j][i] = s->least[n][i];
		s->least_free[i] = c->free < s->least_free[i + 1] ? c->free : s->least_free[i + 1];
	}
	for (size_t j = 0; j <= depth; j++)
		s->least[j][s->n] = 0;
}

void hdp_search_branch(struct hdp_search *s)
{
	struct partial none = { .numa = NUMA_ANY, .rem = s->form.rem - s->n_large };

	memset(s->to_set[0], 0, s->n * sizeof(s->to_set[0][0]));
	if (s->form.n > 1) {
		find_top(s);
		find_least(s);
	}
	branch(s, &none, 0);
}
