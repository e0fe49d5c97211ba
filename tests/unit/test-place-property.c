/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Placement against brute force. On small random machines every way to give each card a number of
 * slots is tried, and the rules are applied to all of them as they are written down: no greedy, no
 * arithmetic shared with the library.
 */

#include <errno.h>
#include <stdint.h>

#include "fixture.h"
#include "suite.h"

#define CARDS 5
#define SLOTS 5
#define MACHINES 20 /* for each seed */

struct oracle {
	const struct fixture *f;
	bool contiguous;
	uint32_t most_slots;	       /* of one card */
	char usable[CARDS][SLOTS + 1]; /* '.' free, 'R' required, 'x' not */
	uint32_t n_free[CARDS];
};

static uint64_t rnd_state;

static uint32_t rnd(uint32_t below)
{
	rnd_state = rnd_state * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(rnd_state >> 33) % below;
}

static uint32_t count_char(const char *s, char c)
{
	uint32_t n = 0;

	for (; *s; s++)
		n += *s == c;
	return n;
}

static bool window_is_good(const char *card, size_t first, uint32_t part, uint32_t n_required)
{
	uint32_t n = 0;

	for (size_t i = first; i < first + part; i++) {
		if (card[i] == 'x')
			return false;
		n += card[i] == 'R';
	}
	return n == n_required;
}

static bool card_can_give(const struct oracle *o, size_t i, uint32_t part)
{
	const char *card = o->usable[i];
	uint32_t n_required = count_char(card, 'R');

	if (part == 0)
		return n_required == 0;
	if (!o->contiguous)
		return part >= n_required && part <= o->n_free[i];
	for (size_t first = 0; first + part <= strlen(card); first++)
		if (window_is_good(card, first, part, n_required))
			return true;
	return false;
}

struct shape {
	uint32_t n_cards, min_part, max_part, sum_free;
};

static struct shape shape_of(const struct oracle *o, const uint32_t *parts)
{
	struct shape s = { .min_part = UINT32_MAX };

	for (size_t i = 0; i < o->f->n_cards; i++) {
		if (parts[i] == 0)
			continue;
		s.n_cards++;
		s.sum_free += o->n_free[i];
		s.min_part = parts[i] < s.min_part ? parts[i] : s.min_part;
		s.max_part = parts[i] > s.max_part ? parts[i] : s.max_part;
	}
	return s;
}

static bool is_normal(const struct oracle *o, const uint32_t *parts, uint32_t units)
{
	struct shape s = shape_of(o, parts);
	uint32_t n = 0;

	while (n * o->most_slots < units)
		n++;
	return s.n_cards == n && s.max_part - s.min_part <= 1;
}

/* Even, on more cards than the normal form, where something is required. */
static bool is_raised(const struct oracle *o, const uint32_t *parts, uint32_t units)
{
	struct shape s = shape_of(o, parts);
	uint32_t n_required = 0;

	for (size_t i = 0; i < o->f->n_cards; i++)
		n_required += count_char(o->usable[i], 'R');
	return n_required > 0 && s.max_part - s.min_part <= 1 &&
	       (s.n_cards - 1) * o->most_slots >= units;
}

static bool is_on_devices(const struct oracle *o, const uint32_t *parts, uint32_t n, uint32_t each)
{
	struct shape s = shape_of(o, parts);

	return s.n_cards == n && s.min_part == each && s.max_part == each;
}

/* Tighter; then the first cards; then the remainder on the first cards. */
static bool is_tighter(const struct oracle *o, const uint32_t *a, const uint32_t *b)
{
	struct shape sa = shape_of(o, a), sb = shape_of(o, b);

	if (sa.sum_free != sb.sum_free)
		return sa.sum_free < sb.sum_free;
	for (size_t i = 0; i < o->f->n_cards; i++)
		if ((a[i] > 0) != (b[i] > 0))
			return a[i] > 0;
	for (size_t i = 0; i < o->f->n_cards; i++)
		if (a[i] != b[i])
			return a[i] > b[i];
	return false;
}

/* The next way to give each card 0 to SLOTS slots; false after the last. */
static bool next_parts(uint32_t *parts, size_t n_cards)
{
	for (size_t i = 0; i < n_cards; i++) {
		if (++parts[i] <= SLOTS)
			return true;
		parts[i] = 0;
	}
	return false;
}

static bool parts_are_possible(const struct oracle *o, const uint32_t *parts, uint32_t *ret_units)
{
	uint32_t units = 0;

	for (size_t i = 0; i < o->f->n_cards; i++) {
		if (!card_can_give(o, i, parts[i]))
			return false;
		units += parts[i];
	}
	*ret_units = units;
	return true;
}

struct answer {
	bool normal;	  /* there is a normal form: */
	uint32_t n_cards; /* or an even spread on a few more because of what is required: */
	uint32_t best[CARDS];
	bool split;	       /* there is a spread */
	uint32_t fewest;       /* cards of a spread */
	uint32_t parts[CARDS]; /* of such a spread: the largest ones first */
	uint32_t largest;      /* units of any normal form */
};

static void sort_down(const uint32_t *parts, uint32_t *ret)
{
	memset(ret, 0, CARDS * sizeof(*ret));
	for (size_t i = 0; i < CARDS; i++) {
		size_t at = 0;

		while (ret[at] > parts[i])
			at++;
		memmove(ret + at + 1, ret + at, (CARDS - 1 - at) * sizeof(*ret));
		ret[at] = parts[i];
	}
}

static bool has_larger_parts(const uint32_t *sorted, const uint32_t *than)
{
	for (size_t i = 0; i < CARDS; i++)
		if (sorted[i] != than[i])
			return sorted[i] > than[i];
	return false;
}

static void consider(const struct oracle *o, const uint32_t *parts, uint32_t n_units,
		     uint32_t units, struct answer *a)
{
	struct shape s = shape_of(o, parts);
	uint32_t sorted[CARDS];

	if (n_units > a->largest && is_normal(o, parts, n_units))
		a->largest = n_units;
	if (n_units != units)
		return;
	sort_down(parts, sorted);
	if (!a->split || s.n_cards < a->fewest ||
	    (s.n_cards == a->fewest && has_larger_parts(sorted, a->parts))) {
		a->fewest = s.n_cards;
		memcpy(a->parts, sorted, sizeof(sorted));
	}
	a->split = true;
	if (!is_normal(o, parts, units) && !is_raised(o, parts, units))
		return;
	if (a->n_cards == 0 || s.n_cards < a->n_cards ||
	    (s.n_cards == a->n_cards && is_tighter(o, parts, a->best))) {
		memcpy(a->best, parts, sizeof(a->best));
		a->n_cards = s.n_cards;
		a->normal = is_normal(o, parts, units);
	}
}

static struct answer solve(const struct oracle *o, uint32_t units)
{
	struct answer a = { 0 };
	uint32_t parts[CARDS] = { 0 }, n_units;

	do {
		if (parts_are_possible(o, parts, &n_units) && n_units > 0)
			consider(o, parts, n_units, units, &a);
	} while (next_parts(parts, o->f->n_cards));
	return a;
}

static bool solve_devices(const struct oracle *o, uint32_t n, uint32_t each, uint32_t *best,
			  uint32_t *ret_largest)
{
	uint32_t parts[CARDS] = { 0 }, n_units;
	bool found = false;

	*ret_largest = 0;
	do {
		if (!parts_are_possible(o, parts, &n_units) || n_units == 0)
			continue;
		if (n_units % n == 0 && n_units > *ret_largest &&
		    is_on_devices(o, parts, n, n_units / n))
			*ret_largest = n_units;
		if (is_on_devices(o, parts, n, each) && (!found || is_tighter(o, parts, best))) {
			memcpy(best, parts, sizeof(parts));
			found = true;
		}
	} while (next_parts(parts, o->f->n_cards));
	return found;
}

/* A random machine; every third has required slots. */
static void draw_random(struct fixture *f, bool contiguous)
{
	bool mixed = rnd(3) == 0;
	uint32_t full = rnd(4), with_required = rnd(3);

	f->n_cards = 1 + rnd(CARDS);
	for (size_t i = 0; i < f->n_cards; i++) {
		struct fixture_card *card = &f->cards[i];
		size_t n = mixed ? 1 + rnd(SLOTS) : SLOTS;

		*card = (struct fixture_card){ .healthy = rnd(8) > 0, .numa_node = -1 };
		for (size_t j = 0; j < n; j++)
			card->slots[j] = rnd(4) < full ? 'x' : '.';
		for (uint32_t j = with_required ? 0 : rnd(2) * rnd(SLOTS); j > 0; j--)
			card->slots[rnd((uint32_t)n)] = rnd(2) ? 'R' : 'H';
	}
	fixture_make(f, contiguous);
}

/* Name random slots as available, held ones too. */
static void restrict_random(struct fixture *f, struct oracle *o)
{
	size_t n = hamidp_layout_n_slots(f->layout);
	bool named[CARDS * SLOTS];

	for (size_t slot = 0; slot < n; slot++)
		named[slot] = rnd(3) > 0;
	named[0] = true;
	for (size_t i = 0; i < 3 * n; i++) { /* random order, duplicates */
		size_t slot = i < 2 * n ? rnd((uint32_t)n) : i - 2 * n;

		if (named[slot])
			ck_assert_int_eq(hamidp_request_add_available(f->req, slot), 0);
	}
	for (size_t slot = 0; slot < n; slot++) {
		size_t pos = hamidp_layout_slot_device(f->layout, slot);
		char *c = &o->usable[pos][slot - hamidp_layout_device_first_slot(f->layout, pos)];

		if (*c != 'R')
			*c = named[slot] && f->cards[pos].healthy ? '.' : 'x';
	}
}

static void oracle_init(struct oracle *o, struct fixture *f, bool contiguous, bool restricted)
{
	*o = (struct oracle){ .f = f, .contiguous = contiguous };
	for (size_t i = 0; i < f->n_cards; i++) {
		const char *slots = f->cards[i].slots;

		if (strlen(slots) > o->most_slots)
			o->most_slots = (uint32_t)strlen(slots);
		for (size_t j = 0; slots[j]; j++) {
			bool required = slots[j] == 'R' || slots[j] == 'H';
			bool usable = slots[j] == '.' && f->cards[i].healthy;

			o->usable[i][j] = required ? 'R' : usable ? '.' : 'x';
		}
	}
	if (restricted)
		restrict_random(f, o);
	for (size_t i = 0; i < f->n_cards; i++)
		o->n_free[i] = (uint32_t)strlen(o->usable[i]) - count_char(o->usable[i], 'x');
}

/* The slots of one card as the rules say, for a part that it can give. */
static void expect_slots(const struct oracle *o, size_t pos, uint32_t part, char *ret)
{
	const char *card = o->usable[pos];
	size_t n = strlen(card), best = SIZE_MAX, best_hole = SIZE_MAX;
	uint32_t n_required = count_char(card, 'R'), left = part - n_required;

	memset(ret, '.', n);
	ret[n] = '\0';
	if (part == 0)
		return;
	for (size_t j = 0; !o->contiguous && j < n; j++)
		if (card[j] == 'R' || (card[j] == '.' && left > 0)) {
			left -= card[j] == '.';
			ret[j] = '#';
		}
	if (!o->contiguous)
		return;
	for (size_t first = 0; first + part <= n; first++) {
		size_t from = first, to = first + part;

		if (!window_is_good(card, first, part, n_required))
			continue;
		while (from > 0 && card[from - 1] != 'x')
			from--;
		while (to < n && card[to] != 'x')
			to++;
		if (to - from < best_hole) {
			best_hole = to - from;
			best = first;
		}
	}
	ck_assert_uint_ne(best, SIZE_MAX);
	memset(ret + best, '#', part);
}

/* What the decision gives each card, having checked which slots. */
static void check_slots(const struct oracle *o, uint32_t *ret_parts)
{
	const struct fixture *f = o->f;
	char got[CARDS * (SLOTS + 1) + 2], want[CARDS * (SLOTS + 1) + 2];
	size_t at = 0, n_devices = 0;

	fixture_show(f, got, sizeof(got));
	memset(ret_parts, 0, CARDS * sizeof(*ret_parts));
	for (size_t i = 0; i < hamidp_decision_n_slots(f->decision); i++)
		ret_parts[hamidp_layout_slot_device(f->layout,
						    hamidp_decision_slot(f->decision, i))]++;
	for (size_t pos = 0; pos < f->n_cards; pos++) {
		ck_assert_msg(card_can_give(o, pos, ret_parts[pos]), "%s on %s", got,
			      o->usable[pos]);
		expect_slots(o, pos, ret_parts[pos], want + at);
		at += strlen(want + at);
		want[at++] = ' ';
		n_devices += ret_parts[pos] > 0;
	}
	want[at - 1] = '\0';
	ck_assert_str_eq(got, want);
	ck_assert_uint_eq(hamidp_decision_n_devices(f->decision), n_devices);
}

static void try_units(struct oracle *o, struct fixture *f, uint32_t units)
{
	struct answer a = solve(o, units);
	uint32_t parts[CARDS], sorted[CARDS], n_required = 0;
	struct shape s;
	int r;

	for (size_t i = 0; i < f->n_cards; i++)
		n_required += count_char(o->usable[i], 'R');
	hamidp_request_set_units(f->req, units);
	ck_assert_int_eq(hamidp_request_set_placement(f->req, HAMIDP_PLACEMENT_FIT), 0);
	ck_assert_int_eq(hamidp_request_set_split(f->req, HAMIDP_SPLIT_ALLOW), 0);
	r = hamidp_place(f->layout, f->occ, f->req, f->decision, f->reason);
	if (n_required > units) {
		ck_assert_int_eq(r, -EINVAL);
		return;
	}
	ck_assert_msg(r == (a.split ? 0 : -ENOSPC), "%u units: %d, %s", units, r,
		      hamidp_reason_text(f->reason));
	if (r < 0) {
		ck_assert_uint_eq(hamidp_reason_largest(f->reason), a.largest);
		return;
	}
	check_slots(o, parts);
	s = shape_of(o, parts);
	ck_assert_uint_eq(hamidp_decision_n_slots(f->decision), units);
	ck_assert_msg(hamidp_decision_is_split(f->decision) == !a.normal, "%u units", units);
	ck_assert_uint_eq(hamidp_reason_largest(f->reason), a.normal ? 0 : a.largest);
	if (a.n_cards > 0) {
		for (size_t i = 0; i < f->n_cards; i++)
			ck_assert_msg(parts[i] == a.best[i], "%u units: card %zu gives %u, not %u",
				      units, i, parts[i], a.best[i]);
	} else {
		sort_down(parts, sorted);
		ck_assert_uint_eq(s.n_cards, a.fewest);
		for (size_t i = 0; n_required == 0 && i < CARDS; i++)
			ck_assert_uint_eq(sorted[i], a.parts[i]);
	}
}

static void try_devices(struct oracle *o, struct fixture *f, uint32_t n, uint32_t each)
{
	uint32_t best[CARDS] = { 0 }, parts[CARDS], largest;
	bool possible = solve_devices(o, n, each, best, &largest);
	int r;

	hamidp_request_set_devices(f->req, n, each);
	r = hamidp_place(f->layout, f->occ, f->req, f->decision, f->reason);
	if (!possible) {
		ck_assert_int_lt(r, 0);
		if (r == -ENOSPC)
			ck_assert_uint_eq(hamidp_reason_largest(f->reason), largest);
		return;
	}
	ck_assert_int_eq(r, 0);
	check_slots(o, parts);
	for (size_t i = 0; i < f->n_cards; i++)
		ck_assert_uint_eq(parts[i], best[i]);
	ck_assert(!hamidp_decision_is_split(f->decision));
}

static void run(bool contiguous)
{
	for (unsigned round = 0; round < MACHINES; round++) {
		struct fixture *f = calloc(1, sizeof(*f));
		struct oracle o;
		size_t n;

		ck_assert_ptr_nonnull(f);
		draw_random(f, contiguous);
		oracle_init(&o, f, contiguous, rnd(2) == 0);
		n = hamidp_layout_n_slots(f->layout);
		for (uint32_t units = 1; units <= n; units++)
			try_units(&o, f, units);
		try_devices(&o, f, 1 + rnd((uint32_t)f->n_cards), 1 + rnd(SLOTS));
		fixture_done(f);
		free(f);
	}
}

/* The loop's index is the seed, so that a failure names it. */
START_TEST(placement_is_what_brute_force_finds)
{
	rnd_state = (uint64_t)_i + 1;
	run(false);
}
END_TEST

START_TEST(placement_of_neighbours_is_what_brute_force_finds)
{
	rnd_state = (uint64_t)_i + 1001;
	run(true);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("place-property");
	TCase *tcase = tcase_create("brute force");

	tcase_add_loop_test(tcase, placement_is_what_brute_force_finds, 0, 20);
	tcase_add_loop_test(tcase, placement_of_neighbours_is_what_brute_force_finds, 0, 20);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
