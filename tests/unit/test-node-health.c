/* SPDX-License-Identifier: Apache-2.0 */

/* Health of a node's devices: errors, silence, and what of it outlives the process. */

#include <sched.h>

#include "node-fixture.h"
#include "stand-in.h"
#include "suite.h"

static const struct hdp_node_parts parts = { .drivers = stand_in_table,
					     .store = &stand_in_store,
					     .first_look_ms = 50,
					     .call_ms = 50,
					     .close_ms = 50 };
static struct hamidp_node *node;

static void setup(void)
{
	fixture_setup();
	stand_in_setup();
	node = NULL;
}

static void teardown(void)
{
	hamidp_node_close(node);
	stand_in_teardown();
	fixture_teardown();
}

static void open_node(void)
{
	node = open_parts("stand-in", &parts, 0);
}

static void reopen(void)
{
	node = hamidp_node_close(node);
	open_node();
}

static void push_event(enum hdp_driver_event_type type, const char *uuid, uint64_t code)
{
	struct hdp_driver_event *event = &stand_in.events[stand_in.n_events++];

	*event = (struct hdp_driver_event){
		.type = type,
		.scope = uuid ? HDP_SCOPE_DEVICE : HDP_SCOPE_DRIVER,
		.code = code,
	};
	if (uuid)
		(void)strcpy(event->uuid, uuid);
}

static void error(const char *uuid, uint64_t code)
{
	push_event(HDP_DRIVER_ERROR, uuid, code);
	settle(node);
}

static void look_again(void)
{
	push_event(HDP_DRIVER_CHANGED, NULL, 0);
	settle(node);
}

static size_t n_healthy(void)
{
	size_t n = 0;

	for (char uuid[] = "GPU-a"; uuid[4] <= 'd'; uuid[4]++)
		n += health_of(node, uuid) == HAMIDP_HEALTH_HEALTHY;
	return n;
}

START_TEST(error_takes_its_device_out_in_one_event_for_ten_quiet_minutes)
{
	struct hamidp_event *event = NULL;
	uint64_t start_us;

	open_node();
	start_us = clock_us;
	error("GPU-b", 48);
	ck_assert_int_eq(health_of(node, "GPU-b"), HAMIDP_HEALTH_UNHEALTHY);
	ck_assert_uint_eq(n_healthy(), 3);
	ck_assert_ptr_nonnull(strstr(cause_of(node, "GPU-b"), "48"));
	ck_assert_uint_eq(take_events(node, HAMIDP_EVENT_HEALTH, &event), 1);
	ck_assert_str_eq(hamidp_event_device(event), "GPU-b");
	ck_assert_int_eq(hamidp_event_health(event), HAMIDP_HEALTH_UNHEALTHY);
	event = hamidp_event_free(event);
	while (n_healthy() < 4) {
		ck_assert_uint_gt(hamidp_node_deadline_us(node), clock_us);
		ck_assert_uint_lt(hamidp_node_deadline_us(node), HAMIDP_NO_DEADLINE);
		clock_us = hamidp_node_deadline_us(node);
		settle(node);
		(void)take_events(node, HAMIDP_EVENT_LOST, NULL);
	}
	ck_assert_uint_eq(clock_us - start_us, 600 * HDP_SECOND_US);
	ck_assert_uint_gt(stand_in.n_probe, 1);
	ck_assert_uint_eq(hamidp_node_deadline_us(node), HAMIDP_NO_DEADLINE);
}
END_TEST

START_TEST(error_comes_with_its_code_and_before_the_health)
{
	struct hamidp_event *event = NULL;

	open_node();
	error("GPU-b", 31);
	ck_assert_int_eq(hamidp_node_next_event(node, &event), 0);
	ck_assert_int_eq(hamidp_event_type(event), HAMIDP_EVENT_ERROR);
	ck_assert_uint_eq(hamidp_event_code(event), 31);
	ck_assert_str_eq(hamidp_event_device(event), "GPU-b");
	ck_assert_uint_eq(hamidp_event_time_us(event), clock_us);
	event = hamidp_event_free(event);
}
END_TEST

START_TEST(harmless_errors_leave_health_alone)
{
	uint64_t generation;

	open_node();
	generation = hamidp_node_generation(node);
	stand_in.fault_class = HDP_FAULT_IGNORE;
	error("GPU-a", 1);
	stand_in.fault_class = HDP_FAULT_APP_RESTART;
	error("GPU-a", 94);
	ck_assert_uint_eq(n_healthy(), 4);
	ck_assert_uint_eq(hamidp_node_generation(node), generation);
	ck_assert_uint_eq(take_events(node, HAMIDP_EVENT_ERROR, NULL), 2);
}
END_TEST

START_TEST(error_of_the_driver_is_every_device_s)
{
	open_node();
	error(NULL, 7);
	ck_assert_uint_eq(n_healthy(), 0);
	ck_assert_uint_eq(take_events(node, HAMIDP_EVENT_HEALTH, NULL), 4);
}
END_TEST

START_TEST(error_of_an_unknown_device_is_told_and_forgotten)
{
	open_node();
	error("GPU-z", 7);
	ck_assert_uint_eq(n_healthy(), 4);
	ck_assert_uint_eq(node->n_healths, 4);
	ck_assert_uint_eq(take_events(node, HAMIDP_EVENT_ERROR, NULL), 1);
}
END_TEST

START_TEST(dead_device_stays_so_until_it_was_away_also_over_a_restart)
{
	open_node();
	stand_in.fault_class = HDP_FAULT_DEAD;
	error("GPU-d", 79);
	advance(node, 100000);
	ck_assert_int_eq(health_of(node, "GPU-d"), HAMIDP_HEALTH_UNHEALTHY);
	clock_us = 5 * HDP_SECOND_US; /* the machine was started anew */
	reopen();
	ck_assert_int_eq(health_of(node, "GPU-d"), HAMIDP_HEALTH_UNHEALTHY);
	look_again();
	ck_assert_int_eq(health_of(node, "GPU-d"), HAMIDP_HEALTH_UNHEALTHY);
	stand_in.n_devices = 3;
	look_again();
	ck_assert_int_eq(health_of(node, "GPU-d"), -1);
	stand_in.n_devices = 4;
	look_again();
	ck_assert_int_eq(health_of(node, "GPU-d"), HAMIDP_HEALTH_HEALTHY);
	reopen();
	ck_assert_int_eq(health_of(node, "GPU-d"), HAMIDP_HEALTH_HEALTHY);
}
END_TEST

START_TEST(error_to_recover_from_goes_on_over_a_restart)
{
	open_node();
	error("GPU-a", 48);
	advance(node, 300);
	reopen();
	ck_assert_int_eq(health_of(node, "GPU-a"), HAMIDP_HEALTH_UNHEALTHY);
	settle(node);
	advance(node, 299);
	ck_assert_int_eq(health_of(node, "GPU-a"), HAMIDP_HEALTH_UNHEALTHY);
	advance(node, 1);
	ck_assert_int_eq(health_of(node, "GPU-a"), HAMIDP_HEALTH_HEALTHY);
	reopen();
	ck_assert_int_eq(health_of(node, "GPU-a"), HAMIDP_HEALTH_HEALTHY);
}
END_TEST

START_TEST(driver_that_fails_is_borne_for_half_a_minute)
{
	open_node();
	stand_in.enumerate_rc = -EIO;
	look_again();
	ck_assert_int_eq(state_of(node), -EIO);
	ck_assert_uint_eq(n_healthy(), 4);
	for (int i = 0; i < 29; i++)
		advance(node, 1);
	ck_assert_uint_eq(n_healthy(), 4);
	for (int i = 0; i < 31; i++)
		advance(node, 1);
	ck_assert_uint_eq(n_healthy(), 0);
	ck_assert_str_eq(cause_of(node, "GPU-a"), "told to fail");
	stand_in.enumerate_rc = 0;
	advance(node, 30);
	ck_assert_uint_eq(n_healthy(), 4);
	ck_assert_int_eq(state_of(node), 0);
}
END_TEST

/* Until the worker has nothing running that could still come back at once. */
static void run_probes(unsigned n)
{
	for (int i = 0; i < 100 && __atomic_load_n(&stand_in.n_probe, __ATOMIC_SEQ_CST) < n; i++)
		wait_for_work(node);
}

START_TEST(silent_device_is_suspect_then_unhealthy_and_the_others_are_probed)
{
	stand_in.may_block = true;
	stand_in.hang_probe = true;
	open_node();
	ck_assert_uint_eq(n_healthy(), 4);
	clock_us = hamidp_node_deadline_us(node);
	settle(node);
	ck_assert_int_eq(health_of(node, "GPU-a"), HAMIDP_HEALTH_SUSPECT);
	ck_assert_uint_eq(n_healthy(), 3);
	clock_us = hamidp_node_deadline_us(node);
	settle(node);
	ck_assert_int_eq(health_of(node, "GPU-a"), HAMIDP_HEALTH_UNHEALTHY);
	ck_assert_str_eq(cause_of(node, "GPU-a"), "driver does not answer");
	run_probes(4);
	ck_assert_uint_eq(n_healthy(), 3);

	/* At most one thread is left behind for a card, however often it would be probed. */
	for (int i = 0; i < 5; i++) {
		unsigned before = __atomic_load_n(&stand_in.n_probe, __ATOMIC_SEQ_CST);

		push_event(HDP_DRIVER_CHANGED, NULL, 0);
		settle(node);
		run_probes(before + 3);
		ck_assert_uint_eq(__atomic_load_n(&stand_in.n_probe, __ATOMIC_SEQ_CST), before + 3);
	}

	__atomic_store_n(&stand_in.hang_probe, false, __ATOMIC_SEQ_CST);
	sem_post(&stand_in.go);
	while (n_healthy() < 4)
		wait_for_work(node);
}
END_TEST

START_TEST(open_does_not_wait_for_ever_and_takes_the_answer_later)
{
	stand_in.may_block = true;
	stand_in.hang_enumerate = true;
	open_node();
	ck_assert_int_eq(state_of(node), -ETIMEDOUT);
	ck_assert_int_eq(hamidp_reason_code(why), HAMIDP_REASON_DRIVER_FAILED);
	ck_assert_uint_eq(n_devices(node), 0);
	__atomic_store_n(&stand_in.hang_enumerate, false, __ATOMIC_SEQ_CST);
	sem_post(&stand_in.go);
	while (state_of(node) != 0)
		wait_for_work(node);
	ck_assert_uint_eq(n_healthy(), 4);
	ck_assert_uint_eq(__atomic_load_n(&stand_in.n_enumerate, __ATOMIC_SEQ_CST), 1);
}
END_TEST

START_TEST(bind_does_not_wait_for_ever)
{
	struct hamidp_binding binding = { .size = sizeof(binding), .container_id = "c" };
	struct hamidp_grant *grant;

	stand_in.may_block = true;
	stand_in.hang_probe = true;
	open_node(); /* the first device's probe hangs on the worker */
	grant = grant_ids(node, "GPU-a::0");
	ck_assert_int_eq(hamidp_node_bind(node, hamidp_grant_id(grant), &binding, why), -ETIMEDOUT);
	ck_assert_int_eq(hamidp_reason_code(why), HAMIDP_REASON_DRIVER_FAILED);
	ck_assert_uint_eq(hamidp_grant_n_bindings(grant), 0);
	__atomic_store_n(&stand_in.hang_probe, false, __ATOMIC_SEQ_CST);
	sem_post(&stand_in.go);
	run_probes(4);
	ck_assert_int_eq(hamidp_node_bind(node, hamidp_grant_id(grant), &binding, why), 0);
}
END_TEST

START_TEST(driver_that_hangs_takes_all_devices_with_it_and_back)
{
	stand_in.may_block = true;
	open_node();
	run_probes(4);
	settle(node);
	(void)take_events(node, HAMIDP_EVENT_LOST, NULL);
	__atomic_store_n(&stand_in.hang_enumerate, true, __ATOMIC_SEQ_CST);
	look_again();
	advance(node, 10);
	ck_assert_int_eq(health_of(node, "GPU-c"), HAMIDP_HEALTH_SUSPECT);
	ck_assert_int_eq(state_of(node), -ETIMEDOUT);
	advance(node, 10);
	ck_assert_int_eq(health_of(node, "GPU-c"), HAMIDP_HEALTH_UNHEALTHY);
	ck_assert_uint_eq(take_events(node, HAMIDP_EVENT_HEALTH, NULL), 8);
	__atomic_store_n(&stand_in.hang_enumerate, false, __ATOMIC_SEQ_CST);
	sem_post(&stand_in.go);
	while (n_healthy() < 4)
		wait_for_work(node);
	ck_assert_int_eq(state_of(node), 0);
}
END_TEST

START_TEST(node_closes_while_a_call_hangs_and_the_driver_after_it)
{
	stand_in.may_block = true;
	stand_in.hang_probe = true;
	open_node();
	node = hamidp_node_close(node);
	ck_assert_uint_eq(__atomic_load_n(&stand_in.n_closed, __ATOMIC_SEQ_CST), 0);
	sem_post(&stand_in.go);
	while (__atomic_load_n(&stand_in.n_closed, __ATOMIC_SEQ_CST) == 0)
		sched_yield();
}
END_TEST

START_TEST(numa_nodes_of_a_real_driver_must_have_cpus)
{
	struct hamidp_policy *policy = new_policy(4);
	struct hamidp_node_options opts = {
		.size = sizeof(opts), .driver = "auto", .sysroot = dir, .policy = policy
	};

	stand_in.numa_node = 0;
	ck_assert_int_eq(hdp_node_open_with(&opts, &parts, &node, why), 0);
	ck_assert_int_eq(hamidp_layout_resource_has_numa(hamidp_node_layout(node), 0), 0);
	node = hamidp_node_close(node);
	node = open_sim("sim:article"); /* a simulated machine has the nodes it says */
	ck_assert_int_eq(hamidp_layout_resource_has_numa(hamidp_node_layout(node), 0), 1);
	hamidp_policy_free(policy);
}
END_TEST

/* Placement looks links up in tables: made before anybody asks, and used again as healths change.
 */
START_TEST(tables_of_links_outlive_changes_of_health)
{
	struct hdp_topology *topology;

	edit("ab", "");
	node = open_file();
	topology = node->layout->inv->topology;
	ck_assert_uint_eq(topology->n, 2);
	ck_assert_ptr_nonnull(topology->tables);

	edit("aB", "");
	wait_for_work(node);
	ck_assert_int_eq(health_of(node, "GPU-b"), HAMIDP_HEALTH_UNHEALTHY);
	ck_assert_ptr_eq(node->layout->inv->topology, topology);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		error_takes_its_device_out_in_one_event_for_ten_quiet_minutes,
		error_comes_with_its_code_and_before_the_health,
		harmless_errors_leave_health_alone,
		error_of_the_driver_is_every_device_s,
		error_of_an_unknown_device_is_told_and_forgotten,
		dead_device_stays_so_until_it_was_away_also_over_a_restart,
		error_to_recover_from_goes_on_over_a_restart,
		driver_that_fails_is_borne_for_half_a_minute,
		silent_device_is_suspect_then_unhealthy_and_the_others_are_probed,
		open_does_not_wait_for_ever_and_takes_the_answer_later,
		bind_does_not_wait_for_ever,
		driver_that_hangs_takes_all_devices_with_it_and_back,
		node_closes_while_a_call_hangs_and_the_driver_after_it,
		numa_nodes_of_a_real_driver_must_have_cpus,
		tables_of_links_outlive_changes_of_health,
	};
	Suite *s = suite_create("node-health");
	TCase *tc = tcase_create("node-health");

	tcase_add_checked_fixture(tc, setup, teardown);
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
