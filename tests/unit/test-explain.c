/* SPDX-License-Identifier: Apache-2.0 */

/* Explanations say what the placement did, and policies do what they are called. */

#include <errno.h>
#include <jansson.h>

#include "fixture.h"
#include "suite.h"

struct explain_case {
	const char *what;
	const char *before;
	uint32_t units;
	const char *verdicts; /* one letter a card of the first resource */
	int32_t numa_node;    /* 0: any */
	int r;
};

/* C chosen, M more, E equal, R no room, H not healthy, N other node, Q not required, F no form */
static const struct explain_case cases[] = {
	{ "one of many", "........ xxxx.... xxxxxx.. !........ xxxxxxxx", 3, "MCRHR",
	  .numa_node = 0 },
	{ "equal ones", "........ xxx..... xxx.....", 5, "MCE", .numa_node = 0 },
	{ "two cards", "........ xx...... x....... xxxxx...", 12, "MCCR", .numa_node = 0 },
	{ "a NUMA node", "@0.... @1.... @1xxx.", 2, "NCR", .numa_node = 1 },
	{ "what is required", "R... xx..", 2, "CQ", .numa_node = 0 },
	{ "another resource", ".... &.... xx..", 1, "MC", .numa_node = 0 },
	{ "nothing fits", "xxx. xx..", 4, "RR", .numa_node = 0, .r = -ENOSPC },
	{ "too few fit", "........ xxxxxx..", 12, "FR", .numa_node = 0, .r = -ENOSPC },
};

static char letter(enum hamidp_verdict verdict)
{
	return (unsigned)verdict <= HAMIDP_VERDICT_NO_FORM ? "?CMERHNQF"[verdict] : '?';
}

START_TEST(verdicts_are_told)
{
	const struct explain_case *c = &cases[_i];
	struct hamidp_explanation *why = NULL;
	struct fixture f = { 0 };
	char got[16] = "";
	int64_t cost;

	fixture_draw(&f, c->before, false);
	ck_assert_int_eq(hamidp_explanation_new(&why), 0);
	hamidp_request_set_units(f.req, c->units);
	hamidp_request_set_numa_node(f.req, c->numa_node ? c->numa_node : -1);
	ck_assert_int_eq(hamidp_explain(f.layout, f.occ, f.req, f.decision, why, f.reason), c->r);
	for (size_t i = 0; i < hamidp_explanation_n_candidates(why); i++) {
		enum hamidp_verdict verdict = hamidp_explanation_verdict(why, i);

		got[i] = letter(verdict);
		cost = hamidp_explanation_cost(why, i);
		ck_assert_int_eq(cost, hamidp_explanation_load(why, i) +
					       hamidp_explanation_room(why, i) +
					       hamidp_explanation_quality(why, i));
		if (verdict == HAMIDP_VERDICT_CHOSEN)
			ck_assert_int_le(llabs(cost - hamidp_decision_cost(f.decision)), 2);
		if (verdict == HAMIDP_VERDICT_COSTS_MORE)
			ck_assert_int_gt(cost, hamidp_decision_cost(f.decision));
		ck_assert(
			(hamidp_explanation_instead_of(why, i) == HAMIDP_NO_DEVICE) ==
			(verdict != HAMIDP_VERDICT_COSTS_MORE && verdict != HAMIDP_VERDICT_EQUAL));
	}
	ck_assert_msg(strcmp(got, c->verdicts) == 0, "%s: %s", c->what, got);
	ck_assert_uint_eq(hamidp_explanation_device(why, 99), HAMIDP_NO_DEVICE);
	hamidp_explanation_free(why);
	fixture_done(&f);
}
END_TEST

START_TEST(explanation_is_the_placement)
{
	struct hamidp_explanation *why = NULL;
	struct fixture f = { 0 };
	char placed[64], explained[64];

	fixture_draw(&f, "........ xx...... x....... xxxxx...", false);
	ck_assert_int_eq(hamidp_explanation_new(&why), 0);
	for (uint32_t units = 1; units <= 16; units++) {
		hamidp_request_set_units(f.req, units);
		if (hamidp_place(f.layout, f.occ, f.req, f.decision, NULL) < 0)
			continue;
		fixture_show(&f, placed, sizeof(placed));
		ck_assert_int_eq(hamidp_explain(f.layout, f.occ, f.req, f.decision, why, NULL), 0);
		fixture_show(&f, explained, sizeof(explained));
		ck_assert_str_eq(placed, explained);
	}
	hamidp_request_set_units(f.req, 0);
	ck_assert_int_eq(hamidp_explain(f.layout, f.occ, f.req, f.decision, why, NULL), -EINVAL);
	ck_assert_uint_eq(hamidp_explanation_n_candidates(why), 0);
	hamidp_explanation_free(why);
	fixture_done(&f);
}
END_TEST

START_TEST(json_has_every_candidate)
{
	struct hamidp_explanation *why = NULL;
	const json_t *list, *first;
	struct fixture f = { 0 };
	char *text = NULL;
	json_t *json;

	fixture_draw(&f, "........ xxxx.... !....", false);
	ck_assert_int_eq(hamidp_explanation_new(&why), 0);
	hamidp_request_set_units(f.req, 4);
	ck_assert_int_eq(hamidp_explain(f.layout, f.occ, f.req, f.decision, why, NULL), 0);
	ck_assert_int_eq(hamidp_explanation_to_json(why, &text), 0);
	json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	ck_assert_ptr_nonnull(json);
	ck_assert_str_eq(json_string_value(json_object_get(json, "schema")), "hami.explanation/1");
	ck_assert_str_eq(json_string_value(json_object_get(json, "placement")), "pack");
	list = json_object_get(json, "candidates");
	ck_assert_uint_eq(json_array_size(list), 3);
	first = json_array_get(list, 0);
	ck_assert_str_eq(json_string_value(json_object_get(first, "device")), "GPU-000");
	ck_assert_str_eq(json_string_value(json_object_get(first, "verdict")), "costs-more");
	ck_assert_str_eq(json_string_value(json_object_get(first, "instead_of")), "GPU-001");
	/* (64 - 16) / 8 slots; the two free cards are no pair that is lost: one is not healthy */
	ck_assert_int_eq(json_integer_value(json_object_get(first, "load")), 6000000);
	ck_assert_int_eq(json_integer_value(json_object_get(first, "cost")), 6000000);
	json_decref(json);
	free(text);
	hamidp_explanation_free(why);
	fixture_done(&f);
}
END_TEST

struct policy_case {
	const char *what;
	const char *before;
	enum hamidp_placement placement;
	uint32_t units;
	const char *after; /* NULL: refused */
};

static const struct policy_case policies[] = {
	{ "spread takes distinct cards", ".... .... .... ....", HAMIDP_PLACEMENT_SPREAD, 4,
	  "#... #... #... #..." },
	{ "spread: the remainder on the first cards", ".... .... ....", HAMIDP_PLACEMENT_SPREAD, 5,
	  "##.. ##.. #..." },
	{ "spread: fewer than cards takes the freest", "xx.. .... x... ....",
	  HAMIDP_PLACEMENT_SPREAD, 2, ".... #... .... #..." },
	{ "spread: fewer cards where some lack room", "xxx. .... ....", HAMIDP_PLACEMENT_SPREAD, 6,
	  ".... ###. ###." },
	{ "spread: no even spread", "xxx. ....", HAMIDP_PLACEMENT_SPREAD, 5, NULL },
	{ "pack does not split", "xx.. xx..", HAMIDP_PLACEMENT_PACK, 3, NULL },
	{ "fit takes the tightest", ".... xx.. x...", HAMIDP_PLACEMENT_FIT, 2, ".... ..## ...." },
	{ "topology packs a single card", ".... xx.. x...", HAMIDP_PLACEMENT_TOPOLOGY, 2,
	  ".... ..## ...." },
	{ "topology: the node before the tightest", "@0.... @1x... @0....",
	  HAMIDP_PLACEMENT_TOPOLOGY, 6, "###. .... ###." },
};

START_TEST(policy_does_what_it_is_called)
{
	const struct policy_case *c = &policies[_i];
	struct fixture f = { 0 };
	char got[64];
	int r;

	fixture_draw(&f, c->before, false);
	hamidp_request_set_units(f.req, c->units);
	ck_assert_int_eq(hamidp_request_set_placement(f.req, c->placement), 0);
	r = hamidp_place(f.layout, f.occ, f.req, f.decision, f.reason);
	ck_assert_msg((r == 0) == (c->after != NULL), "%s: %s", c->what,
		      hamidp_reason_text(f.reason));
	if (c->after) {
		fixture_show(&f, got, sizeof(got));
		ck_assert_msg(strcmp(got, c->after) == 0, "%s: %s", c->what, got);
		ck_assert(!hamidp_decision_is_split(f.decision));
	} else {
		ck_assert_int_eq(r, -ENOSPC);
		ck_assert_int_eq(hamidp_reason_code(f.reason), HAMIDP_REASON_SPLIT_DENIED);
	}
	fixture_done(&f);
}
END_TEST

/* 8 of 8 x 10, all available: 8 cards. */
START_TEST(spread_of_available_slots_is_distinct)
{
	struct fixture f = { 0 };

	fixture_draw(&f,
		     ".......... .......... .......... .......... .......... .......... .......... "
		     "..........",
		     false);
	for (size_t slot = 0; slot < 80; slot++)
		ck_assert_int_eq(hamidp_request_add_available(f.req, slot), 0);
	hamidp_request_set_units(f.req, 8);
	ck_assert_int_eq(hamidp_request_set_placement(f.req, HAMIDP_PLACEMENT_SPREAD), 0);
	ck_assert_int_eq(hamidp_place(f.layout, f.occ, f.req, f.decision, f.reason), 0);
	ck_assert_uint_eq(hamidp_decision_n_slots(f.decision), 8);
	ck_assert_uint_eq(hamidp_decision_n_devices(f.decision), 8);
	fixture_done(&f);
}
END_TEST

START_TEST(split_is_denied_with_the_largest_amount)
{
	static const char *const ids[] = { "GPU-000::2", "GPU-000::3", "GPU-001::3" };
	struct fixture f = { 0 };

	fixture_draw(&f, "xx.. xx..", false);
	hamidp_request_set_units(f.req, 3);
	ck_assert_int_eq(hamidp_place(f.layout, f.occ, f.req, f.decision, f.reason), -ENOSPC);
	ck_assert_int_eq(hamidp_reason_code(f.reason), HAMIDP_REASON_SPLIT_DENIED);
	ck_assert_uint_eq(hamidp_reason_largest(f.reason), 2);
	ck_assert_int_eq(hamidp_decide_ids(f.layout, 0, ids, 3, f.decision, f.reason), 0);
	ck_assert_int_eq(hamidp_decision_check_split(f.decision, f.occ, f.reason), -ENOSPC);
	ck_assert_int_eq(hamidp_reason_code(f.reason), HAMIDP_REASON_SPLIT_DENIED);
	ck_assert_uint_eq(hamidp_reason_largest(f.reason), 2);
	ck_assert_int_eq(hamidp_decide_ids(f.layout, 0, ids, 2, f.decision, f.reason), 0);
	ck_assert_int_eq(hamidp_decision_check_split(f.decision, f.occ, f.reason), 0);
	ck_assert_int_eq(hamidp_request_set_split(f.req, HAMIDP_SPLIT_ALLOW), 0);
	ck_assert_int_eq(hamidp_place(f.layout, f.occ, f.req, f.decision, f.reason), 0);
	ck_assert_int_eq(hamidp_decision_is_split(f.decision), 1);
	hamidp_request_reset(f.req);
	hamidp_request_set_units(f.req, 3);
	ck_assert_int_eq(hamidp_place(f.layout, f.occ, f.req, f.decision, f.reason), -ENOSPC);
	fixture_done(&f);
}
END_TEST

START_TEST(setters_refuse_what_they_do_not_know)
{
	struct hamidp_policy *policy = NULL;
	struct hamidp_request *req = NULL;

	ck_assert_int_eq(hamidp_policy_new(&policy), 0);
	ck_assert_int_eq(hamidp_request_new(&req), 0);
	ck_assert_int_eq(hamidp_policy_set_placement(policy, (enum hamidp_placement)4), -EINVAL);
	ck_assert_int_eq(hamidp_policy_set_split(policy, (enum hamidp_split)2), -EINVAL);
	ck_assert_int_eq(hamidp_policy_set_max_per_device(policy, HAMIDP_SLOTS_MAX + 1), -EINVAL);
	ck_assert_int_eq(hamidp_policy_set_max_per_device(policy, HAMIDP_SLOTS_MAX), 0);
	ck_assert_int_eq(hamidp_policy_set_mix(policy, HAMIDP_PPM + 1, 0), -EINVAL);
	ck_assert_int_eq(hamidp_policy_set_mix(policy, 0, HAMIDP_PPM + 1), -EINVAL);
	ck_assert_int_eq(hamidp_policy_set_mix(policy, HAMIDP_PPM, HAMIDP_PPM), 0);
	ck_assert_int_eq(hamidp_request_set_placement(req, (enum hamidp_placement)4), -EINVAL);
	ck_assert_int_eq(hamidp_request_set_split(req, (enum hamidp_split)2), -EINVAL);
	hamidp_request_free(req);
	hamidp_policy_free(policy);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("explain");
	TCase *tcase = tcase_create("why");

	tcase_add_loop_test(tcase, verdicts_are_told, 0, ARRAY_SIZE(cases));
	tcase_add_test(tcase, explanation_is_the_placement);
	tcase_add_test(tcase, json_has_every_candidate);
	tcase_add_loop_test(tcase, policy_does_what_it_is_called, 0, ARRAY_SIZE(policies));
	tcase_add_test(tcase, spread_of_available_slots_is_distinct);
	tcase_add_test(tcase, split_is_denied_with_the_largest_amount);
	tcase_add_test(tcase, setters_refuse_what_they_do_not_know);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
