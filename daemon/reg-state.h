/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * When to listen, to probe, to end streams and to register: events and the time go in, actions
 * come out. No I/O, no clock.
 *
 * The rules are the kubelet's. It deletes all sockets when it starts, and then makes its own; it
 * drops a plugin whose ListAndWatch ended until somebody registers again; and when an old stream
 * ends it disconnects, by name, whoever registered last. So: register when there is a kubelet that
 * does not hold our stream, never while it does, end old streams first, one attempt at a time.
 */
#define REG_NEVER UINT64_MAX

enum reg_event {
	REG_START,
	REG_KUBELET,	 /* arg: generation of kubelet.sock, 0 when there is none */
	REG_SOCKET_GONE, /* our socket's file is no longer ours */
	REG_LISTEN_OK,
	REG_LISTEN_FAILED,
	REG_PROBE_OK,
	REG_PROBE_AGAIN, /* our socket vanished while we probed */
	REG_PROBE_FAILED,
	REG_ANSWER_OK, /* of the registration */
	REG_ANSWER_ERROR,
	REG_ANSWER_UNREACHED, /* the kubelet got nothing of it */
	REG_STREAM_OPENED,    /* arg: stream id */
	REG_STREAM_CLOSED,    /* arg: stream id; not for streams that REG_DO_END_STREAMS ended */
	REG_TICK,	      /* reg_state_deadline() has passed */
};

/* To be done in this order. */
enum reg_action {
	REG_DO_LISTEN = 1U << 0,
	REG_DO_PROBE = 1U << 1,
	REG_DO_CANCEL = 1U << 2,
	REG_DO_END_STREAMS = 1U << 3, /* all of them */
	REG_DO_REGISTER = 1U << 4,
	REG_DO_GIVE_UP = 1U << 5,
};

struct reg_config {
	uint64_t backoff_min_us, backoff_max_us;
	uint64_t stream_wait_us; /* from a registration's success to its stream */
	uint64_t stable_us;	 /* a stream that lived this long resets the back-off */
	/* Registering is announcing ourselves in plugins_registry, to whatever kubelet comes. */
	bool announce;
};

extern const struct reg_config reg_config_rpc, reg_config_announce;

enum reg_probe {
	REG_PROBE_NONE = 0,
	REG_PROBE_RUNNING,
	REG_PROBE_PASSED,
	REG_PROBE_LOST,
};

struct reg_state {
	const struct reg_config *config;
	uint64_t random;
	bool started, listening;
	uint64_t listen_next_us, listen_backoff_us;
	enum reg_probe probe;
	uint64_t kubelet; /* generation, 0: none */
	bool attempting;
	uint64_t attempt_kubelet; /* whom the last attempt reached, 0: nobody */
	bool attempt_had_stream;
	bool answered; /* the kubelet agreed, and its stream is still to come */
	uint64_t stream_by_us;
	uint64_t owed_until_us; /* so long a stream for an earlier attempt may come */
	unsigned n_streams;
	uint64_t stream_id; /* the kubelet's, 0: none */
	uint64_t stream_since_us;
	uint64_t next_us, backoff_us;
	uint64_t n_attempts;
};

void reg_state_init(struct reg_state *s, const struct reg_config *config, uint64_t seed);
/* Return: the actions to take, enum reg_action. */
unsigned reg_state_handle(struct reg_state *s, enum reg_event event, uint64_t arg, uint64_t now_us);
/* When REG_TICK is due, or REG_NEVER. */
uint64_t reg_state_deadline(const struct reg_state *s);
/* The kubelet has our stream. */
bool reg_state_is_registered(const struct reg_state *s);
