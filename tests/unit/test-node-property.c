/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A node under random edits of its machine, errors, grants, releases and passing time. After each
 * step it must agree with a model of a few lines, and want nothing more at this moment.
 */

#include "node-fixture.h"
#include "suite.h"

#define N 6 /* devices that may be there: GPU-a ... */

static struct hamidp_node *node;

static struct {
	bool loaded;		/* the file is there and right */
	bool there[N], well[N]; /* what the last right file said */
	uint64_t fault_us[N];	/* 0: none */
	uint64_t seq;
} model;

static size_t rnd(size_t below)
{
	return (size_t)rand() % below;
}

static void step_edit(bool with_error)
{
	char letters[N + 1] = "";
	char sim[128] = "";
	size_t n = 0;

	for (size_t i = 0; i < N; i++) {
		model.there[i] = rnd(5) > 0;
		model.well[i] = rnd(5) > 0;
		if (model.there[i])
			letters[n++] = (char)((model.well[i] ? 'a' : 'A') + (int)i);
	}
	if (with_error && n) {
		size_t i = (size_t)(letters[rnd(n)] | 0x20) - 'a';

		(void)snprintf(sim, sizeof(sim),
			       "{\"events\":[{\"seq\":%llu,\"uuid\":\"GPU-%c\",\"code\":48}]}",
			       (unsigned long long)++model.seq, (int)('a' + i));
		model.fault_us[i] = clock_us;
	}
	model.loaded = true;
	edit(letters, sim);
}

static void step_break(void)
{
	if (rnd(2)) {
		replace_file(file_path, "{ this is broken");
	} else {
		(void)unlink(file_path);
		model.loaded = false;
	}
}

static void step_grant(void)
{
	const struct hamidp_commit_options opts = { .size = sizeof(opts),
						    .flags = HAMIDP_COMMIT_SUPERSEDE };
	struct hamidp_layout *layout = hamidp_node_layout(node);
	size_t n = hamidp_layout_n_slots(layout);
	struct hamidp_decision *decision = NULL;
	struct hamidp_grant *grant = NULL;
	const char *ids[2];

	if (n < 2)
		return;
	ids[0] = hamidp_layout_slot_id(layout, rnd(n - 1));
	ids[1] = hamidp_layout_slot_id(layout, n - 1);
	ck_assert_int_eq(hamidp_decision_new(&decision), 0);
	if (hamidp_decide_ids(layout, 0, ids, 1 + rnd(2), decision, NULL) == 0) {
		ck_assert_int_eq(hamidp_node_commit(node, decision, &opts, &grant, why), 0);
		hamidp_grant_unref(grant);
	}
	hamidp_decision_free(decision);
}

static void step_release(void)
{
	size_t n = hamidp_node_n_grants(node);

	if (n)
		ck_assert_int_eq(
			hamidp_node_release(node, hamidp_grant_id(hamidp_node_grant(node, rnd(n))),
					    why),
			0);
}

static bool is_held(const char *uuid)
{
	for (size_t i = 0; i < hamidp_node_n_grants(node); i++) {
		const struct hamidp_grant *grant = hamidp_node_grant(node, i);

		for (size_t j = 0; j < hamidp_grant_n_slices(grant); j++)
			if (strcmp(hamidp_grant_slice_device(grant, j), uuid) == 0)
				return true;
	}
	return false;
}

static void check_devices(void)
{
	for (size_t i = 0; i < N; i++) {
		char uuid[] = "GPU-a";
		int health;

		uuid[4] = (char)('a' + i);
		health = health_of(node, uuid);
		if (!model.there[i])
			ck_assert_int_eq(health, is_held(uuid) ? (int)HAMIDP_HEALTH_GONE : -1);
		else if (!model.loaded || !model.well[i])
			ck_assert_int_eq(health, HAMIDP_HEALTH_UNHEALTHY);
		else if (model.fault_us[i] && clock_us < model.fault_us[i] + 600 * HDP_SECOND_US)
			ck_assert_int_eq(health, HAMIDP_HEALTH_UNHEALTHY);
		else if (!model.fault_us[i])
			ck_assert_int_eq(health, HAMIDP_HEALTH_HEALTHY);
	}
}

static void check_grants(void)
{
	size_t held = 0, named = 0;

	for (size_t i = 0; i < hamidp_layout_n_slots(hamidp_node_layout(node)); i++)
		held += hamidp_occupancy_holder(hamidp_node_occupancy(node), i) != NULL;
	for (size_t i = 0; i < hamidp_node_n_grants(node); i++) {
		const struct hamidp_grant *grant = hamidp_node_grant(node, i);

		ck_assert_uint_gt(hamidp_grant_n_slots(grant), 0);
		named += hamidp_grant_n_slots(grant);
		for (size_t j = 0; j < hamidp_grant_n_slots(grant); j++)
			ck_assert_str_eq(holder_of(node, hamidp_grant_slot_id(grant, j)),
					 hamidp_grant_id(grant));
	}
	ck_assert_uint_eq(held, named);
}

static void step(void)
{
	switch (rnd(8)) {
	case 0:
		step_edit(false);
		break;
	case 1:
		step_edit(true);
		break;
	case 2:
		step_break();
		break;
	case 3:
		step_release();
		break;
	case 4:
		clock_us += rnd(400) * HDP_SECOND_US;
		break;
	default:
		step_grant();
	}
}

START_TEST(node_agrees_with_the_model)
{
	uint64_t generation = 0;

	srand((unsigned)_i);
	memset(&model, 0, sizeof(model));
	step_edit(false);
	node = open_file();
	for (int round = 0; round < 150; round++) {
		step();
		settle(node);
		settle(node); /* what the first one found out */
		(void)take_events(node, HAMIDP_EVENT_LOST, NULL);
		ck_assert_uint_gt(hamidp_node_deadline_us(node), clock_us);
		ck_assert_uint_ge(hamidp_node_generation(node), generation);
		generation = hamidp_node_generation(node);
		check_devices();
		check_grants();
	}
	ck_assert_uint_le(node->n_healths, N);
	node = hamidp_node_close(node);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("node-property");
	TCase *tc = tcase_create("node-property");

	tcase_add_checked_fixture(tc, fixture_setup, fixture_teardown);
	tcase_add_loop_test(tc, node_agrees_with_the_model, 1, 13);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
