/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each allocation of opening a node, and of committing, superseding and releasing on it, fails
 * once: the call says so, nothing changed, nothing leaks.
 */

#include <string.h>

#include "layout.h"
#include "node-fixture.h"
#include "oom.h"
#include "suite.h"

static struct hamidp_policy *policy;
static struct hamidp_node *node;
static struct hamidp_decision *decision;

static void setup(void)
{
	fixture_setup();
	policy = new_policy(4);
}

static void teardown(void)
{
	policy = hamidp_policy_free(policy);
	fixture_teardown();
}

/*
 * Where it was an event that had no memory the change stands, and that one was lost is told.
 */
static int or_event_lost(struct hamidp_node *of, int r)
{
	struct hamidp_event *event = NULL;
	bool lost = of->events.lost;

	of->events.lost = false;
	while (hamidp_node_next_event(of, &event) == 0) {
		lost = lost || hamidp_event_type(event) == HAMIDP_EVENT_LOST;
		event = hamidp_event_free(event);
	}
	return r == 0 && lost ? -ENOMEM : r;
}

static int open_step(void *arg, struct hamidp_reason *reason)
{
	struct hamidp_node_options opts = {
		.size = sizeof(opts), .driver = arg, .policy = policy, .now_fn = fixture_now
	};
	struct hamidp_node *opened = NULL;
	int r = hamidp_node_open(&opts, &opened, reason);

	EXPECT((r == 0) == (opened != NULL));
	EXPECT(r == 0 || hamidp_reason_code(reason) == HAMIDP_REASON_NO_MEMORY);
	hamidp_node_close(opened);
	return r;
}

START_TEST(opening_survives)
{
	exhaust(open_step, (void *)"sim:article", 30);
}
END_TEST

/* Events and records may have had no memory: the node that opens is right all the same. */
START_TEST(opening_on_a_faulty_machine_survives)
{
	char spec[sizeof(file_path) + 8];
	struct hamidp_node_options opts = {
		.size = sizeof(opts), .driver = spec, .policy = policy, .now_fn = fixture_now
	};

	edit("ab", "{\"events\":[{\"seq\":1,\"uuid\":\"GPU-a\",\"code\":48}]}");
	(void)snprintf(spec, sizeof(spec), "sim:%s", file_path);
	for (long nth = 0, reached = 1; reached; nth++) {
		int r;

		node = NULL;
		countdown = nth;
		r = hamidp_node_open(&opts, &node, NULL);
		reached = countdown < 0;
		countdown = -1;
		ck_assert_int_eq(r, node ? 0 : -ENOMEM);
		if (!node)
			continue;
		advance(node, 1);
		ck_assert_int_eq(health_of(node, "GPU-a"), HAMIDP_HEALTH_UNHEALTHY);
		ck_assert_int_eq(health_of(node, "GPU-b"), HAMIDP_HEALTH_HEALTHY);
		ck_assert_uint_gt(node->events.n, 0);
		node = hamidp_node_close(node);
	}
}
END_TEST

static size_t n_held(void)
{
	size_t n = 0;

	for (size_t i = 0; i < hamidp_layout_n_slots(hamidp_node_layout(node)); i++)
		n += hamidp_occupancy_holder(hamidp_node_occupancy(node), i) != NULL;
	return n;
}

static int commit_step(void *arg, struct hamidp_reason *reason)
{
	const struct hamidp_commit_options opts = { .size = sizeof(opts),
						    .flags = HAMIDP_COMMIT_SUPERSEDE };
	size_t held = n_held();
	size_t grants = hamidp_node_n_grants(node);
	struct hamidp_grant *grant = NULL;
	int r = hamidp_node_commit(node, decision, &opts, &grant, reason);

	EXPECT((r == 0) == (grant != NULL));
	EXPECT(r == 0 || (n_held() == held && hamidp_node_n_grants(node) == grants));
	EXPECT(r == 0 || hamidp_reason_code(reason) == HAMIDP_REASON_NO_MEMORY);
	hamidp_grant_unref(grant);
	return or_event_lost(node, r);
}

START_TEST(committing_survives)
{
	edit("ab", "");
	node = open_file();
	decision = decide(node, "GPU-a::0 GPU-b::1");
	exhaust(commit_step, NULL, 20);
	ck_assert_uint_eq(n_held(), 2);
	ck_assert_uint_eq(hamidp_node_n_grants(node), 1);
	hamidp_decision_free(decision);
	decision = decide(node, "GPU-a::0 GPU-a::2"); /* the first grant lives on */
	exhaust(commit_step, NULL, 20);
	ck_assert_uint_eq(n_held(), 3);
	ck_assert_uint_eq(hamidp_node_n_grants(node), 2);
	hamidp_decision_free(decision);
	decision = decide(node, "GPU-b::1"); /* and ends */
	exhaust(commit_step, NULL, 20);
	ck_assert_uint_eq(n_held(), 3);
	ck_assert_uint_eq(hamidp_node_n_grants(node), 2);
	hamidp_decision_free(decision);
	node = hamidp_node_close(node);
}
END_TEST

static int bind_step(void *arg, struct hamidp_reason *reason)
{
	const struct hamidp_binding binding = { .size = sizeof(binding),
						.container_id = "c",
						.cgroup_path = "/c" };
	int r = hamidp_node_bind(node, arg, &binding, reason);

	EXPECT(hamidp_grant_n_bindings(hamidp_node_find_grant(node, arg)) == (r == 0));
	return r;
}

static int unbind_step(void *arg, struct hamidp_reason *reason)
{
	int r = hamidp_node_unbind(node, arg, "c", reason);

	EXPECT(hamidp_grant_n_bindings(hamidp_node_find_grant(node, arg)) == (r != 0));
	return r;
}

START_TEST(binding_and_releasing_survive)
{
	char id[HAMIDP_GRANT_ID_LEN + 1];

	edit("ab", "");
	node = open_file();
	(void)strcpy(id, hamidp_grant_id(grant_ids(node, "GPU-a::0")));
	exhaust(bind_step, id, 5);
	exhaust(unbind_step, id, 5);
	countdown = 0;
	ck_assert_int_eq(hamidp_node_release(node, id, NULL), -ENOMEM);
	countdown = -1;
	ck_assert_uint_eq(n_held(), 1);
	ck_assert_int_eq(hamidp_node_release(node, id, NULL), 0);
	ck_assert_uint_eq(n_held(), 0);
	node = hamidp_node_close(node);
}
END_TEST

/* Whatever fails while the file changes, dispatching again brings the node to the same end. */
START_TEST(dispatching_loses_nothing)
{
	for (long nth = 0, reached = 1; reached; nth++) {
		struct hamidp_event *event = NULL;
		size_t n = 0;

		edit("abc", "");
		node = open_file();
		edit("aBcd", "{\"events\":[{\"seq\":1,\"uuid\":\"GPU-a\",\"code\":48}]}");
		countdown = nth;
		(void)hamidp_node_dispatch(node);
		reached = countdown < 0;
		countdown = -1;
		for (int i = 0; i < 4; i++) {
			clock_us += HDP_SECOND_US;
			settle(node);
		}
		ck_assert_msg(n_devices(node) == 4, "allocation %ld: %zu devices", nth,
			      n_devices(node));
		ck_assert_msg(health_of(node, "GPU-a") == HAMIDP_HEALTH_UNHEALTHY &&
				      health_of(node, "GPU-b") == HAMIDP_HEALTH_UNHEALTHY &&
				      health_of(node, "GPU-d") == HAMIDP_HEALTH_HEALTHY,
			      "allocation %ld: healths", nth);
		while (hamidp_node_next_event(node, &event) == 0) {
			n++;
			event = hamidp_event_free(event);
		}
		ck_assert_msg(n > 0, "allocation %ld: no event", nth);
		node = hamidp_node_close(node);
		ck_assert_int_lt(nth, 2000);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("oom-node");
	TCase *tc = tcase_create("oom-node");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, opening_survives);
	tcase_add_test(tc, opening_on_a_faulty_machine_survives);
	tcase_add_test(tc, committing_survives);
	tcase_add_test(tc, binding_and_releasing_survive);
	tcase_add_test(tc, dispatching_loses_nothing);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
