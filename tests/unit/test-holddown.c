/* SPDX-License-Identifier: Apache-2.0 */

/* Hold-downs under a clock that the test moves. */

#include <errno.h>

#include <hami/publish.h>

#include "fixture.h"
#include "suite.h"

#define S UINT64_C(1000000)
#define START (100 * S)

struct held {
	struct fixture f;
	struct hamidp_holddown *h;
};

static void setup(struct held *t, const char *machine)
{
	*t = (struct held){ 0 };
	fixture_draw(&t->f, machine, false);
	ck_assert_int_eq(hamidp_holddown_new(&t->h), 0);
}

static void done(struct held *t)
{
	ck_assert_ptr_null(hamidp_holddown_free(t->h));
	fixture_done(&t->f);
}

static void refused(struct held *t, uint32_t units, uint64_t now_us)
{
	ck_assert_int_eq(hamidp_holddown_refused(t->h, 0, units, now_us), 0);
}

static int review(struct held *t, uint64_t now_us)
{
	return hamidp_holddown_review(t->h, t->f.layout, t->f.occ, now_us);
}

/* Slot @slot is held no longer. */
static void free_slot(struct held *t, size_t slot)
{
	struct hamidp_occupancy *occ = NULL;

	ck_assert_int_eq(hamidp_occupancy_new(t->f.layout, &occ), 0);
	for (size_t i = 0; i < hamidp_layout_n_slots(t->f.layout); i++)
		if (i != slot && hamidp_occupancy_holder(t->f.occ, i))
			ck_assert_int_eq(hamidp_occupancy_hold(occ, i, "someone"), 0);
	hamidp_occupancy_free(t->f.occ);
	t->f.occ = occ;
}

START_TEST(a_refusal_holds_for_30_seconds)
{
	struct held t;

	setup(&t, "xxx. xxx.");
	ck_assert_uint_eq(hamidp_holddown_limit(t.h, 0), 0);
	ck_assert_uint_eq(hamidp_holddown_deadline_us(t.h), UINT64_MAX);
	ck_assert_int_eq(review(&t, START), 0);

	refused(&t, 2, START);
	ck_assert_uint_eq(hamidp_holddown_limit(t.h, 0), 1);
	ck_assert_uint_eq(hamidp_holddown_limit(t.h, 1), 0);
	ck_assert_uint_eq(hamidp_holddown_deadline_us(t.h), START + 30 * S);
	ck_assert_int_eq(review(&t, START + 30 * S - 1), 0);
	ck_assert_uint_eq(hamidp_holddown_limit(t.h, 0), 1);
	ck_assert_int_eq(review(&t, START + 30 * S), 1);
	ck_assert_uint_eq(hamidp_holddown_limit(t.h, 0), 0);
	ck_assert_uint_eq(hamidp_holddown_deadline_us(t.h), UINT64_MAX);
	done(&t);
}
END_TEST

START_TEST(the_same_size_again_holds_twice_as_long_up_to_8_minutes)
{
	static const uint64_t lengths[] = { 30, 60, 120, 240, 480, 480 };
	uint64_t now = START;
	struct held t;

	setup(&t, "xxx. xxx.");
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		refused(&t, 2, now);
		ck_assert_uint_eq(hamidp_holddown_deadline_us(t.h), now + lengths[i] * S);
		now += lengths[i] * S;
		ck_assert_int_eq(review(&t, now), 1);
		now += S; /* the next try finds it over */
	}
	done(&t);
}
END_TEST

START_TEST(a_burst_is_one_refusal)
{
	struct held t;

	setup(&t, "xxx. xxx.");
	for (uint64_t i = 0; i < 10; i++)
		refused(&t, 2, START + i * S);
	ck_assert_uint_eq(hamidp_holddown_deadline_us(t.h), START + 39 * S);
	refused(&t, 2, START + 10 * S);
	ck_assert_uint_eq(hamidp_holddown_deadline_us(t.h), START + 70 * S);
	done(&t);
}
END_TEST

START_TEST(it_ends_at_once_when_the_size_fits)
{
	struct held t;

	setup(&t, "xxx. xxx.");
	refused(&t, 2, START);
	refused(&t, 2, START + 20 * S);
	ck_assert_int_eq(review(&t, START + 21 * S), 0);
	free_slot(&t, 0);
	ck_assert_int_eq(review(&t, START + 21 * S), 1);
	ck_assert_uint_eq(hamidp_holddown_limit(t.h, 0), 0);
	refused(&t, 2, START + 60 * S); /* and it is forgotten */
	ck_assert_uint_eq(hamidp_holddown_deadline_us(t.h), START + 90 * S);
	done(&t);
}
END_TEST

START_TEST(room_on_a_sick_card_is_no_room)
{
	struct held t;

	setup(&t, "!.... xxx.");
	refused(&t, 2, START);
	ck_assert_int_eq(review(&t, START + S), 0);
	ck_assert_uint_eq(hamidp_holddown_limit(t.h, 0), 1);
	done(&t);
}
END_TEST

START_TEST(more_than_a_card_needs_its_even_spread)
{
	struct held t;

	setup(&t, ".... ..xx x.xx");
	refused(&t, 6, START); /* 3 + 3, and 4 + 2 is none */
	refused(&t, 8, START);
	ck_assert_int_eq(review(&t, START), 0);
	ck_assert_uint_eq(hamidp_holddown_limit(t.h, 0), 5);
	free_slot(&t, 6);
	ck_assert_int_eq(review(&t, START), 1);
	ck_assert_uint_eq(hamidp_holddown_limit(t.h, 0), 7);
	free_slot(&t, 7);
	ck_assert_int_eq(review(&t, START), 1);
	ck_assert_uint_eq(hamidp_holddown_limit(t.h, 0), 0);
	done(&t);
}
END_TEST

START_TEST(the_smallest_of_several_sizes_limits)
{
	struct held t;

	setup(&t, "xxx. xxx.");
	refused(&t, 4, START);
	refused(&t, 2, START + 10 * S);
	refused(&t, 3, START + 20 * S);
	ck_assert_int_eq(hamidp_holddown_refused(t.h, 1, 7, START), 0);
	ck_assert_uint_eq(hamidp_holddown_limit(t.h, 0), 1);
	ck_assert_uint_eq(hamidp_holddown_limit(t.h, 1), 6);
	ck_assert_uint_eq(hamidp_holddown_deadline_us(t.h), START + 30 * S);
	ck_assert_int_eq(review(&t, START + 30 * S), 1); /* 4, and the other resource's 7 */
	ck_assert_uint_eq(hamidp_holddown_limit(t.h, 0), 1);
	ck_assert_uint_eq(hamidp_holddown_limit(t.h, 1), 0);
	ck_assert_int_eq(review(&t, START + 40 * S), 1);
	ck_assert_uint_eq(hamidp_holddown_limit(t.h, 0), 2);
	ck_assert_int_eq(review(&t, START + 50 * S), 1);
	ck_assert_uint_eq(hamidp_holddown_limit(t.h, 0), 0);
	done(&t);
}
END_TEST

START_TEST(a_size_that_stays_away_is_forgotten)
{
	struct held t;

	setup(&t, "xxx. xxx.");
	refused(&t, 2, START);
	ck_assert_int_eq(review(&t, START + 30 * S), 1);
	ck_assert_int_eq(review(&t, START + 509 * S), 0);
	refused(&t, 2, START + 509 * S);
	ck_assert_uint_eq(hamidp_holddown_deadline_us(t.h), START + 569 * S);
	ck_assert_int_eq(review(&t, START + 569 * S), 1);
	ck_assert_int_eq(review(&t, START + 1049 * S), 0);
	refused(&t, 2, START + 1049 * S);
	ck_assert_uint_eq(hamidp_holddown_deadline_us(t.h), START + 1079 * S);
	done(&t);
}
END_TEST

START_TEST(memory_is_bounded_and_keeps_the_smallest)
{
	struct held t;

	setup(&t, "xxx. xxx.");
	for (uint32_t units = 1000; units >= 2; units--)
		refused(&t, units, START);
	ck_assert_uint_eq(hamidp_holddown_limit(t.h, 0), 1);
	refused(&t, 900, START + 29 * S); /* gives way to all that are smaller */
	for (uint32_t units = 2; units <= 4; units++) {
		ck_assert_uint_eq(hamidp_holddown_limit(t.h, 0), units - 1);
		free_slot(&t, 4 - units);
		ck_assert_int_eq(review(&t, START + S), 1);
	}
	ck_assert_uint_eq(hamidp_holddown_limit(t.h, 0), 4);
	ck_assert_int_eq(review(&t, START + 30 * S), 1);
	ck_assert_uint_eq(hamidp_holddown_limit(t.h, 0), 0);
	for (uint32_t units = 900; units < 1000; units++)
		refused(&t, units, START + 31 * S); /* what holds beats what is over */
	ck_assert_uint_eq(hamidp_holddown_limit(t.h, 0), 899);
	done(&t);
}
END_TEST

START_TEST(times_at_the_end_of_the_clock_do_not_wrap)
{
	struct held t;

	setup(&t, "xxx. xxx.");
	refused(&t, 2, UINT64_MAX - S);
	ck_assert_uint_eq(hamidp_holddown_limit(t.h, 0), 1);
	ck_assert_int_eq(review(&t, UINT64_MAX - S), 0);
	ck_assert_int_eq(review(&t, UINT64_MAX), 1);
	done(&t);
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
	struct held t, other;

	setup(&t, "xxx. xxx.");
	setup(&other, "....");
	ck_assert_int_eq(hamidp_holddown_refused(t.h, 0, 0, START), -EINVAL);
	ck_assert_int_eq(hamidp_holddown_refused(t.h, 0, 1, START), -EINVAL);
	ck_assert_uint_eq(hamidp_holddown_deadline_us(t.h), UINT64_MAX);
	ck_assert_int_eq(hamidp_holddown_review(t.h, t.f.layout, other.f.occ, START), -EINVAL);
	ck_assert_int_eq(hamidp_holddown_refused(t.h, 1000, 2, START), 0); /* no such resource */
	ck_assert_int_eq(review(&t, START), 0);
	ck_assert_int_eq(review(&t, START + 30 * S), 1);
	done(&other);
	done(&t);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("holddown");
	TCase *t = tcase_create("holddown");

	tcase_add_test(t, a_refusal_holds_for_30_seconds);
	tcase_add_test(t, the_same_size_again_holds_twice_as_long_up_to_8_minutes);
	tcase_add_test(t, a_burst_is_one_refusal);
	tcase_add_test(t, it_ends_at_once_when_the_size_fits);
	tcase_add_test(t, room_on_a_sick_card_is_no_room);
	tcase_add_test(t, more_than_a_card_needs_its_even_spread);
	tcase_add_test(t, the_smallest_of_several_sizes_limits);
	tcase_add_test(t, a_size_that_stays_away_is_forgotten);
	tcase_add_test(t, memory_is_bounded_and_keeps_the_smallest);
	tcase_add_test(t, times_at_the_end_of_the_clock_do_not_wrap);
	tcase_add_test(t, what_makes_no_sense_is_refused);
	suite_add_tcase(suite, t);
	return suite_run(suite);
}
