/* SPDX-License-Identifier: Apache-2.0 */
/* What the kubelet is shown: --publish, hold-downs by a clock that the test moves, and the unknown.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hami/hamidp.h>

#include "../unit/suite.h"
#include "clock.h"
#include "device-list.h"
#include "fixture.h"
#include "helper.h"
#include "publisher.h"

#define S UINT64_C(1000000)

static const struct fixture_card two_cards[] = {
	{ "a", "0000:0a:00.0", 40960, -1, NULL },
	{ "b", "0000:0b:00.0", 40960, -1, NULL },
};

static struct fixture fix;
static sd_event *event;
static struct publisher *publisher;
static char flag_dir[96], checkpoint[128];
static int64_t shift_us; /* of the clock */
static unsigned n_calls; /* of on_over() */

static uint64_t now(void *userdata)
{
	return (uint64_t)((int64_t)clock_now_us() + shift_us);
}

static void on_over(void *userdata)
{
	n_calls++;
}

static void setup(void)
{
	fixture_init(&fix);
	fixture_write_machine(&fix, two_cards, 2);
	(void)snprintf(flag_dir, sizeof(flag_dir), "--device-plugin-dir=%s", fix.dir);
	(void)snprintf(checkpoint, sizeof(checkpoint), "%s/kubelet_internal_checkpoint", fix.dir);
	ck_assert_int_ge(sd_event_new(&event), 0);
	publisher = NULL;
	shift_us = 0;
	n_calls = 0;
}

static void teardown(void)
{
	publisher_free(publisher);
	sd_event_unref(event);
	(void)unlink(checkpoint);
	fixture_done(&fix);
}

static void make(const char *publish)
{
	fixture_open(&fix, FLAGS("--cores-per-device=8", flag_dir, publish));
	fixture_catch_log(&fix, 4);
	ck_assert_int_eq(publisher_new("hami.com/vgpu", fix.opts, fix.node, event, now, on_over,
				       NULL, &publisher),
			 0);
	ck_assert_int_eq(publisher_refresh(publisher, 0), 0);
}

/* A grant of the first @n slots of a card. */
static void take(const char *card, unsigned n)
{
	struct dp_service *service = fixture_service(&fix, "hami.com/vgpu");
	struct dp_container_response got;
	const char *ids[8];
	char texts[8][16];

	for (unsigned i = 0; i < n; i++) {
		(void)snprintf(texts[i], sizeof(texts[i]), "%s::%u", card, i);
		ids[i] = texts[i];
	}
	ck_assert_int_eq(fixture_allocate(&fix, service, ids, n, &got), RPC_OK);
	dp_service_free(service);
}

/* Refresh; then the list for the kubelet has that many healthy, and so many for each cause. */
static void expect(size_t n_healthy, size_t n_withheld, size_t n_held_down)
{
	const struct hamidp_publication *publication = publisher_publication(publisher);
	struct device_list list;

	ck_assert_int_eq(publisher_refresh(publisher, 0), 0);
	ck_assert_int_eq(device_list_build(publication, true, &list, NULL), 0);
	ck_assert_uint_eq(list.list.n_devices, 16);
	ck_assert_uint_eq(list.n_healthy, n_healthy);
	for (size_t i = 0; i < 16; i++)
		n_healthy -= list.devices[i].healthy;
	ck_assert_uint_eq(n_healthy, 0);
	device_list_done(&list);
	ck_assert_uint_eq(hamidp_publication_count(publication, HAMIDP_CAUSE_WITHHELD), n_withheld);
	ck_assert_uint_eq(hamidp_publication_count(publication, HAMIDP_CAUSE_HOLD_DOWN),
			  n_held_down);
}

START_TEST(all_publishes_all)
{
	make("--publish=all");
	ck_assert(!publisher_follows_occupancy(publisher));
	take("a", 5);
	expect(16, 0, 0);
}
END_TEST

START_TEST(placeable_follows_what_is_held)
{
	make("--publish=placeable");
	ck_assert(publisher_follows_occupancy(publisher));
	expect(16, 0, 0);
	take("a", 5);
	expect(13, 3, 0);
	take("b", 6); /* 3 and 2 are left: a request of 3 is the most */
	expect(14, 2, 0);
	take("a", 8);
	expect(16, 0, 0);
}
END_TEST

START_TEST(a_refusal_holds_and_its_time_ends_it)
{
	make("--publish=all");
	take("a", 5);
	take("b", 5);
	shift_us = -(int64_t)(31 * S);
	publisher_refused(publisher, 4);
	ck_assert(publisher_follows_occupancy(publisher));
	ck_assert_uint_eq(fixture_count_log(&fix, "hold-down: at most 3 free slots"), 1);
	expect(13, 0, 3);
	ck_assert_uint_eq(n_calls, 0);
	/* On the real clock its time is over: the timer says so. */
	ck_assert_int_gt(sd_event_run(event, 10 * S), 0);
	ck_assert_uint_eq(n_calls, 1);
	expect(13, 0, 3); /* nothing ends before its time */
	shift_us = 0;
	expect(16, 0, 0);
	ck_assert_uint_eq(fixture_count_log(&fix, "hold-down over"), 1);
	ck_assert(!publisher_follows_occupancy(publisher));
}
END_TEST

START_TEST(a_hold_ends_at_once_when_the_size_fits)
{
	const struct hamidp_grant *grant;

	make("--publish=placeable");
	take("a", 5);
	take("b", 5);
	publisher_refused(publisher, 3); /* as if it had not fitted */
	ck_assert(fixture_count_log(&fix, "hold-down") == 0);
	publisher_refused(publisher, 4);
	expect(13, 3, 0); /* 3 are the most that could be had anyway */
	grant = hamidp_node_grant(fix.node, 0);
	ck_assert_int_eq(hamidp_node_release(fix.node, hamidp_grant_id(grant), NULL), 0);
	expect(13, 3, 0); /* 8 on one card now */
	ck_assert_uint_eq(fixture_count_log(&fix, "hold-down over"), 1);
}
END_TEST

static void write_checkpoint(const char *text)
{
	FILE *out = fopen(checkpoint, "we");

	ck_assert_ptr_nonnull(out);
	ck_assert_int_ge(fputs(text, out), 0);
	ck_assert_int_eq(fclose(out), 0);
}

/* Slots that look free may be held by pods from before: they must stay Healthy. */
START_TEST(after_a_restart_with_pods_all_is_published)
{
	write_checkpoint("{\"Data\":{\"PodDeviceEntries\":[{\"PodUID\":\"u\",\"ContainerName\":"
			 "\"c\",\"ResourceName\":\"hami.com/vgpu\",\"DeviceIDs\":{\"-1\":[\"a::0\""
			 "]},\"AllocResp\":\"\"}],\"RegisteredDevices\":{}},\"Checksum\":1}");
	make("--publish=placeable");
	take("a", 5);
	take("b", 6);
	publisher_refused(publisher, 4);
	ck_assert(!publisher_follows_occupancy(publisher));
	expect(16, 0, 0);
	ck_assert_uint_eq(fixture_count_log(&fix, "which ones is not known"), 1);
}
END_TEST

START_TEST(pods_of_other_resources_are_no_obstacle)
{
	write_checkpoint("{\"Data\":{\"PodDeviceEntries\":[{\"ResourceName\":\"b.com/x\"}],"
			 "\"RegisteredDevices\":{\"hami.com/vgpu\":[\"a::0\"]}},\"Checksum\":1}");
	make("--publish=placeable");
	take("a", 5);
	expect(13, 3, 0);
	ck_assert_uint_eq(fixture_count_log(&fix, "not known"), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("publisher");
	TCase *tcase = tcase_create("publisher");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, all_publishes_all);
	tcase_add_test(tcase, placeable_follows_what_is_held);
	tcase_add_test(tcase, a_refusal_holds_and_its_time_ends_it);
	tcase_add_test(tcase, a_hold_ends_at_once_when_the_size_fits);
	tcase_add_test(tcase, after_a_restart_with_pods_all_is_published);
	tcase_add_test(tcase, pods_of_other_resources_are_no_obstacle);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
