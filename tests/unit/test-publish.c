/* SPDX-License-Identifier: Apache-2.0 */

/* What is published of drawn machines, and for what cause the rest is not. */

#include <errno.h>

#include "publish-fixture.h"
#include "suite.h"

struct row {
	const char *machine;
	uint32_t limit;
	const char *all;
	const char *placeable;
};

static void check_row(const struct row *row, bool contiguous)
{
	struct hamidp_publication *publication = NULL;
	struct fixture f = { 0 };
	char shown[256];

	ck_assert_int_eq(hamidp_publication_new(&publication), 0);
	fixture_draw(&f, row->machine, contiguous);
	publish(&f, HAMIDP_PUBLISH_ALL, row->limit, publication);
	publish_show(&f, publication, shown, sizeof(shown));
	ck_assert_msg(!strcmp(shown, row->all), "%s, %u, all: %s", row->machine, row->limit, shown);
	publish(&f, HAMIDP_PUBLISH_PLACEABLE, row->limit, publication);
	publish_show(&f, publication, shown, sizeof(shown));
	ck_assert_msg(!strcmp(shown, row->placeable), "%s, %u, placeable: %s", row->machine,
		      row->limit, shown);
	hamidp_publication_free(publication);
	fixture_done(&f);
}

static const struct row unlimited[] = {
	{ "........ ........", 0, "........ ........", "........ ........" },
	/* A pod with 5 leaves 3 here, 8 there: only 8 can be promised. */
	{ "xxxxx... ........", 0, "xxxxx... ........", "xxxxxwww ........" },
	/* 3 and 3 are six, but no request of 4 to 6 has its form there. */
	{ "xxxxx... xxxxx...", 0, "xxxxx... xxxxx...", "xxxxx... xxxxxwww" },
	{ "xxxxx... xxxx....", 0, "xxxxx... xxxx....", "xxxxxwww xxxx...." },
	/* One card may lack one slot: 15 are 8 + 7. Two may not. */
	{ ".......x ........", 0, ".......x ........", ".......x ........" },
	{ ".......x ........ x.......", 0, ".......x ........ x.......",
	  ".......x ........ xwwwwwww" },
	{ "x.x. ....", 0, "x.x. ....", "xwxw ...." },
	{ "xxxx xxxx", 0, "xxxx xxxx", "xxxx xxxx" },
	/* What is held is left alone, whatever becomes of the rest; its own card's health is not.
	 */
	{ "x.xx !x.xx x...", 0, "x.xx !!!! x...", "xwxx !!!! x..." },
	{ "!.... !....", 0, "!!!! !!!!", "!!!! !!!!" },
	/* A card of fewer slots only counts as the last one, or alone. */
	{ "........ ..", 0, "........ ..", "........ ww" },
	{ "........ .......", 0, "........ .......", "........ ......." },
	{ "xxxxxxxx ..", 0, "xxxxxxxx ..", "xxxxxxxx .." },
	{ ". . x .", 0, ". . x .", ". . x ." },
	{ "..xxxxxx ..xxxxxx ...xxxxx &....", 0, "..xxxxxx ..xxxxxx ...xxxxx ....",
	  "wwxxxxxx wwxxxxxx ...xxxxx ...." },
};

START_TEST(free_slots_are_published_as_far_as_they_can_be_had)
{
	check_row(&unlimited[_i], false);
}
END_TEST

static const struct row limited[] = {
	/* 5 were refused: the 4 that its reason named can still be had, then nothing is left. */
	{ "xxxxx... xxxx....", 4, "xxxxxhhh xxxx....", "xxxxxwww xxxx...." },
	{ "xxxxx... xxxxx...", 3, "xxxxx... xxxxxhhh", "xxxxx... xxxxxwww" },
	/* What is left of the limit goes to the tightest. */
	{ "xxxx.... xxxxx... xxxxxxx.", 6, "xxxx.... xxxxx.hh xxxxxxx.",
	  "xxxx.... xxxxxwww xxxxxxxw" },
	/* A limit that takes from what could be promised. */
	{ "........ xxxxx...", 2, "hhhhhhhh xxxxx..h", "hhhhhhhh xxxxx..w" },
	{ "........ ........", 9, ".....hhh ....hhhh", "........ hhhhhhhh" },
	{ "........ ........ xx......", 14, ".......h .......h xxhhhhhh",
	  "........ hhhhhhhh xxwwwwww" },
	{ "........ ........", 15, "........ .......h", "........ .......h" },
	{ "........ ........", 16, "........ ........", "........ ........" },
	{ ".... xx..", 1, "hhhh xx.h", "hhhh xx.w" },
	/* Held slots are no part of the limit. */
	{ "xxxx xxx.", 1, "xxxx xxx.", "xxxx xxx." },
	{ "!.... xx..", 1, "!!!! xx.h", "!!!! xx.h" },
};

START_TEST(a_limit_leaves_the_tightest_cards)
{
	check_row(&limited[_i], false);
}
END_TEST

/* Where a slice must be of neighbours: the smallest run that will do. */
static const struct row neighbours[] = {
	{ "..x.x...", 0, "..x.x...", "wwxwx..." },
	{ "..x..x..", 0, "..x..x..", "..xwwxww" },
	{ "x......x .x......", 0, "x......x .x......", "x......x wxwwwwww" },
	{ "..x.x... xx..xxxx", 2, "hhxhxhhh xx..xxxx", "wwxwxhhh xx..xxxx" },
};

START_TEST(neighbours_are_published_as_one_run)
{
	check_row(&neighbours[_i], true);
}
END_TEST

START_TEST(causes_explain_capacity_minus_allocatable)
{
	struct hamidp_publication *publication = NULL;
	struct fixture f = { 0 };
	size_t n = 0;

	ck_assert_int_eq(hamidp_publication_new(&publication), 0);
	ck_assert_ptr_null(hamidp_publication_layout(publication));
	ck_assert_int_eq(hamidp_publication_cause(publication, 0), HAMIDP_CAUSE_NONE);

	fixture_draw(&f, "xxxxx... !........ ........ &....", false);
	publish(&f, HAMIDP_PUBLISH_PLACEABLE, 6, publication);
	ck_assert_ptr_eq(hamidp_publication_layout(publication), f.layout);
	ck_assert_uint_eq(hamidp_publication_resource(publication), 0);
	ck_assert_uint_eq(hamidp_publication_count(publication, HAMIDP_CAUSE_NONE), 11);
	ck_assert_uint_eq(hamidp_publication_count(publication, HAMIDP_CAUSE_UNHEALTHY), 8);
	ck_assert_uint_eq(hamidp_publication_count(publication, HAMIDP_CAUSE_WITHHELD), 3);
	ck_assert_uint_eq(hamidp_publication_count(publication, HAMIDP_CAUSE_HOLD_DOWN), 2);
	ck_assert_uint_eq(hamidp_publication_n_free(publication), 6);
	for (unsigned cause = 0; cause <= HAMIDP_CAUSE_HOLD_DOWN; cause++)
		n += hamidp_publication_count(publication, (enum hamidp_cause)cause);
	ck_assert_uint_eq(n, hamidp_layout_resource_n_slots(f.layout, 0));
	ck_assert_uint_eq(hamidp_publication_count(publication, _HAMIDP_CAUSE_PAD), 0);
	ck_assert_int_eq(hamidp_publication_cause(publication, 1000), HAMIDP_CAUSE_NONE);

	hamidp_publication_free(publication);
	fixture_done(&f);
}
END_TEST

START_TEST(a_publication_is_used_again)
{
	struct hamidp_publication *publication = NULL;
	struct fixture large = { 0 }, small = { 0 };
	char shown[64];

	ck_assert_int_eq(hamidp_publication_new(&publication), 0);
	fixture_draw(&large, "x... .... ....", false);
	fixture_draw(&small, "x. x.", false);
	publish(&large, HAMIDP_PUBLISH_PLACEABLE, 0, publication);
	publish(&small, HAMIDP_PUBLISH_PLACEABLE, 0, publication);
	publish_show(&small, publication, shown, sizeof(shown));
	ck_assert_str_eq(shown, "x. xw");
	publish(&large, HAMIDP_PUBLISH_ALL, 0, publication);
	publish_show(&large, publication, shown, sizeof(shown));
	ck_assert_str_eq(shown, "x... .... ....");
	fixture_done(&small); /* it has let go of the layout it no longer is about */
	fixture_done(&large);
	ck_assert_uint_eq(hamidp_layout_n_slots(hamidp_publication_layout(publication)), 12);
	hamidp_publication_free(publication);
	hamidp_publication_free(NULL);
}
END_TEST

static void refuse(const struct fixture *f, const struct hamidp_occupancy *occ, size_t resource,
		   const struct hamidp_publish_options *opts,
		   struct hamidp_publication *publication, enum hamidp_reason_code code)
{
	ck_assert_int_eq(hamidp_publish(f->layout, occ, resource, opts, publication, f->reason),
			 -EINVAL);
	ck_assert_int_eq(hamidp_reason_code(f->reason), code);
	ck_assert_ptr_null(hamidp_publication_layout(publication));
}

START_TEST(options_of_a_later_version_hold_where_they_are_zero)
{
	struct {
		struct hamidp_publish_options opts;
		char more[8];
	} newer = { .opts = { .size = sizeof(newer), .limit = 1 } };
	struct hamidp_publication *publication = NULL;
	struct fixture f = { 0 };

	ck_assert_int_eq(hamidp_publication_new(&publication), 0);
	fixture_draw(&f, "....", false);
	newer.more[7] = 1;
	refuse(&f, f.occ, 0, &newer.opts, publication, HAMIDP_REASON_BAD_ARGUMENT);
	newer.more[7] = 0;
	ck_assert_int_eq(hamidp_publish(f.layout, f.occ, 0, &newer.opts, publication, NULL), 0);
	ck_assert_uint_eq(hamidp_publication_n_free(publication), 1);
	hamidp_publication_free(publication);
	fixture_done(&f);
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
	struct hamidp_publish_options small = { .size = sizeof(small) - 1 };
	struct hamidp_publish_options mode = { .size = sizeof(mode), .mode = 2 };
	struct hamidp_publication *publication = NULL;
	struct fixture f = { 0 }, other = { 0 };

	ck_assert_int_eq(hamidp_publication_new(&publication), 0);
	fixture_draw(&f, "....", false);
	fixture_draw(&other, "....", false);
	refuse(&f, f.occ, 1, NULL, publication, HAMIDP_REASON_UNKNOWN_RESOURCE);
	refuse(&f, other.occ, 0, NULL, publication, HAMIDP_REASON_BAD_ARGUMENT);
	refuse(&f, f.occ, 0, &small, publication, HAMIDP_REASON_BAD_ARGUMENT);
	refuse(&f, f.occ, 0, &mode, publication, HAMIDP_REASON_BAD_ARGUMENT);
	ck_assert_int_eq(hamidp_publish(f.layout, f.occ, 0, NULL, publication, f.reason), 0);
	ck_assert_int_eq(hamidp_reason_code(f.reason), HAMIDP_REASON_NONE);
	ck_assert_uint_eq(hamidp_publication_n_free(publication), 4);
	hamidp_publication_free(publication);
	fixture_done(&other);
	fixture_done(&f);
}
END_TEST

START_TEST(causes_have_names)
{
	ck_assert_str_eq(hamidp_cause_to_string(HAMIDP_CAUSE_NONE), "none");
	ck_assert_str_eq(hamidp_cause_to_string(HAMIDP_CAUSE_UNHEALTHY), "unhealthy");
	ck_assert_str_eq(hamidp_cause_to_string(HAMIDP_CAUSE_WITHHELD), "withheld");
	ck_assert_str_eq(hamidp_cause_to_string(HAMIDP_CAUSE_HOLD_DOWN), "hold-down");
	ck_assert_str_eq(hamidp_cause_to_string((enum hamidp_cause)77), "unknown");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("publish");
	TCase *t = tcase_create("publish");

	tcase_add_loop_test(t, free_slots_are_published_as_far_as_they_can_be_had, 0,
			    sizeof(unlimited) / sizeof(unlimited[0]));
	tcase_add_loop_test(t, a_limit_leaves_the_tightest_cards, 0,
			    sizeof(limited) / sizeof(limited[0]));
	tcase_add_loop_test(t, neighbours_are_published_as_one_run, 0,
			    sizeof(neighbours) / sizeof(neighbours[0]));
	tcase_add_test(t, causes_explain_capacity_minus_allocatable);
	tcase_add_test(t, a_publication_is_used_again);
	tcase_add_test(t, what_makes_no_sense_is_refused);
	tcase_add_test(t, options_of_a_later_version_hold_where_they_are_zero);
	tcase_add_test(t, causes_have_names);
	suite_add_tcase(suite, t);
	return suite_run(suite);
}
