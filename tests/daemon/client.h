/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A gRPC client for tests, in the process of the server, polled by test_run_until(). After
 * rpc_new() of the test, before its rpc_free().
 */
struct client;

struct client_call {
	bool done;
	int status;
	char text[1200];
	uint8_t *message; /* the last one */
	size_t message_len;
	unsigned n_messages;
	bool hold; /* a stream: do not read any further */
	struct client_call_private *private;
};

void client_begin(void);
/* What test_run_until() does on each turn, for a test with a poll function of its own. */
void client_poll(void);
/* Waits for all calls to end. */
void client_end(void);

struct client *client_new(int fd);
/* One that compresses with gzip, or whose user-agent header is @header_len bytes long. */
struct client *client_new_odd(int fd, bool gzip, size_t header_len);
void client_free(struct client *c);

/* A stream goes on receiving. @timeout_ms 0: no deadline. */
struct client_call *client_call(struct client *c, const char *method, const void *bytes, size_t len,
				unsigned timeout_ms, bool stream);
void client_cancel(struct client_call *call);
/* Goes on reading a held stream. */
void client_read(struct client_call *call);
/* Once done. */
void client_call_free(struct client_call *call);

/* For test_run_until(): userdata is the call. */
bool client_is_done(void *call);
bool client_has_message(void *call);
