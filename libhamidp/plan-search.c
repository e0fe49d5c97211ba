/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One or two moves, exactly. The last move must raise its card, so that the request has its form
 * afterwards. The move before it is of use only if it raises a card, too, or leaves the card that
 * the last move leaves, or makes room where the last move goes: without it the last one would do.
 *
 * Where slots need not be neighbours a smaller grant that raises its card is as good as a larger
 * one, and easier to put; grants of one card and size are the same. Where they must be neighbours
 * neither holds, and everything is tried.
 */

#include "plan.h"

/* Destinations looked at before the search is cut off: a count, so that it is no clock's matter. */
#define BUDGET 16384U
#define BUDGET_NEIGHBOURS 4096U

#define ANY_CARD UINT32_MAX
#define NO_SIZE UINT32_MAX

struct search {
	struct hdp_plan_state *s;
	uint32_t budget;
	uint32_t best; /* slots of the best plan so far */
	struct hdp_plan_move moves[2];
	size_t n_moves;
	struct hdp_plan_move first; /* where it is the second that is sought */
	uint32_t first_size;	    /* 0: it is not */
	/* The smallest grant that raises a card of its own, and that of another card. */
	uint32_t raising, raising_other;
	uint32_t raising_card;
	uint32_t least; /* no smaller grant can be the last, but of the card that the first left */
};

static bool spend(struct search *q)
{
	if (q->budget == 0)
		return false;
	q->budget--;
	return true;
}

/* The least that has to leave a card to raise it; NO_SIZE: nothing would. */
static uint32_t lacks(const struct hdp_plan_state *s, const struct hdp_plan_card *card)
{
	if (!card->counts)
		return NO_SIZE;
	if (s->n_base < s->form.n && card->cap < s->form.base)
		return s->form.base - card->cap;
	if (s->n_more < s->form.rem && card->cap <= s->form.base)
		return s->form.base + 1 - card->cap;
	return NO_SIZE;
}

/* The first grant of a card that has at least this size. */
static uint32_t first_of_size(const struct hdp_plan_state *s, const struct hdp_plan_card *card,
			      uint32_t size)
{
	uint32_t low = card->first_grant, high = card->first_grant + card->n_grants;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (s->grants[mid].size < size)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Already moved, or the same as one that was just tried. */
static bool is_idle(const struct hdp_plan_state *s, uint32_t grant, uint32_t begin)
{
	const struct hdp_plan_grant *it = &s->grants[grant];

	if (it->moved)
		return true;
	return !s->free_bits && grant > begin && it[-1].size == it->size && !it[-1].moved;
}

static bool solves(const struct hdp_plan_state *s, const struct hdp_plan_card *to, uint32_t size)
{
	uint32_t n_base = s->n_base, n_more = s->n_more, after;

	if (!to->counts)
		return true;
	after = hdp_plan_cap_after(s, to, size);
	n_base -= to->cap >= s->form.base && after < s->form.base;
	n_more -= to->cap > s->form.base && after <= s->form.base;
	return n_base >= s->form.n && n_more >= s->form.rem;
}

static void keep(struct search *q, uint32_t grant, uint32_t to)
{
	size_t n = 0;

	if (q->first_size > 0)
		q->moves[n++] = q->first;
	q->moves[n++] = (struct hdp_plan_move){ .grant = grant, .to = to };
	q->n_moves = n;
	q->best = q->first_size + q->s->grants[grant].size;
}

/* The tightest card that a taken grant can go to, so that all is solved. */
static void put_last(struct search *q, uint32_t grant, uint32_t only_to)
{
	const struct hdp_plan_state *s = q->s;
	const struct hdp_plan_grant *it = &s->grants[grant];
	uint32_t begin = only_to == ANY_CARD ? 0 : only_to;
	uint32_t end = only_to == ANY_CARD ? s->n_cards : only_to + 1, best = ANY_CARD;

	for (uint32_t i = begin; i < end && spend(q); i++)
		if (i != it->card && s->cards[i].cap >= it->size &&
		    (best == ANY_CARD || s->cards[i].cap < s->cards[best].cap) &&
		    solves(s, &s->cards[i], it->size))
			best = i;
	if (best != ANY_CARD)
		keep(q, grant, best);
}

/* The last move: off card @from, a grant of at least @min_size. */
static void move_last(struct search *q, uint32_t from, uint32_t only_to, uint32_t min_size)
{
	struct hdp_plan_state *s = q->s;
	const struct hdp_plan_card *card = &s->cards[from];
	uint32_t need = lacks(s, card), begin;

	if (need == NO_SIZE)
		return;
	if (s->free_bits)
		need = 0;
	begin = first_of_size(s, card, need > min_size ? need : min_size);
	for (uint32_t g = begin; g < card->first_grant + card->n_grants; g++) {
		bool solved;

		if (is_idle(s, g, begin))
			continue;
		if (q->first_size + s->grants[g].size >= q->best)
			return;
		hdp_plan_take(s, g);
		solved = hdp_plan_solved(s);
		if (solved)
			put_last(q, g, only_to);
		hdp_plan_untake(s, g);
		if (solved && !s->free_bits)
			return;
	}
}

/* No grant off this card can be the last of two moves, and the better plan, and have room. */
static bool is_no_use(const struct search *q, uint32_t from, uint32_t only_to)
{
	const struct hdp_plan_state *s = q->s;
	uint32_t least = s->cards[from].least;

	if (s->free_bits || q->first_size == 0 || s->grants[q->first.grant].card == from)
		return false;
	return least >= q->best - q->first_size ||
	       (only_to != ANY_CARD && least > s->cards[only_to].cap);
}

static void move_last_from_any(struct search *q, uint32_t only_to)
{
	for (uint32_t i = 0; i < q->s->n_cards; i++)
		if (i != only_to && !is_no_use(q, i, only_to))
			move_last(q, i, only_to, 0);
}

/* The first of two moves is done, off card @from. */
static void move_second(struct search *q, uint32_t from, bool raised)
{
	if (hdp_plan_deficit(q->s) > 1)
		return;
	if (raised || q->s->free_bits) {
		move_last_from_any(q, ANY_CARD);
		return;
	}
	move_last(q, from, ANY_CARD, q->first_size);
	move_last_from_any(q, from);
}

/* A taken grant raised nothing: can its card be raised, or be where another's grant goes? */
static bool may_help(const struct search *q, uint32_t from, uint32_t size)
{
	const struct hdp_plan_state *s = q->s;
	const struct hdp_plan_card *card = &s->cards[from];
	uint32_t last = card->first_grant + card->n_grants - 1, need = lacks(s, card);
	uint32_t other = q->raising_card == from ? q->raising_other : q->raising;

	if (s->free_bits)
		return true;
	if (card->cap >= other && size + other < q->best)
		return true;
	if (s->grants[last].moved)
		last = last > card->first_grant ? last - 1 : last;
	return !s->grants[last].moved && s->grants[last].size >= need && 2 * size < q->best;
}

/*
 * A first move of @size slots cannot become the better plan. If the last one leaves the same card
 * the smaller of the two may as well go first.
 */
static bool is_hopeless(const struct search *q, uint32_t size)
{
	uint32_t last = size < q->least ? size : q->least;

	return q->best <= size || q->best - size <= (q->s->free_bits ? 1 : last);
}

static void move_first(struct search *q, uint32_t grant)
{
	struct hdp_plan_state *s = q->s;
	const struct hdp_plan_grant *it = &s->grants[grant];
	uint32_t n_base = s->n_base, n_more = s->n_more;
	bool raised;

	q->first_size = it->size;
	hdp_plan_take(s, grant);
	raised = s->n_base > n_base || s->n_more > n_more;
	if (hdp_plan_deficit(s) <= 1 && (raised || may_help(q, it->card, it->size)))
		for (uint32_t to = 0; to < s->n_cards && spend(q); to++) {
			if (to == it->card || s->cards[to].cap < it->size)
				continue;
			if (is_hopeless(q, it->size))
				break;
			q->first = (struct hdp_plan_move){ .grant = grant, .to = to };
			hdp_plan_put(s, &q->first);
			move_second(q, it->card, raised);
			hdp_plan_unput(s, &q->first);
		}
	hdp_plan_untake(s, grant);
}

/* The smallest grant that raises a card now, for what comes before the last move is no help. */
static uint32_t raising_size(const struct hdp_plan_state *s, const struct hdp_plan_card *card)
{
	uint32_t need = lacks(s, card), g;

	if (need == NO_SIZE)
		return NO_SIZE;
	g = first_of_size(s, card, need);
	return g < card->first_grant + card->n_grants ? s->grants[g].size : NO_SIZE;
}

/* What a last move takes at least. A card that lacks nothing may fall by the first, and be raised.
 */
static void find_least(struct search *q)
{
	struct hdp_plan_state *s = q->s;

	q->raising = q->raising_other = q->least = NO_SIZE;
	q->raising_card = ANY_CARD;
	for (uint32_t i = 0; i < s->n_cards; i++) {
		struct hdp_plan_card *card = &s->cards[i];
		uint32_t size = raising_size(s, card);

		card->least = size;
		if (card->n_grants > 0 && lacks(s, card) == NO_SIZE)
			card->least = s->grants[card->first_grant].size;
		if (card->least < q->least)
			q->least = card->least;
		if (size < q->raising) {
			q->raising_other = q->raising;
			q->raising = size;
			q->raising_card = i;
		} else if (size < q->raising_other) {
			q->raising_other = size;
		}
	}
}

static void search_two(struct search *q)
{
	const struct hdp_plan_state *s = q->s;

	find_least(q);
	for (uint32_t i = 0; i < s->n_cards; i++) {
		const struct hdp_plan_card *card = &s->cards[i];

		for (uint32_t g = card->first_grant; g < card->first_grant + card->n_grants; g++) {
			if (is_idle(s, g, card->first_grant))
				continue;
			if (is_hopeless(q, s->grants[g].size) || q->budget == 0)
				break;
			move_first(q, g);
		}
	}
}

enum hdp_plan_found hdp_plan_search(struct hdp_plan_state *s, uint32_t depth,
				    struct hdp_plan_move *moves, size_t *ret_n)
{
	struct search q = {
		.s = s,
		.budget = s->free_bits ? BUDGET_NEIGHBOURS : BUDGET,
		.best = UINT32_MAX,
	};

	*ret_n = 0;
	if (hdp_plan_deficit(s) > depth)
		return HDP_PLAN_NONE;
	if (depth == 1)
		move_last_from_any(&q, ANY_CARD);
	else
		search_two(&q);
	for (size_t i = 0; i < q.n_moves; i++)
		moves[i] = q.moves[i];
	*ret_n = q.n_moves;
	if (q.budget == 0)
		return HDP_PLAN_CUT_OFF;
	return q.n_moves > 0 ? HDP_PLAN_FOUND : HDP_PLAN_NONE;
}
