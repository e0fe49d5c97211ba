/* SPDX-License-Identifier: Apache-2.0 */

/* Decisions become grants, whole or not at all; grants give way, are bound and end. */

#include "contract.h"
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

static int append_grant(void *userdata, const struct hdp_grant_record *rec)
{
	char *text = userdata;

	for (size_t i = 0; i < rec->n_slots; i++) {
		strcat(text, i ? " " : "");
		strcat(text, rec->slots[i]);
	}
	strcat(text, ";");
	return 0;
}

/* What store, occupancy and driver know, in one text: "state before" and "state after". */
static const char *picture(void)
{
	static char text[8192];
	const struct hamidp_layout *layout = hamidp_node_layout(node);

	text[0] = '\0';
	ck_assert_int_eq(stand_in.store->ops->each_grant(stand_in.store, append_grant, text), 0);
	for (size_t i = 0; i < hamidp_layout_n_slots(layout); i++) {
		const char *holder = hamidp_occupancy_holder(hamidp_node_occupancy(node), i);

		strcat(text, holder ? holder : ".");
	}
	for (size_t i = 0; i < hamidp_node_n_grants(node); i++) {
		strcat(text, ";");
		strcat(text, hamidp_grant_id(hamidp_node_grant(node, i)));
		strcat(text, slots_of(hamidp_node_grant(node, i)));
	}
	(void)sprintf(text + strlen(text), ";%u", stand_in.n_prepared);
	return text;
}

START_TEST(grant_has_all_that_the_contract_says)
{
	const struct hamidp_commit_options opts = { .size = sizeof(opts),
						    .owner = "tests",
						    .key = "one" };
	struct hamidp_grant *grant = NULL;

	ck_assert_int_eq(commit_opts(node, "GPU-b::3 GPU-a::1 GPU-a::0", &opts, &grant), 0);
	ck_assert_uint_eq(strlen(hamidp_grant_id(grant)), HAMIDP_GRANT_ID_LEN);
	ck_assert_uint_eq(strspn(hamidp_grant_id(grant), "0123456789abcdef"), HAMIDP_GRANT_ID_LEN);
	ck_assert_str_eq(slots_of(grant), "GPU-a::0 GPU-a::1 GPU-b::3");
	ck_assert_str_eq(hamidp_grant_resource(grant), "hami.com/vgpu");
	ck_assert_str_eq(hamidp_grant_owner(grant), "tests");
	ck_assert_str_eq(hamidp_grant_key(grant), "one");
	ck_assert_uint_eq(hamidp_grant_created_us(grant), clock_us);
	ck_assert_uint_eq(hamidp_grant_n_slices(grant), 2);
	ck_assert_str_eq(hamidp_grant_slice_device(grant, 1), "GPU-b");
	ck_assert_uint_eq(hamidp_grant_slice_n_slots(grant, 0), 2);
	ck_assert_uint_eq(hamidp_grant_slice_memory_mib(grant, 0), 20480);
	ck_assert_uint_eq(hamidp_grant_slice_share_ppm(grant, 1), 250000);
	ck_assert_ptr_null(hamidp_grant_slice_device(grant, 2));
	ck_assert_ptr_null(hamidp_grant_slot_id(grant, 3));
	ck_assert_str_eq(env_of(grant, "HAMI_VGPU_UUID"), "GPU-a::0,GPU-a::1,GPU-b::3");
	ck_assert_str_eq(env_of(grant, "HAMI_VGPU_DEVICES"), "GPU-a,GPU-b");
	ck_assert_str_eq(env_of(grant, "HAMI_VGPU_MEMORY_MB"), "20480,10240");
	ck_assert_str_eq(env_of(grant, "HAMI_VGPU_CORES"), "50,25");
	ck_assert_str_eq(env_of(grant, "HAMI_VGPU_GRANT"), hamidp_grant_id(grant));
	ck_assert_uint_eq(hamidp_edits_n_env(hamidp_grant_edits(grant)), 5);
	ck_assert_str_eq(holder_of(node, "GPU-b::3"), hamidp_grant_id(grant));
	ck_assert_ptr_eq(hamidp_node_find_grant(node, hamidp_grant_id(grant)), grant);
	ck_assert_uint_eq(take_events(node, HAMIDP_EVENT_GRANTED, NULL), 1);
	hamidp_grant_unref(grant);
}
END_TEST

START_TEST(ids_differ)
{
	static char ids[200][HAMIDP_GRANT_ID_LEN + 1];

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		(void)strcpy(ids[i], hamidp_grant_id(grant_ids(node, "GPU-a::0")));
		for (size_t j = 0; j < i; j++)
			ck_assert_str_ne(ids[i], ids[j]);
	}
}
END_TEST

START_TEST(held_slots_are_refused_by_holder_unless_superseded)
{
	struct hamidp_grant *grant = NULL;
	struct hamidp_grant *first = grant_ids(node, "GPU-a::0 GPU-a::1");
	char *before = strdup(picture());

	ck_assert_int_eq(commit_opts(node, "GPU-a::1 GPU-a::2", NULL, &grant), -EBUSY);
	ck_assert_int_eq(hamidp_reason_code(why), HAMIDP_REASON_HELD);
	ck_assert_ptr_nonnull(strstr(hamidp_reason_text(why), hamidp_grant_id(first)));
	ck_assert_ptr_nonnull(strstr(hamidp_reason_text(why), "GPU-a::1"));
	ck_assert_ptr_null(grant);
	ck_assert_str_eq(picture(), before);
	free(before);
}
END_TEST

START_TEST(older_grant_loses_only_what_is_named)
{
	char first[HAMIDP_GRANT_ID_LEN + 1];
	struct hamidp_event *event = NULL;
	const struct hamidp_grant *left;

	(void)strcpy(first, hamidp_grant_id(grant_ids(node, "GPU-a::0 GPU-a::1 GPU-b::0")));
	(void)take_events(node, HAMIDP_EVENT_LOST, NULL);
	(void)grant_ids(node, "GPU-a::1 GPU-a::2");
	left = hamidp_node_find_grant(node, first);
	ck_assert_str_eq(slots_of(left), "GPU-a::0 GPU-b::0");
	ck_assert_uint_eq(hamidp_grant_slice_n_slots(left, 0), 1);
	ck_assert_uint_eq(hamidp_grant_slice_memory_mib(left, 0), 10240);
	ck_assert_str_eq(env_of(left, "HAMI_VGPU_MEMORY_MB"), "20480,10240"); /* as answered */
	ck_assert_str_eq(holder_of(node, "GPU-a::0"), first);
	ck_assert_str_ne(holder_of(node, "GPU-a::1"), first);
	ck_assert_uint_eq(stand_in.n_prepared, 2);
	ck_assert_uint_eq(take_events(node, HAMIDP_EVENT_SUPERSEDED, &event), 1);
	ck_assert_str_eq(hamidp_event_grant(event), first);
	event = hamidp_event_free(event);

	(void)grant_ids(node, "GPU-b::0 GPU-a::0"); /* the rest of it */
	ck_assert_ptr_null(hamidp_node_find_grant(node, first));
	ck_assert_uint_eq(stand_in.n_prepared, 2);
	ck_assert_uint_eq(hamidp_node_n_grants(node), 2);
	ck_assert_uint_eq(take_events(node, HAMIDP_EVENT_SUPERSEDED, NULL), 1);
}
END_TEST

/* Any sequence of superseding grants: one holder an id, and store and node tell the same. */
START_TEST(random_grants_keep_one_holder_an_id)
{
	srand((unsigned)_i);
	for (int round = 0; round < 40; round++) {
		bool used[16] = { false };
		char ids[512] = "";
		size_t n = 1 + (size_t)rand() % 6;
		size_t held = 0;

		for (size_t i = 0; i < n; i++) {
			size_t slot = (size_t)rand() % 16;

			if (used[slot])
				continue;
			used[slot] = true;
			(void)sprintf(ids + strlen(ids), "GPU-%c::%zu ", (int)('a' + slot / 4),
				      slot % 4);
		}
		(void)grant_ids(node, ids);
		for (size_t i = 0; i < hamidp_node_n_grants(node); i++) {
			const struct hamidp_grant *grant = hamidp_node_grant(node, i);

			ck_assert_uint_gt(hamidp_grant_n_slots(grant), 0);
			held += hamidp_grant_n_slots(grant);
			for (size_t j = 0; j < hamidp_grant_n_slots(grant); j++)
				ck_assert_str_eq(holder_of(node, hamidp_grant_slot_id(grant, j)),
						 hamidp_grant_id(grant));
		}
		for (size_t i = 0; i < 4; i++)
			held += hamidp_occupancy_n_free(hamidp_node_occupancy(node), i);
		ck_assert_uint_eq(held, 16);
		ck_assert_uint_eq(stand_in.n_prepared, hamidp_node_n_grants(node));
	}
}
END_TEST

START_TEST(failure_at_any_step_changes_nothing)
{
	static const struct {
		int *rc;
		int told, expect;
	} steps[] = {
		{ &stand_in.prepare_rc, -EIO, -EIO },
		{ &stand_in.prepare_rc, -ETIMEDOUT, -ETIMEDOUT },
		{ &stand_in.prepare_rc, -EACCES, -EACCES },
		{ &stand_in.prepare_rc, -ENODEV, -ESTALE },
		{ &stand_in.prepare_rc, -EPROTO, -EIO },
		{ &stand_in.change_rc, -EIO, -EIO },
		{ &stand_in.change_rc, -EAGAIN, -EIO },
	};
	const struct hamidp_commit_options opts = { .size = sizeof(opts),
						    .flags = HAMIDP_COMMIT_SUPERSEDE };
	struct hamidp_grant *grant = NULL;
	char *before;

	(void)grant_ids(node, "GPU-a::0 GPU-a::1");
	(void)grant_ids(node, "GPU-b::0");
	before = strdup(picture());
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		*steps[i].rc = steps[i].told;
		ck_assert_int_eq(commit_opts(node, "GPU-a::1 GPU-b::0 GPU-c::0", &opts, &grant),
				 steps[i].expect);
		ck_assert_str_ne(hamidp_reason_text(why), "");
		ck_assert_int_eq(commit_opts(node, "GPU-c::0", &opts, &grant), steps[i].expect);
		*steps[i].rc = 0;
		ck_assert_ptr_null(grant);
		ck_assert_str_eq(picture(), before);
	}
	free(before);
}
END_TEST

START_TEST(options_and_empty_decisions_are_refused)
{
	char long_name[200];
	struct hamidp_decision *empty = NULL;
	struct hamidp_grant *grant = NULL;
	const struct {
		struct hamidp_commit_options opts;
		int expect;
	} cases[] = {
		{ { .size = 0 }, -EINVAL },
		{ { .size = sizeof(cases[0].opts), .flags = 0x40 }, -EINVAL },
		{ { .size = sizeof(cases[0].opts), .owner = long_name }, -EINVAL },
		{ { .size = sizeof(cases[0].opts), .key = long_name }, -EINVAL },
		{ { .size = sizeof(cases[0].opts), .owner = "a\nb" }, -EINVAL },
		{ { .size = sizeof(cases[0].opts), .key = "\xff" }, -EINVAL },
		{ { .size = sizeof(cases[0].opts), .owner = long_name + 71 }, 0 },
	};

	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		ck_assert_int_eq(commit_opts(node, "GPU-a::0", &cases[i].opts, &grant),
				 cases[i].expect);
	hamidp_grant_unref(grant);
	ck_assert_int_eq(hamidp_node_commit(node, NULL, NULL, &grant, why), -EINVAL);
	ck_assert_int_eq(hamidp_decision_new(&empty), 0);
	ck_assert_int_eq(hamidp_node_commit(node, empty, NULL, &grant, why), -EINVAL);
	hamidp_decision_free(empty);
}
END_TEST

START_TEST(same_key_gives_the_same_answer)
{
	const struct hamidp_commit_options opts = { .size = sizeof(opts),
						    .owner = "a",
						    .key = "k" };
	const struct hamidp_commit_options other_owner = { .size = sizeof(opts),
							   .owner = "b",
							   .key = "k" };
	struct hamidp_grant *first = NULL;
	struct hamidp_grant *again = NULL;

	ck_assert_int_eq(commit_opts(node, "GPU-a::0 GPU-a::1", &opts, &first), 0);
	ck_assert_int_eq(commit_opts(node, "GPU-a::1 GPU-a::0", &opts, &again), 0);
	ck_assert_ptr_eq(first, again);
	again = hamidp_grant_unref(again);
	ck_assert_int_eq(commit_opts(node, "GPU-a::0", &opts, &again), -EBUSY);
	ck_assert_int_eq(commit_opts(node, "GPU-b::0", &other_owner, &again), 0);
	again = hamidp_grant_unref(again);
	ck_assert_int_eq(hamidp_node_release(node, hamidp_grant_id(first), why), 0);
	ck_assert_int_eq(commit_opts(node, "GPU-c::0", &opts, &again), 0); /* the key is free */
	hamidp_grant_unref(again);
	hamidp_grant_unref(first);
}
END_TEST

static void look_again(void)
{
	stand_in.events[stand_in.n_events++] =
		(struct hdp_driver_event){ .type = HDP_DRIVER_CHANGED };
	settle(node);
}

START_TEST(decisions_are_checked_against_the_machine_as_it_is)
{
	struct hamidp_decision *on_d = decide(node, "GPU-d::0");
	struct hamidp_decision *on_a = decide(node, "GPU-a::0");
	struct hamidp_grant *grant = NULL;

	stand_in.n_devices = 3;
	look_again();
	ck_assert_int_eq(hamidp_node_commit(node, on_d, NULL, &grant, why), -ESTALE);
	ck_assert_int_eq(hamidp_reason_code(why), HAMIDP_REASON_STALE);
	ck_assert_int_eq(hamidp_node_commit(node, on_a, NULL, &grant, why), 0);
	grant = hamidp_grant_unref(grant);
	stand_in.events[stand_in.n_events++] = (struct hdp_driver_event){
		.type = HDP_DRIVER_ERROR, .scope = HDP_SCOPE_DEVICE, .uuid = "GPU-b", .code = 48
	};
	hamidp_decision_free(on_d);
	on_d = decide(node, "GPU-b::0");
	settle(node);
	ck_assert_int_eq(hamidp_node_commit(node, on_d, NULL, &grant, why), -EAGAIN);
	ck_assert_int_eq(hamidp_reason_code(why), HAMIDP_REASON_NOT_HEALTHY);
	ck_assert_ptr_nonnull(strstr(hamidp_reason_text(why), "GPU-b::0"));
	ck_assert_ptr_null(grant);
	hamidp_decision_free(on_d);
	hamidp_decision_free(on_a);
}
END_TEST

static const struct {
	const char *names[2];
	size_t resource; /* granted from */
	const char *has, *has_not;
} prefixes[] = {
	{ { "hami.com/vgpu", NULL }, 0, "HAMI_VGPU_UUID", NULL },
	{ { "hami.com/vgpu-a100", NULL }, 0, "HAMI_VGPU_A100_UUID", NULL },
	{ { "hami.com/vgpu-a100", NULL }, 0, "HAMI_VGPU_CORES", NULL },
	{ { "nvidia.com/gpu", NULL }, 0, "HAMI_GPU_MEMORY_MB", NULL },
	{ { "nvidia.com/gpu", NULL }, 0, "HAMI_VGPU_GRANT", NULL },
	{ { "nvidia.com/gpu", "hami.com/vgpu" }, 0, "HAMI_GPU_UUID", "HAMI_VGPU_UUID" },
	{ { "nvidia.com/gpu", "hami.com/vgpu" }, 1, "HAMI_VGPU_UUID", "HAMI_GPU_UUID" },
	{ { "nvidia.com/gpu", "a.b/c" }, 1, "HAMI_C_DEVICES", "HAMI_VGPU_DEVICES" },
};

START_TEST(variables_carry_the_resource_s_prefix)
{
	struct hamidp_policy *policy = NULL;
	struct hamidp_node_options opts = { .size = sizeof(opts), .driver = "stand-in" };
	struct hamidp_decision *decision = NULL;
	struct hamidp_grant *grant = NULL;
	struct hamidp_node *other = NULL;
	const char *id = prefixes[_i].resource == 0 ? "GPU-a::0" : "GPU-b::0";
	size_t number = 0;

	ck_assert_int_eq(hamidp_policy_new(&policy), 0);
	for (size_t i = 0; i < 2 && prefixes[_i].names[i]; i++)
		ck_assert_int_eq(hamidp_policy_add_resource(policy, prefixes[_i].names[i], NULL,
							    &number, why),
				 0);
	if (number == 1)
		ck_assert_int_eq(hamidp_policy_add_resource_device(policy, 0, HAMIDP_MATCH_UUID,
								   "GPU-a", why),
				 0);
	opts.policy = policy;
	ck_assert_int_eq(hdp_node_open_with(&opts, &parts, &other, why), 0);
	ck_assert_int_eq(hamidp_decision_new(&decision), 0);
	ck_assert_int_eq(hamidp_decide_ids(hamidp_node_layout(other), prefixes[_i].resource, &id, 1,
					   decision, why),
			 0);
	ck_assert_int_eq(hamidp_node_commit(other, decision, NULL, &grant, why), 0);
	ck_assert_ptr_nonnull(env_of(grant, prefixes[_i].has));
	if (prefixes[_i].has_not)
		ck_assert_ptr_null(env_of(grant, prefixes[_i].has_not));
	hamidp_grant_unref(grant);
	hamidp_decision_free(decision);
	hamidp_policy_free(policy);
	hamidp_node_close(other);
	stand_in.n_closed = 0;
}
END_TEST

START_TEST(percent_has_no_trailing_zeros)
{
	static const struct {
		uint32_t ppm;
		const char *expect;
	} cases[] = {
		{ 0, "0" },	  { 1, "0.0001" },	 { 125000, "12.5" },
		{ 100000, "10" }, { 333333, "33.3333" }, { 1000000, "100" },
		{ 10000, "1" },	  { 62500, "6.25" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[HDP_PERCENT_MAX];

		hdp_format_percent(cases[i].ppm, text);
		ck_assert_str_eq(text, cases[i].expect);
	}
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		grant_has_all_that_the_contract_says,
		ids_differ,
		held_slots_are_refused_by_holder_unless_superseded,
		older_grant_loses_only_what_is_named,
		failure_at_any_step_changes_nothing,
		options_and_empty_decisions_are_refused,
		same_key_gives_the_same_answer,
		decisions_are_checked_against_the_machine_as_it_is,
		percent_has_no_trailing_zeros,
	};
	Suite *s = suite_create("node-commit");
	TCase *tc = tcase_create("node-commit");

	tcase_add_checked_fixture(tc, setup, teardown);
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_add_loop_test(tc, random_grants_keep_one_holder_an_id, 0, 5);
	tcase_add_loop_test(tc, variables_carry_the_resource_s_prefix, 0,
			    (int)ARRAY_SIZE(prefixes));
	suite_add_tcase(s, tc);
	return suite_run(s);
}
