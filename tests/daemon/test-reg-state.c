/* SPDX-License-Identifier: Apache-2.0 */
/* The registration's rules, against a simulated kubelet and clock. */
#include <stdlib.h>

#include "helper.h"
#include "reg-state.h"

#define SECOND UINT64_C(1000000)

static struct reg_state s;
static uint64_t now_us;

static unsigned event(enum reg_event e, uint64_t arg)
{
	return reg_state_handle(&s, e, arg, now_us);
}

/* Listening, probed, a kubelet there: the first attempt is out. */
static void begin(void)
{
	now_us = 1000 * SECOND;
	reg_state_init(&s, &reg_config_rpc, 42);
	ck_assert_uint_eq(event(REG_KUBELET, 1), 0);
	ck_assert_uint_eq(event(REG_START, 0), REG_DO_LISTEN);
	ck_assert_uint_eq(event(REG_LISTEN_OK, 0), REG_DO_PROBE);
	ck_assert_uint_eq(event(REG_PROBE_OK, 0), REG_DO_REGISTER);
}

/* To the next deadline; what is to be done then. */
static unsigned tick(void)
{
	ck_assert_uint_ne(reg_state_deadline(&s), REG_NEVER);
	ck_assert_uint_ge(reg_state_deadline(&s), now_us);
	now_us = reg_state_deadline(&s);
	return event(REG_TICK, 0);
}

START_TEST(listens_and_probes_before_registering)
{
	begin();
	ck_assert_uint_eq(event(REG_STREAM_OPENED, 1), 0);
	ck_assert_uint_eq(event(REG_ANSWER_OK, 0), 0);
	ck_assert(reg_state_is_registered(&s));
	ck_assert_uint_eq(reg_state_deadline(&s), REG_NEVER);
}
END_TEST

START_TEST(failed_probe_gives_up)
{
	now_us = SECOND;
	reg_state_init(&s, &reg_config_rpc, 1);
	(void)event(REG_KUBELET, 1);
	(void)event(REG_START, 0);
	(void)event(REG_LISTEN_OK, 0);
	ck_assert_uint_eq(event(REG_PROBE_FAILED, 0), REG_DO_GIVE_UP);
	ck_assert_uint_eq(reg_state_deadline(&s), REG_NEVER);
	ck_assert_uint_eq(event(REG_KUBELET, 2), 0);
}
END_TEST

START_TEST(waits_without_a_timer_while_there_is_no_kubelet)
{
	now_us = SECOND;
	reg_state_init(&s, &reg_config_rpc, 1);
	(void)event(REG_START, 0);
	(void)event(REG_LISTEN_OK, 0);
	ck_assert_uint_eq(event(REG_PROBE_OK, 0), 0);
	ck_assert_uint_eq(reg_state_deadline(&s), REG_NEVER);
	ck_assert_uint_eq(event(REG_KUBELET, 1), REG_DO_REGISTER);
}
END_TEST

START_TEST(refused_connection_is_retried_with_back_off)
{
	uint64_t last_us, delay_us = 0;

	begin();
	for (int i = 0; i < 12; i++) {
		uint64_t want_us = reg_config_rpc.backoff_min_us << (i < 7 ? i : 7);

		if (want_us > reg_config_rpc.backoff_max_us)
			want_us = reg_config_rpc.backoff_max_us;
		last_us = now_us;
		ck_assert_uint_eq(event(REG_ANSWER_UNREACHED, 0), 0);
		ck_assert_uint_eq(tick(), REG_DO_REGISTER);
		delay_us = now_us - last_us;
		ck_assert_uint_ge(delay_us, want_us * 3 / 4);
		ck_assert_uint_le(delay_us, want_us * 5 / 4 + 1);
	}
	ck_assert_uint_ge(delay_us, 3 * SECOND);
}
END_TEST

START_TEST(stream_reset_before_its_first_frame_is_followed_within_a_second)
{
	uint64_t from_us;

	begin();
	ck_assert_uint_eq(event(REG_STREAM_OPENED, 1), 0);
	from_us = now_us;
	if (_i)
		ck_assert_uint_eq(event(REG_ANSWER_OK, 0), 0);
	ck_assert_uint_eq(event(REG_STREAM_CLOSED, 1), 0);
	if (!_i)
		ck_assert_uint_eq(event(REG_ANSWER_OK, 0), 0);
	ck_assert_uint_eq(tick(), REG_DO_REGISTER);
	ck_assert_uint_lt(now_us - from_us, SECOND);
}
END_TEST

START_TEST(success_without_a_stream_is_retried)
{
	uint64_t from_us;

	begin();
	ck_assert_uint_eq(event(REG_ANSWER_OK, 0), 0);
	from_us = now_us;
	while (tick() != REG_DO_REGISTER)
		;
	ck_assert_uint_ge(now_us - from_us, 10 * SECOND); /* 1.20 dials for that long */
	ck_assert_uint_le(now_us - from_us, 15 * SECOND);
}
END_TEST

/* Cut before its call reached us: nothing else tells that the stream will not come. */
START_TEST(success_and_a_hang_up_are_retried_at_once)
{
	uint64_t from_us;

	begin();
	ck_assert_uint_eq(event(REG_UNCONNECTED, 0), 0); /* our probe's end */
	ck_assert_uint_eq(event(REG_ANSWER_OK, 0), 0);
	from_us = now_us;
	ck_assert_uint_eq(event(REG_UNCONNECTED, 0), 0);
	ck_assert_uint_eq(tick(), REG_DO_REGISTER);
	ck_assert_uint_lt(now_us - from_us, SECOND);
}
END_TEST

START_TEST(new_kubelet_ends_the_old_ones_stream_first)
{
	begin();
	(void)event(REG_STREAM_OPENED, 1);
	(void)event(REG_ANSWER_OK, 0);
	ck_assert_uint_eq(event(REG_KUBELET, 2), REG_DO_END_STREAMS | REG_DO_REGISTER);
}
END_TEST

START_TEST(new_kubelet_during_an_attempt_cancels_it)
{
	begin();
	ck_assert_uint_eq(event(REG_KUBELET, 2), REG_DO_CANCEL | REG_DO_REGISTER);
}
END_TEST

/* The old kubelet opens its stream after kubelet.sock is a new one, before we registered anew. */
START_TEST(late_stream_of_an_older_kubelet_is_ended)
{
	begin();
	ck_assert_uint_eq(event(REG_SOCKET_GONE, 0), REG_DO_LISTEN);
	ck_assert_uint_eq(event(REG_KUBELET, 2), REG_DO_CANCEL);
	ck_assert_uint_eq(event(REG_STREAM_OPENED, 1), REG_DO_END_STREAMS);
	ck_assert_uint_eq(event(REG_LISTEN_OK, 0), REG_DO_REGISTER);
}
END_TEST

/* The same kubelet made its socket anew and opens a stream for each registration. */
START_TEST(two_streams_for_two_registrations_become_one)
{
	begin();
	if (_i)
		ck_assert_uint_eq(event(REG_ANSWER_OK, 0), 0);
	ck_assert_uint_eq(event(REG_KUBELET, 2) & ~REG_DO_CANCEL, REG_DO_REGISTER);
	ck_assert_uint_eq(event(REG_ANSWER_OK, 0), 0);
	now_us += SECOND / 20;
	ck_assert_uint_eq(event(REG_STREAM_OPENED, 1), 0);
	ck_assert_uint_eq(event(REG_STREAM_OPENED, 2), REG_DO_END_STREAMS);
	ck_assert_uint_eq(tick(), REG_DO_REGISTER);
	ck_assert_uint_eq(event(REG_STREAM_OPENED, 3), 0);
	ck_assert_uint_eq(event(REG_ANSWER_OK, 0), 0);
	ck_assert(reg_state_is_registered(&s));
	/* Later on it is an onlooker's. */
	now_us += 20 * SECOND;
	ck_assert_uint_eq(event(REG_STREAM_OPENED, 4), 0);
}
END_TEST

START_TEST(vanished_socket_is_made_again_and_the_stream_kept)
{
	begin();
	(void)event(REG_STREAM_OPENED, 1);
	(void)event(REG_ANSWER_OK, 0);
	ck_assert_uint_eq(event(REG_SOCKET_GONE, 0), REG_DO_LISTEN);
	ck_assert_uint_eq(event(REG_LISTEN_FAILED, 0), 0);
	ck_assert_uint_eq(tick(), REG_DO_LISTEN);
	ck_assert_uint_eq(event(REG_LISTEN_OK, 0), 0);
	ck_assert(reg_state_is_registered(&s));
}
END_TEST

START_TEST(onlookers_stream_neither_registers_nor_hides_the_kubelets_end)
{
	begin();
	(void)event(REG_STREAM_OPENED, 1);
	(void)event(REG_ANSWER_OK, 0);
	(void)event(REG_STREAM_OPENED, 2);
	ck_assert_uint_eq(event(REG_STREAM_CLOSED, 2), 0);
	ck_assert_uint_eq(reg_state_deadline(&s), REG_NEVER);
	(void)event(REG_STREAM_OPENED, 3);
	ck_assert_uint_eq(event(REG_STREAM_CLOSED, 1), 0);
	ck_assert_uint_eq(tick(), REG_DO_END_STREAMS | REG_DO_REGISTER);
}
END_TEST

START_TEST(announced_plugin_waits_for_ever_and_follows_a_refusal)
{
	now_us = SECOND;
	reg_state_init(&s, &reg_config_announce, 7);
	(void)event(REG_START, 0);
	(void)event(REG_LISTEN_OK, 0);
	ck_assert_uint_eq(event(REG_PROBE_OK, 0), REG_DO_REGISTER);
	ck_assert_uint_eq(reg_state_deadline(&s), REG_NEVER);
	now_us += 3600 * SECOND;
	(void)event(REG_ANSWER_ERROR, 0);
	ck_assert_uint_eq(tick(), REG_DO_REGISTER);
	(void)event(REG_ANSWER_OK, 0);
	(void)event(REG_STREAM_OPENED, 1);
	/* The kubelet restarts, and asks by itself before we announce again. */
	(void)event(REG_STREAM_CLOSED, 1);
	(void)event(REG_STREAM_OPENED, 2);
	(void)event(REG_ANSWER_OK, 0);
	ck_assert_uint_eq(reg_state_deadline(&s), REG_NEVER);
	ck_assert_uint_eq(s.n_attempts, 2);
}
END_TEST

/* A kubelet as reg-state.h has it, with delays, restarts and failures. */
struct sim {
	uint64_t random;
	uint64_t generation;
	bool alive;
	uint64_t stream_id, last_id; /* 0: none open */
	uint64_t answer_at_us, open_at_us, restart_at_us, up_at_us;
	unsigned n_registered;
	bool violated;
};

static void sim_do(struct sim *k, unsigned todo)
{
	while (todo) {
		unsigned done = todo;

		todo = 0;
		if (done & REG_DO_LISTEN)
			todo |= event(REG_LISTEN_OK, 0);
		if (done & REG_DO_PROBE)
			todo |= event(REG_PROBE_OK, 0);
		if (done & REG_DO_CANCEL)
			k->answer_at_us = k->open_at_us = REG_NEVER;
		if (done & REG_DO_END_STREAMS)
			k->stream_id = 0;
		if (done & REG_DO_REGISTER) {
			k->violated |= k->stream_id != 0 || k->answer_at_us != REG_NEVER;
			if (!k->alive) {
				todo |= event(REG_ANSWER_UNREACHED, 0);
				continue;
			}
			k->n_registered++;
			k->answer_at_us = now_us + test_random(&k->random) % 20000;
			k->open_at_us = now_us + test_random(&k->random) % 20000;
		}
	}
}

static void sim_init(struct sim *k, uint64_t seed)
{
	*k = (struct sim){ .random = seed, .generation = 1, .alive = true };
	k->answer_at_us = k->open_at_us = k->restart_at_us = k->up_at_us = REG_NEVER;
	now_us = 1000 * SECOND;
	reg_state_init(&s, &reg_config_rpc, seed);
	sim_do(k, event(REG_KUBELET, 1));
	sim_do(k, event(REG_START, 0));
}

static uint64_t min_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void sim_down(struct sim *k, uint64_t up_in_us)
{
	k->restart_at_us = REG_NEVER;
	k->up_at_us = now_us + up_in_us;
	k->alive = false;
	k->answer_at_us = k->answer_at_us == REG_NEVER ? REG_NEVER : now_us;
	k->open_at_us = REG_NEVER;
	if (k->stream_id) {
		uint64_t id = k->stream_id;

		k->stream_id = 0;
		sim_do(k, event(REG_STREAM_CLOSED, id));
	}
	sim_do(k, event(REG_KUBELET, 0));
}

static void sim_up(struct sim *k)
{
	k->up_at_us = REG_NEVER;
	k->alive = true;
	sim_do(k, event(REG_SOCKET_GONE, 0));
	sim_do(k, event(REG_KUBELET, ++k->generation));
}

/* Run to @end_us, event by event; @down_us: how long a restart takes. */
static void sim_run(struct sim *k, uint64_t end_us, uint64_t down_us)
{
	for (;;) {
		uint64_t next_us = min_of(min_of(k->answer_at_us, k->open_at_us),
					  min_of(k->restart_at_us, k->up_at_us));

		next_us = min_of(next_us, reg_state_deadline(&s));
		if (next_us > end_us)
			break;
		now_us = next_us > now_us ? next_us : now_us;
		if (k->answer_at_us <= now_us) {
			k->answer_at_us = REG_NEVER;
			sim_do(k, event(k->alive ? REG_ANSWER_OK : REG_ANSWER_ERROR, 0));
		} else if (k->open_at_us <= now_us) {
			k->open_at_us = REG_NEVER;
			k->stream_id = ++k->last_id;
			sim_do(k, event(REG_STREAM_OPENED, k->stream_id));
		} else if (k->restart_at_us <= now_us) {
			sim_down(k, down_us);
		} else if (k->up_at_us <= now_us) {
			sim_up(k);
		} else {
			sim_do(k, event(REG_TICK, 0));
		}
	}
	now_us = end_us;
}

START_TEST(a_day_with_three_restarts_takes_four_registrations)
{
	struct sim k;

	sim_init(&k, 1 + (uint64_t)_i);
	for (int i = 0; i < 3; i++) {
		sim_run(&k, now_us + 6 * 3600 * SECOND, 3 * SECOND);
		ck_assert(reg_state_is_registered(&s));
		k.restart_at_us = now_us + 1;
	}
	sim_run(&k, now_us + 6 * 3600 * SECOND, 3 * SECOND);
	ck_assert(reg_state_is_registered(&s));
	ck_assert_uint_eq(k.n_registered, 4);
	ck_assert(!k.violated);
}
END_TEST

/* kubelet.sock unlinked and made again 0 to 5 ms after each Register, over and over. */
START_TEST(restarts_right_after_registering_always_end_with_one_stream)
{
	unsigned n = test_count(20000);
	struct sim k;

	sim_init(&k, test_seed());
	for (unsigned i = 0; i < n; i++) {
		unsigned before = k.n_registered;

		while (k.n_registered == before && k.restart_at_us == REG_NEVER) {
			k.restart_at_us = now_us + test_random(&k.random) % 5000;
			sim_run(&k, now_us + 5000, test_random(&k.random) % 5000);
		}
		k.restart_at_us = REG_NEVER;
		sim_run(&k, now_us + test_random(&k.random) % 100000, 1);
	}
	sim_run(&k, now_us + 60 * SECOND, 1);
	ck_assert(k.alive);
	ck_assert(reg_state_is_registered(&s));
	ck_assert_uint_ne(k.stream_id, 0);
	ck_assert_uint_eq(s.n_streams, 1);
	ck_assert(!k.violated);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("reg-state");
	TCase *t = tcase_create("rules");

	tcase_add_test(t, listens_and_probes_before_registering);
	tcase_add_test(t, failed_probe_gives_up);
	tcase_add_test(t, waits_without_a_timer_while_there_is_no_kubelet);
	tcase_add_test(t, refused_connection_is_retried_with_back_off);
	tcase_add_loop_test(t, stream_reset_before_its_first_frame_is_followed_within_a_second, 0,
			    2);
	tcase_add_test(t, success_without_a_stream_is_retried);
	tcase_add_test(t, success_and_a_hang_up_are_retried_at_once);
	tcase_add_test(t, new_kubelet_ends_the_old_ones_stream_first);
	tcase_add_test(t, new_kubelet_during_an_attempt_cancels_it);
	tcase_add_test(t, late_stream_of_an_older_kubelet_is_ended);
	tcase_add_loop_test(t, two_streams_for_two_registrations_become_one, 0, 2);
	tcase_add_test(t, vanished_socket_is_made_again_and_the_stream_kept);
	tcase_add_test(t, onlookers_stream_neither_registers_nor_hides_the_kubelets_end);
	tcase_add_test(t, announced_plugin_waits_for_ever_and_follows_a_refusal);
	tcase_add_loop_test(t, a_day_with_three_restarts_takes_four_registrations, 0, 20);
	tcase_add_test(t, restarts_right_after_registering_always_end_with_one_stream);
	suite_add_tcase(suite, t);
	return test_main(suite);
}
