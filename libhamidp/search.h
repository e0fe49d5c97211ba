/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The set of cards with the lowest cost. objective.c says what a set costs; search.c looks for the
 * best one: greedily, then by branch and bound under a budget of nodes, which unlike a time limit
 * gives the same answer everywhere. Integers only.
 */

#include "choose.h"
#include "spare.h"

#define HDP_SEARCH_CARDS 64U   /* cards that are looked at: the tightest of all that fit */
#define HDP_SEARCH_DEPTH 16U   /* cards of a set up to which there is a branch and bound */
#define HDP_SEARCH_NODES 2048U /* partial sets whose continuations are weighed */

struct hdp_goal {
	enum hamidp_placement placement;
	const struct hdp_topology *topology;
	const struct hdp_tables *tables;
	const struct hdp_spare *spare;
	uint32_t slots; /* S */
	uint32_t n;	/* cards of the set */
	uint64_t best;	/* quality of the best set of so many devices, 0: does not count */
	int64_t coef;	/* cost of one unit of quality, << HDP_COEF_SHIFT */
};

struct hdp_terms { /* of a cost, each times S and << HDP_COST_SHIFT */
	int64_t load;
	int64_t room;
	int64_t quality;
};

struct hdp_cost {      /* compared in this order */
	int64_t first; /* quality lost, where that comes first; else 0 */
	int64_t cost;
};

struct hdp_candidate {
	uint32_t card; /* index of it */
	uint32_t pos;
	uint32_t free;
	int32_t numa;
	uint32_t bit;	   /* its position as a mask; with tables of masks only */
	int64_t delta[2];  /* load of the smaller and of the larger part */
	bool small, large; /* cannot give the larger part; must give it */
	bool forced, whole;
	int32_t twin; /* the candidate before that can stand in for it, -1: none */
};

struct hdp_search { /* room to work in; nothing in it survives a call */
	const struct hdp_goal *goal;
	struct hdp_form form;
	uint32_t n_large; /* forced ones that must give the larger part */
	size_t n;	  /* candidates, in PCI order */
	struct hdp_candidate cand[HDP_SEARCH_CARDS];
	uint32_t to_set[HDP_SEARCH_DEPTH + 1][HDP_SEARCH_CARDS]; /* weight to the partial set */
	uint32_t top[HDP_SEARCH_CARDS][HDP_SEARCH_DEPTH];	 /* [c][j]: its j largest weights */
	int64_t least[HDP_SEARCH_DEPTH + 1][HDP_SEARCH_CARDS + 1]; /* [j][i]: j smallest from i */
	uint32_t least_free[HDP_SEARCH_CARDS + 1];
	uint64_t forced;	   /* bits are candidates */
	uint32_t nodes, weighings; /* left of the budgets */
	bool found;		   /* the best set is one that the branch and bound came to */
	uint64_t set;		   /* the best one; bits are candidates */
	struct hdp_cost cost;
	uint32_t sum_free;
};

/* A goal for sets of @n cards that take @units slots in all. */
void hdp_goal_init(struct hdp_goal *goal, enum hamidp_placement placement,
		   const struct hdp_spare *spare, uint32_t slots, uint32_t n, uint64_t units);

/* Load of @part slots on a card with @free. */
static inline int64_t hdp_goal_load(const struct hdp_goal *goal, uint32_t free, uint32_t part)
{
	int64_t load = goal->tables->phi[free] - goal->tables->phi[free - part];

	return goal->placement == HAMIDP_PLACEMENT_SPREAD ? -load : load;
}

static inline int64_t hdp_goal_quality(const struct hdp_goal *goal, uint64_t quality)
{
	if (quality >= goal->best)
		return 0;
	return (int64_t)(goal->best - quality) * goal->coef >> HDP_COEF_SHIFT;
}

static inline bool hdp_cost_less(struct hdp_cost a, struct hdp_cost b)
{
	return a.first != b.first ? a.first < b.first : a.cost < b.cost;
}

/* What the parts of @cards cost; @set is room for as many positions. */
struct hdp_terms hdp_goal_weigh(const struct hdp_goal *goal, const struct hdp_card *cards,
				size_t n_cards, uint32_t *set);

/* Set the part of the one card with the lowest cost, or return false. */
bool hdp_search_one(const struct hdp_goal *goal, struct hdp_card *cards, size_t n_cards);

/* The cards' parts are one set of the form; replace it by the best. */
void hdp_search(struct hdp_search *search, const struct hdp_goal *goal, struct hdp_card *cards,
		size_t n_cards, struct hdp_form form);
