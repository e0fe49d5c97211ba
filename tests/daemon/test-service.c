/* SPDX-License-Identifier: Apache-2.0 */
/* Allocate and PreStartContainer, without gRPC: what is granted, what is refused, what stays. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/hamidp.h>

#include "../unit/suite.h"
#include "fixture.h"
#include "log.h"

#define ARTICLE_0 "GPU-58c45ce4-60dd-4a30-8351-cc0ea63a89d7"
#define ARTICLE_1 "GPU-f2fca186-b28f-4e02-831a-dd87ab41acfe"
#define IDS(...)                                \
	((const char *const[]){ __VA_ARGS__ }), \
		sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *)

static struct fixture fix;
static struct dp_service *service;
static unsigned commits_until_failure; /* 0: none fails */

/* The linker puts it in the place of the library's. */
int __real_hamidp_node_commit(struct hamidp_node *node, const struct hamidp_decision *decision,
			      const struct hamidp_commit_options *opts, struct hamidp_grant **ret,
			      struct hamidp_reason *reason);
int __wrap_hamidp_node_commit(struct hamidp_node *node, const struct hamidp_decision *decision,
			      const struct hamidp_commit_options *opts, struct hamidp_grant **ret,
			      struct hamidp_reason *reason);

int __wrap_hamidp_node_commit(struct hamidp_node *node, const struct hamidp_decision *decision,
			      const struct hamidp_commit_options *opts, struct hamidp_grant **ret,
			      struct hamidp_reason *reason)
{
	struct hamidp_decision *nothing;
	int r;

	if (!commits_until_failure || --commits_until_failure)
		return __real_hamidp_node_commit(node, decision, opts, ret, reason);
	ck_assert_int_eq(hamidp_decision_new(&nothing), 0);
	r = __real_hamidp_node_commit(node, nothing, opts, ret, reason);
	ck_assert_int_lt(r, 0);
	hamidp_decision_free(nothing);
	return r;
}

static void setup(void)
{
	fixture_init(&fix);
	service = NULL;
}

static void teardown(void)
{
	dp_service_free(service);
	fixture_done(&fix);
}

static void open_article(void)
{
	fixture_open(&fix, FLAGS("--driver=sim:article", "--cores-per-device=8",
				 "--memory-mb-per-core=5120"));
	service = fixture_service(&fix, "hami.com/vgpu");
}

static const char *holder(const char *id)
{
	size_t slot;

	ck_assert_int_eq(hamidp_layout_find_slot(fixture_layout(&fix), id, &slot), 0);
	return hamidp_occupancy_holder(hamidp_node_occupancy(fix.node), slot);
}

START_TEST(two_slots_are_one_bigger_slice)
{
	struct dp_container_response got;
	const char *grant;

	open_article();
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS(ARTICLE_0 "::3", ARTICLE_0 "::1"),
					  &got),
			 RPC_OK);
	ck_assert_str_eq(fixture_env(&got, "HAMI_VGPU_UUID"), ARTICLE_0 "::1," ARTICLE_0 "::3");
	ck_assert_str_eq(fixture_env(&got, "HAMI_VGPU_DEVICES"), ARTICLE_0);
	ck_assert_str_eq(fixture_env(&got, "HAMI_VGPU_MEMORY_MB"), "10240");
	ck_assert_str_eq(fixture_env(&got, "HAMI_VGPU_CORES"), "25");
	grant = fixture_env(&got, "HAMI_VGPU_GRANT");
	ck_assert_uint_eq(strlen(grant), HAMIDP_GRANT_ID_LEN);
	ck_assert_str_eq(holder(ARTICLE_0 "::1"), grant);
	ck_assert_str_eq(holder(ARTICLE_0 "::3"), grant);
	ck_assert_uint_eq(got.n_devices, 1);
	ck_assert_str_eq(got.devices[0].container_path, "/dev/hamivgpu0");
	ck_assert_str_eq(got.devices[0].host_path, "/dev/null");
	ck_assert_str_eq(got.devices[0].permissions, "rw");
	ck_assert_uint_eq(got.n_mounts, 1);
	ck_assert_str_eq(got.mounts[0].container_path, "/usr/local/hami/driver/libhamivgpu.so");
	ck_assert(got.mounts[0].read_only);
	ck_assert_uint_eq(got.n_annotations + got.n_cdi_devices, 0);
}
END_TEST

START_TEST(slots_of_two_cards_are_two_slices)
{
	struct dp_container_response got;

	open_article();
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS(ARTICLE_1 "::0", ARTICLE_0 "::7"),
					  &got),
			 RPC_OK);
	ck_assert_str_eq(fixture_env(&got, "HAMI_VGPU_UUID"), ARTICLE_0 "::7," ARTICLE_1 "::0");
	ck_assert_str_eq(fixture_env(&got, "HAMI_VGPU_DEVICES"), ARTICLE_0 "," ARTICLE_1);
	ck_assert_str_eq(fixture_env(&got, "HAMI_VGPU_MEMORY_MB"), "5120,5120");
	ck_assert_str_eq(fixture_env(&got, "HAMI_VGPU_CORES"), "12.5,12.5");
	ck_assert_uint_eq(got.n_devices, 2);
}
END_TEST

/* The order of ids is a Go set's: it must not matter. */
START_TEST(order_of_ids_does_not_matter)
{
	const char *ids[] = { ARTICLE_0 "::0", ARTICLE_0 "::1", ARTICLE_0 "::2", ARTICLE_1 "::0" };
	struct dp_container_response got;

	open_article();
	srand((unsigned)_i);
	for (size_t i = 3; i > 0; i--) {
		size_t j = (size_t)rand() % (i + 1);
		const char *id = ids[i];

		ids[i] = ids[j];
		ids[j] = id;
	}
	ck_assert_int_eq(fixture_allocate(&fix, service, ids, 4, &got), RPC_OK);
	ck_assert_str_eq(fixture_env(&got, "HAMI_VGPU_UUID"),
			 ARTICLE_0 "::0," ARTICLE_0 "::1," ARTICLE_0 "::2," ARTICLE_1 "::0");
	ck_assert_str_eq(fixture_env(&got, "HAMI_VGPU_MEMORY_MB"), "15360,5120");
}
END_TEST

/* The kubelet is the authority: what our record shows held is granted, id by id. */
START_TEST(held_ids_are_taken_over)
{
	struct dp_container_response got;
	char first[64], second[64];

	open_article();
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS(ARTICLE_0 "::0", ARTICLE_0 "::1"),
					  &got),
			 RPC_OK);
	(void)snprintf(first, sizeof(first), "%s", fixture_env(&got, "HAMI_VGPU_GRANT"));
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS(ARTICLE_0 "::1"), &got), RPC_OK);
	(void)snprintf(second, sizeof(second), "%s", fixture_env(&got, "HAMI_VGPU_GRANT"));
	ck_assert_str_ne(first, second);
	ck_assert_str_eq(holder(ARTICLE_0 "::0"), first);
	ck_assert_str_eq(holder(ARTICLE_0 "::1"), second);
	ck_assert_uint_eq(hamidp_node_n_grants(fix.node), 2);

	/* A third for all that the first still has ends the first. */
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS(ARTICLE_0 "::0"), &got), RPC_OK);
	ck_assert_ptr_null(hamidp_node_find_grant(fix.node, first));
	ck_assert_uint_eq(hamidp_node_n_grants(fix.node), 2);
}
END_TEST

/* Init containers: the same ids asked for again get an equivalent answer. */
START_TEST(same_request_gets_equivalent_answer)
{
	static const char *const same[] = { "HAMI_VGPU_UUID", "HAMI_VGPU_DEVICES",
					    "HAMI_VGPU_MEMORY_MB", "HAMI_VGPU_CORES" };
	struct dp_container_response got;
	char before[4][256];

	open_article();
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS(ARTICLE_0 "::0", ARTICLE_0 "::5"),
					  &got),
			 RPC_OK);
	for (size_t i = 0; i < 4; i++)
		(void)snprintf(before[i], sizeof(before[i]), "%s", fixture_env(&got, same[i]));
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS(ARTICLE_0 "::5", ARTICLE_0 "::0"),
					  &got),
			 RPC_OK);
	for (size_t i = 0; i < 4; i++)
		ck_assert_str_eq(fixture_env(&got, same[i]), before[i]);
	ck_assert_uint_eq(hamidp_node_n_grants(fix.node), 1);
}
END_TEST

#define LONG_ID "x0123456789012345678901234567890123456789012345678901234567890123456789"

static const struct {
	const char *what;
	const char *ids[4];
	enum rpc_status status;
	const char *named; /* must be in the text */
} refused[] = {
	{ "none", { NULL }, RPC_INVALID_ARGUMENT, "hami.com/vgpu" },
	{ "twice", { "GPU-a::0", "GPU-a::0" }, RPC_INVALID_ARGUMENT, "GPU-a::0" },
	{ "empty id", { "" }, RPC_NOT_FOUND, "''" },
	{ "unknown card", { "GPU-a::0", "GPU-z::0" }, RPC_NOT_FOUND, "GPU-z::0" },
	{ "unknown slot", { "GPU-a::8" }, RPC_NOT_FOUND, "GPU-a::8" },
	{ "odd slot", { "GPU-a::00" }, RPC_NOT_FOUND, "GPU-a::00" },
	{ "blank", { "GPU-a::0 " }, RPC_NOT_FOUND, "GPU-a::0 " },
	{ "card, no slot", { "GPU-a" }, RPC_NOT_FOUND, "GPU-a" },
	{ "long", { LONG_ID }, RPC_NOT_FOUND, LONG_ID },
	{ "foreign", { "GPU-a::1", "GPU-c::0" }, RPC_NOT_FOUND, "GPU-c::0" },
	{ "unhealthy", { "GPU-a::0", "GPU-b::2" }, RPC_FAILED_PRECONDITION, "GPU-b::2" },
};

static void open_mixed(void)
{
	static const struct fixture_card cards[] = {
		{ "GPU-a", "0000:01:00.0", 40960, -1, "healthy" },
		{ "GPU-b", "0000:02:00.0", 40960, -1, "unhealthy" },
		{ "GPU-c", "0000:03:00.0", 40960, -1, "healthy" },
	};

	fixture_write_machine(&fix, cards, 3);
	fixture_write_config(&fix, "version: 1\ncores_per_device: 8\nresources:\n"
				   "  - name: hami.com/vgpu\n"
				   "  - name: hami.com/whole\n    cores_per_device: 1\n"
				   "    devices: [{uuid: GPU-c}]\n");
	fixture_open(&fix, NULL);
	service = fixture_service(&fix, "hami.com/vgpu");
}

START_TEST(refused_ids_change_nothing)
{
	struct dp_container_response got;
	size_t n_ids = 0;

	open_mixed();
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS("GPU-a::0", "GPU-a::1"), &got),
			 RPC_OK);
	while (n_ids < 4 && refused[_i].ids[n_ids])
		n_ids++;
	ck_assert_msg(fixture_allocate(&fix, service, refused[_i].ids, n_ids, &got) ==
			      refused[_i].status,
		      "%s: %s", refused[_i].what, fix.text);
	ck_assert_msg(strstr(fix.text, refused[_i].named) != NULL, "%s: '%s' names no %s",
		      refused[_i].what, fix.text, refused[_i].named);
	ck_assert_uint_eq(hamidp_node_n_grants(fix.node), 1);
	ck_assert_uint_eq(hamidp_grant_n_slots(hamidp_node_grant(fix.node, 0)), 2);
	ck_assert_str_eq(holder("GPU-a::0"), hamidp_grant_id(hamidp_node_grant(fix.node, 0)));
}
END_TEST

START_TEST(more_than_the_resource_has_is_refused)
{
	const char *ids[33];
	struct dp_container_response got;

	open_article();
	for (size_t i = 0; i < 32; i++)
		ids[i] = hamidp_layout_slot_id(fixture_layout(&fix), i);
	ids[32] = "GPU-more::0";
	ck_assert_int_eq(fixture_allocate(&fix, service, ids, 33, &got), RPC_INVALID_ARGUMENT);
	ck_assert_ptr_nonnull(strstr(fix.text, "33"));
	ck_assert_uint_eq(hamidp_node_n_grants(fix.node), 0);
	ck_assert_int_eq(fixture_allocate(&fix, service, ids, 32, &got), RPC_OK);
}
END_TEST

static enum rpc_status allocate_two(const struct dp_ids *containers,
				    struct dp_allocate_response *ret)
{
	const struct dp_allocate_request request = { .containers = containers, .n_containers = 2 };

	dp_arena_reset(&fix.arena);
	return dp_service_allocate(service, &fix.arena, &request, ret, fix.text);
}

START_TEST(containers_of_one_call_are_granted_in_order)
{
	const char *const one[] = { ARTICLE_0 "::0" };
	const char *const two[] = { ARTICLE_1 "::0", ARTICLE_1 "::1" };
	const struct dp_ids containers[] = { { one, 1 }, { two, 2 } };
	struct dp_allocate_response got;

	open_article();
	ck_assert_int_eq(allocate_two(containers, &got), RPC_OK);
	ck_assert_uint_eq(got.n_containers, 2);
	ck_assert_str_eq(fixture_env(&got.containers[0], "HAMI_VGPU_UUID"), one[0]);
	ck_assert_str_eq(fixture_env(&got.containers[1], "HAMI_VGPU_MEMORY_MB"), "10240");
	ck_assert_uint_eq(hamidp_node_n_grants(fix.node), 2);
}
END_TEST

START_TEST(containers_of_one_call_are_all_or_nothing)
{
	const char *const good[] = { ARTICLE_0 "::0" };
	const char *const bad[] = { "GPU-z::0" };
	const struct dp_ids unknown[] = { { good, 1 }, { bad, 1 } };
	const struct dp_ids twice[] = { { good, 1 }, { good, 1 } };
	struct dp_allocate_response got;

	open_article();
	ck_assert_int_eq(allocate_two(unknown, &got), RPC_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(fix.text, "GPU-z::0"));
	ck_assert_int_eq(allocate_two(twice, &got), RPC_INVALID_ARGUMENT);
	ck_assert_ptr_nonnull(strstr(fix.text, good[0]));
	ck_assert_uint_eq(hamidp_node_n_grants(fix.node), 0);
	ck_assert_ptr_null(holder(good[0]));
}
END_TEST

START_TEST(failed_commit_takes_the_others_back)
{
	const char *const one[] = { ARTICLE_0 "::0" };
	const char *const two[] = { ARTICLE_1 "::0", ARTICLE_1 "::1" };
	const struct dp_ids containers[] = { { one, 1 }, { two, 2 } };
	struct dp_allocate_response got;

	open_article();
	commits_until_failure = (unsigned)_i;
	ck_assert_int_ne(allocate_two(containers, &got), RPC_OK);
	ck_assert_str_ne(fix.text, "");
	ck_assert_uint_eq(hamidp_node_n_grants(fix.node), 0);
	ck_assert_ptr_null(holder(one[0]));
	ck_assert_int_eq(allocate_two(containers, &got), RPC_OK);
	ck_assert_uint_eq(hamidp_node_n_grants(fix.node), 2);
}
END_TEST

START_TEST(request_for_no_container_is_refused)
{
	struct dp_allocate_request request = { 0 };
	struct dp_allocate_response got;

	open_article();
	ck_assert_int_eq(dp_service_allocate(service, &fix.arena, &request, &got, fix.text),
			 RPC_INVALID_ARGUMENT);
}
END_TEST

/* Two resources in one container: the kubelet merges by first wins, so nothing may collide. */
START_TEST(grants_of_two_resources_do_not_collide)
{
	struct dp_container_response a, b;
	struct dp_service *whole;

	open_mixed();
	whole = fixture_service(&fix, "hami.com/whole");
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS("GPU-a::0"), &a), RPC_OK);
	ck_assert_str_eq(fixture_env(&a, "HAMI_VGPU_UUID"), "GPU-a::0");
	ck_assert_ptr_null(fixture_env(&a, "HAMI_WHOLE_UUID"));
	ck_assert_str_eq(a.devices[0].container_path, "/dev/hamivgpu0");
	ck_assert_int_eq(fixture_allocate(&fix, whole, IDS("GPU-c::0"), &b), RPC_OK);
	ck_assert_str_eq(fixture_env(&b, "HAMI_WHOLE_UUID"), "GPU-c::0");
	ck_assert_str_eq(fixture_env(&b, "HAMI_WHOLE_CORES"), "100");
	ck_assert_ptr_null(fixture_env(&b, "HAMI_VGPU_UUID"));
	ck_assert_str_eq(b.devices[0].container_path, "/dev/hamivgpu2");
	ck_assert_int_eq(fixture_allocate(&fix, whole, IDS("GPU-a::0"), &b), RPC_NOT_FOUND);
	dp_service_free(whole);
}
END_TEST

START_TEST(pre_start_knows_its_ids)
{
	const char *const good[] = { ARTICLE_0 "::0", ARTICLE_1 "::1" };
	const char *const bad[] = { ARTICLE_0 "::0", "GPU-z::1" };

	open_article();
	ck_assert_int_eq(dp_service_pre_start(service, &(struct dp_ids){ good, 2 }, fix.text),
			 RPC_OK);
	ck_assert_int_eq(dp_service_pre_start(service, &(struct dp_ids){ bad, 2 }, fix.text),
			 RPC_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(fix.text, "GPU-z::1"));
}
END_TEST

START_TEST(grant_is_one_line_by_default)
{
	struct dp_container_response got;
	char line[256];

	open_article();
	fixture_catch_log(&fix, 2);
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS(ARTICLE_0 "::0", ARTICLE_0 "::1"),
					  &got),
			 RPC_OK);
	(void)snprintf(line, sizeof(line),
		       "hami.com/vgpu: grant %s: 2 slot(s) on 1 card(s): " ARTICLE_0 " (" ARTICLE_0
		       "::0," ARTICLE_0 "::1)\n",
		       fixture_env(&got, "HAMI_VGPU_GRANT"));
	ck_assert_uint_eq(fixture_count_log(&fix, "\n"), 1);
	ck_assert_str_eq(fix.log, line);
}
END_TEST

/* Property: with --v=6 nothing of a request or an answer is missing. */
START_TEST(everything_is_shown_at_six)
{
	struct dp_container_response got;
	char line[512];

	open_article();
	fixture_catch_log(&fix, 6);
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS(ARTICLE_0 "::0", ARTICLE_1 "::1"),
					  &got),
			 RPC_OK);
	ck_assert_uint_eq(fixture_count_log(&fix, "Allocate request: devices_ids (2): " ARTICLE_0
						  "::0," ARTICLE_1 "::1\n"),
			  1);
	for (size_t i = 0; i < got.n_envs; i++) {
		(void)snprintf(line, sizeof(line), "Allocate response: env %s=%s\n",
			       got.envs[i].key, got.envs[i].value);
		ck_assert_msg(fixture_count_log(&fix, line) == 1, "no %s", line);
	}
	ck_assert_uint_eq(fixture_count_log(&fix, "Allocate response: mount "), got.n_mounts);
	ck_assert_uint_eq(fixture_count_log(&fix, "Allocate response: device "), got.n_devices);
}
END_TEST

START_TEST(refusal_is_logged_once)
{
	struct dp_container_response got;

	open_article();
	fixture_catch_log(&fix, 2);
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS("GPU-z::0"), &got), RPC_NOT_FOUND);
	ck_assert_uint_eq(fixture_count_log(&fix, "GPU-z::0"), 1);
	ck_assert_uint_eq(fixture_count_log(&fix, "\n"), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("service");
	TCase *tcase = tcase_create("service");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, two_slots_are_one_bigger_slice);
	tcase_add_test(tcase, slots_of_two_cards_are_two_slices);
	tcase_add_loop_test(tcase, order_of_ids_does_not_matter, 0, 10);
	tcase_add_test(tcase, held_ids_are_taken_over);
	tcase_add_test(tcase, same_request_gets_equivalent_answer);
	tcase_add_loop_test(tcase, refused_ids_change_nothing, 0,
			    (int)(sizeof(refused) / sizeof(refused[0])));
	tcase_add_test(tcase, more_than_the_resource_has_is_refused);
	tcase_add_test(tcase, containers_of_one_call_are_granted_in_order);
	tcase_add_test(tcase, containers_of_one_call_are_all_or_nothing);
	tcase_add_loop_test(tcase, failed_commit_takes_the_others_back, 1, 3);
	tcase_add_test(tcase, request_for_no_container_is_refused);
	tcase_add_test(tcase, grants_of_two_resources_do_not_collide);
	tcase_add_test(tcase, pre_start_knows_its_ids);
	tcase_add_test(tcase, grant_is_one_line_by_default);
	tcase_add_test(tcase, everything_is_shown_at_six);
	tcase_add_test(tcase, refusal_is_logged_once);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
