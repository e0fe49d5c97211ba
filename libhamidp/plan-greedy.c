/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Many moves: raise one card after the other, each time the one that is raised with the fewest
 * moves. Off a card goes the smallest grant that suffices alone, else the largest; each to the
 * tightest card that can take it without undoing what was reached. Where there is none, one other
 * grant may make room for it.
 */

#include "plan.h"

#define NO_CARD UINT32_MAX

/* Moves done, so that they can be undone. */
struct trail {
	struct hdp_plan_move *moves;
	size_t n;
	uint32_t n_slots;
};

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * The tightest card but @except for a taken grant, such that the request keeps @n_base and @n_more.
 */
static uint32_t best_fit(const struct hdp_plan_state *s, const struct hdp_plan_grant *grant,
			 uint32_t except, uint32_t n_base, uint32_t n_more)
{
	uint32_t best = NO_CARD;

	for (uint32_t i = 0; i < s->n_cards; i++) {
		const struct hdp_plan_card *card = &s->cards[i];
		uint32_t base = s->n_base, more = s->n_more, after;

		if (i == grant->card || i == except || card->cap < grant->size ||
		    (best != NO_CARD && card->cap >= s->cards[best].cap))
			continue;
		after = hdp_plan_cap_after(s, card, grant->size);
		base -= card->counts && card->cap >= s->form.base && after < s->form.base;
		more -= card->counts && card->cap > s->form.base && after <= s->form.base;
		if (base >= smaller(n_base, s->form.n) && more >= smaller(n_more, s->form.rem))
			best = i;
	}
	return best;
}

static void do_move(struct hdp_plan_state *s, uint32_t grant, uint32_t to, struct trail *trail)
{
	struct hdp_plan_move *move = &trail->moves[trail->n++];

	*move = (struct hdp_plan_move){ .grant = grant, .to = to };
	hdp_plan_put(s, move);
	trail->n_slots += s->grants[grant].size;
}

static void undo(struct hdp_plan_state *s, struct trail *trail, size_t n)
{
	for (; trail->n > n; trail->n--) {
		const struct hdp_plan_move *move = &trail->moves[trail->n - 1];

		hdp_plan_unput(s, move);
		hdp_plan_untake(s, move->grant);
		trail->n_slots -= s->grants[move->grant].size;
	}
}

/*
 * Another grant goes off a card, so that a taken one can go there: the smallest that will do.
 * Returns that card, or NO_CARD and nothing is done.
 */
static uint32_t make_room(struct hdp_plan_state *s, const struct hdp_plan_grant *taken,
			  uint32_t n_base, uint32_t n_more, struct trail *trail)
{
	uint32_t best = NO_CARD, best_to = NO_CARD, room;

	for (uint32_t i = 0; i < s->n_grants; i++) {
		const struct hdp_plan_grant *it = &s->grants[i];
		uint32_t to;

		if (it->moved || it->card == taken->card ||
		    (best != NO_CARD && it->size >= s->grants[best].size) ||
		    (!s->free_bits && s->cards[it->card].cap + it->size < taken->size))
			continue;
		hdp_plan_take(s, i);
		to = best_fit(s, it, taken->card, n_base, n_more);
		if (to != NO_CARD) {
			do_move(s, i, to, trail);
			room = best_fit(s, taken, NO_CARD, n_base, n_more);
			undo(s, trail, trail->n - 1);
			if (room != NO_CARD) {
				best = i;
				best_to = to;
			}
		} else {
			hdp_plan_untake(s, i);
		}
	}
	if (best == NO_CARD)
		return NO_CARD;
	hdp_plan_take(s, best);
	do_move(s, best, best_to, trail);
	return best_fit(s, taken, NO_CARD, n_base, n_more);
}

/* How a card is cleared. */
struct clearing {
	uint32_t goal;	/* the cap that it is to have */
	bool make_room; /* rather two moves that suffice than a large one that does not */
};

/* Move a grant if that can be, with @alone only if it lifts its card to the goal. */
static bool move_grant(struct hdp_plan_state *s, uint32_t grant, uint32_t goal, bool alone,
		       bool with_room, struct trail *trail)
{
	struct hdp_plan_grant *it = &s->grants[grant];
	uint32_t n_base = s->n_base, n_more = s->n_more, to = NO_CARD;

	if (it->moved)
		return false;
	hdp_plan_take(s, grant);
	if (!alone || s->cards[it->card].cap >= goal) {
		to = best_fit(s, it, NO_CARD, n_base, n_more);
		if (to == NO_CARD && with_room)
			to = make_room(s, it, n_base, n_more, trail);
	}
	if (to == NO_CARD) {
		hdp_plan_untake(s, grant);
		return false;
	}
	do_move(s, grant, to, trail);
	return true;
}

/* The smallest that suffices alone. */
static bool move_sufficient(struct hdp_plan_state *s, const struct hdp_plan_card *card,
			    uint32_t goal, bool with_room, struct trail *trail)
{
	for (uint32_t i = 0; i < card->n_grants; i++)
		if (move_grant(s, card->first_grant + i, goal, true, with_room, trail))
			return true;
	return false;
}

static bool move_largest(struct hdp_plan_state *s, const struct hdp_plan_card *card, uint32_t goal,
			 bool with_room, struct trail *trail)
{
	for (uint32_t i = card->n_grants; i > 0; i--)
		if (move_grant(s, card->first_grant + i - 1, goal, false, with_room, trail))
			return true;
	return false;
}

static bool move_one(struct hdp_plan_state *s, const struct hdp_plan_card *card,
		     struct clearing how, struct trail *trail)
{
	return move_sufficient(s, card, how.goal, false, trail) ||
	       (how.make_room && move_sufficient(s, card, how.goal, true, trail)) ||
	       move_largest(s, card, how.goal, false, trail) ||
	       move_sufficient(s, card, how.goal, true, trail) ||
	       move_largest(s, card, how.goal, true, trail);
}

/* Lift a card to its goal; false, and nothing done, if that cannot be. */
static bool clear_card(struct hdp_plan_state *s, uint32_t card, struct clearing how,
		       struct trail *trail)
{
	size_t before = trail->n;

	while (s->cards[card].cap < how.goal)
		if (!move_one(s, &s->cards[card], how, trail)) {
			undo(s, trail, before);
			return false;
		}
	return true;
}

/* The card that is lifted to *@how's goal with the fewest moves, then slots, and how. */
static uint32_t choose_card(struct hdp_plan_state *s, struct clearing *how, struct trail *trail)
{
	struct clearing try = *how;
	size_t before = trail->n, fewest = SIZE_MAX;
	uint32_t best = NO_CARD, least = UINT32_MAX;

	for (uint32_t i = 0; i < 2 * s->n_cards; i++) {
		uint32_t card = i / 2;
		size_t n;

		try.make_room = i % 2;
		if (!s->cards[card].counts || s->cards[card].cap >= try.goal ||
		    !clear_card(s, card, try, trail))
			continue;
		n = trail->n - before;
		if (n < fewest || (n == fewest && trail->n_slots < least)) {
			best = card;
			*how = try;
			fewest = n;
			least = trail->n_slots;
		}
		undo(s, trail, before);
	}
	return best;
}

bool hdp_plan_greedy(struct hdp_plan_state *s, struct hdp_plan_move *moves, size_t *ret_n)
{
	struct trail trail = { .moves = moves };

	while (!hdp_plan_solved(s)) {
		struct clearing how = { .goal = s->form.base + (s->n_more < s->form.rem) };
		uint32_t card = choose_card(s, &how, &trail);

		if (card == NO_CARD)
			break;
		(void)clear_card(s, card, how, &trail);
	}
	*ret_n = hdp_plan_solved(s) ? trail.n : 0;
	undo(s, &trail, 0);
	return *ret_n > 0;
}
