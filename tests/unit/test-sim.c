/* SPDX-License-Identifier: Apache-2.0 */

/* The simulated driver: its file in all its states, its faults, and what it does for grants. */

#include <sys/stat.h>

#include "driver-sim.h"
#include "node-fixture.h"
#include "suite.h"

static size_t n_healthy(const struct hamidp_node *node)
{
	size_t n = 0;

	for (char uuid[] = "GPU-a"; uuid[4] <= 'z'; uuid[4]++)
		n += health_of(node, uuid) == HAMIDP_HEALTH_HEALTHY;
	return n;
}

START_TEST(every_bundled_machine_opens)
{
	for (size_t i = 0; hamidp_bundled_machine(i); i++) {
		char spec[128];
		struct hamidp_node *node;

		(void)snprintf(spec, sizeof(spec), "sim:%s", hamidp_bundled_machine(i));
		node = open_sim(spec);
		ck_assert_msg(state_of(node) == 0, "%s: %s", spec, hamidp_reason_text(why));
		ck_assert_uint_gt(n_devices(node), 0);
		for (size_t pos = 0; pos < n_devices(node); pos++)
			ck_assert_int_eq(hamidp_device_health(hamidp_inventory_device(
						 hamidp_layout_inventory(hamidp_node_layout(node)),
						 pos)),
					 HAMIDP_HEALTH_HEALTHY);
		hamidp_node_close(node);
	}
}
END_TEST

/* Ways in which a file can become another one; each must be seen by the watch. */
static void write_in_place(const char *text)
{
	put_file(file_path, text);
}

static void write_and_rename(const char *text)
{
	replace_file(file_path, text);
}

static void remove_and_write(const char *text)
{
	ck_assert_int_eq(unlink(file_path), 0);
	put_file(file_path, text);
}

static void replace_by_link(const char *text)
{
	char target[sizeof(file_path) + 8];

	(void)snprintf(target, sizeof(target), "%s.target", file_path);
	put_file(target, text);
	ck_assert_int_eq(unlink(file_path), 0);
	ck_assert_int_eq(symlink(target, file_path), 0);
}

static void (*const ways[])(const char *text) = { write_in_place, write_and_rename,
						  remove_and_write, replace_by_link };

START_TEST(every_way_to_edit_the_file_is_seen)
{
	struct hamidp_node *node;

	edit("ab", "");
	node = open_file();
	ways[_i](machine_text("abc", ""));
	while (n_devices(node) != 3)
		wait_for_work(node);
	ck_assert_int_eq(state_of(node), 0);
	ck_assert_msg(!strstr(logged, "line"), "a half-written file was read: %s", logged);
	hamidp_node_close(node);
}
END_TEST

START_TEST(file_that_is_still_being_written_is_not_read)
{
	const char *text = machine_text("ab", "");
	struct hamidp_node *node = open_file(); /* nothing there yet */
	FILE *file = fopen(file_path, "we");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(text, 1, 10, file), 10);
	ck_assert_int_eq(fflush(file), 0);
	settle(node);
	ck_assert_int_eq(state_of(node), -ENODEV);
	ck_assert_uint_eq(fwrite(text + 10, 1, strlen(text + 10), file), strlen(text + 10));
	ck_assert_int_eq(fclose(file), 0);
	wait_for_work(node);
	ck_assert_int_eq(state_of(node), 0);
	ck_assert_msg(!strstr(logged, "line"), "%s", logged);
	hamidp_node_close(node);
}
END_TEST

START_TEST(removed_file_is_a_driver_that_is_not_loaded)
{
	struct hamidp_node *node;

	edit("ab", "");
	node = open_file();
	ck_assert_int_eq(unlink(file_path), 0);
	wait_for_work(node);
	ck_assert_int_eq(state_of(node), -ENODEV);
	ck_assert_ptr_nonnull(strstr(hamidp_reason_text(why), "driver not loaded"));
	ck_assert_uint_eq(n_healthy(node), 0);
	edit("ab", "");
	wait_for_work(node);
	ck_assert_uint_eq(n_healthy(node), 2);
	hamidp_node_close(node);
}
END_TEST

/* What is in the way of the file may end without an event of its name. */
START_TEST(file_that_could_not_be_read_is_tried_again)
{
	char target[sizeof(file_path) + 8];
	struct hamidp_node *node;

	(void)snprintf(target, sizeof(target), "%s/target", dir);
	ck_assert_int_eq(symlink(target, file_path), 0);
	node = open_file();
	ck_assert_int_eq(state_of(node), -ENODEV);
	put_file(target, machine_text("ab", ""));
	advance(node, 3600);
	ck_assert_int_eq(state_of(node), 0);
	if (geteuid() != 0) { /* to whom nothing is closed */
		put_file(target, machine_text("abc", ""));
		ck_assert_int_eq(chmod(target, 0), 0);
		ck_assert_int_eq(rename(target, file_path), 0);
		settle(node);
		ck_assert_int_eq(state_of(node), -EIO);
		ck_assert_int_eq(chmod(file_path, 0600), 0);
		settle(node);
		ck_assert_int_eq(state_of(node), 0);
	}
	hamidp_node_close(node);
}
END_TEST

START_TEST(directories_may_come_later_and_go)
{
	char path[64];
	char spec[sizeof(path) + 8];
	struct hamidp_node *node;

	(void)snprintf(path, sizeof(path), "%s/one/two/m.json", dir);
	(void)snprintf(spec, sizeof(spec), "sim:%s", path);
	node = open_sim(spec);
	for (int round = 0; round < 2; round++) {
		char sub[64];

		ck_assert_int_eq(state_of(node), -ENODEV);
		(void)snprintf(sub, sizeof(sub), "%s/one", dir);
		ck_assert_int_eq(mkdir(sub, 0755), 0);
		if (round == 0)
			wait_for_work(node);
		strcat(sub, "/two");
		ck_assert_int_eq(mkdir(sub, 0755), 0);
		put_file(path, machine_text("a", ""));
		while (n_healthy(node) != 1)
			wait_for_work(node);
		(void)snprintf(sub, sizeof(sub), "%s/one", dir);
		remove_tree(sub);
		while (n_healthy(node) != 0)
			wait_for_work(node);
	}
	hamidp_node_close(node);
}
END_TEST

START_TEST(relative_path_and_odd_files_are_handled)
{
	struct hamidp_node *node;
	char spec[64];

	(void)snprintf(spec, sizeof(spec), "sim:%s", dir);
	node = open_sim(spec); /* a directory */
	ck_assert_int_eq(state_of(node), -EPROTO);
	node = hamidp_node_close(node);
	ck_assert_int_eq(mkfifo(file_path, 0600), 0);
	node = open_file(); /* does not wait for a writer */
	ck_assert_int_eq(state_of(node), -EPROTO);
	node = hamidp_node_close(node);
	ck_assert_int_eq(unlink(file_path), 0);
	put_file(file_path, "");
	node = open_file();
	ck_assert_int_eq(state_of(node), -EPROTO);
	ck_assert_int_eq(hamidp_reason_code(why), HAMIDP_REASON_BAD_INPUT);
	node = hamidp_node_close(node);
	node = open_sim("sim:does-not-exist.json");
	ck_assert_int_eq(state_of(node), -ENODEV);
	hamidp_node_close(node);
}
END_TEST

START_TEST(each_event_fires_once_in_order_of_its_number)
{
	struct hamidp_event *event = NULL;
	struct hamidp_node *node;

	edit("ab", "{\"events\":[{\"seq\":1,\"uuid\":\"GPU-a\",\"code\":13}]}");
	node = open_file();
	ck_assert_uint_eq(take_events(node, HAMIDP_EVENT_ERROR, &event), 1);
	ck_assert_uint_eq(hamidp_event_code(event), 13);
	event = hamidp_event_free(event);
	ck_assert_int_eq(health_of(node, "GPU-a"), HAMIDP_HEALTH_UNHEALTHY);
	edit("ab", "{\"events\":[{\"seq\":5,\"uuid\":\"GPU-b\",\"code\":50},"
		   "{\"seq\":1,\"uuid\":\"GPU-a\",\"code\":13},"
		   "{\"seq\":3,\"uuid\":\"GPU-b\",\"code\":30}]}");
	wait_for_work(node);
	ck_assert_uint_eq(take_events(node, HAMIDP_EVENT_ERROR, &event), 2);
	ck_assert_uint_eq(hamidp_event_code(event), 50);
	event = hamidp_event_free(event);
	edit("ab", "{\"events\":[{\"seq\":4,\"uuid\":\"GPU-b\",\"code\":40}]}");
	wait_for_work(node);
	ck_assert_uint_eq(take_events(node, HAMIDP_EVENT_ERROR, NULL), 0);
	hamidp_node_close(node);
}
END_TEST

START_TEST(error_of_a_device_that_comes_with_it_finds_it)
{
	struct hamidp_node *node;

	edit("a", "");
	node = open_file();
	edit("ab", "{\"events\":[{\"seq\":1,\"uuid\":\"GPU-b\",\"code\":48}]}");
	wait_for_work(node);
	ck_assert_int_eq(health_of(node, "GPU-b"), HAMIDP_HEALTH_UNHEALTHY);
	ck_assert_int_eq(health_of(node, "GPU-a"), HAMIDP_HEALTH_HEALTHY);
	hamidp_node_close(node);
}
END_TEST

START_TEST(health_in_the_file_is_the_base_and_faults_lie_over_it)
{
	struct hamidp_node *node;

	edit("aB", "");
	node = open_file();
	ck_assert_int_eq(health_of(node, "GPU-b"), HAMIDP_HEALTH_UNHEALTHY);
	edit("ab", "{\"events\":[{\"seq\":1,\"uuid\":\"GPU-b\",\"code\":48}]}");
	wait_for_work(node);
	ck_assert_int_eq(health_of(node, "GPU-b"), HAMIDP_HEALTH_UNHEALTHY);
	edit("aB", "{\"events\":[{\"seq\":1,\"uuid\":\"GPU-b\",\"code\":48}]}");
	wait_for_work(node);
	advance(node, 700); /* probes fail while the file says so: no quiet time */
	edit("ab", "{\"events\":[{\"seq\":1,\"uuid\":\"GPU-b\",\"code\":48}]}");
	wait_for_work(node);
	ck_assert_int_eq(health_of(node, "GPU-b"), HAMIDP_HEALTH_UNHEALTHY);
	for (int i = 0; i < 11; i++)
		advance(node, 60);
	ck_assert_int_eq(health_of(node, "GPU-b"), HAMIDP_HEALTH_HEALTHY);
	hamidp_node_close(node);
}
END_TEST

START_TEST(device_that_hangs_is_told_and_returns_when_the_file_lets_it)
{
	struct hamidp_node *node;

	edit("abc", "");
	node = open_file();
	edit("abc", "{\"hang\":[\"GPU-b\"]}");
	wait_for_work(node);
	while (node->running == NULL || strcmp(node->running->uuid, "GPU-b") != 0)
		wait_for_work(node);
	advance(node, 10);
	ck_assert_int_eq(health_of(node, "GPU-b"), HAMIDP_HEALTH_SUSPECT);
	advance(node, 10);
	ck_assert_int_eq(health_of(node, "GPU-b"), HAMIDP_HEALTH_UNHEALTHY);
	ck_assert_uint_eq(n_healthy(node), 2);
	edit("abc", "");
	while (n_healthy(node) != 3)
		wait_for_work(node);
	hamidp_node_close(node);
}
END_TEST

START_TEST(driver_that_hangs_is_told_and_returns_when_the_file_lets_it)
{
	struct hamidp_node *node;

	edit("ab", "");
	node = open_file();
	edit("ab", "{\"state\":\"hang\"}");
	wait_for_work(node);
	advance(node, 10);
	advance(node, 10);
	ck_assert_int_eq(state_of(node), -ETIMEDOUT);
	ck_assert_uint_eq(n_healthy(node), 0);
	edit("abc", "");
	while (n_healthy(node) != 3)
		wait_for_work(node);
	ck_assert_int_eq(state_of(node), 0);
	hamidp_node_close(node);
}
END_TEST

START_TEST(node_closes_at_once_while_the_simulated_driver_hangs)
{
	struct timespec start, end;
	struct hamidp_node *node;

	edit("ab", "");
	node = open_file();
	edit("ab", "{\"state\":\"hang\"}");
	wait_for_work(node);
	clock_gettime(CLOCK_MONOTONIC, &start);
	hamidp_node_close(node);
	clock_gettime(CLOCK_MONOTONIC, &end);
	ck_assert_int_le((end.tv_sec - start.tv_sec) * 1000 +
				 (end.tv_nsec - start.tv_nsec) / 1000000,
			 500);
}
END_TEST

START_TEST(grants_get_the_machine_s_nodes_and_mounts)
{
	struct hamidp_device_node dev = { .size = sizeof(dev) };
	const char *inside = NULL, *host = NULL;
	const struct hamidp_edits *edits;
	struct hamidp_node *node;
	int read_only = 0;

	put_file(file_path,
		 "{\"schema\":\"hami.inventory/1\",\"devices\":["
		 "{\"uuid\":\"GPU-a\",\"pci\":\"0000:01:00.0\",\"minor\":7,\"index\":3,"
		 "\"memory_mib\":1024,\"health\":\"healthy\"},"
		 "{\"uuid\":\"GPU-b\",\"pci\":\"0000:02:00.0\",\"index\":4,\"memory_mib\":1024,"
		 "\"health\":\"healthy\"},"
		 "{\"uuid\":\"GPU-c\",\"pci\":\"0000:03:00.0\",\"memory_mib\":1024,"
		 "\"health\":\"healthy\",\"device_nodes\":[{\"host\":\"/dev/zero\","
		 "\"container\":\"/dev/c\",\"permissions\":\"r\"},{\"host\":\"/nowhere\","
		 "\"container\":\"/dev/d\"}]}],"
		 "\"mounts\":[{\"host\":\"/lib/x.so\",\"container\":\"/usr/x.so\"}]}");
	node = open_file();
	edits = hamidp_grant_edits(grant_ids(node, "GPU-a::0 GPU-b::0 GPU-c::0"));
	ck_assert_uint_eq(hamidp_edits_n_device_nodes(edits), 4);
	ck_assert_int_eq(hamidp_edits_device_node(edits, 0, &dev), 0);
	ck_assert_str_eq(dev.host_path, "/dev/null");
	ck_assert_str_eq(dev.container_path, "/dev/hamivgpu7");
	ck_assert_str_eq(dev.permissions, "rw");
	ck_assert_int_eq(dev.type, HAMIDP_NODE_TYPE_CHAR);
	ck_assert_int_eq(hamidp_edits_device_node(edits, 1, &dev), 0);
	ck_assert_str_eq(dev.container_path, "/dev/hamivgpu4");
	ck_assert_int_eq(hamidp_edits_device_node(edits, 2, &dev), 0);
	ck_assert_str_eq(dev.host_path, "/dev/zero");
	ck_assert_str_eq(dev.permissions, "r");
	ck_assert_int_eq(hamidp_edits_device_node(edits, 3, &dev), 0);
	ck_assert_int_eq(dev.type, HAMIDP_NODE_TYPE_UNKNOWN);
	ck_assert_uint_eq(hamidp_edits_n_mounts(edits), 1);
	ck_assert_int_eq(hamidp_edits_mount(edits, 0, &inside, &host, &read_only), 0);
	ck_assert_str_eq(inside, "/usr/x.so");
	ck_assert_str_eq(host, "/lib/x.so");
	ck_assert_int_eq(read_only, 1);
	hamidp_node_close(node);
}
END_TEST

static size_t n_prepared(const struct hamidp_node *node)
{
	char **ids = NULL;
	size_t n = 0;

	ck_assert_int_eq(hdp_driver_sim.list(node->host->priv, 0, &ids, &n), 0);
	hdp_strv_free(ids, n);
	return n;
}

START_TEST(calls_about_grants_can_be_repeated)
{
	const struct hdp_driver *sim = &hdp_driver_sim;
	const struct hdp_slice slice = { .uuid = "GPU-a" };
	const struct hdp_grant_spec spec = { "0123", &slice, 1 };
	const struct hamidp_binding binding = { .size = sizeof(binding), .container_id = "c" };
	struct hamidp_edits *edits = NULL;
	struct hamidp_node *node;
	struct hdp_sim *priv;

	edit("a", "");
	node = open_file();
	priv = node->host->priv;
	ck_assert_int_eq(hamidp_edits_new(&edits), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(sim->prepare(priv, &spec, 0, edits, why), 0);
		ck_assert_uint_eq(n_prepared(node), 1);
		ck_assert_int_eq(sim->bind(priv, "0123", &binding, 0, why), 0);
		ck_assert_uint_eq(priv->grants->n_containers, 1);
		ck_assert_int_eq(sim->update(priv, "0123", "GPU-a", 100 + (uint64_t)i, 0, why), 0);
		ck_assert_uint_eq(priv->grants->n_limits, 1);
		ck_assert_uint_eq(priv->grants->limits[0].memory_mib, 100 + (uint64_t)i);
	}
	ck_assert_uint_eq(hamidp_edits_n_device_nodes(edits), 1);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(sim->unbind(priv, "0123", "c", 0, why), 0);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(sim->unprepare(priv, "0123", 0, why), 0);
	ck_assert_uint_eq(n_prepared(node), 0);
	ck_assert_int_eq(sim->bind(priv, "0123", &binding, 0, why), -ENOENT);
	ck_assert_int_eq(sim->update(priv, "0123", "GPU-a", 1, 0, why), -ENOENT);
	hamidp_edits_free(edits);
	hamidp_node_close(node);
}
END_TEST

START_TEST(usage_is_not_measured_and_limits_are_kept)
{
	struct hamidp_usage usage = { .size = sizeof(usage) };
	struct hamidp_node *node = open_sim("sim:article");
	const char *id = hamidp_grant_id(
		grant_ids(node, hamidp_layout_slot_id(hamidp_node_layout(node), 0)));
	const char *uuid = hamidp_grant_slice_device(hamidp_node_find_grant(node, id), 0);

	ck_assert_int_eq(hamidp_node_usage(node, id, uuid, &usage, why), -EOPNOTSUPP);
	ck_assert_int_eq(hamidp_reason_code(why), HAMIDP_REASON_NOT_SUPPORTED);
	ck_assert_int_eq(hamidp_node_update(node, id, uuid, 512, why), 0);
	ck_assert_int_eq(hamidp_node_update(node, id, uuid, 1 << 20, why), -EINVAL);
	hamidp_node_close(node);
}
END_TEST

/* A whole card at a fine cut: the list of ids is longer than any path. */
START_TEST(hundreds_of_slots_fit_one_grant)
{
	struct hamidp_slicing slicing = { .size = sizeof(slicing), .slots = 100 };
	struct hamidp_policy *policy = new_policy(4);
	struct hamidp_node_options opts = { .size = sizeof(opts),
					    .driver = "sim:article",
					    .policy = policy };
	struct hamidp_request *req = NULL;
	struct hamidp_decision *decision = NULL;
	struct hamidp_grant *grant = NULL;
	struct hamidp_node *node = NULL;

	ck_assert_int_eq(hamidp_policy_add_override(policy, HAMIDP_MATCH_MODEL, "*", &slicing, why),
			 0);
	ck_assert_int_eq(hamidp_node_open(&opts, &node, why), 0);
	ck_assert_int_eq(hamidp_request_new(&req), 0);
	ck_assert_int_eq(hamidp_decision_new(&decision), 0);
	hamidp_request_set_units(req, 400);
	ck_assert_int_eq(hamidp_place(hamidp_node_layout(node), hamidp_node_occupancy(node), req,
				      decision, why),
			 0);
	ck_assert_int_eq(hamidp_node_commit(node, decision, NULL, &grant, why), 0);
	ck_assert_uint_eq(hamidp_grant_n_slots(grant), 400);
	ck_assert_uint_gt(strlen(env_of(grant, "HAMI_VGPU_UUID")), 16000);
	hamidp_grant_unref(grant);
	hamidp_decision_free(decision);
	hamidp_request_free(req);
	hamidp_node_close(node);
	hamidp_policy_free(policy);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		every_bundled_machine_opens,
		file_that_is_still_being_written_is_not_read,
		removed_file_is_a_driver_that_is_not_loaded,
		file_that_could_not_be_read_is_tried_again,
		directories_may_come_later_and_go,
		relative_path_and_odd_files_are_handled,
		each_event_fires_once_in_order_of_its_number,
		error_of_a_device_that_comes_with_it_finds_it,
		health_in_the_file_is_the_base_and_faults_lie_over_it,
		device_that_hangs_is_told_and_returns_when_the_file_lets_it,
		driver_that_hangs_is_told_and_returns_when_the_file_lets_it,
		node_closes_at_once_while_the_simulated_driver_hangs,
		grants_get_the_machine_s_nodes_and_mounts,
		calls_about_grants_can_be_repeated,
		usage_is_not_measured_and_limits_are_kept,
		hundreds_of_slots_fit_one_grant,
	};
	Suite *s = suite_create("sim");
	TCase *tc = tcase_create("sim");

	tcase_add_checked_fixture(tc, fixture_setup, fixture_teardown);
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_add_loop_test(tc, every_way_to_edit_the_file_is_seen, 0, (int)ARRAY_SIZE(ways));
	suite_add_tcase(s, tc);
	return suite_run(s);
}
