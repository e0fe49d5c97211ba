/* SPDX-License-Identifier: Apache-2.0 */

/* Occupancy against a model that is one array of holder numbers. */

#include <errno.h>
#include <stdint.h>

#include "fixture.h"
#include "occupancy.h"
#include "suite.h"

#define HOLDERS 40

static uint64_t rnd_state;

static uint32_t rnd(uint32_t below)
{
	rnd_state = rnd_state * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(rnd_state >> 33) % below;
}

/* Names of all lengths that are accepted. */
static const char *holder_name_of(unsigned n, char buf[HAMIDP_HOLDER_MAX + 1])
{
	int len = snprintf(buf, HAMIDP_HOLDER_MAX + 1, "%u", n);

	for (; len < HAMIDP_HOLDER_MAX && (unsigned)len < 1 + n * HAMIDP_HOLDER_MAX / HOLDERS;)
		buf[len++] = 'g';
	buf[len] = '\0';
	return buf;
}

struct model {
	size_t n;
	int holder[64]; /* -1: free */
};

static void model_check(const struct model *m, const struct hamidp_occupancy *occ)
{
	struct hamidp_layout *layout = hamidp_occupancy_layout(occ);
	uint32_t n_free[8] = { 0 };
	char buf[HAMIDP_HOLDER_MAX + 1];

	for (size_t slot = 0; slot < m->n; slot++) {
		const char *got = hamidp_occupancy_holder(occ, slot);

		if (m->holder[slot] < 0)
			ck_assert_ptr_null(got);
		else
			ck_assert_str_eq(got, holder_name_of((unsigned)m->holder[slot], buf));
		n_free[hamidp_layout_slot_device(layout, slot)] += m->holder[slot] < 0;
	}
	for (size_t pos = 0; pos < 3; pos++)
		ck_assert_uint_eq(hamidp_occupancy_n_free(occ, pos), n_free[pos]);
}

/* Random slots as a decision, by way of their ids. */
static size_t decide_random(struct fixture *f, size_t *ret_slots)
{
	const char *ids[64];
	bool taken[64] = { false };
	size_t n = hamidp_layout_n_slots(f->layout), n_ids = 1 + rnd(6), got = 0;

	for (size_t i = 0; i < n_ids; i++) {
		size_t slot = rnd((uint32_t)n);

		if (taken[slot])
			continue;
		taken[slot] = true;
		ret_slots[got] = slot;
		ids[got++] = hamidp_layout_slot_id(f->layout, slot);
	}
	ck_assert_int_eq(hamidp_decide_ids(f->layout, 0, ids, got, f->decision, NULL), 0);
	return got;
}

static void step_apply(struct fixture *f, struct model *m, int holder)
{
	char buf[HAMIDP_HOLDER_MAX + 1];
	size_t slots[64], n = decide_random(f, slots);
	bool busy = false;
	int r;

	for (size_t i = 0; i < n; i++)
		busy |= m->holder[slots[i]] >= 0 && m->holder[slots[i]] != holder;
	r = hamidp_occupancy_apply(f->occ, f->decision, holder_name_of((unsigned)holder, buf),
				   f->reason);
	ck_assert_int_eq(r, busy ? -EBUSY : 0);
	ck_assert_int_eq(hamidp_reason_code(f->reason),
			 busy ? HAMIDP_REASON_HELD : HAMIDP_REASON_NONE);
	for (size_t i = 0; !busy && i < n; i++)
		m->holder[slots[i]] = holder;
}

static void step_release(struct fixture *f, struct model *m, int holder)
{
	char buf[HAMIDP_HOLDER_MAX + 1];
	bool held = false;

	for (size_t slot = 0; slot < m->n; slot++)
		if (m->holder[slot] == holder) {
			m->holder[slot] = -1;
			held = true;
		}
	ck_assert_int_eq(hamidp_occupancy_release(f->occ, holder_name_of((unsigned)holder, buf)),
			 held ? 0 : -ENOENT);
}

static void step_hold(struct fixture *f, struct model *m, int holder)
{
	char buf[HAMIDP_HOLDER_MAX + 1];
	size_t slot = rnd((uint32_t)m->n);
	bool busy = m->holder[slot] >= 0 && m->holder[slot] != holder;

	ck_assert_int_eq(hamidp_occupancy_hold(f->occ, slot, holder_name_of((unsigned)holder, buf)),
			 busy ? -EBUSY : 0);
	if (!busy)
		m->holder[slot] = holder;
}

static void step_take_over(struct fixture *f, struct model *m, int holder)
{
	char buf[HAMIDP_HOLDER_MAX + 1];
	size_t slots[64], n = decide_random(f, slots);

	ck_assert_int_eq(hdp_occupancy_reserve(f->occ, holder_name_of((unsigned)holder, buf)), 0);
	model_check(m, f->occ);
	hdp_occupancy_take_over(f->occ, slots, n, buf);
	for (size_t i = 0; i < n; i++)
		m->holder[slots[i]] = holder;
}

START_TEST(random_changes_follow_the_model)
{
	struct fixture f = { 0 };
	struct model m;

	rnd_state = (uint64_t)_i + 1;
	fixture_draw(&f, "......................... ..... ..............................", false);
	m.n = hamidp_layout_n_slots(f.layout);
	for (size_t i = 0; i < m.n; i++)
		m.holder[i] = -1;
	for (unsigned round = 0; round < 500; round++) {
		int holder = (int)rnd(HOLDERS);

		switch (rnd(5)) {
		case 0:
			step_apply(&f, &m, holder);
			break;
		case 1:
			step_hold(&f, &m, holder);
			break;
		case 2:
			step_release(&f, &m, holder);
			break;
		case 3:
			step_take_over(&f, &m, holder);
			break;
		default: { /* go on with a clone; the first one is gone */
			struct hamidp_occupancy *clone;

			ck_assert_int_eq(hamidp_occupancy_clone(f.occ, &clone), 0);
			hamidp_occupancy_free(f.occ);
			f.occ = clone;
		}
		}
		model_check(&m, f.occ);
	}
	fixture_done(&f);
}
END_TEST

START_TEST(clones_are_independent)
{
	struct fixture f = { 0 };
	struct hamidp_occupancy *clone;

	fixture_draw(&f, "xx.. ....", false);
	ck_assert_int_eq(hamidp_occupancy_clone(f.occ, &clone), 0);
	ck_assert_int_eq(hamidp_occupancy_hold(clone, 5, "clone"), 0);
	ck_assert_int_eq(hamidp_occupancy_release(clone, "someone"), 0);
	ck_assert_str_eq(hamidp_occupancy_holder(f.occ, 0), "someone");
	ck_assert_ptr_null(hamidp_occupancy_holder(f.occ, 5));
	ck_assert_ptr_null(hamidp_occupancy_holder(clone, 0));
	ck_assert_str_eq(hamidp_occupancy_holder(clone, 5), "clone");
	ck_assert_ptr_eq(hamidp_occupancy_layout(clone), f.layout);
	hamidp_occupancy_free(clone);
	fixture_done(&f);
}
END_TEST

START_TEST(apply_then_release_leaves_no_trace)
{
	struct fixture f = { 0 };

	fixture_draw(&f, "xx.. ....", false);
	hamidp_request_set_units(f.req, 3);
	ck_assert_int_eq(hamidp_place(f.layout, f.occ, f.req, f.decision, f.reason), 0);
	ck_assert_int_eq(hamidp_occupancy_apply(f.occ, f.decision, "new", f.reason), 0);
	ck_assert_uint_eq(hamidp_occupancy_n_free(f.occ, 1), 1);
	ck_assert_int_eq(hamidp_occupancy_release(f.occ, "new"), 0);
	for (size_t slot = 0; slot < 8; slot++)
		if (slot < 2)
			ck_assert_str_eq(hamidp_occupancy_holder(f.occ, slot), "someone");
		else
			ck_assert_ptr_null(hamidp_occupancy_holder(f.occ, slot));
	ck_assert_int_eq(hamidp_occupancy_release(f.occ, "new"), -ENOENT);
	fixture_done(&f);
}
END_TEST

START_TEST(busy_slots_are_named_and_nothing_changes)
{
	static const char *const ids[] = { "GPU-000::3", "GPU-000::1" };
	struct fixture f = { 0 };

	fixture_draw(&f, "xx..", false);
	ck_assert_int_eq(hamidp_decide_ids(f.layout, 0, ids, 2, f.decision, f.reason), 0);
	ck_assert_int_eq(hamidp_occupancy_apply(f.occ, f.decision, "new", f.reason), -EBUSY);
	ck_assert_str_eq(hamidp_reason_text(f.reason), "slot 'GPU-000::1' is held by 'someone'");
	ck_assert_ptr_null(hamidp_occupancy_holder(f.occ, 3));
	ck_assert_int_eq(hamidp_occupancy_release(f.occ, "new"), -ENOENT);
	fixture_done(&f);
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
	static const char *const ids[] = { "GPU-000::3" };
	char long_name[HAMIDP_HOLDER_MAX + 2];
	struct fixture f = { 0 }, g = { 0 };

	memset(long_name, 'a', sizeof(long_name));
	long_name[HAMIDP_HOLDER_MAX + 1] = '\0';
	fixture_draw(&f, "....", false);
	fixture_draw(&g, "....", false);
	ck_assert_int_eq(hamidp_occupancy_hold(f.occ, 4, "a"), -EINVAL);
	ck_assert_int_eq(hamidp_occupancy_hold(f.occ, SIZE_MAX, "a"), -EINVAL);
	ck_assert_int_eq(hamidp_occupancy_hold(f.occ, 0, ""), -EINVAL);
	ck_assert_int_eq(hamidp_occupancy_hold(f.occ, 0, long_name), -EINVAL);
	ck_assert_int_eq(hamidp_decide_ids(f.layout, 0, ids, 1, f.decision, f.reason), 0);
	ck_assert_int_eq(hamidp_occupancy_apply(f.occ, f.decision, long_name, f.reason), -EINVAL);
	ck_assert_int_eq(hamidp_occupancy_apply(g.occ, f.decision, "a", f.reason), -EINVAL);
	ck_assert_int_eq(hamidp_occupancy_apply(f.occ, g.decision, "a", f.reason), -EINVAL);
	ck_assert_uint_eq(hamidp_occupancy_n_free(f.occ, 0), 4);
	ck_assert_uint_eq(hamidp_occupancy_n_free(f.occ, 1), 0);
	ck_assert_ptr_null(hamidp_occupancy_holder(f.occ, 4));

	long_name[HAMIDP_HOLDER_MAX] = '\0';
	ck_assert_int_eq(hamidp_occupancy_hold(f.occ, 0, long_name), 0);
	ck_assert_str_eq(hamidp_occupancy_holder(f.occ, 0), long_name);
	fixture_done(&f);
	fixture_done(&g);
}
END_TEST

/* A borrowed name may be given back to the call that changes what it was borrowed from. */
START_TEST(borrowed_names_may_be_passed_in)
{
	struct fixture f = { 0 };

	fixture_draw(&f, "x... ....", false);
	for (size_t slot = 1; slot < 8; slot++)
		ck_assert_int_eq(hamidp_occupancy_hold(f.occ, slot,
						       hamidp_occupancy_holder(f.occ, 0)),
				 0);
	ck_assert_int_eq(hamidp_occupancy_release(f.occ, hamidp_occupancy_holder(f.occ, 3)), 0);
	ck_assert_uint_eq(hamidp_occupancy_n_free(f.occ, 0), 4);
	fixture_done(&f);
}
END_TEST

/* An inventory of one card with 4 slots and the stated grants. */
static struct hamidp_occupancy *occupancy_of_text(const char *grants)
{
	struct hamidp_inventory *inv;
	struct hamidp_policy *policy;
	struct hamidp_layout *layout;
	struct hamidp_occupancy *occ;
	char text[2048];
	int len;

	len = snprintf(text, sizeof(text),
		       "{\"schema\":\"hami.inventory/1\",\"devices\":[{\"uuid\":\"GPU-0\","
		       "\"memory_mib\":4096,\"health\":\"healthy\"}],\"grants\":[%s]}",
		       grants);
	ck_assert_int_eq(hamidp_inventory_from_json(text, (size_t)len, &inv, NULL), 0);
	ck_assert_int_eq(hamidp_policy_new(&policy), 0);
	ck_assert_int_eq(hamidp_policy_add_resource(policy, "hami.com/vgpu", NULL, NULL, NULL), 0);
	ck_assert_int_eq(hamidp_layout_new(inv, policy, &layout, NULL), 0);
	ck_assert_int_eq(hamidp_occupancy_new(layout, &occ), 0);
	hamidp_layout_unref(layout);
	hamidp_policy_free(policy);
	hamidp_inventory_unref(inv);
	return occ;
}

#define GRANT(id, slots) "{\"id\":\"" id "\",\"resource\":\"hami.com/vgpu\",\"slots\":[" slots "]}"

START_TEST(stated_grants_are_loaded)
{
	struct hamidp_occupancy *occ = occupancy_of_text(
		GRANT("one", "\"GPU-0::0\",\"GPU-0::1\"") "," GRANT("two", "\"GPU-0::3\""));

	ck_assert_int_eq(hamidp_occupancy_load(occ, NULL), 0);
	ck_assert_str_eq(hamidp_occupancy_holder(occ, 0), "one");
	ck_assert_str_eq(hamidp_occupancy_holder(occ, 1), "one");
	ck_assert_ptr_null(hamidp_occupancy_holder(occ, 2));
	ck_assert_str_eq(hamidp_occupancy_holder(occ, 3), "two");
	ck_assert_int_eq(hamidp_occupancy_load(occ, NULL), 0); /* again is the same */
	ck_assert_uint_eq(hamidp_occupancy_n_free(occ, 0), 1);
	hamidp_occupancy_free(occ);
}
END_TEST

static const struct {
	const char *grants;
	int err;
	enum hamidp_reason_code code;
	const char *text;
} bad_grants[] = {
	{ GRANT("one", "\"GPU-0::0\"") "," GRANT("two", "\"GPU-0::4\""), -ENOENT,
	  HAMIDP_REASON_UNKNOWN_SLOT, "grant 'two': there is no slot 'GPU-0::4'" },
	{ GRANT("one", "\"GPU-0::0\"") "," GRANT("two", "\"GPU-0::1\",\"GPU-0::0\""), -EBUSY,
	  HAMIDP_REASON_HELD, "grant 'two': slot 'GPU-0::0' is held by 'one'" },
	{ GRANT("one", "\"GPU-0::1\",\"GPU-0::2\""), -EBUSY, HAMIDP_REASON_HELD,
	  "grant 'one': slot 'GPU-0::2' is held by 'before'" },
};

START_TEST(bad_stated_grants_change_nothing)
{
	struct hamidp_occupancy *occ = occupancy_of_text(bad_grants[_i].grants);
	struct hamidp_reason *reason;

	ck_assert_int_eq(hamidp_reason_new(&reason), 0);
	ck_assert_int_eq(hamidp_occupancy_hold(occ, 2, "before"), 0);
	ck_assert_int_eq(hamidp_occupancy_load(occ, reason), bad_grants[_i].err);
	ck_assert_int_eq(hamidp_reason_code(reason), bad_grants[_i].code);
	ck_assert_str_eq(hamidp_reason_text(reason), bad_grants[_i].text);
	ck_assert_uint_eq(hamidp_occupancy_n_free(occ, 0), 3);
	ck_assert_str_eq(hamidp_occupancy_holder(occ, 2), "before");
	hamidp_reason_free(reason);
	hamidp_occupancy_free(occ);
}
END_TEST

/* Ten thousand of them are held at once. */
START_TEST(empty_occupancies_are_small)
{
	struct fixture f = { 0 };

	fixture_draw(&f, "........ ........", false);
	ck_assert_uint_le(sizeof(*f.occ), 128);
	ck_assert_ptr_null(f.occ->slot_holder);
	ck_assert_ptr_null(f.occ->held);
	fixture_done(&f);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("occupancy");
	TCase *tcase = tcase_create("value");

	tcase_add_loop_test(tcase, random_changes_follow_the_model, 0, 10);
	tcase_add_test(tcase, clones_are_independent);
	tcase_add_test(tcase, apply_then_release_leaves_no_trace);
	tcase_add_test(tcase, busy_slots_are_named_and_nothing_changes);
	tcase_add_test(tcase, bad_arguments_are_refused);
	tcase_add_test(tcase, borrowed_names_may_be_passed_in);
	tcase_add_test(tcase, stated_grants_are_loaded);
	tcase_add_loop_test(tcase, bad_stated_grants_change_nothing, 0, ARRAY_SIZE(bad_grants));
	tcase_add_test(tcase, empty_occupancies_are_small);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
