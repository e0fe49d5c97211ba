/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Plans against brute force: every sequence of moves is tried, move by move, on slots drawn as
 * characters. No arithmetic is shared with the library.
 */

#include <errno.h>
#include <stdint.h>

#include "plan-fixture.h"
#include "suite.h"

#define CARDS 6
#define SLOTS 8
#define DEPTH 4 /* moves that are tried */

static uint64_t rnd_state;

static uint32_t rnd(uint32_t below)
{
	rnd_state = rnd_state * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(rnd_state >> 33) % below;
}

struct node {
	char cards[CARDS][SLOTS + 1];
	size_t n_cards;
	bool counts[CARDS], healthy[CARDS];
	bool contiguous;
	uint32_t n, base, rem; /* the form that is sought */
	uint32_t most;	       /* slots of the largest card */
};

static uint32_t count_char(const char *s, char c)
{
	uint32_t n = 0;

	for (; *s; s++)
		n += *s == c;
	return n;
}

/* The most that one slice can have. */
static uint32_t room(const struct node *node, size_t i)
{
	uint32_t run = 0, longest = 0;

	if (!node->healthy[i])
		return 0;
	if (!node->contiguous)
		return count_char(node->cards[i], '.');
	for (const char *s = node->cards[i]; *s; s++) {
		run = *s == '.' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static bool has_form(const struct node *node)
{
	uint32_t n_base = 0, n_more = 0;

	for (size_t i = 0; i < node->n_cards; i++) {
		n_base += node->counts[i] && room(node, i) >= node->base;
		n_more += node->counts[i] && room(node, i) > node->base;
	}
	return n_base >= node->n && n_more >= node->rem;
}

/* Where placement puts neighbours: the lowest of the smallest holes. */
static char *tightest(char *card, uint32_t size)
{
	size_t best_len = SIZE_MAX;
	char *best = card;

	for (char *s = card; *s;) {
		size_t len = strspn(s, ".");

		if (len >= size && len < best_len) {
			best = s;
			best_len = len;
		}
		s += len ? len : 1;
	}
	return best;
}

static void put(const struct node *node, char *card, char holder, uint32_t size)
{
	char *s = node->contiguous ? tightest(card, size) : card;

	for (; size > 0; s++)
		if (*s == '.') {
			*s = holder;
			size--;
		}
}

static void take(char *card, char holder)
{
	for (; *card; card++)
		if (*card == holder)
			*card = '.';
}

struct best {
	uint32_t n_moves; /* UINT32_MAX: none within the depth */
	uint32_t n_slots;
};

/* Try everything of up to @depth moves more. Who has moved is in upper case, and stays. */
static void explore(struct node *node, const char *movable, uint32_t depth, uint32_t done,
		    uint32_t n_slots, struct best *best)
{
	if (has_form(node) &&
	    (done < best->n_moves || (done == best->n_moves && n_slots < best->n_slots))) {
		best->n_moves = done;
		best->n_slots = n_slots;
	}
	if (depth == 0 || done >= best->n_moves)
		return;
	for (const char *h = movable; *h; h++)
		for (size_t from = 0; from < node->n_cards; from++) {
			uint32_t size = count_char(node->cards[from], *h);
			struct node saved = *node;

			for (size_t to = 0; size > 0 && to < node->n_cards; to++) {
				if (to == from || room(node, to) < size)
					continue;
				take(node->cards[from], *h);
				put(node, node->cards[to], (char)(*h - 'a' + 'A'), size);
				explore(node, movable, depth - 1, done + 1, n_slots + size, best);
				*node = saved;
			}
		}
}

/* By iterative deepening, so that a short plan is found in short time. */
static struct best brute_force(struct node *node, const char *movable, uint32_t max_depth)
{
	struct best best = { UINT32_MAX, UINT32_MAX };

	for (uint32_t depth = 0; depth <= max_depth && best.n_moves == UINT32_MAX; depth++)
		explore(node, movable, depth, 0, 0, &best);
	return best;
}

/* A random card of grants; holders go from *@next on. */
static void draw_card(struct fixture_card *card, uint32_t n_slots, uint32_t full, char *next)
{
	uint32_t at = 0;

	*card = (struct fixture_card){ .healthy = rnd(12) > 0, .numa_node = (int32_t)rnd(2) };
	memset(card->slots, '.', n_slots);
	while (at < n_slots) {
		uint32_t size = 1 + rnd(5);

		size = size < n_slots - at ? size : n_slots - at;
		if (rnd(8) >= full) {
			at += 1 + rnd(2);
			continue;
		}
		if (rnd(6) == 0)
			memset(card->slots + at, 'x', size);
		else if (*next < 'a' + HOLDERS)
			memset(card->slots + at, (*next)++, size);
		at += size;
	}
}

/* Free slots move to random places where slots need not be neighbours. */
static void shuffle(char *slots)
{
	for (size_t i = strlen(slots); i > 1; i--) {
		size_t j = rnd((uint32_t)i);
		char c = slots[i - 1];

		slots[i - 1] = slots[j];
		slots[j] = c;
	}
}

static void draw_node(struct plan_fixture *p, uint32_t max_cards, bool contiguous)
{
	uint32_t n_slots = 2 + rnd(SLOTS - 1), full = 4 + rnd(4);
	bool mixed = rnd(4) == 0;
	char next = 'a';

	p->f.n_cards = 1 + rnd(max_cards);
	for (size_t i = 0; i < p->f.n_cards; i++) {
		draw_card(&p->f.cards[i], mixed ? 1 + rnd(SLOTS) : n_slots, full, &next);
		if (!contiguous)
			shuffle(p->f.cards[i].slots);
	}
	plan_make_node(p, contiguous);
}

/* Holders that may move: on one healthy card and not pinned. */
static void list_movable(struct plan_fixture *p, bool pin, char *ret)
{
	for (char c = 'a'; c < 'a' + HOLDERS; c++) {
		char name[2] = { c, '\0' };
		bool movable = false;

		for (size_t i = 0; i < p->f.n_cards; i++)
			movable |= p->f.cards[i].healthy && count_char(p->f.cards[i].slots, c);
		if (pin && rnd(4) == 0) {
			ck_assert_int_eq(hamidp_plan_pin(p->plan, name), 0);
			movable = false;
		}
		if (movable)
			*ret++ = c;
	}
	*ret = '\0';
}

/* Where "someone" is on a single card he may move, too. */
static void add_someone(const struct plan_fixture *p, char *movable)
{
	size_t n = 0;
	bool healthy = false;

	for (size_t i = 0; i < p->f.n_cards; i++)
		if (count_char(p->f.cards[i].slots, 'x')) {
			n++;
			healthy = p->f.cards[i].healthy;
		}
	if (n == 1 && healthy) {
		movable += strlen(movable);
		*movable++ = 'x';
		*movable = '\0';
	}
}

static struct node node_of(const struct plan_fixture *p, int32_t numa_node, bool contiguous)
{
	struct node node = { .n_cards = p->f.n_cards, .contiguous = contiguous };

	for (size_t i = 0; i < p->f.n_cards; i++) {
		const struct fixture_card *card = &p->f.cards[i];

		memcpy(node.cards[i], card->slots, strlen(card->slots) + 1);
		node.healthy[i] = card->healthy;
		node.counts[i] = card->healthy && (numa_node < 0 || card->numa_node == numa_node);
	}
	return node;
}

/* A random request, and its form. */
static void ask(struct plan_fixture *p, struct node *node, bool single)
{
	uint32_t most = 0, total = 0, units;

	for (size_t i = 0; i < p->f.n_cards; i++) {
		uint32_t n = (uint32_t)strlen(p->f.cards[i].slots);

		most = n > most ? n : most;
		total += node->healthy[i] ? count_char(node->cards[i], '.') : 0;
	}
	node->most = most;
	if (total == 0 || rnd(16) == 0)
		total = 1 + rnd((uint32_t)hamidp_layout_n_slots(p->f.layout));
	if (!single && rnd(2)) {
		node->n = 1 + rnd((uint32_t)p->f.n_cards);
		node->base = 1 + rnd(total / node->n + 1);
		hamidp_request_set_devices(p->f.req, node->n, node->base);
		return;
	}
	units = 1 + rnd(single && most < total ? most : total);
	for (node->n = 1; node->n * most < units;)
		node->n++;
	node->base = units / node->n;
	node->rem = units % node->n;
	hamidp_request_set_units(p->f.req, units);
}

static unsigned n_of[4]; /* cases by their number of moves; 3: more, or none at all */

static void check(struct plan_fixture *p, struct node *node, const char *movable)
{
	struct best best = brute_force(node, movable, 2);
	int r = plan_it(p);
	uint32_t n_slots = 0;

	n_of[best.n_moves <= 2 ? best.n_moves : 3]++;
	if (best.n_moves == UINT32_MAX) { /* more than two moves, or none at all */
		bool too_large =
			node->base > node->most ||
			node->n * node->base + node->rem > hamidp_layout_n_slots(p->f.layout);

		ck_assert_msg(r == (too_large ? -EINVAL
				    : r == 0  ? 0
					      : -ENOSPC),
			      "%d: %s", r, hamidp_reason_text(p->f.reason));
		ck_assert(r < 0 || hamidp_plan_n_moves(p->plan) > 2);
	} else {
		ck_assert_msg(r == 0, "%u moves: %s", best.n_moves,
			      hamidp_reason_text(p->f.reason));
		for (size_t i = 0; i < hamidp_plan_n_moves(p->plan); i++)
			n_slots += hamidp_plan_move_n_slots(p->plan, i);
		ck_assert_uint_eq(hamidp_plan_n_moves(p->plan), best.n_moves);
		ck_assert_uint_eq(n_slots, best.n_slots);
		ck_assert(hamidp_plan_is_minimal(p->plan));
	}
	if (r == 0)
		replay(p);
	else
		ck_assert_uint_eq(hamidp_plan_n_moves(p->plan), 0);
}

static void run(bool contiguous)
{
	struct plan_fixture *p = calloc(1, sizeof(*p));
	char movable[HOLDERS + 2];

	ck_assert_ptr_nonnull(p);
	for (unsigned round = 0; round < 80; round++) {
		int32_t numa_node = rnd(4) ? -1 : (int32_t)rnd(2);
		struct node node;

		draw_node(p, contiguous ? 4 : CARDS, contiguous);
		list_movable(p, rnd(3) == 0, movable);
		add_someone(p, movable);
		node = node_of(p, numa_node, contiguous);
		hamidp_request_set_numa_node(p->f.req, numa_node);
		for (unsigned i = 0; i < 6; i++) {
			node.n = node.base = node.rem = 0;
			ask(p, &node, rnd(3) == 0);
			check(p, &node, movable);
		}
		plan_done(p);
	}
	ck_assert_uint_gt(n_of[1], 0);
	ck_assert_uint_gt(n_of[2], 0);
	free(p);
}

/* The loop's index is the seed, so that a failure names it. */
START_TEST(plans_are_what_brute_force_finds)
{
	rnd_state = (uint64_t)_i + 1;
	run(false);
}
END_TEST

START_TEST(plans_for_neighbours_are_what_brute_force_finds)
{
	rnd_state = (uint64_t)_i + 1001;
	run(true);
}
END_TEST

/* The log has the seeds and what was measured. */
START_TEST(greedy_is_mostly_as_short_as_can_be)
{
	struct plan_fixture *p = calloc(1, sizeof(*p));
	struct hdp_plan_move *moves = calloc(HOLDERS + 3, sizeof(*moves));
	unsigned n_cases = 0, n_same = 0, n_none = 0;
	char movable[HOLDERS + 2];

	ck_assert_ptr_nonnull(p);
	ck_assert_ptr_nonnull(moves);
	rnd_state = (uint64_t)_i + 5001;
	for (unsigned round = 0; round < 2000; round++) {
		struct hdp_form form = { .n = 1 };
		struct best best;
		struct node node;
		size_t n = 0;

		draw_node(p, CARDS, false);
		list_movable(p, false, movable);
		add_someone(p, movable);
		node = node_of(p, -1, false);
		ask(p, &node, true);
		best = brute_force(&node, movable, DEPTH);
		form.base = node.base;
		if (best.n_moves > 0 && best.n_moves <= DEPTH) {
			ck_assert_int_eq(hdp_plan_collect(p->plan, p->f.occ, p->f.req, form), 0);
			n_cases++;
			if (!hdp_plan_greedy(&p->plan->state, moves, &n))
				n_none++;
			n_same += n == best.n_moves;
		}
		plan_done(p);
	}
	printf("# seed %d: %u of %u as short as can be, no plan for %u\n", _i + 5001, n_same,
	       n_cases, n_none);
	ck_assert_uint_gt(n_cases, 100);
	ck_assert_uint_ge(100 * n_same, 95 * n_cases);
	free(moves);
	free(p);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan-property");
	TCase *tcase = tcase_create("brute force");

	tcase_add_loop_test(tcase, plans_are_what_brute_force_finds, 0, 30);
	tcase_add_loop_test(tcase, plans_for_neighbours_are_what_brute_force_finds, 0, 30);
	tcase_add_loop_test(tcase, greedy_is_mostly_as_short_as_can_be, 0, 4);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
