/* SPDX-License-Identifier: Apache-2.0 */

/* Candidates, the greedy start, and the way in and out; search-branch.c has the branch and bound.
 */

#include <string.h>

#include "search-branch.h"

/* True if the card can be part of a set of this form at all. */
static bool fits(const struct hdp_card *card, struct hdp_form form)
{
	return card->cap >= card->need && card->min <= card->need + (form.rem > 0);
}

static void add_candidate(struct hdp_search *s, const struct hdp_card *cards, size_t i)
{
	const struct hdp_goal *goal = s->goal;
	const struct hdp_card *card = &cards[i];
	struct hdp_candidate *c = &s->cand[s->n];

	*c = (struct hdp_candidate){
		.card = (uint32_t)i,
		.pos = card->pos,
		.free = card->free,
		.numa = goal->topology->numa[card->pos],
		.small = card->cap == card->need,
		.large = card->min > card->need,
		.forced = card->min > 0,
		.whole = hdp_spare_has(goal->spare, card->pos),
		.twin = -1,
	};
	c->bit = goal->tables->room2 ? 1U << card->pos : 0;
	c->delta[0] = hdp_goal_load(goal, card->free, card->need);
	c->delta[1] = c->small ? c->delta[0] : hdp_goal_load(goal, card->free, card->need + 1);
	s->n_large += c->large;
	s->n++;
}

/* The largest load of a card that is still looked at, where there are too many. */
static int64_t load_limit(const struct hdp_goal *goal, const struct hdp_card *cards, size_t n_cards,
			  struct hdp_form form, size_t *ret_equal)
{
	int64_t limit = INT64_MIN;
	size_t n = 0;

	for (size_t i = 0; i < n_cards; i++)
		n += cards[i].part > 0 || cards[i].min > 0;
	for (size_t room = HDP_SEARCH_CARDS - n;;) {
		int64_t next = INT64_MAX;
		size_t equal = 0;

		for (size_t i = 0; i < n_cards; i++) {
			int64_t load;

			if (cards[i].part > 0 || cards[i].min > 0 || !fits(&cards[i], form))
				continue;
			load = hdp_goal_load(goal, cards[i].free, cards[i].need);
			if (load <= limit || load > next)
				continue;
			equal = load < next ? 1 : equal + 1;
			next = load;
		}
		if (equal >= room || equal == 0) {
			*ret_equal = room;
			return next;
		}
		room -= equal;
		limit = next;
	}
}

static void add_candidates(struct hdp_search *s, const struct hdp_card *cards, size_t n_cards)
{
	int64_t limit = INT64_MAX;
	size_t n = 0, equal = 0;

	for (size_t i = 0; i < n_cards; i++)
		n += fits(&cards[i], s->form);
	if (n > HDP_SEARCH_CARDS)
		limit = load_limit(s->goal, cards, n_cards, s->form, &equal);
	for (size_t i = 0; i < n_cards; i++) {
		int64_t load;

		if (!fits(&cards[i], s->form))
			continue;
		load = hdp_goal_load(s->goal, cards[i].free, cards[i].need);
		if (cards[i].part == 0 && cards[i].min == 0 && load >= limit) {
			if (load > limit || equal == 0)
				continue;
			equal--;
		}
		add_candidate(s, cards, i);
	}
}

static bool are_alike(const struct hdp_candidate *a, const struct hdp_candidate *b)
{
	return a->free == b->free && a->delta[0] == b->delta[0] && a->whole == b->whole &&
	       a->small == b->small && a->large == b->large && a->forced == b->forced;
}

/* Whoever of two twins comes first is taken first, if nothing else tells them apart. */
static void find_twins(struct hdp_search *s)
{
	const uint32_t *twins = s->goal->tables->twins;

	/* Who gets the remainder goes by the order of cards, so the others in between count. */
	for (size_t i = 1; s->form.rem > 0 && i < s->n; i++)
		if (!are_alike(&s->cand[i], &s->cand[0]))
			return;
	for (size_t i = 1; i < s->n; i++)
		for (size_t j = i; j-- > 0 && s->cand[i].twin < 0;)
			if (twins[s->cand[i].pos] == twins[s->cand[j].pos] &&
			    are_alike(&s->cand[i], &s->cand[j]))
				s->cand[i].twin = (int32_t)j;
}

/* A set that grows by the candidate that costs least, before it has its parts. */
struct growth {
	uint64_t set;
	uint32_t n, n_small;
	uint32_t mask;
	uint64_t weight;
	int64_t load;
	uint32_t *to_set;
};

static void grow_by(const struct hdp_search *s, struct growth *g, size_t i)
{
	const struct hdp_topology *t = s->goal->topology;

	g->set |= UINT64_C(1) << i;
	g->n++;
	g->n_small += s->cand[i].small;
	g->mask |= s->cand[i].bit;
	g->weight += g->to_set[i];
	g->load += s->cand[i].delta[0];
	for (size_t j = 0; j < s->n; j++)
		g->to_set[j] += hdp_weight(t, s->cand[i].pos, s->cand[j].pos);
}

/* The room that a partial set loses is counted, and the weight that it has is a gain. */
static struct hdp_cost growth_cost(const struct hdp_search *s, const struct growth *g, size_t i)
{
	const struct hdp_goal *goal = s->goal;
	int64_t gain = (int64_t)(g->weight + g->to_set[i]) * HDP_QUALITY_PLAIN;
	struct hdp_cost cost = { .cost = g->load + s->cand[i].delta[0] };

	if (goal->tables->room2)
		cost.cost += hdp_spare_loss_mask(goal->spare, g->mask | s->cand[i].bit);
	if (goal->placement == HAMIDP_PLACEMENT_TOPOLOGY)
		cost.first = -gain;
	else
		cost.cost -= gain * goal->coef >> HDP_COEF_SHIFT;
	return cost;
}

/* False: nothing can be added. */
static bool grow_once(const struct hdp_search *s, struct growth *g)
{
	struct hdp_cost least = { .first = INT64_MAX };
	size_t best = s->n;

	for (size_t i = 0; i < s->n; i++) {
		struct hdp_cost cost;

		if (g->set >> i & 1)
			continue;
		if (s->form.rem > 0 && s->cand[i].small && g->n_small == s->form.n - s->form.rem)
			continue;
		cost = growth_cost(s, g, i);
		if (best == s->n || hdp_cost_less(cost, least)) {
			best = i;
			least = cost;
		}
	}
	if (best == s->n)
		return false;
	grow_by(s, g, best);
	return true;
}

static void grow_from(struct hdp_search *s, uint64_t start)
{
	struct growth g = { .to_set = s->to_set[0] };

	memset(g.to_set, 0, sizeof(s->to_set[0]));
	for (size_t i = 0; i < s->n; i++)
		if (start >> i & 1)
			grow_by(s, &g, i);
	if (g.n > s->form.n || (s->form.rem > 0 && g.n_small > s->form.n - s->form.rem))
		return;
	while (g.n < s->form.n)
		if (!grow_once(s, &g))
			return;
	hdp_search_offer(s, g.set);
}

static void start_greedily(struct hdp_search *s)
{
	if (s->forced) {
		grow_from(s, s->forced);
		return;
	}
	for (size_t i = 0; i < s->n; i++)
		if (s->cand[i].twin < 0)
			grow_from(s, UINT64_C(1) << i);
}

static void give_parts(const struct hdp_search *s, struct hdp_card *cards, size_t n_cards)
{
	uint32_t rem = s->form.rem - s->n_large;

	for (size_t i = 0; i < n_cards; i++)
		cards[i].part = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct hdp_candidate *c = &s->cand[i];
		bool more = c->large || (rem > 0 && !c->small);

		if (!(s->set >> i & 1))
			continue;
		cards[c->card].part = cards[c->card].need + more;
		rem -= more && !c->large;
	}
}

void hdp_search(struct hdp_search *s, const struct hdp_goal *goal, struct hdp_card *cards,
		size_t n_cards, struct hdp_form form)
{
	uint64_t set = 0;

	if (goal->placement == HAMIDP_PLACEMENT_FIT || form.n > HDP_SEARCH_CARDS / 2)
		return; /* the tightest set is what there is */
	s->goal = goal;
	s->form = form;
	s->n = s->n_large = 0;
	s->set = s->forced = 0;
	s->found = false;
	s->weighings = HDP_SEARCH_NODES;
	s->nodes = goal->tables->room2 ? HDP_SEARCH_NODES : HDP_SEARCH_NODES / 4;
	add_candidates(s, cards, n_cards);
	for (size_t i = 0; i < s->n; i++) {
		set |= (uint64_t)(cards[s->cand[i].card].part > 0) << i;
		s->forced |= (uint64_t)s->cand[i].forced << i;
	}
	if (form.n >= 2)
		find_twins(s);
	hdp_search_offer(s, set);
	if (form.n > 2)
		start_greedily(s);
	if (form.n <= HDP_SEARCH_DEPTH)
		hdp_search_branch(s);
	give_parts(s, cards, n_cards);
}

/* Where one card is wanted there is nothing to search: the first of the cheapest. */
bool hdp_search_one(const struct hdp_goal *goal, struct hdp_card *cards, size_t n_cards)
{
	static const struct hdp_form one = { .n = 1 };
	struct hdp_card *best = NULL;
	int64_t least = 0;
	size_t n_forced = 0;

	for (size_t i = 0; i < n_cards; i++) {
		cards[i].part = 0;
		n_forced += cards[i].min > 0;
	}
	for (size_t i = 0; i < n_cards && n_forced <= 1; i++) {
		struct hdp_card *card = &cards[i];
		int64_t cost;

		if ((n_forced && !card->min) || !fits(card, one) || card->min > card->cap)
			continue;
		cost = hdp_goal_load(goal, card->free, card->need);
		if (best && cost > least)
			continue;
		if (goal->placement != HAMIDP_PLACEMENT_FIT &&
		    hdp_spare_has(goal->spare, card->pos))
			cost += hdp_spare_loss(goal->spare, &card->pos, 1);
		if (best && (cost > least || (cost == least && card->free >= best->free)))
			continue;
		best = card;
		least = cost;
	}
	if (best)
		best->part = best->need;
	return best;
}
