/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The insides of a plan: a node as numbers that grants can be moved about in, and who searches in
 * it. plan-state.c makes it and moves grants, plan-search.c finds one or two moves, plan-greedy.c
 * more of them, plan.c is the public face and plan-text.c writes.
 */

#include <stdbool.h>

#include <hami/plan.h>

#include "choose.h"
#include "grow.h"
#include "place.h"

struct hdp_plan_card { /* a healthy device of the resource, in PCI order */
	uint32_t pos;
	uint32_t free;
	uint32_t cap; /* the most that one slice can have: less where slots must be neighbours */
	bool counts;  /* the request may use it */
	uint32_t first_grant, n_grants; /* that can be moved off it: smallest first */
	uint32_t least; /* plan-search.c: no smaller grant off it can be the last of two moves */
};

struct hdp_plan_grant {
	uint32_t holder; /* index in the occupancy */
	uint32_t size;	 /* slots */
	uint32_t card;
	bool moved;
};

struct hdp_plan_move {
	uint32_t grant;
	uint32_t to;	/* card */
	uint32_t first; /* its first slot there, where slots must be neighbours */
};

/* A node under way. n_base and n_more follow every change of a card. */
struct hdp_plan_state {
	const struct hamidp_occupancy *occ;
	struct hdp_form form;
	struct hdp_plan_card *cards;
	uint32_t n_cards;
	struct hdp_plan_grant *grants;
	uint32_t n_grants;
	uint64_t *free_bits; /* by slot, where slots must be neighbours; else NULL */
	uint32_t n_base;     /* cards that can give form.base */
	uint32_t n_more;     /* cards that can give one more */
};

static inline bool hdp_plan_solved(const struct hdp_plan_state *s)
{
	return s->n_base >= s->form.n && s->n_more >= s->form.rem;
}

/* No plan has fewer moves, since each raises either count by one at most. */
static inline uint32_t hdp_plan_deficit(const struct hdp_plan_state *s)
{
	uint32_t base = s->form.n > s->n_base ? s->form.n - s->n_base : 0;
	uint32_t more = s->form.rem > s->n_more ? s->form.rem - s->n_more : 0;

	return base > more ? base : more;
}

/* Set a card's cap where slots must be neighbours, and count it. */
void hdp_plan_measure(struct hdp_plan_state *s, struct hdp_plan_card *card);

/* Another form is sought. */
void hdp_plan_set_form(struct hdp_plan_state *s, struct hdp_form form);

/* Evict a grant from its card, or take that back. */
void hdp_plan_take(struct hdp_plan_state *s, uint32_t grant);
void hdp_plan_untake(struct hdp_plan_state *s, uint32_t grant);
/* The cap of a card (that has room) once @size slots were put there. */
uint32_t hdp_plan_cap_of_holes(const struct hdp_plan_state *s, const struct hdp_plan_card *card,
			       uint32_t size);
static inline uint32_t hdp_plan_cap_after(const struct hdp_plan_state *s,
					  const struct hdp_plan_card *card, uint32_t size)
{
	return s->free_bits ? hdp_plan_cap_of_holes(s, card, size) : card->cap - size;
}

/* Put a taken grant on its new card, which has room, or take that back. */
void hdp_plan_put(struct hdp_plan_state *s, struct hdp_plan_move *move);
void hdp_plan_unput(struct hdp_plan_state *s, const struct hdp_plan_move *move);

enum hdp_plan_found {
	HDP_PLAN_NONE,	  /* there is none of that length */
	HDP_PLAN_FOUND,	  /* the best of that length */
	HDP_PLAN_CUT_OFF, /* the search was cut off; what was found may not be the best */
};

/*
 * The fewest slots with exactly @depth moves, 1 or 2, where no fewer moves do. *@ret_n is @depth,
 * or 0 if none was found. The state is left as it was.
 */
enum hdp_plan_found hdp_plan_search(struct hdp_plan_state *s, uint32_t depth,
				    struct hdp_plan_move *moves, size_t *ret_n);

/* Any number of moves, at most one for each grant. The state is left as it was. */
bool hdp_plan_greedy(struct hdp_plan_state *s, struct hdp_plan_move *moves, size_t *ret_n);

struct hdp_plan_line { /* what is told of a holder */
	size_t name;   /* offset into the plan's pool */
	uint32_t n_slots;
	uint32_t from, to; /* positions */
	enum hamidp_pin why;
};

struct hamidp_plan {
	struct hamidp_layout *layout; /* NULL: nothing was planned */
	size_t resource;
	uint32_t n_devices, units; /* of the request; n_devices 0: units in their best form */
	struct hdp_plan_line *moves, *pinned;
	size_t n_moves, n_pinned;
	uint32_t *targets;
	size_t n_targets;
	bool minimal;
	bool possible; /* there is a plan, maybe of no moves */
	uint32_t largest_before, largest_after;
	char *names;
	size_t names_len;
	char **pins; /* names that the caller pinned */
	size_t n_pins;
	/* Room to work in, kept from call to call. */
	struct hdp_plan_state state;
	struct hdp_plan_move *found;
	struct hdp_card *cards;
	uint32_t *on_card; /* by holder: slots on the card at hand */
	uint8_t *is_told;  /* by holder: pinned by the caller, or told already */
	size_t cap_moves, cap_pinned, cap_targets, cap_names, cap_pins, cap_state_cards,
		cap_state_grants, cap_bits, cap_found, cap_cards, cap_on_card, cap_is_told;
	uint64_t *bits;
};

/* plan-collect.c */

/* Fill plan->state, and what is pinned, for a checked request. 0 or -ENOMEM. */
int hdp_plan_collect(struct hamidp_plan *plan, const struct hamidp_occupancy *occ,
		     const struct hamidp_request *req, struct hdp_form form) hdp_must_check;
/* Remember a holder's name. 0 or -ENOMEM. */
int hdp_plan_remember(struct hamidp_plan *plan, const struct hamidp_occupancy *occ, uint32_t holder,
		      size_t *ret_name) hdp_must_check;
