/* SPDX-License-Identifier: Apache-2.0 */
/* The registration's state machine; see reg-state.h for the rules. */
#include <string.h>

#include "reg-state.h"

const struct reg_config reg_config_rpc = {
	.backoff_min_us = 50000,
	.backoff_max_us = 5000000,
	.stream_wait_us = 12000000, /* kubelet 1.20 answers first, and dials for up to 10 s */
	.stable_us = 10000000,
};

/* The kubelet looks once a second, and takes up to 10 s to dial. */
const struct reg_config reg_config_announce = {
	.backoff_min_us = 1000000,
	.backoff_max_us = 30000000,
	.stream_wait_us = 15000000,
	.stable_us = 10000000,
	.announce = true,
};

void reg_state_init(struct reg_state *s, const struct reg_config *config, uint64_t seed)
{
	memset(s, 0, sizeof(*s));
	s->config = config;
	s->random = seed | 1;
	s->listen_next_us = s->next_us = REG_NEVER;
	s->listen_backoff_us = s->backoff_us = config->backoff_min_us;
	s->kubelet = config->announce;
}

bool reg_state_is_registered(const struct reg_state *s)
{
	return s->stream_id != 0;
}

/* 0.75 to 1.25 of @us: many plugins wait for the same kubelet. xorshift64. */
static uint64_t jitter(struct reg_state *s, uint64_t us)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return us - us / 4 + s->random % (us / 2 + 1);
}

static uint64_t back_off(struct reg_state *s, uint64_t *backoff_us, uint64_t now_us)
{
	uint64_t at_us = now_us + jitter(s, *backoff_us);

	*backoff_us *= 2;
	if (*backoff_us > s->config->backoff_max_us)
		*backoff_us = s->config->backoff_max_us;
	return at_us;
}

static void retry_later(struct reg_state *s, uint64_t now_us)
{
	s->answered = false;
	s->next_us = back_off(s, &s->backoff_us, now_us);
}

static unsigned end_streams(struct reg_state *s)
{
	s->stream_id = 0;
	if (!s->n_streams)
		return 0;
	s->n_streams = 0;
	return REG_DO_END_STREAMS;
}

static unsigned on_kubelet(struct reg_state *s, uint64_t kubelet, uint64_t now_us)
{
	unsigned todo = 0;

	if (kubelet == s->kubelet)
		return 0;
	s->kubelet = kubelet;
	if (!kubelet)
		return 0; /* the process may live on, with our stream */
	if (s->answered || (s->attempting && !s->attempt_had_stream))
		s->owed_until_us = now_us + s->config->stream_wait_us;
	s->backoff_us = s->config->backoff_min_us;
	s->next_us = now_us;
	s->answered = false;
	s->attempt_kubelet = 0;
	if (s->attempting)
		todo |= REG_DO_CANCEL;
	s->attempting = false;
	return todo | end_streams(s);
}

static void on_answer_ok(struct reg_state *s, uint64_t now_us)
{
	bool had_stream = s->attempt_had_stream;

	/* A kubelet that restarted finds our announcement by itself. */
	if (!s->attempting && !s->config->announce)
		return;
	s->attempting = false;
	if (s->stream_id)
		return;
	if (had_stream) {
		retry_later(s, now_us); /* it came and went before the answer */
		return;
	}
	s->answered = true;
	s->next_us = REG_NEVER;
	s->stream_by_us = now_us + s->config->stream_wait_us;
}

static void on_answer_bad(struct reg_state *s, bool reached, uint64_t now_us)
{
	if (!s->attempting && !s->config->announce)
		return;
	s->attempting = false;
	if (!reached)
		s->attempt_kubelet = 0;
	if (!s->stream_id)
		retry_later(s, now_us);
}

/*
 * The first stream after an attempt is the kubelet's. Further ones are somebody's who looks on.
 * Before the first attempt at this kubelet it is an older kubelet's. While one is owed for an
 * attempt before that, nobody can tell which of two is whose: register once more.
 */
static unsigned on_stream_opened(struct reg_state *s, uint64_t id, uint64_t now_us)
{
	s->n_streams++;
	if (s->kubelet && s->attempt_kubelet != s->kubelet)
		return end_streams(s);
	if (s->stream_id && now_us < s->owed_until_us) {
		retry_later(s, now_us);
		return end_streams(s);
	}
	if (s->stream_id)
		return 0;
	s->stream_id = id;
	s->stream_since_us = now_us;
	s->attempt_had_stream = true;
	s->answered = false;
	s->next_us = REG_NEVER;
	return 0;
}

static void on_stream_closed(struct reg_state *s, uint64_t id, uint64_t now_us)
{
	if (s->n_streams)
		s->n_streams--;
	if (id != s->stream_id)
		return;
	s->stream_id = 0;
	if (now_us - s->stream_since_us >= s->config->stable_us)
		s->backoff_us = s->config->backoff_min_us;
	if (!s->attempting)
		retry_later(s, now_us);
}

static void on_listen(struct reg_state *s, bool ok, uint64_t now_us)
{
	s->listening = ok;
	if (ok) {
		s->listen_next_us = REG_NEVER;
		s->listen_backoff_us = s->config->backoff_min_us;
	} else {
		s->listen_next_us = back_off(s, &s->listen_backoff_us, now_us);
	}
}

static bool may_register(const struct reg_state *s)
{
	return s->listening && s->probe == REG_PROBE_PASSED && s->kubelet && !s->attempting &&
	       !s->stream_id;
}

static unsigned decide_register(struct reg_state *s, uint64_t now_us)
{
	if (!may_register(s))
		return 0;
	if (s->answered) {
		if (now_us < s->stream_by_us)
			return 0;
		retry_later(s, now_us);
	}
	if (s->next_us == REG_NEVER)
		s->next_us = now_us;
	if (now_us < s->next_us)
		return 0;
	s->next_us = REG_NEVER;
	s->attempting = true;
	s->attempt_kubelet = s->kubelet;
	s->attempt_had_stream = false;
	s->n_attempts++;
	return REG_DO_REGISTER | end_streams(s);
}

static unsigned decide(struct reg_state *s, uint64_t now_us)
{
	unsigned todo = 0;

	if (!s->started || s->probe == REG_PROBE_LOST)
		return 0;
	if (!s->listening && s->listen_next_us <= now_us) {
		s->listen_next_us = REG_NEVER;
		todo |= REG_DO_LISTEN;
	}
	if (s->listening && s->probe == REG_PROBE_NONE) {
		s->probe = REG_PROBE_RUNNING;
		todo |= REG_DO_PROBE;
	}
	return todo | decide_register(s, now_us);
}

static unsigned note(struct reg_state *s, enum reg_event event, uint64_t arg, uint64_t now_us)
{
	switch (event) {
	case REG_START:
		s->started = true;
		s->listen_next_us = now_us;
		return 0;
	case REG_KUBELET:
		return on_kubelet(s, arg, now_us);
	case REG_SOCKET_GONE:
		s->listening = false;
		s->listen_next_us = now_us;
		s->listen_backoff_us = s->config->backoff_min_us;
		return 0;
	case REG_LISTEN_OK:
	case REG_LISTEN_FAILED:
		on_listen(s, event == REG_LISTEN_OK, now_us);
		return 0;
	case REG_PROBE_OK:
		s->probe = REG_PROBE_PASSED;
		return 0;
	case REG_PROBE_AGAIN:
		s->probe = REG_PROBE_NONE;
		return 0;
	case REG_PROBE_FAILED:
		s->probe = REG_PROBE_LOST;
		return REG_DO_GIVE_UP;
	case REG_ANSWER_OK:
		on_answer_ok(s, now_us);
		return 0;
	case REG_ANSWER_ERROR:
	case REG_ANSWER_UNREACHED:
		on_answer_bad(s, event == REG_ANSWER_ERROR, now_us);
		return 0;
	case REG_STREAM_OPENED:
		return on_stream_opened(s, arg, now_us);
	case REG_STREAM_CLOSED:
		on_stream_closed(s, arg, now_us);
		return 0;
	case REG_TICK:
	default:
		return 0;
	}
}

unsigned reg_state_handle(struct reg_state *s, enum reg_event event, uint64_t arg, uint64_t now_us)
{
	unsigned todo = note(s, event, arg, now_us);

	return todo | decide(s, now_us);
}

uint64_t reg_state_deadline(const struct reg_state *s)
{
	uint64_t at_us = REG_NEVER;

	if (!s->started || s->probe == REG_PROBE_LOST)
		return REG_NEVER;
	if (!s->listening)
		at_us = s->listen_next_us;
	if (!may_register(s))
		return at_us;
	if (s->answered)
		return s->stream_by_us < at_us ? s->stream_by_us : at_us;
	return s->next_us < at_us ? s->next_us : at_us;
}
