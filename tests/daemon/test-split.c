/* SPDX-License-Identifier: Apache-2.0 */
/* Allocate of slots spread over cards: what --split=deny refuses, and what it must not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/hamidp.h>

#include "../unit/suite.h"
#include "fixture.h"

#define IDS(...)                                \
	((const char *const[]){ __VA_ARGS__ }), \
		sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *)
#define AVAILABLE_MAX 32

static const struct fixture_card three_cards[] = {
	{ "a", "0000:0a:00.0", 40960, 0, NULL },
	{ "b", "0000:0b:00.0", 40960, 1, NULL },
	{ "c", "0000:0c:00.0", 40960, 1, NULL },
};

static struct fixture fix;
static struct dp_service *service;
static struct dp_container_response got;

static void setup(void)
{
	fixture_init(&fix);
	fixture_write_machine(&fix, three_cards, 3);
	service = NULL;
}

static void teardown(void)
{
	dp_service_free(service);
	fixture_done(&fix);
}

/* Cards of 8 slots. */
static void open_with(const char *one, const char *two)
{
	fixture_open(&fix, FLAGS("--cores-per-device=8", one ? one : "--v=2", two));
	fixture_catch_log(&fix, 4);
	service = fixture_service(&fix, "hami.com/vgpu");
}

/* All but @n slots of a card are taken, one by one. */
static void leave(const char *card, unsigned n)
{
	char id[16];

	for (unsigned i = 0; i < 8 - n; i++) {
		(void)snprintf(id, sizeof(id), "%s::%u", card, i);
		ck_assert_int_eq(fixture_allocate(&fix, service, IDS(id), &got), RPC_OK);
	}
}

/* Ask as the kubelet does; the answer lives until the next call. */
static const struct dp_ids *preferred(const char *const *available, size_t n_available,
				      const char *const *required, size_t n_required, int size)
{
	static struct dp_preferred_response response;
	const struct dp_preferred_container container = {
		.available = { .ids = available, .n_ids = n_available },
		.must_include = { .ids = required, .n_ids = n_required },
		.size = size,
	};
	const struct dp_preferred_request request = { .containers = &container, .n_containers = 1 };

	dp_arena_reset(&fix.arena);
	ck_assert_int_eq(dp_service_preferred(service, &fix.arena, &request, &response, fix.text),
			 RPC_OK);
	ck_assert_uint_eq(response.n_containers, 1);
	ck_assert_uint_eq(response.containers[0].n_ids, (size_t)size);
	return &response.containers[0];
}

/* Copies, since the arena that an answer lives in is used again. */
static size_t copy_ids(const struct dp_ids *ids, char copies[AVAILABLE_MAX][16],
		       const char *pointers[AVAILABLE_MAX])
{
	ck_assert_uint_le(ids->n_ids, AVAILABLE_MAX);
	for (size_t i = 0; i < ids->n_ids; i++) {
		(void)snprintf(copies[i], sizeof(copies[i]), "%s", ids->ids[i]);
		pointers[i] = copies[i];
	}
	return ids->n_ids;
}

static size_t n_grants(void)
{
	return hamidp_node_n_grants(fix.node);
}

START_TEST(a_split_is_refused_and_names_what_fits)
{
	size_t before;

	open_with(NULL, NULL);
	leave("a", 3);
	leave("b", 3);
	leave("c", 0);
	before = n_grants();
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS("a::5", "a::6", "a::7", "b::5"), &got),
			 RPC_FAILED_PRECONDITION);
	ck_assert_msg(strstr(fix.text, "hami.com/vgpu: 4 slots") != NULL, "%s", fix.text);
	ck_assert_msg(strstr(fix.text, "at most 3 in one request") != NULL, "%s", fix.text);
	ck_assert_ptr_null(strstr(fix.text, "NUMA"));
	ck_assert_uint_eq(n_grants(), before);
	ck_assert_uint_eq(dp_service_take_refused(service), 4);
	ck_assert_uint_eq(dp_service_take_refused(service), 0);
	ck_assert_uint_eq(fixture_count_log(&fix, "4 slots as 3+1 refused (--split=deny); "
						  "refused so far: 1"),
			  1);
	/* The largest that was named is had. */
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS("b::5", "b::6", "b::7"), &got),
			 RPC_OK);
	ck_assert_uint_eq(fixture_count_log(&fix, "so far 0 splits granted, 1 refused"), 2);
}
END_TEST

START_TEST(normal_forms_are_granted)
{
	const char *ids[12];
	char texts[12][16];

	open_with(NULL, NULL);
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS("a::7", "a::0", "a::3"), &got),
			 RPC_OK);
	for (unsigned i = 0; i < 12; i++) { /* 12 are 6 and 6 */
		(void)snprintf(texts[i], sizeof(texts[i]), "%s::%u", i % 2 ? "b" : "c", i / 2);
		ids[i] = texts[i];
	}
	ck_assert_int_eq(fixture_allocate(&fix, service, ids, 12, &got), RPC_OK);
	ids[11] = "c::6"; /* and not 7 and 5 */
	ck_assert_int_eq(fixture_allocate(&fix, service, ids, 12, &got), RPC_FAILED_PRECONDITION);
	ck_assert_uint_eq(fixture_count_log(&fix, "as 5+7 refused"), 1);
	ck_assert_uint_eq(dp_service_take_refused(service), 12);
	ck_assert_int_eq(fixture_allocate(&fix, service, ids, 1, &got), RPC_OK);
	ck_assert_uint_eq(dp_service_take_refused(service), 0);
}
END_TEST

START_TEST(a_spread_that_need_not_be_is_laid_at_the_right_door)
{
	static const char *const available[] = { "b::0", "c::0" };

	open_with(NULL, NULL);
	ck_assert_int_eq(fixture_allocate(&fix, service, available, 2, &got),
			 RPC_FAILED_PRECONDITION);
	ck_assert_msg(strstr(fix.text, "the kubelet does not ask which slots suit") != NULL, "%s",
		      fix.text);
	(void)preferred(available, 2, NULL, 0, 2);
	ck_assert_int_eq(fixture_allocate(&fix, service, available, 2, &got),
			 RPC_FAILED_PRECONDITION);
	ck_assert_msg(strstr(fix.text, "they would fit, but the kubelet chose these") != NULL, "%s",
		      fix.text);
	ck_assert_ptr_nonnull(strstr(fix.text, "NUMA"));
}
END_TEST

START_TEST(allow_grants_splits_and_says_so)
{
	open_with("--split=allow", NULL);
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS("a::0", "a::1", "b::0"), &got),
			 RPC_OK);
	ck_assert_str_eq(fixture_env(&got, "HAMI_VGPU_DEVICES"), "a,b");
	ck_assert_uint_eq(fixture_count_log(&fix, " is split as 2+1 (--split=allow); "
						  "splits so far: 1"),
			  1);
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS("b::4", "c::0"), &got), RPC_OK);
	ck_assert_uint_eq(fixture_count_log(&fix, "splits so far: 2"), 1);
	ck_assert_uint_eq(fixture_count_log(&fix, "so far 2 splits granted, 0 refused"), 1);
	ck_assert_uint_eq(dp_service_take_refused(service), 0);
}
END_TEST

START_TEST(what_was_answered_to_must_include_is_granted)
{
	static const char *const available[] = { "a::6", "a::7", "b::7", "c::5", "c::6" };
	char copies[AVAILABLE_MAX][16];
	const char *ids[AVAILABLE_MAX], *other[] = { "a::6", "b::7", "c::5", "c::6" };
	size_t n;

	open_with(NULL, NULL);
	leave("a", 2);
	leave("b", 1);
	leave("c", 3);
	n = copy_ids(preferred(available, 5, IDS("a::6", "b::7"), 4), copies, ids);
	for (size_t i = 0; i < n / 2; i++) { /* the kubelet's order is another */
		const char *id = ids[i];

		ids[i] = ids[n - 1 - i];
		ids[n - 1 - i] = id;
	}
	if (!strcmp(ids[0], "c::6"))
		other[0] = "a::7";
	ck_assert_int_eq(fixture_allocate(&fix, service, other, 4, &got), RPC_FAILED_PRECONDITION);
	ck_assert_int_eq(fixture_allocate(&fix, service, ids, n, &got), RPC_OK);
	ck_assert_uint_eq(fixture_count_log(&fix, "its slots had to include an earlier "
						  "container's; such grants so far: 1"),
			  1);
	/* The same request again gets an equivalent answer. */
	ck_assert_int_eq(fixture_allocate(&fix, service, ids, n, &got), RPC_OK);
}
END_TEST

START_TEST(an_answer_without_must_include_allows_nothing)
{
	static const char *const available[] = { "a::7", "b::7", "c::7" };
	char copies[AVAILABLE_MAX][16];
	const char *ids[AVAILABLE_MAX];
	size_t n;

	open_with(NULL, NULL);
	leave("a", 1);
	leave("b", 1);
	leave("c", 1);
	n = copy_ids(preferred(available, 3, NULL, 0, 2), copies, ids);
	ck_assert_uint_eq(n, 2); /* as many as asked for, all the same */
	ck_assert_int_eq(fixture_allocate(&fix, service, ids, n, &got), RPC_FAILED_PRECONDITION);
	ck_assert_ptr_nonnull(strstr(fix.text, "at most 1 in one request"));
}
END_TEST

/* Init containers hand their slots on, some of them, and we are not asked which. */
START_TEST(a_part_of_one_grant_is_granted)
{
	const char *ids[16];
	char texts[16][16];

	open_with(NULL, NULL);
	for (unsigned i = 0; i < 16; i++) {
		(void)snprintf(texts[i], sizeof(texts[i]), "%s::%u", i < 8 ? "a" : "b", i % 8);
		ids[i] = texts[i];
	}
	ck_assert_int_eq(fixture_allocate(&fix, service, ids, 16, &got), RPC_OK);
	ck_assert_int_eq(fixture_allocate(&fix, service, ids + 2, 10, &got), RPC_OK); /* 6 and 4 */
	ck_assert_uint_eq(fixture_count_log(&fix, "spread as 6+4: its slots are an earlier "
						  "container's"),
			  1);
	/* Now two grants have a part each. */
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS("a::0", "a::1", "b::7", "b::0"), &got),
			 RPC_FAILED_PRECONDITION);
}
END_TEST

START_TEST(one_refused_container_refuses_the_request)
{
	const struct dp_ids containers[] = {
		{ .ids = (const char *const[]){ "a::0" }, .n_ids = 1 },
		{ .ids = (const char *const[]){ "a::1", "b::1" }, .n_ids = 2 },
	};
	const struct dp_allocate_request request = { .containers = containers, .n_containers = 2 };
	struct dp_allocate_response response;

	open_with(NULL, NULL);
	ck_assert_int_eq(dp_service_allocate(service, &fix.arena, &request, &response, fix.text),
			 RPC_FAILED_PRECONDITION);
	ck_assert_uint_eq(n_grants(), 0);
	ck_assert_uint_eq(dp_service_take_refused(service), 2);
}
END_TEST

START_TEST(max_per_device_makes_smaller_parts_the_normal_form)
{
	open_with("--max-per-device=2", NULL);
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS("a::0", "a::1", "b::0"), &got),
			 RPC_OK);
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS("c::0", "c::1", "c::2"), &got),
			 RPC_FAILED_PRECONDITION);
}
END_TEST

START_TEST(spread_takes_every_even_spread)
{
	open_with("--placement=spread", NULL);
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS("a::0", "b::0", "c::0"), &got),
			 RPC_OK);
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS("a::1", "a::2", "b::1"), &got),
			 RPC_OK);
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS("a::1", "a::2", "a::3", "b::1"), &got),
			 RPC_FAILED_PRECONDITION);
}
END_TEST

START_TEST(withheld_slots_that_are_asked_for_are_granted_with_a_line)
{
	const struct hamidp_publish_options placeable = { .size = sizeof(placeable),
							  .mode = HAMIDP_PUBLISH_PLACEABLE };
	struct hamidp_publication *publication = NULL;

	open_with(NULL, NULL);
	leave("a", 3);
	ck_assert_int_eq(hamidp_publication_new(&publication), 0);
	ck_assert_int_eq(hamidp_publish(fixture_layout(&fix), hamidp_node_occupancy(fix.node), 0,
					&placeable, publication, NULL),
			 0);
	dp_service_set_publication(service, publication);
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS("a::5", "a::6"), &got), RPC_OK);
	ck_assert_uint_eq(fixture_count_log(&fix, "has slots that were sent as Unhealthy (2 "
						  "withheld, 0 held down)"),
			  1);
	ck_assert_int_eq(fixture_allocate(&fix, service, IDS("b::5", "b::6"), &got), RPC_OK);
	ck_assert_uint_eq(fixture_count_log(&fix, "sent as Unhealthy"), 1);
	dp_service_set_publication(service, NULL);
	hamidp_publication_free(publication);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("split");
	TCase *tcase = tcase_create("split");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_split_is_refused_and_names_what_fits);
	tcase_add_test(tcase, normal_forms_are_granted);
	tcase_add_test(tcase, a_spread_that_need_not_be_is_laid_at_the_right_door);
	tcase_add_test(tcase, allow_grants_splits_and_says_so);
	tcase_add_test(tcase, what_was_answered_to_must_include_is_granted);
	tcase_add_test(tcase, an_answer_without_must_include_allows_nothing);
	tcase_add_test(tcase, a_part_of_one_grant_is_granted);
	tcase_add_test(tcase, one_refused_container_refuses_the_request);
	tcase_add_test(tcase, max_per_device_makes_smaller_parts_the_normal_form);
	tcase_add_test(tcase, spread_takes_every_even_spread);
	tcase_add_test(tcase, withheld_slots_that_are_asked_for_are_granted_with_a_line);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
