/* SPDX-License-Identifier: Apache-2.0 */
/* GetPreferredAllocation: whatever the kubelet asks, a valid choice comes back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/hamidp.h>

#include "../unit/suite.h"
#include "fixture.h"

#define N_CARDS 8
#define N_SLOTS 10

static struct fixture fix;
static struct dp_service *service;
static struct fixture_card cards[N_CARDS];
static char uuids[N_CARDS][16], pcis[N_CARDS][16];

static void setup(void)
{
	fixture_init(&fix);
	for (int i = 0; i < N_CARDS; i++) {
		(void)snprintf(uuids[i], sizeof(uuids[i]), "GPU-%d", i);
		(void)snprintf(pcis[i], sizeof(pcis[i]), "0000:%02x:00.0", i + 1);
		cards[i] = (struct fixture_card){ uuids[i], pcis[i], 40960, i / 4, "healthy" };
	}
}

static void teardown(void)
{
	dp_service_free(service);
	service = NULL;
	fixture_done(&fix);
}

static void open_node(void)
{
	fixture_write_machine(&fix, cards, N_CARDS);
	fixture_open(&fix, FLAGS("--cores-per-device=10"));
	service = fixture_service(&fix, "hami.com/vgpu");
}

static struct dp_ids ask(const char *const *available, size_t n_available, const char *const *must,
			 size_t n_must, int32_t size)
{
	const struct dp_preferred_container container = {
		.available = { available, n_available },
		.must_include = { must, n_must },
		.size = size,
	};
	const struct dp_preferred_request request = { .containers = &container, .n_containers = 1 };
	struct dp_preferred_response response = { 0 };

	dp_arena_reset(&fix.arena);
	ck_assert_int_eq(dp_service_preferred(service, &fix.arena, &request, &response, fix.text),
			 RPC_OK);
	ck_assert_uint_eq(response.n_containers, 1);
	return response.containers[0];
}

static bool has(const char *const *ids, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(ids[i], id))
			return true;
	return false;
}

static size_t all_ids(const char **ids)
{
	const struct hamidp_layout *layout = fixture_layout(&fix);

	for (size_t i = 0; i < hamidp_layout_n_slots(layout); i++)
		ids[i] = hamidp_layout_slot_id(layout, i);
	return hamidp_layout_n_slots(layout);
}

static void shuffle(const char **ids, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)rand() % i;
		const char *id = ids[i - 1];

		ids[i - 1] = ids[j];
		ids[j] = id;
	}
}

/* Property: exactly as many as asked for, each once, all available, what must be among them. */
START_TEST(answer_is_always_valid)
{
	const char *ids[N_CARDS * N_SLOTS];
	size_t n, n_available, n_must, size;
	struct dp_ids got;

	srand((unsigned)_i);
	for (int i = 0; i < N_CARDS; i++)
		cards[i].health = rand() % 8 ? "healthy" : "unhealthy";
	open_node();
	n = all_ids(ids);
	shuffle(ids, n);
	n_available = 1 + (size_t)rand() % n;
	size = 1 + (size_t)rand() % n_available;
	n_must = (size_t)rand() % (size + 1);
	got = ask(ids, n_available, ids, n_must, (int32_t)size);
	ck_assert_uint_eq(got.n_ids, size);
	for (size_t i = 0; i < got.n_ids; i++) {
		ck_assert_msg(has(ids, n_available, got.ids[i]), "%s was not offered", got.ids[i]);
		ck_assert_msg(!has(got.ids, i, got.ids[i]), "%s is there twice", got.ids[i]);
	}
	for (size_t i = 0; i < n_must; i++)
		ck_assert_msg(has(got.ids, got.n_ids, ids[i]), "%s is missing", ids[i]);
	ck_assert_uint_eq(hamidp_node_n_grants(fix.node), 0);
}
END_TEST

static size_t n_cards_of(const struct dp_ids *ids)
{
	size_t n = 0;

	for (size_t i = 0; i < ids->n_ids; i++) {
		size_t len = (size_t)(strstr(ids->ids[i], "::") - ids->ids[i]);
		bool seen = false;

		for (size_t k = 0; k < i; k++)
			seen = seen || !strncmp(ids->ids[k], ids->ids[i], len + 2);
		n += !seen;
	}
	return n;
}

START_TEST(whole_request_goes_on_one_card)
{
	const char *ids[N_CARDS * N_SLOTS];
	struct dp_ids got;
	size_t n;

	open_node();
	n = all_ids(ids);
	srand((unsigned)_i);
	shuffle(ids, n);
	got = ask(ids, n, NULL, 0, _i + 1);
	ck_assert_uint_eq(got.n_ids, (size_t)_i + 1);
	ck_assert_uint_eq(n_cards_of(&got), 1);
}
END_TEST

START_TEST(unknown_ids_are_skipped_with_one_warning)
{
	const char *const ids[] = { "GPU-z::0", "GPU-0::0", "", "GPU-0::1", "GPU-0::10" };
	struct dp_ids got;

	open_node();
	fixture_catch_log(&fix, 2);
	got = ask(ids, 5, NULL, 0, 2);
	ck_assert_uint_eq(got.n_ids, 2);
	ck_assert_str_eq(got.ids[0], "GPU-0::0");
	ck_assert_str_eq(got.ids[1], "GPU-0::1");
	ck_assert_uint_eq(fixture_count_log(&fix, "\n"), 1);
	ck_assert_uint_eq(fixture_count_log(&fix, "3 ids are none of ours, the first 'GPU-z::0'"),
			  1);
}
END_TEST

START_TEST(what_cannot_be_is_answered_as_far_as_it_can)
{
	const char *const ids[] = { "GPU-0::0", "GPU-1::0", "GPU-1::0" };

	open_node();
	ck_assert_uint_eq(ask(ids, 3, NULL, 0, 5).n_ids, 2);
	ck_assert_uint_eq(ask(ids, 3, NULL, 0, 0).n_ids, 0);
	ck_assert_uint_eq(ask(ids, 3, NULL, 0, -1).n_ids, 0);
	ck_assert_uint_eq(ask(ids, 3, NULL, 0, INT32_MAX).n_ids, 2);
	ck_assert_uint_eq(ask(NULL, 0, NULL, 0, 3).n_ids, 0);
	ck_assert_uint_eq(ask(NULL, 0, ids, 1, 1).n_ids, 1);
	ck_assert_uint_eq(ask(ids, 2, ids, 2, 1).n_ids, 1);
}
END_TEST

/* A card that the kubelet still offers though it has failed is no reason to answer with less. */
START_TEST(failed_card_does_not_spoil_the_rest)
{
	const char *const ids[] = { "GPU-3::0", "GPU-3::1", "GPU-5::0", "GPU-5::1" };
	struct dp_ids got;

	cards[3].health = "unhealthy";
	open_node();
	got = ask(ids, 4, NULL, 0, 2);
	ck_assert_uint_eq(got.n_ids, 2);
	ck_assert_str_eq(got.ids[0], "GPU-5::0");
	ck_assert_str_eq(got.ids[1], "GPU-5::1");
	ck_assert_uint_eq(ask(ids, 4, NULL, 0, 4).n_ids, 4);
}
END_TEST

/* What our record shows held does not count: the kubelet says what is available. */
START_TEST(record_does_not_narrow_the_choice)
{
	const char *const ids[] = { "GPU-2::0", "GPU-2::1" };
	struct dp_container_response granted;

	open_node();
	ck_assert_int_eq(fixture_allocate(&fix, service, ids, 2, &granted), RPC_OK);
	ck_assert_uint_eq(ask(ids, 2, NULL, 0, 2).n_ids, 2);
}
END_TEST

/* Property: with --v=6 every id of a long request is in some line. */
START_TEST(long_requests_are_shown_in_full)
{
	const char *ids[N_CARDS * 100];
	size_t n;

	fixture_write_machine(&fix, cards, N_CARDS);
	fixture_open(&fix, FLAGS("--cores-per-device=100"));
	service = fixture_service(&fix, "hami.com/vgpu");
	n = all_ids(ids);
	ck_assert_uint_eq(n, N_CARDS * 100);
	fixture_catch_log(&fix, 6);
	(void)ask(ids, n, NULL, 0, 1);
	ck_assert_uint_eq(fixture_count_log(&fix, "request: available (800"), 4);
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(fixture_count_log(&fix, ids[i]) > 0, "no %s", ids[i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("preferred");
	TCase *tcase = tcase_create("preferred");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, answer_is_always_valid, 0, 100);
	tcase_add_loop_test(tcase, whole_request_goes_on_one_card, 0, N_SLOTS);
	tcase_add_test(tcase, unknown_ids_are_skipped_with_one_warning);
	tcase_add_test(tcase, what_cannot_be_is_answered_as_far_as_it_can);
	tcase_add_test(tcase, failed_card_does_not_spoil_the_rest);
	tcase_add_test(tcase, long_requests_are_shown_in_full);
	tcase_add_test(tcase, record_does_not_narrow_the_choice);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
