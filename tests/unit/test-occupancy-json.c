/* SPDX-License-Identifier: Apache-2.0 */

/* Occupancies to JSON and back: nothing is lost, whatever is held by whom. */

#include <errno.h>

#include "layouts.h"
#include "suite.h"

static struct hamidp_policy *two_resources(void)
{
	struct hamidp_policy *policy = policy_of("hami.com/vgpu", SLICING(.slots = 8));
	size_t other;

	ck_assert_int_eq(hamidp_policy_add_resource(policy, "hami.com/other", NULL, &other, NULL),
			 0);
	ck_assert_int_eq(hamidp_policy_add_resource_device(policy, other, HAMIDP_MATCH_UUID,
							   "gpu-1", NULL),
			 0);
	return policy;
}

static struct hamidp_occupancy *read_back(const char *text, size_t len,
					  struct hamidp_policy *policy)
{
	struct hamidp_inventory *inv = NULL;
	struct hamidp_occupancy *occ = NULL;
	struct hamidp_layout *layout;
	struct hamidp_reason reason;

	ck_assert_msg(hamidp_inventory_from_json(text, len, &inv, &reason) == 0, "%s: %s",
		      reason.text, text);
	layout = laid_out(inv, policy);
	ck_assert_int_eq(hamidp_occupancy_new(layout, &occ), 0);
	ck_assert_msg(hamidp_occupancy_load(occ, &reason) == 0, "%s", reason.text);
	hamidp_layout_unref(layout);
	return occ;
}

static void expect_equal(const struct hamidp_occupancy *a, const struct hamidp_occupancy *b)
{
	struct hamidp_layout *la = hamidp_occupancy_layout(a), *lb = hamidp_occupancy_layout(b);

	ck_assert_uint_eq(hamidp_layout_n_slots(la), hamidp_layout_n_slots(lb));
	for (size_t slot = 0; slot < hamidp_layout_n_slots(la); slot++) {
		const char *in_a = hamidp_occupancy_holder(a, slot);
		const char *in_b = hamidp_occupancy_holder(b, slot);

		ck_assert_str_eq(hamidp_layout_slot_id(la, slot), hamidp_layout_slot_id(lb, slot));
		ck_assert_str_eq(in_a ? in_a : "(free)", in_b ? in_b : "(free)");
	}
}

/* The loop's index is the seed. Holders of several devices and of both resources are among them. */
START_TEST(what_was_written_reads_back)
{
	struct hamidp_layout *layout = laid_out(cards(4, 40960), two_resources());
	struct hamidp_occupancy *occ = NULL, *back;
	char *text = NULL, *again = NULL;
	size_t len = 0;
	char name[32];

	srand((unsigned)_i);
	ck_assert_int_eq(hamidp_occupancy_new(layout, &occ), 0);
	for (size_t slot = 0; slot < hamidp_layout_n_slots(layout); slot++) {
		snprintf(name, sizeof(name), "\"%u\" \\ \xc3\xa9", any(9));
		if (any(8) < (uint32_t)_i % 9)
			ck_assert_int_eq(hamidp_occupancy_hold(occ, slot, name), 0);
	}
	for (unsigned i = 0; i < 4; i++) { /* a holder that went leaves its cell unused */
		snprintf(name, sizeof(name), "\"%u\" \\ \xc3\xa9", i);
		(void)hamidp_occupancy_release(occ, name);
	}

	ck_assert_int_eq(hamidp_occupancy_to_json(occ, &text, &len), 0);
	ck_assert_uint_eq(len, strlen(text));
	back = read_back(text, len, two_resources());
	expect_equal(occ, back);
	ck_assert_int_eq(hamidp_occupancy_to_json(back, &again, NULL), 0);
	ck_assert_str_eq(text, again);
	free(text);
	free(again);
	hamidp_occupancy_free(occ);
	hamidp_occupancy_free(back);
	hamidp_layout_unref(layout);
}
END_TEST

START_TEST(amounts_are_those_of_the_layout)
{
	struct hamidp_layout *layout = laid_out(cards(3, 40960), two_resources());
	struct hamidp_occupancy *occ = NULL;
	char *text = NULL;

	ck_assert_int_eq(hamidp_occupancy_new(layout, &occ), 0);
	ck_assert_int_eq(hamidp_occupancy_hold(occ, 9, "b"), 0);
	ck_assert_int_eq(hamidp_occupancy_hold(occ, 3, "a"), 0);
	ck_assert_int_eq(hamidp_occupancy_hold(occ, 1, "a"), 0);
	ck_assert_int_eq(hamidp_occupancy_hold(occ, 17, "a"), 0);
	ck_assert_int_eq(hamidp_occupancy_hold(occ, 15, "a"), 0);
	ck_assert_int_eq(hamidp_occupancy_to_json(occ, &text, NULL), 0);
	ck_assert_str_eq(strstr(text, "\"grants\""),
			 "\"grants\":["
			 "{\"id\":\"a\",\"resource\":\"hami.com/vgpu\","
			 "\"slots\":[\"gpu-0::1\",\"gpu-0::3\",\"gpu-2::1\"],"
			 "\"memory_mib\":15360,\"share_ppm\":375000},"
			 "{\"id\":\"b\",\"resource\":\"hami.com/other\",\"slots\":[\"gpu-1::1\"],"
			 "\"memory_mib\":5120,\"share_ppm\":125000},"
			 "{\"id\":\"a\",\"resource\":\"hami.com/other\",\"slots\":[\"gpu-1::7\"],"
			 "\"memory_mib\":5120,\"share_ppm\":125000}]}");
	free(text);
	hamidp_occupancy_free(occ);
	hamidp_layout_unref(layout);
}
END_TEST

START_TEST(grants_of_the_inventory_are_replaced)
{
	struct hdp_machine m = { 0 };
	struct hdp_stated_grant grant = { .n_slots = 1, .id = copied("old") };
	struct hamidp_layout *layout;
	struct hamidp_occupancy *occ = NULL;
	char *text = NULL;

	add_device(&m, "gpu-0", NULL, 40960);
	grant.slots = calloc(1, sizeof(*grant.slots));
	ck_assert_ptr_nonnull(grant.slots);
	grant.slots[0] = copied("gpu-0::0");
	ck_assert_int_eq(hdp_machine_add_grant(&m, &grant), 0);
	layout = laid_out(sealed(&m), policy_of("hami.com/vgpu", NULL));
	ck_assert_int_eq(hamidp_occupancy_new(layout, &occ), 0);

	ck_assert_int_eq(hamidp_occupancy_to_json(occ, &text, NULL), 0);
	ck_assert_ptr_null(strstr(text, "grants"));
	free(text);
	hamidp_occupancy_free(occ);
	hamidp_layout_unref(layout);
}
END_TEST

/* JSON could not carry it, and reading it back would be refused. */
START_TEST(a_holder_that_is_no_text_is_refused)
{
	static const char *const bad[] = { "\xff", "a\nb", "\xed\xa0\x80" };
	struct hamidp_layout *layout = laid_out(cards(1, 40960), policy_of("hami.com/vgpu", NULL));
	struct hamidp_occupancy *occ = NULL;
	char *text = NULL;

	ck_assert_int_eq(hamidp_occupancy_new(layout, &occ), 0);
	ck_assert_int_eq(hamidp_occupancy_hold(occ, 2, bad[_i]), 0);
	ck_assert_int_eq(hamidp_occupancy_to_json(occ, &text, NULL), -EINVAL);
	ck_assert_ptr_null(text);
	hamidp_occupancy_free(occ);
	hamidp_layout_unref(layout);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("occupancy-json");
	TCase *tcase = tcase_create("json");

	tcase_add_loop_test(tcase, what_was_written_reads_back, 0, 60);
	tcase_add_test(tcase, amounts_are_those_of_the_layout);
	tcase_add_test(tcase, grants_of_the_inventory_are_replaced);
	tcase_add_loop_test(tcase, a_holder_that_is_no_text_is_refused, 0, 3);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
