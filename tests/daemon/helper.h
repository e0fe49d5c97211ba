/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "macro.h"

/* Run @event, and the clients of client.h, until @done or @timeout_ms. Return: what @done said. */
typedef bool (*test_done_fn)(void *userdata);
bool test_run_until(sd_event *event, test_done_fn done, void *userdata, unsigned timeout_ms);
/* For what must not happen: run for @ms. */
void test_run_for(sd_event *event, unsigned ms);
/* Called on each turn of the above. */
void test_set_poll(void (*poll_fn)(void));

/* A new directory below $TMPDIR; removed with all in it by test_temp_remove(). Caller frees. */
char *test_temp_dir(void);
void test_temp_remove(const char *dir);
char *test_path(const char *dir, const char *name);

unsigned test_n_fds(void);
unsigned test_n_entries(const char *dir);
size_t test_rss_kib(const char *field); /* of /proc/self/status: "VmRSS:", "VmHWM:" */
/* VmRSS now minus @before_kib, at least 0; 0 under what keeps freed memory. */
size_t test_growth_kib(size_t before_kib);
bool test_is_valgrind(void);
uint64_t test_now_us(void);

/* A connected or listening socket at @path; -errno on failure. */
int test_connect(const char *path);
int test_bind(const char *path, int type, bool do_listen);

/* @full with HAMI_LONG=1, else a twentieth, at least 1. */
unsigned test_count(unsigned full);
/* From HAMI_SEED or the time; printed. */
uint64_t test_seed(void);
uint64_t test_random(uint64_t *state);

uint8_t *test_read_file(const char *path, size_t *ret_len);
uint8_t *test_from_hex(const char *hex, size_t *ret_len);

/* Fails the test on LOG_ERR unless allowed; keeps the last line of each level. */
void test_log_catch(bool allow_errors);
const char *test_log_last(int priority);
unsigned test_log_count(int priority);

int test_main(Suite *s);
