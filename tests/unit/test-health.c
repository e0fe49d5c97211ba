/* SPDX-License-Identifier: Apache-2.0 */

/* The rules of one device's health: observations and times in, a state out. */

#include <string.h>

#include "health.h"
#include "suite.h"

#define S HDP_SECOND_US

static struct hdp_health h;

static void setup(void)
{
	hdp_health_init(&h, "GPU-a", 0);
	(void)hdp_health_present(&h, HAMIDP_HEALTH_HEALTHY, "", 0);
}

START_TEST(device_is_gone_until_it_is_seen)
{
	hdp_health_init(&h, "GPU-a", 7);
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_GONE);
	ck_assert(hdp_health_present(&h, HAMIDP_HEALTH_HEALTHY, "", 9));
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_HEALTHY);
	ck_assert_str_eq(h.cause, "");
	ck_assert_uint_eq(h.since_us, 9);
	ck_assert(!hdp_health_present(&h, HAMIDP_HEALTH_HEALTHY, "", 10));
	ck_assert_uint_eq(h.since_us, 9);
}
END_TEST

START_TEST(driver_has_the_word_where_nothing_else_is_known)
{
	ck_assert(hdp_health_present(&h, HAMIDP_HEALTH_UNHEALTHY, "too hot", 5));
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_UNHEALTHY);
	ck_assert_str_eq(h.cause, "too hot");
	ck_assert(hdp_health_present(&h, HAMIDP_HEALTH_UNKNOWN, "", 6));
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_UNKNOWN);
	ck_assert_str_ne(h.cause, "");
	ck_assert(hdp_health_present(&h, HAMIDP_HEALTH_SUSPECT, "", 7));
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_SUSPECT);
}
END_TEST

START_TEST(error_to_recover_from_needs_quiet_and_passing_probes)
{
	uint64_t now = 100 * S;

	ck_assert(hdp_health_fault(&h, HDP_FAULT_RECOVER, 48, now));
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_UNHEALTHY);
	ck_assert_ptr_nonnull(strstr(h.cause, "48"));
	while (h.health != HAMIDP_HEALTH_HEALTHY) {
		ck_assert_uint_gt(hdp_health_deadline_us(&h), now);
		now = hdp_health_deadline_us(&h);
		ck_assert_uint_le(now, 700 * S);
		(void)hdp_health_probed(&h, 0, NULL, now);
	}
	ck_assert_uint_eq(now, 700 * S);
	ck_assert_uint_eq(hdp_health_deadline_us(&h), UINT64_MAX);
}
END_TEST

START_TEST(failing_probe_starts_the_quiet_time_anew)
{
	(void)hdp_health_fault(&h, HDP_FAULT_RECOVER, 48, 0);
	(void)hdp_health_probed(&h, -1, "lost", 599 * S);
	(void)hdp_health_probed(&h, 0, NULL, 600 * S);
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_UNHEALTHY);
	(void)hdp_health_probed(&h, 0, NULL, 1198 * S);
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_UNHEALTHY);
	(void)hdp_health_probed(&h, 0, NULL, 1199 * S);
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_HEALTHY);
}
END_TEST

START_TEST(another_error_starts_the_quiet_time_anew)
{
	(void)hdp_health_fault(&h, HDP_FAULT_RECOVER, 48, 0);
	(void)hdp_health_fault(&h, HDP_FAULT_RECOVER, 48, 300 * S);
	(void)hdp_health_probed(&h, 0, NULL, 700 * S);
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_UNHEALTHY);
	(void)hdp_health_probed(&h, 0, NULL, 900 * S);
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_HEALTHY);
}
END_TEST

static const struct {
	enum hdp_fault_class fault_class;
	bool unhealthy; /* at once */
	bool probes_help;
	bool absence_helps;
} classes[] = {
	{ HDP_FAULT_IGNORE, false, false, false }, { HDP_FAULT_APP_RESTART, false, false, false },
	{ HDP_FAULT_RECOVER, true, true, false },  { HDP_FAULT_RESET, true, false, true },
	{ HDP_FAULT_DEAD, true, false, true },
};

START_TEST(each_class_ends_in_its_own_way)
{
	const char *name = hdp_fault_class_to_string(classes[_i].fault_class);

	(void)hdp_health_fault(&h, classes[_i].fault_class, 79, 0);
	ck_assert_msg((h.health == HAMIDP_HEALTH_UNHEALTHY) == classes[_i].unhealthy, "%s", name);
	if (!classes[_i].unhealthy)
		return;
	(void)hdp_health_absent(&h, 1 * S);
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_GONE);
	(void)hdp_health_present(&h, HAMIDP_HEALTH_HEALTHY, "", 2 * S);
	ck_assert_msg((h.health == HAMIDP_HEALTH_HEALTHY) == classes[_i].absence_helps, "%s", name);

	setup();
	(void)hdp_health_fault(&h, classes[_i].fault_class, 79, 0);
	(void)hdp_health_probed(&h, 0, NULL, 10000 * S);
	ck_assert_msg((h.health == HAMIDP_HEALTH_HEALTHY) == classes[_i].probes_help, "%s", name);
}
END_TEST

START_TEST(worst_error_stays)
{
	(void)hdp_health_fault(&h, HDP_FAULT_DEAD, 79, 0);
	(void)hdp_health_fault(&h, HDP_FAULT_RECOVER, 48, 1);
	ck_assert_int_eq(h.fault_class, HDP_FAULT_DEAD);
	ck_assert_uint_eq(h.fault_code, 79);
	(void)hdp_health_probed(&h, 0, NULL, 10000 * S);
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_UNHEALTHY);
}
END_TEST

START_TEST(absence_before_the_error_does_not_heal_it)
{
	(void)hdp_health_absent(&h, 1);
	(void)hdp_health_present(&h, HAMIDP_HEALTH_HEALTHY, "", 2);
	(void)hdp_health_fault(&h, HDP_FAULT_DEAD, 79, 3);
	(void)hdp_health_present(&h, HAMIDP_HEALTH_HEALTHY, "", 4);
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_UNHEALTHY);
}
END_TEST

START_TEST(silence_is_suspect_then_unhealthy_and_ends_with_an_answer)
{
	ck_assert(hdp_health_device_silence(&h, HDP_SILENT, 10));
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_SUSPECT);
	ck_assert(hdp_health_device_silence(&h, HDP_MUTE, 20));
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_UNHEALTHY);
	ck_assert_str_eq(h.cause, "driver does not answer");
	ck_assert(hdp_health_probed(&h, 0, NULL, 30));
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_HEALTHY);
	ck_assert(hdp_health_driver_silence(&h, HDP_MUTE, "driver not loaded", 40));
	ck_assert_str_eq(h.cause, "driver not loaded");
	ck_assert(hdp_health_driver_silence(&h, HDP_ANSWERS, NULL, 50));
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_HEALTHY);
}
END_TEST

START_TEST(failed_probe_alone_is_tried_again_soon)
{
	ck_assert(hdp_health_probed(&h, -5, "lost", 100 * S));
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_UNHEALTHY);
	ck_assert_str_eq(h.cause, "lost");
	ck_assert_uint_eq(hdp_health_deadline_us(&h), 100 * S + HDP_REPROBE_US);
	ck_assert(hdp_health_probed(&h, 0, NULL, 110 * S));
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_HEALTHY);
}
END_TEST

START_TEST(probe_of_a_device_that_left_says_nothing_of_it)
{
	(void)hdp_health_absent(&h, 1);
	(void)hdp_health_probed(&h, -5, "lost", 2);
	(void)hdp_health_present(&h, HAMIDP_HEALTH_HEALTHY, "", 3);
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_HEALTHY);
}
END_TEST

START_TEST(driver_that_takes_its_word_back_outdoes_an_older_probe)
{
	(void)hdp_health_present(&h, HAMIDP_HEALTH_UNHEALTHY, "hot", 1);
	(void)hdp_health_probed(&h, -5, "hot", 2);
	(void)hdp_health_present(&h, HAMIDP_HEALTH_HEALTHY, "", 3);
	ck_assert_int_eq(h.health, HAMIDP_HEALTH_HEALTHY);
}
END_TEST

START_TEST(fault_survives_the_store_and_nothing_else_does)
{
	struct hdp_health_record rec;
	struct hdp_health back;

	(void)hdp_health_fault(&h, HDP_FAULT_DEAD, 79, 50 * S);
	hdp_health_record(&h, &rec);
	hdp_health_init(&back, rec.uuid, 3 * S); /* the clock began anew with the machine */
	hdp_health_restore(&back, &rec, 3 * S);
	(void)hdp_health_present(&back, HAMIDP_HEALTH_HEALTHY, "", 3 * S);
	ck_assert_int_eq(back.health, HAMIDP_HEALTH_UNHEALTHY);
	ck_assert_uint_eq(back.fault_code, 79);
	ck_assert_uint_le(back.fault_us, 3 * S);

	setup();
	(void)hdp_health_device_silence(&h, HDP_MUTE, 1);
	hdp_health_record(&h, &rec);
	hdp_health_init(&back, rec.uuid, 2);
	hdp_health_restore(&back, &rec, 2);
	(void)hdp_health_present(&back, HAMIDP_HEALTH_HEALTHY, "", 2);
	ck_assert_int_eq(back.health, HAMIDP_HEALTH_HEALTHY);
}
END_TEST

START_TEST(recovery_goes_on_over_a_restart)
{
	struct hdp_health_record rec;
	struct hdp_health back;

	(void)hdp_health_fault(&h, HDP_FAULT_RECOVER, 48, 100 * S);
	hdp_health_record(&h, &rec);
	hdp_health_init(&back, rec.uuid, 400 * S);
	hdp_health_restore(&back, &rec, 400 * S);
	(void)hdp_health_present(&back, HAMIDP_HEALTH_HEALTHY, "", 400 * S);
	(void)hdp_health_probed(&back, 0, NULL, 699 * S);
	ck_assert_int_eq(back.health, HAMIDP_HEALTH_UNHEALTHY);
	(void)hdp_health_probed(&back, 0, NULL, 700 * S);
	ck_assert_int_eq(back.health, HAMIDP_HEALTH_HEALTHY);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		device_is_gone_until_it_is_seen,
		driver_has_the_word_where_nothing_else_is_known,
		error_to_recover_from_needs_quiet_and_passing_probes,
		failing_probe_starts_the_quiet_time_anew,
		another_error_starts_the_quiet_time_anew,
		worst_error_stays,
		absence_before_the_error_does_not_heal_it,
		silence_is_suspect_then_unhealthy_and_ends_with_an_answer,
		failed_probe_alone_is_tried_again_soon,
		probe_of_a_device_that_left_says_nothing_of_it,
		driver_that_takes_its_word_back_outdoes_an_older_probe,
		fault_survives_the_store_and_nothing_else_does,
		recovery_goes_on_over_a_restart,
	};
	Suite *s = suite_create("health");
	TCase *tc = tcase_create("health");

	tcase_add_checked_fixture(tc, setup, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_add_loop_test(tc, each_class_ends_in_its_own_way, 0, (int)ARRAY_SIZE(classes));
	suite_add_tcase(s, tc);
	return suite_run(s);
}
