/* SPDX-License-Identifier: Apache-2.0 */

/* Decisions from slot ids: what is accepted, and which fault is told. */

#include <errno.h>

#include "fixture.h"
#include "suite.h"

#define MACHINE "xx...... ........ !.... &...."

struct decide_case {
	const char *what;
	const char *ids[6];
	size_t n_ids;
	size_t resource;
	int err;
	enum hamidp_reason_code code;
	const char *text; /* part of the reason */
};

static const struct decide_case refused[] = {
	{ "none", { NULL }, 0, 0, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT, "no slot" },
	{ "NULL among them",
	  { "GPU-000::1", NULL },
	  2,
	  0,
	  -EINVAL,
	  HAMIDP_REASON_BAD_ARGUMENT,
	  "2 of 2" },
	{ "no such resource",
	  { "GPU-000::1" },
	  1,
	  2,
	  -EINVAL,
	  HAMIDP_REASON_UNKNOWN_RESOURCE,
	  "number 2" },
	{ "more than there are, before anything else",
	  { "?", "?", "?", "?", "?" },
	  5,
	  1,
	  -EINVAL,
	  HAMIDP_REASON_TOO_LARGE,
	  "it has 4" },
	{ "unknown",
	  { "GPU-000::1", "GPU-999::0" },
	  2,
	  0,
	  -ENOENT,
	  HAMIDP_REASON_UNKNOWN_SLOT,
	  "'GPU-999::0'" },
	{ "past the end of its device",
	  { "GPU-000::8" },
	  1,
	  0,
	  -ENOENT,
	  HAMIDP_REASON_UNKNOWN_SLOT,
	  "'GPU-000::8'" },
	{ "another spelling of a number",
	  { "GPU-000::01" },
	  1,
	  0,
	  -ENOENT,
	  HAMIDP_REASON_UNKNOWN_SLOT,
	  "'GPU-000::01'" },
	{ "empty", { "" }, 1, 0, -ENOENT, HAMIDP_REASON_UNKNOWN_SLOT, "''" },
	{ "of another resource",
	  { "GPU-003::0" },
	  1,
	  0,
	  -ENOENT,
	  HAMIDP_REASON_FOREIGN_SLOT,
	  "'GPU-003::0' does not belong to hami.com/vgpu" },
	{ "twice",
	  { "GPU-001::3", "GPU-001::2", "GPU-001::3" },
	  3,
	  0,
	  -EINVAL,
	  HAMIDP_REASON_DUPLICATE_SLOT,
	  "'GPU-001::3'" },
	{ "not healthy",
	  { "GPU-002::1", "GPU-001::2" },
	  2,
	  0,
	  -EAGAIN,
	  HAMIDP_REASON_NOT_HEALTHY,
	  "'GPU-002::1': device GPU-002 is unhealthy: fell off the bus" },
	{ "unknown goes before foreign",
	  { "GPU-003::0", "nosuch" },
	  2,
	  0,
	  -ENOENT,
	  HAMIDP_REASON_UNKNOWN_SLOT,
	  "'nosuch'" },
	{ "foreign goes before duplicate",
	  { "GPU-001::0", "GPU-001::0", "GPU-003::0" },
	  3,
	  0,
	  -ENOENT,
	  HAMIDP_REASON_FOREIGN_SLOT,
	  "'GPU-003::0'" },
	{ "duplicate goes before health",
	  { "GPU-002::0", "GPU-001::0", "GPU-001::0" },
	  3,
	  0,
	  -EINVAL,
	  HAMIDP_REASON_DUPLICATE_SLOT,
	  "'GPU-001::0'" },
	{ "control characters are not passed on",
	  { "a\nb\x1b[2J" },
	  1,
	  0,
	  -ENOENT,
	  HAMIDP_REASON_UNKNOWN_SLOT,
	  "'a?b?[2J'" },
};

START_TEST(wrong_ids_are_named)
{
	const struct decide_case *c = &refused[_i];
	static const char *const good[] = { "GPU-001::7" };
	struct fixture f = { 0 };
	int r;

	fixture_draw(&f, MACHINE, false);
	ck_assert_int_eq(hamidp_decide_ids(f.layout, 0, good, 1, f.decision, f.reason), 0);
	ck_assert_int_eq(hamidp_reason_code(f.reason), HAMIDP_REASON_NONE);

	r = hamidp_decide_ids(f.layout, c->resource, c->ids, c->n_ids, f.decision, f.reason);
	ck_assert_msg(r == c->err, "%s: %d", c->what, r);
	ck_assert_msg(hamidp_reason_code(f.reason) == c->code, "%s: code", c->what);
	ck_assert_msg(strstr(hamidp_reason_text(f.reason), c->text) != NULL, "%s: %s", c->what,
		      hamidp_reason_text(f.reason));
	/* The decision is the one before, whatever was tried. */
	ck_assert_uint_eq(hamidp_decision_n_slots(f.decision), 1);
	ck_assert_uint_eq(hamidp_decision_slot(f.decision, 0), 15);
	fixture_done(&f);
}
END_TEST

START_TEST(long_ids_are_cut_in_the_reason)
{
	char id[5000];
	const char *ids[] = { id };
	struct fixture f = { 0 };

	memset(id, 'a', sizeof(id) - 1);
	id[sizeof(id) - 1] = '\0';
	fixture_draw(&f, MACHINE, false);
	ck_assert_int_eq(hamidp_decide_ids(f.layout, 0, ids, 1, f.decision, f.reason), -ENOENT);
	ck_assert_uint_le(strlen(hamidp_reason_text(f.reason)), 160);
	ck_assert_ptr_null(hamidp_decision_layout(f.decision));
	fixture_done(&f);
}
END_TEST

static const struct {
	const char *what;
	const char *ids[9];
	size_t n_ids;
	const char *after;
	bool is_split;
} accepted[] = {
	{ "one", { "GPU-001::7" }, 1, "........ .......# .... ....", false },
	{ "held ones, in any order",
	  { "GPU-000::2", "GPU-000::0", "GPU-000::1" },
	  3,
	  "###..... ........ .... ....",
	  false },
	{ "two cards for what fits on one",
	  { "GPU-001::0", "GPU-000::0" },
	  2,
	  "#....... #....... .... ....",
	  true },
	{ "more than a card, uneven",
	  { "GPU-001::0", "GPU-000::0", "GPU-000::1", "GPU-000::2", "GPU-000::3", "GPU-000::4",
	    "GPU-000::5", "GPU-000::6", "GPU-001::1" },
	  9,
	  "#######. ##...... .... ....",
	  true },
	{ "more than a card, even",
	  { "GPU-001::0", "GPU-000::0", "GPU-000::1", "GPU-000::2", "GPU-000::3", "GPU-001::4",
	    "GPU-001::5", "GPU-001::6", "GPU-001::1" },
	  9,
	  "####.... ##..###. .... ....",
	  false },
};

START_TEST(good_ids_are_granted_exactly)
{
	struct fixture f = { 0 };
	char got[64];

	fixture_draw(&f, MACHINE, false);
	ck_assert_int_eq(hamidp_decide_ids(f.layout, 0, accepted[_i].ids, accepted[_i].n_ids,
					   f.decision, f.reason),
			 0);
	fixture_show(&f, got, sizeof(got));
	ck_assert_msg(strcmp(got, accepted[_i].after) == 0, "%s: %s", accepted[_i].what, got);
	ck_assert_int_eq(hamidp_decision_is_split(f.decision), accepted[_i].is_split);
	fixture_done(&f);
}
END_TEST

/* A reused decision has no trace of the one before, also when the layout is another. */
START_TEST(decisions_are_reused)
{
	static const char *const many[] = { "GPU-001::1", "GPU-000::3", "GPU-001::0" };
	static const char *const one[] = { "GPU-000::2" };
	struct fixture f = { 0 }, g = { 0 };

	fixture_draw(&f, MACHINE, false);
	fixture_draw(&g, "...", false);
	ck_assert_int_eq(hamidp_decide_ids(f.layout, 0, many, 3, f.decision, NULL), 0);
	ck_assert_uint_eq(hamidp_decision_n_devices(f.decision), 2);
	ck_assert_int_eq(hamidp_decide_ids(g.layout, 0, one, 1, f.decision, NULL), 0);
	ck_assert_ptr_eq(hamidp_decision_layout(f.decision), g.layout);
	ck_assert_uint_eq(hamidp_decision_n_slots(f.decision), 1);
	ck_assert_uint_eq(hamidp_decision_slot(f.decision, 0), 2);
	ck_assert_uint_eq(hamidp_decision_n_devices(f.decision), 1);
	fixture_done(&g); /* the decision keeps the layout */
	ck_assert_str_eq(hamidp_layout_slot_id(hamidp_decision_layout(f.decision), 2),
			 "GPU-000::2");
	fixture_done(&f);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("decide");
	TCase *tcase = tcase_create("ids");

	tcase_add_loop_test(tcase, wrong_ids_are_named, 0, ARRAY_SIZE(refused));
	tcase_add_test(tcase, long_ids_are_cut_in_the_reason);
	tcase_add_loop_test(tcase, good_ids_are_granted_exactly, 0, ARRAY_SIZE(accepted));
	tcase_add_test(tcase, decisions_are_reused);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
