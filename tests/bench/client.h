/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A kubelet's wire side for the benchmarks: takes one Register call on a socket, and calls the
 * plugin on one connection. Its own C core code, apart from the daemon's; one thread, no event
 * loop. Everything exits the program on failure: a benchmark that limps has no figure to give.
 */

#include <stddef.h>
#include <stdint.h>

struct bench_client;

uint64_t bench_now_ns(void);

/* Listen on <dir>/kubelet.sock. */
int bench_listen(const char *dir);

/*
 * Take one Register call on the listening socket @fd, dial the plugin's endpoint below @dir and ask
 * for its options before answering, as kubelets since 1.25 do. @ret_register_ns: arrival of the
 * call.
 */
struct bench_client *bench_accept_plugin(int fd, const char *dir, uint64_t *ret_register_ns);

/* Open ListAndWatch and wait for the first frame; returns its length, the bytes in @ret (free()).
 */
size_t bench_first_frame(struct bench_client *client, uint8_t **ret);

/*
 * Call @method (last part of its path) @n times with the same request, @in_flight at a time; each
 * call's time goes to @ret_ns. Checks that every answer has status OK; @ret_len: length of one.
 */
void bench_calls(struct bench_client *client, const char *method, const uint8_t *req, size_t len,
		 size_t n, size_t in_flight, uint64_t *ret_ns, size_t *ret_len);

/* Let @seconds pass as a kubelet does: reading what comes, sending nothing. */
void bench_client_rest(struct bench_client *client, unsigned seconds);

void bench_client_free(struct bench_client *client);
