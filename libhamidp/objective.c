/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a set of cards costs:
 *
 *   load     how much fuller cards get: PHI(f) - PHI(f - s) for each, which is tightest fit
 *   room     what the wholly free cards lose for later requests of two and four cards
 *   quality  how far the set's links and NUMA node are from the best set of so many
 *
 * All are slots, in fixed point, times S: so tightest fit is exact and equal costs are equal.
 */

#include "search.h"

void hdp_goal_init(struct hdp_goal *goal, enum hamidp_placement placement,
		   const struct hdp_spare *spare, uint32_t slots, uint32_t n, uint64_t units)
{
	unsigned __int128 whole = (unsigned __int128)units * slots;

	*goal = (struct hdp_goal){
		.placement = placement,
		.topology = spare->topology,
		.tables = spare->tables,
		.spare = spare,
		.slots = slots,
		.n = n,
	};
	if (n < 2 || n > spare->topology->n || spare->tables->best[n] == 0)
		return;
	goal->best = spare->tables->best[n];
	goal->coef = (int64_t)((whole << (HDP_COST_SHIFT + HDP_COEF_SHIFT)) / goal->best);
}

struct hdp_terms hdp_goal_weigh(const struct hdp_goal *goal, const struct hdp_card *cards,
				size_t n_cards, uint32_t *set)
{
	struct hdp_terms terms = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < n_cards; i++) {
		if (cards[i].part == 0)
			continue;
		terms.load += hdp_goal_load(goal, cards[i].free, cards[i].part);
		set[n++] = cards[i].pos;
	}
	if (goal->placement == HAMIDP_PLACEMENT_FIT)
		return terms;
	terms.room = hdp_spare_loss(goal->spare, set, n);
	if (goal->best > 0)
		terms.quality = hdp_goal_quality(goal, hdp_set_quality(goal->topology, set, n));
	return terms;
}
