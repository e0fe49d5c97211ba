/* SPDX-License-Identifier: Apache-2.0 */

/* What happens to grants after they were committed: release, containers, limits, a restart. */

#include "node-fixture.h"
#include "stand-in.h"
#include "suite.h"

static const struct hdp_node_parts parts = { .drivers = stand_in_table, .store = &stand_in_store };
static struct hamidp_node *node;

static void setup(void)
{
	fixture_setup();
	stand_in_setup();
	node = open_parts("stand-in", &parts, 0);
}

static void teardown(void)
{
	hamidp_node_close(node);
	ck_assert_uint_eq(stand_in.n_closed, 1);
	stand_in_teardown();
	fixture_teardown();
}

static void look_again(void)
{
	stand_in.events[stand_in.n_events++] =
		(struct hdp_driver_event){ .type = HDP_DRIVER_CHANGED };
	settle(node);
}

START_TEST(release_frees_everything_once)
{
	const char *unknown = "00000000000000000000000000000000";
	struct hamidp_grant *grant = hamidp_grant_ref(grant_ids(node, "GPU-a::0 GPU-b::0"));

	stand_in.change_rc = -EIO;
	ck_assert_int_eq(hamidp_node_release(node, hamidp_grant_id(grant), why), -EIO);
	ck_assert_ptr_nonnull(holder_of(node, "GPU-a::0"));
	stand_in.change_rc = 0;
	(void)take_events(node, HAMIDP_EVENT_LOST, NULL);
	ck_assert_int_eq(hamidp_node_release(node, hamidp_grant_id(grant), why), 0);
	ck_assert_ptr_null(holder_of(node, "GPU-a::0"));
	ck_assert_ptr_null(holder_of(node, "GPU-b::0"));
	ck_assert_uint_eq(hamidp_node_n_grants(node), 0);
	ck_assert_uint_eq(stand_in.n_prepared, 0);
	ck_assert_uint_eq(take_events(node, HAMIDP_EVENT_RELEASED, NULL), 1);
	ck_assert_int_eq(hamidp_node_release(node, hamidp_grant_id(grant), why), -ENOENT);
	ck_assert_int_eq(hamidp_node_release(node, unknown, why), -ENOENT);
	ck_assert_int_eq(hamidp_reason_code(why), HAMIDP_REASON_UNKNOWN_GRANT);
	hamidp_grant_unref(grant);
}
END_TEST

START_TEST(containers_are_bound_and_unbound)
{
	struct hamidp_binding binding = { .size = sizeof(binding), .container_id = "c1" };
	char id[HAMIDP_GRANT_ID_LEN + 1];
	const struct hamidp_grant *grant = grant_ids(node, "GPU-a::0");

	(void)strcpy(id, hamidp_grant_id(grant));
	ck_assert_int_eq(hamidp_node_bind(node, id, &binding, why), 0);
	ck_assert_int_eq(hamidp_node_bind(node, id, &binding, why), 0);
	grant = hamidp_node_find_grant(node, id);
	ck_assert_uint_eq(stand_in.n_bound, 2);
	ck_assert_uint_eq(hamidp_grant_n_bindings(grant), 1);
	ck_assert_str_eq(hamidp_grant_binding_container(grant, 0), "c1");
	ck_assert_ptr_null(hamidp_grant_binding_container(grant, 1));
	binding.container_id = "c2";
	stand_in.bind_rc = -EACCES;
	ck_assert_int_eq(hamidp_node_bind(node, id, &binding, why), -EACCES);
	ck_assert_uint_eq(hamidp_grant_n_bindings(hamidp_node_find_grant(node, id)), 1);
	ck_assert_int_eq(hamidp_node_unbind(node, id, "c2", why), -ENOENT);
	ck_assert_int_eq(hamidp_node_unbind(node, id, "c1", why), 0);
	ck_assert_uint_eq(hamidp_grant_n_bindings(hamidp_node_find_grant(node, id)), 0);
	ck_assert_int_eq(hamidp_node_unbind(node, "x", "c1", why), -ENOENT);
	binding.container_id = "";
	ck_assert_int_eq(hamidp_node_bind(node, id, &binding, why), -EINVAL);
	binding.container_id = "c1";
	binding.cgroup_path = "relative";
	ck_assert_int_eq(hamidp_node_bind(node, id, &binding, why), -EINVAL);
	ck_assert_int_eq(hamidp_node_bind(node, id, NULL, why), -EINVAL);
}
END_TEST

START_TEST(what_the_driver_cannot_do_is_said)
{
	struct hamidp_usage usage = { .size = sizeof(usage) };
	const char *id = hamidp_grant_id(grant_ids(node, "GPU-a::0"));

	ck_assert_int_eq(hamidp_node_update(node, id, "GPU-a", 100, why), -EOPNOTSUPP);
	ck_assert_int_eq(hamidp_node_usage(node, id, "GPU-a", &usage, why), -EOPNOTSUPP);
	ck_assert_int_eq(hamidp_node_usage(node, id, "GPU-b", &usage, why), -ENOENT);
	ck_assert_int_eq(hamidp_node_update(node, id, "GPU-a", 0, why), -EINVAL);
	ck_assert_int_eq(hamidp_node_update(node, id, "GPU-a", 10241, why), -EINVAL);
	ck_assert_int_eq(hamidp_node_update(node, "x", "GPU-a", 1, why), -ENOENT);
}
END_TEST

START_TEST(grants_survive_a_restart_on_the_same_store)
{
	struct hamidp_grant *grant = hamidp_grant_ref(grant_ids(node, "GPU-a::0 GPU-d::2"));
	const struct hamidp_grant *back;

	hamidp_node_close(node);
	stand_in.n_closed = 0;
	stand_in.n_prepared = 0;
	stand_in.n_devices = 3; /* one of its devices is not there yet */
	node = open_parts("stand-in", &parts, 0);
	back = hamidp_node_find_grant(node, hamidp_grant_id(grant));
	ck_assert_ptr_nonnull(back);
	ck_assert_str_eq(holder_of(node, "GPU-a::0"), hamidp_grant_id(grant));
	ck_assert_uint_eq(stand_in.n_prepared, 0);

	stand_in.n_devices = 4;
	look_again();
	back = hamidp_node_find_grant(node, hamidp_grant_id(grant));
	ck_assert_str_eq(holder_of(node, "GPU-d::2"), hamidp_grant_id(grant));
	ck_assert_uint_eq(stand_in.n_prepared, 1);
	ck_assert_str_eq(slots_of(back), "GPU-a::0 GPU-d::2");
	ck_assert_uint_eq(hamidp_grant_slice_memory_mib(back, 1), 10240);
	ck_assert_str_eq(env_of(back, "HAMI_VGPU_UUID"), env_of(grant, "HAMI_VGPU_UUID"));
	hamidp_grant_unref(grant);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		release_frees_everything_once,
		containers_are_bound_and_unbound,
		what_the_driver_cannot_do_is_said,
		grants_survive_a_restart_on_the_same_store,
	};
	Suite *s = suite_create("node-grants");
	TCase *tc = tcase_create("node-grants");

	tcase_add_checked_fixture(tc, setup, teardown);
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
