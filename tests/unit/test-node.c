/* SPDX-License-Identifier: Apache-2.0 */

/* A node over its life: opening, looking again, devices that come and go, and its end. */

#include "node-fixture.h"
#include "suite.h"

static int open_with(const struct hamidp_node_options *opts)
{
	struct hamidp_node *node = NULL;
	int r = hamidp_node_open(opts, &node, why);

	hamidp_node_close(node);
	return r;
}

START_TEST(options_are_checked)
{
	struct hamidp_policy *policy = new_policy(4);
	struct hamidp_policy *empty = NULL;
	const struct hamidp_node_options good = { .size = sizeof(good),
						  .driver = "sim:article",
						  .policy = policy };
	struct hamidp_node_options opts = good;
	struct {
		struct hamidp_node_options opts;
		char more[16];
	} newer = { .opts = good };

	ck_assert_int_eq(open_with(NULL), -EINVAL);
	ck_assert_int_eq(open_with(&good), 0);
	opts.size = sizeof(size_t);
	ck_assert_int_eq(open_with(&opts), -EINVAL);
	opts = good;
	opts.flags = 0x80;
	ck_assert_int_eq(open_with(&opts), -EINVAL);
	opts = good;
	opts.policy = NULL;
	ck_assert_int_eq(open_with(&opts), -EINVAL);
	opts = good;
	opts.sysroot = "relative";
	ck_assert_int_eq(open_with(&opts), -EINVAL);
	ck_assert_int_eq(hamidp_policy_new(&empty), 0);
	opts = good;
	opts.policy = empty;
	ck_assert_int_eq(open_with(&opts), -EINVAL);
	ck_assert_str_ne(hamidp_reason_text(why), "");
	newer.opts.size = sizeof(newer);
	ck_assert_int_eq(open_with(&newer.opts), 0);
	newer.more[3] = 1;
	ck_assert_int_eq(open_with(&newer.opts), -EINVAL);
	hamidp_policy_free(empty);
	hamidp_policy_free(policy);
}
END_TEST

static const struct {
	const char *driver;
	int expect;
} drivers[] = {
	{ "sim:article", 0 },
	{ "sim:nothing", -ENOENT },
	{ "sim:", -EINVAL },
	{ "sim", -EINVAL },
	{ "", -ENOENT },
	{ "nothing", -ENOENT },
	{ "sim-article", -ENOENT },
	{ "auto", 0 },
	{ "auto:x", -ENOENT },
	{ "hamivgpu:", -EINVAL },
};

START_TEST(driver_s_name_is_checked)
{
	struct hamidp_policy *policy = new_policy(4);
	const struct hamidp_node_options opts = { .size = sizeof(opts),
						  .driver = drivers[_i].driver,
						  .driver_root = dir,
						  .policy = policy };

	ck_assert_msg(open_with(&opts) == drivers[_i].expect, "driver '%s': %s", drivers[_i].driver,
		      hamidp_reason_text(why));
	hamidp_policy_free(policy);
}
END_TEST

START_TEST(more_slots_than_the_driver_supports_is_a_state_with_the_numbers)
{
	struct hamidp_policy *policy = new_policy(200);
	const struct hamidp_node_options opts = { .size = sizeof(opts),
						  .driver = "sim:article",
						  .policy = policy };
	struct hamidp_node *node = NULL;

	ck_assert_int_eq(hamidp_node_open(&opts, &node, why), 0);
	ck_assert_int_eq(state_of(node), -EINVAL);
	ck_assert_int_eq(hamidp_reason_code(why), HAMIDP_REASON_DRIVER_LIMIT);
	ck_assert_ptr_nonnull(strstr(hamidp_reason_text(why), "200"));
	ck_assert_ptr_nonnull(strstr(hamidp_reason_text(why), "128"));
	ck_assert_uint_eq(hamidp_layout_n_slots(hamidp_node_layout(node)), 0);
	hamidp_node_close(node);
	hamidp_policy_free(policy);
}
END_TEST

START_TEST(bundled_machine_is_served_without_a_thread)
{
	struct hamidp_node *node = open_sim("sim:article");

	ck_assert_int_eq(state_of(node), 0);
	ck_assert_str_eq(hamidp_reason_text(why), "");
	ck_assert_uint_eq(n_devices(node), 4);
	ck_assert_uint_eq(hamidp_layout_n_slots(hamidp_node_layout(node)), 16);
	ck_assert_uint_eq(hamidp_node_deadline_us(node), HAMIDP_NO_DEADLINE);
	ck_assert_ptr_null(node->worker);
	ck_assert_uint_eq(n_logged, 0);
	ck_assert_uint_eq(take_events(node, HAMIDP_EVENT_LAYOUT, NULL), 0);
	hamidp_node_close(node);
}
END_TEST

START_TEST(missing_driver_is_a_state_and_is_looked_for_with_back_off)
{
	struct hamidp_node *node = open_file(); /* the file is not there yet */
	uint64_t waits[8];

	ck_assert_int_eq(state_of(node), -ENODEV);
	ck_assert_int_eq(hamidp_reason_code(why), HAMIDP_REASON_NO_DRIVER);
	ck_assert_ptr_nonnull(strstr(hamidp_reason_text(why), "driver not loaded"));
	ck_assert_uint_eq(n_devices(node), 0);
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		waits[i] = hamidp_node_deadline_us(node) - clock_us;
		clock_us += waits[i];
		settle(node);
	}
	ck_assert_uint_eq(waits[0], 1 * HDP_SECOND_US);
	ck_assert_uint_eq(waits[1], 2 * HDP_SECOND_US);
	ck_assert_uint_eq(waits[4], 16 * HDP_SECOND_US);
	ck_assert_uint_eq(waits[5], 30 * HDP_SECOND_US);
	ck_assert_uint_eq(waits[7], 30 * HDP_SECOND_US);
	ck_assert_msg(n_logged == 1, "said more than once:\n%s", logged);

	edit("ab", "");
	wait_for_work(node);
	ck_assert_int_eq(state_of(node), 0);
	ck_assert_uint_eq(n_devices(node), 2);
	ck_assert_uint_eq(take_events(node, HAMIDP_EVENT_DRIVER, NULL), 1);
	ck_assert_uint_eq(hamidp_node_deadline_us(node), HAMIDP_NO_DEADLINE);
	hamidp_node_close(node);
}
END_TEST

START_TEST(no_gpu_says_so_in_these_words)
{
	struct hamidp_node *node;

	edit("", "");
	node = open_file();
	ck_assert_int_eq(state_of(node), -ENODEV);
	ck_assert_int_eq(hamidp_reason_code(why), HAMIDP_REASON_NO_DEVICE);
	ck_assert_ptr_nonnull(strstr(hamidp_reason_text(why), "no HAMI GPU found"));
	ck_assert_ptr_nonnull(strstr(logged, "no HAMI GPU found"));
	ck_assert_uint_lt(hamidp_node_deadline_us(node), HAMIDP_NO_DEADLINE);
	edit("a", "");
	wait_for_work(node);
	ck_assert_int_eq(state_of(node), 0);
	hamidp_node_close(node);
}
END_TEST

START_TEST(lost_driver_makes_devices_unhealthy_and_they_return_with_it)
{
	struct hamidp_node *node;
	uint64_t generation;

	edit("ab", "");
	node = open_file();
	(void)grant_ids(node, "GPU-a::0");
	(void)take_events(node, HAMIDP_EVENT_LOST, NULL);
	generation = hamidp_node_generation(node);

	edit("ab", "{\"state\":\"not-loaded\"}");
	wait_for_work(node);
	ck_assert_int_eq(state_of(node), -ENODEV);
	ck_assert_int_eq(health_of(node, "GPU-a"), HAMIDP_HEALTH_UNHEALTHY);
	ck_assert_ptr_nonnull(strstr(cause_of(node, "GPU-b"), "driver not loaded"));
	ck_assert_uint_eq(hamidp_layout_n_slots(hamidp_node_layout(node)), 8);
	ck_assert_uint_eq(take_events(node, HAMIDP_EVENT_HEALTH, NULL), 2);
	ck_assert_uint_gt(hamidp_node_generation(node), generation);

	edit("ab", "");
	wait_for_work(node);
	ck_assert_int_eq(state_of(node), 0);
	ck_assert_int_eq(health_of(node, "GPU-a"), HAMIDP_HEALTH_HEALTHY);
	ck_assert_ptr_nonnull(holder_of(node, "GPU-a::0"));
	hamidp_node_close(node);
}
END_TEST

START_TEST(same_machine_again_is_no_event)
{
	struct hamidp_node *node;
	uint64_t generation;

	edit("ab", "");
	node = open_file();
	generation = hamidp_node_generation(node);
	edit("ba", ""); /* another order is the same machine */
	wait_for_work(node);
	ck_assert_uint_eq(hamidp_node_generation(node), generation);
	ck_assert_uint_eq(node->events.n, 0);
	hamidp_node_close(node);
}
END_TEST

START_TEST(broken_edit_keeps_what_was_and_is_said_once_with_its_place)
{
	struct hamidp_node *node;
	uint64_t generation;

	edit("ab", "");
	node = open_file();
	generation = hamidp_node_generation(node);
	for (size_t i = 0; i < 3; i++) {
		replace_file(file_path, "{\"schema\":\"hami.inventory/1\",\n\"devices\": oops}");
		wait_for_work(node);
		advance(node, 60);
	}
	ck_assert_uint_eq(n_devices(node), 2);
	ck_assert_int_eq(health_of(node, "GPU-a"), HAMIDP_HEALTH_HEALTHY);
	ck_assert_uint_eq(hamidp_node_generation(node), generation);
	ck_assert_int_eq(state_of(node), -EPROTO);
	ck_assert_int_eq(hamidp_reason_code(why), HAMIDP_REASON_BAD_INPUT);
	ck_assert_msg(n_logged == 1, "%s", logged);
	ck_assert_msg(strstr(logged, "line 2") || strstr(logged, ":2:") || strstr(logged, "2:"),
		      "%s", logged);

	edit("abc", "");
	wait_for_work(node);
	ck_assert_int_eq(state_of(node), 0);
	ck_assert_uint_eq(n_devices(node), 3);
	hamidp_node_close(node);
}
END_TEST

START_TEST(free_device_leaves_and_held_one_stays_as_gone)
{
	struct hamidp_node *node;
	struct hamidp_grant *grant;
	struct hamidp_event *event = NULL;

	edit("abc", "");
	node = open_file();
	grant = hamidp_grant_ref(grant_ids(node, "GPU-b::1"));
	(void)take_events(node, HAMIDP_EVENT_LOST, NULL);

	edit("a", "");
	wait_for_work(node);
	ck_assert_uint_eq(n_devices(node), 2);
	ck_assert_int_eq(health_of(node, "GPU-b"), HAMIDP_HEALTH_GONE);
	ck_assert_int_eq(health_of(node, "GPU-c"), -1);
	ck_assert_str_eq(holder_of(node, "GPU-b::1"), hamidp_grant_id(grant));
	ck_assert_uint_eq(take_events(node, HAMIDP_EVENT_HEALTH, &event), 1);
	ck_assert_str_eq(hamidp_event_device(event), "GPU-b");
	ck_assert_int_eq(hamidp_event_health(event), HAMIDP_HEALTH_GONE);
	event = hamidp_event_free(event);

	edit("ab", ""); /* the same card again */
	wait_for_work(node);
	ck_assert_int_eq(health_of(node, "GPU-b"), HAMIDP_HEALTH_HEALTHY);
	ck_assert_str_eq(holder_of(node, "GPU-b::1"), hamidp_grant_id(grant));
	ck_assert_uint_eq(take_events(node, HAMIDP_EVENT_HEALTH, NULL), 1);

	edit("a", "");
	wait_for_work(node);
	ck_assert_int_eq(hamidp_node_release(node, hamidp_grant_id(grant), why), 0);
	(void)take_events(node, HAMIDP_EVENT_LOST, NULL);
	ck_assert_uint_eq(hamidp_node_deadline_us(node), 0); /* it can go now */
	settle(node);
	ck_assert_uint_eq(n_devices(node), 1);
	(void)take_events(node, HAMIDP_EVENT_LOST, NULL);
	ck_assert_uint_eq(hamidp_node_deadline_us(node), HAMIDP_NO_DEADLINE);
	hamidp_grant_unref(grant);
	hamidp_node_close(node);
}
END_TEST

START_TEST(devices_that_come_and_go_under_new_names_are_forgotten)
{
	struct hamidp_node *node;

	edit("a", "");
	node = open_file();
	for (char letters[] = "ab"; letters[1] <= 'z'; letters[1]++) {
		edit(letters, "");
		wait_for_work(node);
		ck_assert_int_eq(state_of(node), 0);
	}
	ck_assert_uint_eq(n_devices(node), 2);
	ck_assert_uint_eq(node->n_healths, 2);
	hamidp_node_close(node);
}
END_TEST

static const char *two_devices(const char *pci_a, const char *pci_b)
{
	static char text[1024];

	(void)snprintf(text, sizeof(text),
		       "{\"schema\":\"hami.inventory/1\",\"devices\":["
		       "{\"uuid\":\"GPU-a\",\"memory_mib\":4096,\"pci\":\"%s\","
		       "\"health\":\"healthy\"},"
		       "{\"uuid\":\"GPU-b\",\"memory_mib\":4096,\"pci\":\"%s\","
		       "\"health\":\"healthy\"}]}",
		       pci_a, pci_b);
	return text;
}

START_TEST(decision_outlives_devices_that_change_places)
{
	struct hamidp_decision *decision;
	struct hamidp_grant *grant = NULL;
	struct hamidp_node *node;

	put_file(file_path, two_devices("0000:01:00.0", "0000:02:00.0"));
	node = open_file();
	decision = decide(node, "GPU-a::1 GPU-b::0");
	replace_file(file_path, two_devices("0000:02:00.0", "0000:01:00.0"));
	wait_for_work(node);
	ck_assert_int_eq(hamidp_node_commit(node, decision, NULL, &grant, why), 0);
	ck_assert_str_eq(slots_of(grant), "GPU-b::0 GPU-a::1"); /* device order, as it is now */
	ck_assert_str_eq(holder_of(node, "GPU-a::1"), hamidp_grant_id(grant));
	ck_assert_ptr_null(holder_of(node, "GPU-a::0"));
	hamidp_grant_unref(grant);
	hamidp_decision_free(decision);
	hamidp_node_close(node);
}
END_TEST

/* A device with so little memory that strict fitting refuses the whole layout. */
START_TEST(layout_that_the_policy_refuses_keeps_the_last_one)
{
	struct hamidp_slicing slicing = { .size = sizeof(slicing),
					  .slots = 4,
					  .memory_mib = 10240 };
	struct hamidp_policy *policy = NULL;
	struct hamidp_node_options opts = { .size = sizeof(opts), .now_fn = fixture_now };
	struct hamidp_node *node = NULL;
	char spec[sizeof(file_path) + 8];
	char text[4096];

	ck_assert_int_eq(hamidp_policy_new(&policy), 0);
	ck_assert_int_eq(hamidp_policy_set_memory_fit(policy, HAMIDP_MEMORY_FIT_STRICT), 0);
	ck_assert_int_eq(hamidp_policy_add_resource(policy, "hami.com/vgpu", &slicing, NULL, NULL),
			 0);
	edit("ab", "");
	(void)snprintf(spec, sizeof(spec), "sim:%s", file_path);
	opts.driver = spec;
	opts.policy = policy;
	opts.log_fn = fixture_log;
	opts.log_priority = LOG_DEBUG;
	ck_assert_int_eq(hamidp_node_open(&opts, &node, why), 0);
	ck_assert_int_eq(state_of(node), 0);

	(void)snprintf(text, sizeof(text),
		       "{\"schema\":\"hami.inventory/1\",\"devices\":["
		       "{\"uuid\":\"GPU-a\",\"memory_mib\":40960,\"pci\":\"0000:00:00.0\","
		       "\"index\":0,\"health\":\"healthy\"},"
		       "{\"uuid\":\"GPU-z\",\"memory_mib\":4096,\"health\":\"healthy\"}]}");
	replace_file(file_path, text);
	wait_for_work(node);
	ck_assert_int_eq(state_of(node), -EINVAL);
	ck_assert_int_eq(health_of(node, "GPU-a"), HAMIDP_HEALTH_HEALTHY);
	ck_assert_int_eq(health_of(node, "GPU-b"), HAMIDP_HEALTH_GONE);
	ck_assert_int_eq(health_of(node, "GPU-z"), -1);
	ck_assert_uint_eq(n_logged, 1);

	edit("ab", "");
	wait_for_work(node);
	ck_assert_int_eq(state_of(node), 0);
	ck_assert_int_eq(health_of(node, "GPU-b"), HAMIDP_HEALTH_HEALTHY);
	hamidp_node_close(node);
	hamidp_policy_free(policy);
}
END_TEST

START_TEST(node_without_events_looks_once)
{
	char spec[sizeof(file_path) + 8];
	struct hamidp_node *node;

	(void)snprintf(spec, sizeof(spec), "sim:%s", file_path);
	node = open_parts(spec, NULL, HAMIDP_NODE_NO_EVENTS);
	ck_assert_int_eq(state_of(node), -ENODEV);
	ck_assert_uint_eq(hamidp_node_deadline_us(node), HAMIDP_NO_DEADLINE);
	edit("ab", "");
	advance(node, 100);
	ck_assert_uint_eq(n_devices(node), 0);
	node = hamidp_node_close(node);

	node = open_parts(spec, NULL, HAMIDP_NODE_NO_EVENTS);
	ck_assert_uint_eq(n_devices(node), 2);
	ck_assert_ptr_nonnull(grant_ids(node, "GPU-a::0"));
	node = hamidp_node_close(node);

	edit("ab", "{\"state\":\"hang\"}"); /* nobody could end the wait */
	node = open_parts(spec, NULL, HAMIDP_NODE_NO_EVENTS);
	ck_assert_int_eq(state_of(node), -ETIMEDOUT);
	hamidp_node_close(node);
}
END_TEST

static size_t n_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

START_TEST(no_descriptor_is_left_open)
{
	size_t before = n_descriptors();

	for (int i = 0; i < 20; i++) {
		struct hamidp_node *node;

		edit("ab", i % 2 ? "{\"hang\":[\"GPU-a\"]}" : "");
		node = open_file();
		edit("a", "");
		settle(node);
		hamidp_node_close(node);
		hamidp_node_close(open_sim("sim:article"));
	}
	ck_assert_uint_eq(n_descriptors(), before);
}
END_TEST

START_TEST(layouts_and_grants_outlive_the_node)
{
	struct hamidp_node *node = open_sim("sim:article");
	struct hamidp_layout *layout = hamidp_layout_ref(hamidp_node_layout(node));
	struct hamidp_grant *grant =
		hamidp_grant_ref(grant_ids(node, hamidp_layout_slot_id(layout, 0)));

	hamidp_node_close(node);
	ck_assert_str_eq(hamidp_grant_slot_id(grant, 0), hamidp_layout_slot_id(layout, 0));
	hamidp_grant_unref(grant);
	hamidp_layout_unref(layout);
}
END_TEST

static Suite *suite(void)
{
	const TTest *const tests[] = {
		options_are_checked,
		more_slots_than_the_driver_supports_is_a_state_with_the_numbers,
		bundled_machine_is_served_without_a_thread,
		missing_driver_is_a_state_and_is_looked_for_with_back_off,
		no_gpu_says_so_in_these_words,
		lost_driver_makes_devices_unhealthy_and_they_return_with_it,
		same_machine_again_is_no_event,
		broken_edit_keeps_what_was_and_is_said_once_with_its_place,
		free_device_leaves_and_held_one_stays_as_gone,
		devices_that_come_and_go_under_new_names_are_forgotten,
		decision_outlives_devices_that_change_places,
		layout_that_the_policy_refuses_keeps_the_last_one,
		node_without_events_looks_once,
		no_descriptor_is_left_open,
		layouts_and_grants_outlive_the_node,
	};
	Suite *s = suite_create("node");
	TCase *tc = tcase_create("node");

	tcase_add_checked_fixture(tc, fixture_setup, fixture_teardown);
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_add_loop_test(tc, driver_s_name_is_checked, 0, (int)ARRAY_SIZE(drivers));
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return suite_run(suite());
}
