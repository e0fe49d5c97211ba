/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Publications against brute force. On small random machines every set of free slots is tried, and
 * every request against it, by the rules as they are written down: no arithmetic shared with the
 * library. What comes out is put to the placement function as well.
 */

#include "publish-fixture.h"
#include "suite.h"

#define CARDS 4
#define SLOTS 5
#define FREE_MAX 11  /* slots whose sets are tried */
#define MACHINES 300 /* for each seed */

static uint64_t rnd_state;

static uint32_t rnd(uint32_t below)
{
	rnd_state = rnd_state * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(rnd_state >> 33) % below;
}

struct oracle {
	struct fixture f;
	bool contiguous;
	uint32_t per_card;	/* what one request may get from one card */
	size_t slots[FREE_MAX]; /* that are free on healthy cards */
	uint32_t n_free;
};

/* The largest slice of each card in a set of slots, given as bits over o->slots. */
static void caps_of(const struct oracle *o, unsigned set, uint32_t caps[CARDS])
{
	uint32_t run[CARDS] = { 0 };
	size_t last = SIZE_MAX;

	memset(caps, 0, CARDS * sizeof(*caps));
	for (uint32_t i = 0; i < o->n_free; i++) {
		size_t pos = hamidp_layout_slot_device(o->f.layout, o->slots[i]);

		if (!(set >> i & 1))
			continue;
		if (o->contiguous && o->slots[i] != last + 1)
			run[pos] = 0;
		last = o->slots[i];
		run[pos]++;
		caps[pos] = run[pos] > caps[pos] ? run[pos] : caps[pos];
	}
}

/* Can the cards from @card on give @n parts of @base, @more of them with one more? */
static bool can_give(const uint32_t caps[CARDS], uint32_t card, uint32_t n, uint32_t base,
		     uint32_t more)
{
	if (n == 0)
		return more == 0;
	if (card == CARDS)
		return false;
	return can_give(caps, card + 1, n, base, more) ||
	       (caps[card] >= base && n > more && can_give(caps, card + 1, n - 1, base, more)) ||
	       (caps[card] > base && more > 0 && can_give(caps, card + 1, n - 1, base, more - 1));
}

static bool has_normal_form(const struct oracle *o, const uint32_t caps[CARDS], uint32_t units)
{
	uint32_t n = 1;

	while (n * o->per_card < units)
		n++;
	return can_give(caps, 0, n, units / n, units % n);
}

static bool is_placeable(const struct oracle *o, unsigned set)
{
	uint32_t caps[CARDS], n = (uint32_t)__builtin_popcount(set);

	caps_of(o, set, caps);
	for (uint32_t units = 1; units <= n; units++)
		if (!has_normal_form(o, caps, units))
			return false;
	return true;
}

/* Does @a come before @b: more slots, then those of the first cards? */
static bool is_first(const struct oracle *o, unsigned a, unsigned b)
{
	uint32_t na[CARDS] = { 0 }, nb[CARDS] = { 0 };

	for (uint32_t i = 0; i < o->n_free; i++) {
		size_t pos = hamidp_layout_slot_device(o->f.layout, o->slots[i]);

		na[pos] += a >> i & 1;
		nb[pos] += b >> i & 1;
	}
	for (size_t pos = 0; pos < CARDS; pos++)
		if (na[pos] != nb[pos])
			return na[pos] > nb[pos];
	return false;
}

/* The largest placeable set of at most @limit slots, the first of equals by is_first(). */
static unsigned best_set(const struct oracle *o, uint32_t limit)
{
	unsigned best = 0;

	for (unsigned set = 1; set < 1U << o->n_free; set++) {
		int n = __builtin_popcount(set), most = __builtin_popcount(best);

		if (n > (int)limit || n < most || !is_placeable(o, set))
			continue;
		if (n > most || is_first(o, set, best))
			best = set;
	}
	return best;
}

static void make(struct oracle *o, bool contiguous)
{
	size_t n_cards = 1 + rnd(CARDS);
	uint32_t most = 0;

	*o = (struct oracle){ .contiguous = contiguous };
	o->f.n_cards = n_cards;
	for (size_t i = 0; i < n_cards; i++) {
		struct fixture_card *card = &o->f.cards[i];
		uint32_t n = rnd(3) == 0 ? 1 + rnd(SLOTS) : SLOTS, fullness = rnd(5);

		*card = (struct fixture_card){ .healthy = rnd(8) != 0, .numa_node = -1 };
		for (uint32_t k = 0; k < n; k++)
			card->slots[k] = rnd(4) < fullness ? 'x' : '.';
		most = n > most ? n : most;
	}
	for (size_t i = 0, n = 0; i < n_cards; i++) /* as many as can be tried */
		for (char *c = o->f.cards[i].slots; *c && o->f.cards[i].healthy; c++)
			if (*c == '.' && n++ >= FREE_MAX)
				*c = 'x';
	fixture_make(&o->f, contiguous);
	o->per_card = most;
	for (size_t slot = 0; slot < hamidp_layout_n_slots(o->f.layout); slot++) {
		size_t pos = hamidp_layout_slot_device(o->f.layout, slot);

		if (o->f.cards[pos].healthy && fixture_at(&o->f, slot) == '.')
			o->slots[o->n_free++] = slot;
	}
}

/* Which of o->slots are published; everything else must be as its card and holder say. */
static unsigned published_set(const struct oracle *o, const struct hamidp_publication *publication)
{
	unsigned set = 0;
	uint32_t i = 0;

	for (size_t slot = 0; slot < hamidp_layout_n_slots(o->f.layout); slot++) {
		enum hamidp_cause cause = hamidp_publication_cause(publication, slot);
		size_t pos = hamidp_layout_slot_device(o->f.layout, slot);

		if (!o->f.cards[pos].healthy)
			ck_assert_int_eq(cause, HAMIDP_CAUSE_UNHEALTHY);
		else if (i < o->n_free && o->slots[i] == slot)
			set |= (unsigned)(cause == HAMIDP_CAUSE_NONE) << i++;
		else
			ck_assert_int_eq(cause, HAMIDP_CAUSE_NONE);
	}
	ck_assert_uint_eq(hamidp_publication_n_free(publication), (size_t)__builtin_popcount(set));
	return set;
}

/* The placement function finds every size its best form among what is published. */
static void place_every_size(struct oracle *o, unsigned set)
{
	for (uint32_t units = 1; units <= (uint32_t)__builtin_popcount(set); units++) {
		hamidp_request_reset(o->f.req);
		hamidp_request_set_units(o->f.req, units);
		for (uint32_t i = 0; i < o->n_free; i++)
			if (set >> i & 1)
				ck_assert_int_eq(hamidp_request_add_available(o->f.req,
									      o->slots[i]),
						 0);
		ck_assert_int_eq(hamidp_place(o->f.layout, o->f.occ, o->f.req, o->f.decision,
					      o->f.reason),
				 0);
		ck_assert_int_eq(hamidp_decision_is_split(o->f.decision), 0);
	}
}

static void check_placeable(struct oracle *o, struct hamidp_publication *publication)
{
	unsigned set, best = best_set(o, FREE_MAX);
	char shown[64];

	publish(&o->f, HAMIDP_PUBLISH_PLACEABLE, 0, publication);
	set = published_set(o, publication);
	publish_show(&o->f, publication, shown, sizeof(shown));
	ck_assert_msg(is_placeable(o, set), "%s", shown);
	ck_assert_msg(__builtin_popcount(set) == __builtin_popcount(best), "%s: %d can be", shown,
		      __builtin_popcount(best));
	ck_assert_msg(!is_first(o, best, set) && !is_first(o, set, best), "%s: not the first",
		      shown);
	ck_assert_uint_eq(hamidp_publication_count(publication, HAMIDP_CAUSE_WITHHELD),
			  o->n_free - (uint32_t)__builtin_popcount(set));
	place_every_size(o, set);
}

static void check_placeable_limit(struct oracle *o, struct hamidp_publication *publication,
				  uint32_t limit)
{
	unsigned set;

	publish(&o->f, HAMIDP_PUBLISH_PLACEABLE, limit, publication);
	set = published_set(o, publication);
	ck_assert(is_placeable(o, set));
	ck_assert_int_eq(__builtin_popcount(set), __builtin_popcount(best_set(o, limit)));
}

/* The limit is used up, and the largest request within it that could be had still can be. */
static void check_all_limit(struct oracle *o, struct hamidp_publication *publication,
			    uint32_t limit)
{
	uint32_t caps[CARDS], largest = limit;
	unsigned set;

	publish(&o->f, HAMIDP_PUBLISH_ALL, limit, publication);
	set = published_set(o, publication);
	ck_assert_int_eq(__builtin_popcount(set), (int)(limit < o->n_free ? limit : o->n_free));
	ck_assert_uint_eq(hamidp_publication_count(publication, HAMIDP_CAUSE_HOLD_DOWN),
			  o->n_free - (uint32_t)__builtin_popcount(set));
	caps_of(o, (1U << o->n_free) - 1, caps);
	while (largest > 0 && !has_normal_form(o, caps, largest))
		largest--;
	caps_of(o, set, caps);
	ck_assert(largest == 0 || has_normal_form(o, caps, largest));
}

static void check_machines(uint64_t seed, bool contiguous)
{
	struct hamidp_publication *publication = NULL;

	rnd_state = seed;
	ck_assert_int_eq(hamidp_publication_new(&publication), 0);
	for (int i = 0; i < MACHINES; i++) {
		struct oracle o;

		make(&o, contiguous);
		check_placeable(&o, publication);
		for (uint32_t limit = 1; limit <= o.n_free + 1; limit++) {
			check_placeable_limit(&o, publication, limit);
			check_all_limit(&o, publication, limit);
		}
		fixture_done(&o.f);
	}
	hamidp_publication_free(publication);
}

START_TEST(as_much_as_can_be_is_published)
{
	check_machines((uint64_t)_i, false);
}
END_TEST

START_TEST(as_much_as_can_be_is_published_of_neighbours)
{
	check_machines((uint64_t)_i + 100, true);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("publish-property");
	TCase *t = tcase_create("publish-property");

	tcase_add_loop_test(t, as_much_as_can_be_is_published, 0, 3);
	tcase_add_loop_test(t, as_much_as_can_be_is_published_of_neighbours, 0, 3);
	suite_add_tcase(suite, t);
	return suite_run(suite);
}
