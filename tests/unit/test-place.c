/* SPDX-License-Identifier: Apache-2.0 */

/* Placement by example: which slots a request gets on small machines. See fixture.h. */

#include <errno.h>
#include <inttypes.h>

#include "fixture.h"
#include "suite.h"

struct place_case {
	const char *what;
	const char *before;
	uint32_t units;
	const char *after;
	bool contiguous;
	bool is_split;
	int32_t numa_node; /* 0: any; else the node's number */
};

static const struct place_case place_cases[] = {
	{ "an empty machine fills from the first card", "........ ........", 5,
	  .after = "#####... ........" },
	{ "3 go beside 5", "xxxxx... ........", 3, .after = ".....### ........" },
	{ "4 do not fit beside 5 and go to the other card", "xxxxx... ........", 4,
	  .after = "........ ####...." },
	{ "then the rest of that card", "xxxxxxxx xxxx....", 4, .after = "........ ....####" },
	{ "the tightest card, not the first", "x....... xxxxxx..", 2,
	  .after = "........ ......##" },
	{ "equally tight: the first in PCI order", "........ xx...... xx......", 6,
	  .after = "........ ..###### ........" },
	{ "lowest slots, gaps included", "x.x.x... ........", 4, .after = ".#.#.##. ........" },
	{ "a whole card", "........", 8, .after = "########" },
	{ "more than a card: evenly, the remainder first", "........ ........ ........", 11,
	  .after = "######.. #####... ........" },
	{ "several cards: the tightest set", "........ ........ xx...... x.......", 12,
	  .after = "........ ........ ..###### .######." },
	{ "several cards: the larger part needs a larger card", "xxx..... xx...... ........", 11,
	  .after = "...##### ..###### ........" },
	{ "several cards: too many small ones", "xxx..... xxx..... ........", 11,
	  .after = "...##### ........ ######.." },
	{ "three cards", ".... .... .... ....", 10, .after = "#### ###. ###. ...." },
	{ "mixed slot counts: a small card serves a smaller part", "....... ... .......", 2,
	  .after = "....... ##. ......." },
	{ "mixed slot counts: the size of the largest card counts", "... .......", 7,
	  .after = "... #######" },
	{ "mixed slot counts: three on cards that are large enough", ".... ........ ........", 11,
	  .after = ".... ######.. #####..." },
	{ "spread: the largest part first, the rest tight", "xxxx.... xxxxxx.. xxxxx...", 6,
	  .after = "....#### ......## ........", .is_split = true },
	{ "spread: every free slot", "xxx. xx.. x...", 6, .after = "...# ..## .###",
	  .is_split = true },
	{ "spread: as many cards, but uneven", "........ xxxxxx..", 10,
	  .after = "######## ......##", .is_split = true },
	{ "a card that is not healthy never serves", "!.... ....", 3, .after = ".... ###." },
	{ "only one NUMA node", "@0xx.. @1.... @1.xx.", 2, .after = ".... .... #..#",
	  .numa_node = 1 },
	{ "required: its card, although another is tighter", "R....... xxxxxx..", 2,
	  .after = "##...... ........" },
	{ "required: counted as free where it is held", "xxHx xx..", 2, .after = "..#. ..#.",
	  .is_split = true },
	{ "required: part of the answer, not the lowest", "....R... ........", 3,
	  .after = "##..#... ........" },
	{ "required on two cards raises the number of cards", "R....... R....... ........", 2,
	  .after = "#....... #....... ........", .is_split = true },
	{ "required on two cards, which share evenly", "xR...... R....... ........", 4,
	  .after = ".##..... ##...... ........", .is_split = true },
	{ "required: no room on its card", "xxxxxxR. ........", 4, .after = "......## ##......",
	  .is_split = true },
	{
		"required: the normal form around it",
		"........ ........ R.......",
		9,
		.after = "#####... ........ ####....",
	},
	{ "required: three of them want the larger part", "........ RRRRRR..", 11,
	  .after = "#####... ######.." },
	{ "required on a card that is not healthy, nothing beside it", "!R... ....", 3,
	  .after = "#... ##..", .is_split = true },
	{ "required: more of them want the larger part than there are", "RRRR RRRR ....", 10,
	  .after = "#### #### ##..", .is_split = true },
	{ "all that is required", "RRR. ....", 3, .after = "###. ...." },
	{ "neighbours: the smallest hole", "....x..x ........", 2, .after = ".....##. ........",
	  .contiguous = true },
	{ "neighbours: the lowest of equal holes", "..x..x.. ........", 2,
	  .after = "##...... ........", .contiguous = true },
	{ "neighbours: a card without such a hole does not fit", "..x..x.x ........", 3,
	  .after = "........ ###.....", .contiguous = true },
	{ "neighbours: the least free card that has the hole", "x....... xx.x.... ........", 4,
	  .after = "........ ....#### ........", .contiguous = true },
	{ "neighbours: one hole of each card", "..x.. ..x..", 4, .after = "##... ##...",
	  .contiguous = true, .is_split = true },
	{ "neighbours: around what is required", "...R.... ........", 3,
	  .after = ".###.... ........", .contiguous = true },
	{ "neighbours: in the hole of what is required", "..xR...x ........", 2,
	  .after = "...##... ........", .contiguous = true },
};

START_TEST(place_gives)
{
	const struct place_case *c = &place_cases[_i];
	struct fixture f = { 0 };
	char got[256];

	fixture_draw(&f, c->before, c->contiguous);
	hamidp_request_set_units(f.req, c->units);
	hamidp_request_set_numa_node(f.req, c->numa_node ? c->numa_node : -1);
	ck_assert_int_eq(hamidp_request_set_split(f.req, HAMIDP_SPLIT_ALLOW), 0);
	ck_assert_msg(hamidp_place(f.layout, f.occ, f.req, f.decision, f.reason) == 0, "%s: %s",
		      c->what, hamidp_reason_text(f.reason));
	fixture_show(&f, got, sizeof(got));
	ck_assert_msg(strcmp(got, c->after) == 0, "%s: %s, not %s", c->what, got, c->after);
	ck_assert_msg(hamidp_decision_is_split(f.decision) == c->is_split, "%s: split", c->what);
	ck_assert_int_eq(hamidp_reason_code(f.reason), HAMIDP_REASON_NONE);
	ck_assert_ptr_eq(hamidp_decision_layout(f.decision), f.layout);
	fixture_done(&f);
}
END_TEST

struct refuse_case {
	const char *what;
	const char *before;
	uint32_t units; /* or: */
	uint32_t n_devices, units_each;
	int err;
	enum hamidp_reason_code code;
	uint32_t largest;
	bool contiguous;
	int32_t numa_node; /* 0: any */
};

static const struct refuse_case refuse_cases[] = {
	{ "nothing asked for", "....", 0, 0, 0, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT, .largest = 0 },
	{ "no devices asked for", "....", 0, 0, 3, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
	  .largest = 0 },
	{ "nothing on each device", "....", 0, 3, 0, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
	  .largest = 0 },
	{ "more than there is", ".... ....", 9, 0, 0, -EINVAL, HAMIDP_REASON_TOO_LARGE,
	  .largest = 0 },
	{ "more than the first resource has", ".... &....", 5, 0, 0, -EINVAL,
	  HAMIDP_REASON_TOO_LARGE, .largest = 0 },
	{ "more devices than there are", ".... ....", 0, 3, 1, -EINVAL, HAMIDP_REASON_TOO_LARGE,
	  .largest = 0 },
	{ "more on each than a device has", ".... ....", 0, 1, 5, -EINVAL, HAMIDP_REASON_TOO_LARGE,
	  .largest = 0 },
	{ "a product that does not fit 32 bits", "....", 0, 65536, 65536, -EINVAL,
	  HAMIDP_REASON_TOO_LARGE, .largest = 0 },
	{ "fewer free than asked for", "xxx. xx..", 4, 0, 0, -ENOSPC, HAMIDP_REASON_NO_ROOM,
	  .largest = 2 },
	{ "nothing free", "xxxx xxxx", 1, 0, 0, -ENOSPC, HAMIDP_REASON_NO_ROOM, .largest = 0 },
	{ "one normal form on two cards is the largest", "...x ..xx xxxx", 6, 0, 0, -ENOSPC,
	  HAMIDP_REASON_NO_ROOM, .largest = 5 },
	{ "two cards with one free each are no normal form", "xxx. xxx.", 3, 0, 0, -ENOSPC,
	  HAMIDP_REASON_NO_ROOM, .largest = 1 },
	{ "not healthy is not free", "!.... xx..", 3, 0, 0, -ENOSPC, HAMIDP_REASON_NO_ROOM,
	  .largest = 2 },
	{ "nothing on this NUMA node", "@0.... @1xxxx", 1, 0, 0, -ENOSPC, HAMIDP_REASON_NO_ROOM,
	  .largest = 0, .numa_node = 1 },
	{ "devices: enough slots, too few cards", ".... x... xxx.", 0, 3, 2, -ENOSPC,
	  HAMIDP_REASON_FRAGMENTED, .largest = 3 },
	{ "devices: too few slots", "x... xxxx xxx.", 0, 2, 3, -ENOSPC, HAMIDP_REASON_NO_ROOM,
	  .largest = 2 },
	{ "neighbours: enough slots, too small holes", ".x.x .x.x", 3, 0, 0, -ENOSPC,
	  HAMIDP_REASON_FRAGMENTED, .largest = 1, .contiguous = true },
	{ "neighbours: what is required lies apart", "R.xR ....", 3, 0, 0, -ENOSPC,
	  HAMIDP_REASON_FRAGMENTED, .largest = 0, .contiguous = true },
	{ "more required than asked for", "RRR.", 2, 0, 0, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
	  .largest = 0 },
	{ "required of another resource", ".... &R...", 2, 0, 0, -EINVAL,
	  HAMIDP_REASON_FOREIGN_SLOT, .largest = 0 },
	{ "required of another NUMA node", "@0R... @1....", 2, 0, 0, -EINVAL,
	  HAMIDP_REASON_BAD_ARGUMENT, .largest = 0, .numa_node = 1 },
	{ "devices: required on more of them", "R... R...", 0, 1, 2, -EINVAL,
	  HAMIDP_REASON_BAD_ARGUMENT, .largest = 0 },
	{ "devices: more required on one", "RR.. ....", 0, 2, 1, -EINVAL,
	  HAMIDP_REASON_BAD_ARGUMENT, .largest = 0 },
	{ "no such NUMA node number", "....", 1, 0, 0, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
	  .largest = 0, .numa_node = -2 },
};

START_TEST(place_refuses)
{
	const struct refuse_case *c = &refuse_cases[_i];
	struct fixture f = { 0 };
	int r;

	fixture_draw(&f, c->before, c->contiguous);
	if (c->n_devices || c->units_each)
		hamidp_request_set_devices(f.req, c->n_devices, c->units_each);
	else
		hamidp_request_set_units(f.req, c->units);
	hamidp_request_set_numa_node(f.req, c->numa_node ? c->numa_node : -1);
	r = hamidp_place(f.layout, f.occ, f.req, f.decision, f.reason);
	ck_assert_msg(r == c->err, "%s: %d", c->what, r);
	ck_assert_msg(hamidp_reason_code(f.reason) == c->code, "%s: %s", c->what,
		      hamidp_reason_text(f.reason));
	ck_assert_msg(hamidp_reason_largest(f.reason) == c->largest, "%s: %" PRIu32, c->what,
		      hamidp_reason_largest(f.reason));
	ck_assert_msg(hamidp_reason_text(f.reason)[0] != '\0', "%s: no text", c->what);
	ck_assert_uint_eq(hamidp_decision_n_slots(f.decision), 0);
	ck_assert_ptr_null(hamidp_decision_layout(f.decision));
	fixture_done(&f);
}
END_TEST

/* 5, 3, 4 and 4 on two cards of 8: each in one piece, and then the machine is full. */
START_TEST(golden_sequence_is_admitted)
{
	static const struct {
		uint32_t units;
		const char *after;
	} steps[] = { { 5, "#####... ........" },
		      { 3, ".....### ........" },
		      { 4, "........ ####...." },
		      { 4, "........ ....####" } };
	struct fixture f = { 0 };
	char got[64];

	fixture_draw(&f, "........ ........", false);
	for (size_t i = 0; i < 4; i++) {
		char holder[] = { 'a', (char)('0' + i), '\0' };

		hamidp_request_set_units(f.req, steps[i].units);
		ck_assert_int_eq(hamidp_place(f.layout, f.occ, f.req, f.decision, f.reason), 0);
		fixture_show(&f, got, sizeof(got));
		ck_assert_str_eq(got, steps[i].after);
		ck_assert(!hamidp_decision_is_split(f.decision));
		ck_assert_int_eq(hamidp_occupancy_apply(f.occ, f.decision, holder, f.reason), 0);
	}
	ck_assert_uint_eq(hamidp_occupancy_n_free(f.occ, 0), 0);
	ck_assert_uint_eq(hamidp_occupancy_n_free(f.occ, 1), 0);
	fixture_done(&f);
}
END_TEST

START_TEST(devices_are_distinct_and_tight)
{
	struct fixture f = { 0 };
	char got[64];

	fixture_draw(&f, "........ xxxx.... xxxxxx.. .......x", false);
	hamidp_request_set_devices(f.req, 3, 2);
	ck_assert_int_eq(hamidp_place(f.layout, f.occ, f.req, f.decision, f.reason), 0);
	fixture_show(&f, got, sizeof(got));
	ck_assert_str_eq(got, "........ ....##.. ......## ##......");
	ck_assert_uint_eq(hamidp_decision_n_devices(f.decision), 3);
	ck_assert(!hamidp_decision_is_split(f.decision));
	fixture_done(&f);
}
END_TEST

/* What is available replaces the occupancy, but not the health. */
START_TEST(available_slots_are_all_there_is)
{
	struct fixture f = { 0 };
	char got[64];

	fixture_draw(&f, "xxxx .... !....", false);
	for (size_t i = 12; i-- > 0;)
		if (i % 4 < 3 && i / 4 != 1)
			ck_assert_int_eq(hamidp_request_add_available(f.req, i), 0);
	hamidp_request_set_units(f.req, 2);
	ck_assert_int_eq(hamidp_place(f.layout, f.occ, f.req, f.decision, f.reason), 0);
	fixture_show(&f, got, sizeof(got));
	ck_assert_str_eq(got, "##.. .... ....");
	hamidp_request_set_units(f.req, 4);
	ck_assert_int_eq(hamidp_place(f.layout, f.occ, f.req, f.decision, f.reason), -ENOSPC);
	ck_assert_uint_eq(hamidp_reason_largest(f.reason), 3);
	ck_assert_uint_eq(hamidp_decision_n_slots(f.decision), 2); /* unchanged */
	fixture_done(&f);
}
END_TEST

START_TEST(slot_numbers_outside_are_refused)
{
	static const size_t outside[] = { 8, 63, 64, 1U << 20, SIZE_MAX };
	struct fixture f = { 0 };

	fixture_draw(&f, ".... ....", false);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(outside); i++) {
		hamidp_request_reset(f.req);
		hamidp_request_set_units(f.req, 1);
		if (i % 2)
			ck_assert_int_eq(hamidp_request_add_available(f.req, outside[i / 2]), 0);
		else
			ck_assert_int_eq(hamidp_request_add_required(f.req, outside[i / 2]), 0);
		ck_assert_int_eq(hamidp_place(f.layout, f.occ, f.req, f.decision, f.reason),
				 -EINVAL);
		ck_assert_int_eq(hamidp_reason_code(f.reason), HAMIDP_REASON_UNKNOWN_SLOT);
	}
	hamidp_request_reset(f.req);
	hamidp_request_set_units(f.req, 1);
	ck_assert_int_eq(hamidp_place(f.layout, f.occ, f.req, f.decision, f.reason), 0);
	fixture_done(&f);
}
END_TEST

START_TEST(another_layout_or_resource_is_refused)
{
	struct fixture f = { 0 }, g = { 0 };

	fixture_draw(&f, "....", false);
	fixture_draw(&g, "....", false);
	hamidp_request_set_units(f.req, 1);
	ck_assert_int_eq(hamidp_place(f.layout, g.occ, f.req, f.decision, f.reason), -EINVAL);
	ck_assert_int_eq(hamidp_reason_code(f.reason), HAMIDP_REASON_BAD_ARGUMENT);
	hamidp_request_set_resource(f.req, 1);
	ck_assert_int_eq(hamidp_place(f.layout, f.occ, f.req, f.decision, f.reason), -EINVAL);
	ck_assert_int_eq(hamidp_reason_code(f.reason), HAMIDP_REASON_UNKNOWN_RESOURCE);
	fixture_done(&f);
	fixture_done(&g);
}
END_TEST

START_TEST(second_resource_has_its_own_cards)
{
	struct fixture f = { 0 };
	char got[64];

	fixture_draw(&f, ".... &........ ....", false);
	hamidp_request_set_resource(f.req, 1);
	hamidp_request_set_units(f.req, 3);
	ck_assert_int_eq(hamidp_place(f.layout, f.occ, f.req, f.decision, f.reason), 0);
	fixture_show(&f, got, sizeof(got));
	ck_assert_str_eq(got, ".... ###..... ....");
	ck_assert_uint_eq(hamidp_decision_resource(f.decision), 1);
	fixture_done(&f);
}
END_TEST

/* The bounds of a layout: 512 devices of 1024 slots, all of them in one request. */
START_TEST(largest_machine_is_placed)
{
	const size_t n = (size_t)512 * 1024;
	struct fixture *f = calloc(1, sizeof(*f));

	ck_assert_ptr_nonnull(f);
	f->n_cards = 512;
	for (size_t i = 0; i < f->n_cards; i++) {
		f->cards[i] = (struct fixture_card){ .healthy = true, .numa_node = -1 };
		memset(f->cards[i].slots, '.', 1024);
	}
	fixture_make(f, false);
	hamidp_request_set_units(f->req, (uint32_t)n);
	ck_assert_int_eq(hamidp_place(f->layout, f->occ, f->req, f->decision, f->reason), 0);
	ck_assert_uint_eq(hamidp_decision_n_slots(f->decision), n);
	ck_assert_uint_eq(hamidp_decision_slot(f->decision, n - 1), n - 1);
	ck_assert_uint_eq(hamidp_decision_n_devices(f->decision), 512);
	ck_assert(!hamidp_decision_is_split(f->decision));

	ck_assert_int_eq(hamidp_occupancy_apply(f->occ, f->decision, "all", f->reason), 0);
	hamidp_request_set_units(f->req, 1);
	ck_assert_int_eq(hamidp_place(f->layout, f->occ, f->req, f->decision, f->reason), -ENOSPC);
	fixture_done(f);
	free(f);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("place");
	TCase *tcase = tcase_create("examples");

	tcase_add_loop_test(tcase, place_gives, 0, ARRAY_SIZE(place_cases));
	tcase_add_loop_test(tcase, place_refuses, 0, ARRAY_SIZE(refuse_cases));
	tcase_add_test(tcase, golden_sequence_is_admitted);
	tcase_add_test(tcase, devices_are_distinct_and_tight);
	tcase_add_test(tcase, available_slots_are_all_there_is);
	tcase_add_test(tcase, slot_numbers_outside_are_refused);
	tcase_add_test(tcase, another_layout_or_resource_is_refused);
	tcase_add_test(tcase, second_resource_has_its_own_cards);
	tcase_add_test(tcase, largest_machine_is_placed);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
