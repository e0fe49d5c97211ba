/* SPDX-License-Identifier: Apache-2.0 */

/* Compaction plans on drawn nodes: which moves, in what order, who stays and what is said. */

#include <errno.h>

#include "plan-fixture.h"
#include "suite.h"

/* "a:0>1 b:2>0" */
static void show_moves(const struct hamidp_plan *plan, char *ret, size_t size)
{
	size_t at = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < hamidp_plan_n_moves(plan); i++)
		at += (size_t)snprintf(ret + at, size - at, "%s%s:%zu>%zu", i ? " " : "",
				       hamidp_plan_move_holder(plan, i),
				       hamidp_plan_move_from(plan, i),
				       hamidp_plan_move_to(plan, i));
}

static const struct {
	const char *node;	   /* '+' in front: slots must be neighbours */
	uint32_t n_devices, units; /* n_devices 0: units in their best form */
	const char *moves;	   /* NULL: no plan */
	uint32_t before, after;	   /* largest */
} cases[] = {
	/* Nothing has to move. */
	{ "aaa..... bb......", 0, 6, "", 11, 11 },
	/* One move: the smallest grant that suffices, to the tightest card. */
	{ "aab..... cccccc.. dddd....", 0, 6, "b:0>1", 9, 9 },
	{ "abbb.... ccc..... dddd....", 0, 7, "b:0>2", 9, 11 },
	{ "aaabb... ccc..... dddddd..", 0, 5, "", 5, 5 },
	{ "aaabb... cccccc.. ddddddd.", 0, 5, "b:0>1", 3, 5 },
	{ "xxxxx... abccccc. ddd..... xxxxxx..", 0, 6, "d:2>0", 5, 8 },
	/* Two moves off one card. */
	{ "aabbxx.. cccccc.. ddddd...", 0, 6, "a:0>1 b:0>2", 3, 6 },
	/* One moves so that the other finds room; neither alone would do. */
	{ "aaaaa... bbcccx.. dddddx..", 0, 8, NULL, 3, 3 },
	{ "aaaa.... bbccc... dddddd..", 0, 8, "b:1>2 c:1>0", 4, 8 },
	/* No room for one of two that would have to change places. */
	{ "aaaaa bbbb.", 0, 5, NULL, 1, 1 },
	/* Several cards: each needs its room. */
	{ "aaa..... bb...... cccccc.. ddddd...", 0, 16, "a:0>3 b:1>2", 11, 16 },
	{ "a....... b....... xxxxxx..", 0, 16, "a:0>2 b:1>2", 14, 16 },
	{ "a....... b....... xxxxxx..", 2, 8, "a:0>2 b:1>2", 14, 16 },
	{ "a....... b....... xxxxxx..", 2, 7, "", 14, 14 },
	{ "a....... b....... xxxxxx..", 0, 15, "a:0>2", 14, 15 },
	/* More than two moves. */
	{ "abcd xx.. xxx. xxx.", 0, 4, "d:0>2 c:0>3 b:0>1 a:0>1", 2, 4 },
	{ "aabc xx.. xxx. xxx.", 0, 4, "a:0>1 c:0>2 b:0>3", 2, 4 },
	/* What is not healthy neither takes nor gives; other resources are others'. */
	{ "aaa..... !........ ccccc...", 0, 8, "a:0>2", 5, 8 },
	{ "aaaa.... !........ ccccc...", 0, 8, NULL, 4, 4 },
	{ "aaaa.... &........ ccccc...", 0, 8, NULL, 4, 4 },
	{ "!a....... xxx.....", 0, 8, NULL, 5, 5 },
	/* Cards of other sizes. */
	{ "aa.. ........", 0, 8, "", 8, 8 },
	{ "a.bb.... ....", 0, 8, "a:0>1 b:0>1", 9, 8 },
	/* Neighbours: free slots count where they lie together. */
	{ "+..a..... bbbbbbbb", 0, 7, NULL, 5, 5 },
	{ "+..a..... bbbbbbb.", 0, 8, "a:0>1", 5, 8 },
	{ "+.ab....b xxxxx...", 0, 5, "b:0>1", 4, 6 },
	{ "+xa...b.. xxxxx.x.", 0, 6, "b:0>1", 3, 6 },
	{ "+xaa..b.. xxxxxx.. xxxxxxx.", 0, 7, "b:0>2 a:0>1", 2, 7 },
};

START_TEST(the_plan_is_as_drawn)
{
	struct plan_fixture *p = calloc(1, sizeof(*p));
	bool contiguous = cases[_i].node[0] == '+';
	char moves[256];
	int r;

	ck_assert_ptr_nonnull(p);
	plan_draw(p, cases[_i].node + contiguous, contiguous);
	if (cases[_i].n_devices > 0)
		hamidp_request_set_devices(p->f.req, cases[_i].n_devices, cases[_i].units);
	else
		hamidp_request_set_units(p->f.req, cases[_i].units);
	r = plan_it(p);
	show_moves(p->plan, moves, sizeof(moves));
	ck_assert_msg(r == (cases[_i].moves ? 0 : -ENOSPC), "%s: %d, %s", cases[_i].node, r, moves);
	ck_assert_msg(strcmp(moves, cases[_i].moves ? cases[_i].moves : "") == 0, "%s: %s",
		      cases[_i].node, moves);
	ck_assert_uint_eq(hamidp_plan_largest_before(p->plan), cases[_i].before);
	ck_assert_uint_eq(hamidp_plan_largest_after(p->plan), cases[_i].after);
	ck_assert_uint_eq(hamidp_reason_largest(p->f.reason), r < 0 ? cases[_i].before : 0);
	if (r == 0)
		replay(p);
	plan_done(p);
	free(p);
}
END_TEST

/* Only the request keeps to the NUMA node; who moves may leave it. */
START_TEST(a_numa_node_binds_the_request_only)
{
	struct plan_fixture *p = calloc(1, sizeof(*p));
	char moves[64];

	ck_assert_ptr_nonnull(p);
	plan_draw(p, "@0aa.. @1b... @1cc..", false);
	hamidp_request_set_units(p->f.req, 4);
	hamidp_request_set_numa_node(p->f.req, 0);
	ck_assert_int_eq(plan_it(p), 0);
	show_moves(p->plan, moves, sizeof(moves));
	ck_assert_str_eq(moves, "a:0>2");
	ck_assert_uint_eq(hamidp_plan_n_targets(p->plan), 1);
	ck_assert_uint_eq(hamidp_plan_target(p->plan, 0), 0);
	ck_assert_uint_eq(hamidp_plan_largest_before(p->plan), 2);
	replay(p);
	plan_done(p);
	free(p);
}
END_TEST

/* Under "spread" any even spread is a form, so that four single slots need no move. */
START_TEST(a_spread_needs_no_move_if_any_fits)
{
	struct plan_fixture *p = calloc(1, sizeof(*p));

	ck_assert_ptr_nonnull(p);
	plan_draw(p, "aaa. bbb. ccc. ddd.", false);
	hamidp_request_set_units(p->f.req, 4);
	ck_assert_int_eq(hamidp_request_set_placement(p->f.req, HAMIDP_PLACEMENT_SPREAD), 0);
	ck_assert_int_eq(plan_it(p), 0);
	ck_assert_uint_eq(hamidp_plan_n_moves(p->plan), 0);
	ck_assert_uint_eq(hamidp_plan_n_targets(p->plan), 4);
	ck_assert_uint_eq(hamidp_plan_largest_before(p->plan), 4);
	ck_assert_int_eq(hamidp_request_set_placement(p->f.req, HAMIDP_PLACEMENT_PACK), 0);
	ck_assert_int_eq(plan_it(p), -ENOSPC);
	ck_assert_uint_eq(hamidp_plan_largest_before(p->plan), 1);
	plan_done(p);
	free(p);
}
END_TEST

START_TEST(who_stays_is_told_with_the_reason)
{
	static const struct {
		const char *holder;
		enum hamidp_pin why;
	} want[] = {
		{ "a", HAMIDP_PIN_ASKED },
		{ "someone", HAMIDP_PIN_SEVERAL_DEVICES },
		{ "d", HAMIDP_PIN_NOT_HEALTHY },
	};
	struct plan_fixture *p = calloc(1, sizeof(*p));

	ck_assert_ptr_nonnull(p);
	plan_draw(p, "aaxx bbcx !dd.. &ee..", false);
	ck_assert_int_eq(hamidp_plan_pin(p->plan, "a"), 0);
	ck_assert_int_eq(hamidp_plan_pin(p->plan, "nobody"), 0);
	hamidp_request_set_units(p->f.req, 4);
	ck_assert_int_eq(plan_it(p), -ENOSPC);
	ck_assert_uint_eq(hamidp_plan_n_pinned(p->plan), ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		ck_assert_str_eq(hamidp_plan_pinned_holder(p->plan, i), want[i].holder);
		ck_assert_int_eq(hamidp_plan_pinned_why(p->plan, i), want[i].why);
	}
	ck_assert_ptr_null(hamidp_plan_pinned_holder(p->plan, ARRAY_SIZE(want)));
	plan_done(p);
	free(p);
}
END_TEST

START_TEST(a_pin_holds_until_reset)
{
	struct plan_fixture *p = calloc(1, sizeof(*p));
	char moves[64];

	ck_assert_ptr_nonnull(p);
	plan_draw(p, "a... xxx. xx..", false);
	hamidp_request_set_units(p->f.req, 4);
	ck_assert_int_eq(hamidp_plan_pin(p->plan, "a"), 0);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(plan_it(p), -ENOSPC);
		ck_assert_uint_eq(hamidp_plan_n_moves(p->plan), 0);
	}
	hamidp_plan_reset(p->plan);
	ck_assert_int_eq(plan_it(p), 0);
	show_moves(p->plan, moves, sizeof(moves));
	ck_assert_str_eq(moves, "a:0>1");
	ck_assert_int_eq(hamidp_plan_pin(p->plan, ""), -EINVAL);
	plan_done(p);
	free(p);
}
END_TEST

static void zero_units(struct plan_fixture *p)
{
	hamidp_request_set_units(p->f.req, 0);
}

static void unknown_resource(struct plan_fixture *p)
{
	hamidp_request_set_resource(p->f.req, 1);
}

static void bad_numa_node(struct plan_fixture *p)
{
	hamidp_request_set_numa_node(p->f.req, -2);
}

static void available(struct plan_fixture *p)
{
	ck_assert_int_eq(hamidp_request_add_available(p->f.req, 0), 0);
}

static void required(struct plan_fixture *p)
{
	ck_assert_int_eq(hamidp_request_add_required(p->f.req, 0), 0);
}

static void too_large(struct plan_fixture *p)
{
	hamidp_request_set_devices(p->f.req, 3, UINT32_MAX);
}

static void too_large_each(struct plan_fixture *p)
{
	hamidp_request_set_devices(p->f.req, 1, 5);
}

static void amounts(struct plan_fixture *p)
{
	hamidp_request_set_amounts(p->f.req, 1, 500000, 0);
}

static const struct {
	void (*spoil)(struct plan_fixture *p);
	enum hamidp_reason_code code;
} wrong[] = {
	{ zero_units, HAMIDP_REASON_BAD_ARGUMENT },
	{ unknown_resource, HAMIDP_REASON_UNKNOWN_RESOURCE },
	{ bad_numa_node, HAMIDP_REASON_BAD_ARGUMENT },
	{ available, HAMIDP_REASON_BAD_ARGUMENT },
	{ required, HAMIDP_REASON_BAD_ARGUMENT },
	{ too_large, HAMIDP_REASON_TOO_LARGE },
	{ too_large_each, HAMIDP_REASON_TOO_LARGE },
	{ amounts, HAMIDP_REASON_BAD_ARGUMENT },
};

/* And what was planned before is gone. */
START_TEST(a_request_that_makes_no_sense_is_refused)
{
	struct plan_fixture *p = calloc(1, sizeof(*p));
	char *text = NULL;

	ck_assert_ptr_nonnull(p);
	plan_draw(p, "a... xxx.", false);
	hamidp_request_set_units(p->f.req, 4);
	ck_assert_int_eq(hamidp_plan_to_text(p->plan, NULL, NULL, &text, NULL), -EINVAL);
	ck_assert_int_eq(plan_it(p), 0);
	ck_assert_uint_eq(hamidp_plan_n_moves(p->plan), 1);

	wrong[_i].spoil(p);
	ck_assert_int_eq(plan_it(p), -EINVAL);
	ck_assert_int_eq(hamidp_reason_code(p->f.reason), wrong[_i].code);
	ck_assert_uint_eq(hamidp_plan_n_moves(p->plan), 0);
	ck_assert_int_eq(hamidp_plan_to_text(p->plan, NULL, NULL, &text, NULL), -EINVAL);
	plan_done(p);
	free(p);
}
END_TEST

static const char *label(const char *holder, void *userdata)
{
	(void)userdata;
	switch (*holder) {
	case 'a':
		return "default/trainer-0";
	case 'b':
		return "team-a/web.1-x";
	case 'c':
		return "default/x; rm -rf .";
	case 'd':
		return "default/trainer-0"; /* a second container of a's pod */
	case 'e':
		return "/pod";
	case 'f':
		return "-n/pod";
	default:
		return NULL;
	}
}

static const struct {
	const char *node;
	uint32_t units;
	const char *text;
} texts[] = {
	{ "aabbb... xxxxxx.. xxxxx...", 8,
	  "# 8 slots of hami.com/vgpu: 2 moves make room, one after the other; the largest such "
	  "request has 3 slots now and 8 then\n"
	  "kubectl delete pod -n default trainer-0   # frees 2 slots of GPU-000; fits on GPU-001 "
	  "afterwards\n"
	  "kubectl delete pod -n team-a web.1-x   # frees 3 slots of GPU-000; fits on GPU-002 "
	  "afterwards\n"
	  "# stays: holder someone, it holds slots of several devices\n" },
	{ "c... xxx. xx..", 4,
	  "# 4 slots of hami.com/vgpu: 1 move makes room, one after the other; the largest such "
	  "request has 5 slots now and 5 then\n"
	  "# holder c: frees 1 slot of GPU-000; fits on GPU-001 afterwards\n"
	  "# stays: holder someone, it holds slots of several devices\n" },
	{ "a.d. xxx. xxx.", 4,
	  "# 4 slots of hami.com/vgpu: 2 moves make room, one after the other; the largest such "
	  "request has 2 slots now and 4 then\n"
	  "kubectl delete pod -n default trainer-0   # frees 1 slot of GPU-000; fits on GPU-001 "
	  "afterwards\n"
	  "# with pod default/trainer-0: frees 1 slot of GPU-000; fits on GPU-002 afterwards\n"
	  "# stays: holder someone, it holds slots of several devices\n" },
	{ "e.f. ghh. iii.", 4,
	  "# 4 slots of hami.com/vgpu: 2 moves make room, one after the other; the largest such "
	  "request has 2 slots now and 4 then\n"
	  "# holder e: frees 1 slot of GPU-000; fits on GPU-001 afterwards\n"
	  "# holder f: frees 1 slot of GPU-000; fits on GPU-002 afterwards\n" },
	{ "....", 1,
	  "# 1 slot of hami.com/vgpu: there is room without a move; the largest such request has 4 "
	  "slots\n" },
	{ "aa.. !bbb.", 4,
	  "# 4 slots of hami.com/vgpu: no moves were found that make room; the largest such request "
	  "has 2 slots\n"
	  "# stays: pod team-a/web.1-x, its device is not healthy\n" },
};

START_TEST(the_text_is_what_an_operator_would_type)
{
	struct plan_fixture *p = calloc(1, sizeof(*p));
	char *text = NULL;
	size_t len = 0;

	ck_assert_ptr_nonnull(p);
	plan_draw(p, texts[_i].node, false);
	hamidp_request_set_units(p->f.req, texts[_i].units);
	(void)plan_it(p);
	ck_assert_int_eq(hamidp_plan_to_text(p->plan, label, NULL, &text, &len), 0);
	ck_assert_str_eq(text, texts[_i].text);
	ck_assert_uint_eq(len, strlen(text));
	free(text);
	plan_done(p);
	free(p);
}
END_TEST

/* A holder's name is any text; in a shell it must stay behind its '#'. */
START_TEST(no_name_breaks_out_of_a_comment)
{
	struct plan_fixture *p = calloc(1, sizeof(*p));
	char *text = NULL;

	ck_assert_ptr_nonnull(p);
	plan_draw(p, ".... xxx.", false);
	ck_assert_int_eq(hamidp_occupancy_hold(p->f.occ, 0, "a\nreboot\r\x1b[2K"), 0);
	hamidp_request_set_devices(p->f.req, 1, 4);
	ck_assert_int_eq(plan_it(p), 0);
	ck_assert_int_eq(hamidp_plan_to_text(p->plan, NULL, NULL, &text, NULL), 0);
	ck_assert_ptr_nonnull(strstr(text, "# holder a?reboot??[2K: frees 1 slot of GPU-000"));
	ck_assert_ptr_nonnull(strstr(text, "# 1 device with 4 slots of hami.com/vgpu:"));
	ck_assert_ptr_null(strchr(text, '\r'));
	free(text);
	plan_done(p);
	free(p);
}
END_TEST

/* A plan is a value: nobody's later change reaches into it. */
START_TEST(a_plan_outlives_the_occupancy)
{
	struct plan_fixture *p = calloc(1, sizeof(*p));
	char *text = NULL;

	ck_assert_ptr_nonnull(p);
	plan_draw(p, "a... xxx.", false);
	hamidp_request_set_units(p->f.req, 4);
	ck_assert_int_eq(plan_it(p), 0);
	ck_assert_int_eq(hamidp_plan_is_minimal(p->plan), 1);
	p->f.occ = hamidp_occupancy_free(p->f.occ);
	p->f.layout = hamidp_layout_unref(p->f.layout);
	ck_assert_int_eq(hamidp_plan_to_text(p->plan, NULL, NULL, &text, NULL), 0);
	ck_assert_ptr_nonnull(strstr(text, "# holder a: frees 1 slot of GPU-000"));
	free(text);
	plan_done(p);
	free(p);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan");
	TCase *tcase = tcase_create("plan");

	tcase_add_loop_test(tcase, the_plan_is_as_drawn, 0, ARRAY_SIZE(cases));
	tcase_add_test(tcase, a_numa_node_binds_the_request_only);
	tcase_add_test(tcase, a_spread_needs_no_move_if_any_fits);
	tcase_add_test(tcase, who_stays_is_told_with_the_reason);
	tcase_add_test(tcase, a_pin_holds_until_reset);
	tcase_add_loop_test(tcase, a_request_that_makes_no_sense_is_refused, 0, ARRAY_SIZE(wrong));
	tcase_add_loop_test(tcase, the_text_is_what_an_operator_would_type, 0, ARRAY_SIZE(texts));
	tcase_add_test(tcase, no_name_breaks_out_of_a_comment);
	tcase_add_test(tcase, a_plan_outlives_the_occupancy);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
