/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A machine of four cards, a kubelet in this process, and hami-dp as a process between them. */

#include "client.h"
#include "fake-kubelet.h"
#include "fixture.h"
#include "helper.h"
#include "process.h"

#define WAIT_MS 10000

struct daemon_fixture {
	struct fixture node; /* its directory, configuration and machine only */
	sd_event *event;
	struct rpc *rpc;
	char *plugin_dir, *run_dir;
	char flag_dir[160], flag_run[160], flag_state[160], flag_root[160], flag_driver[160];
	char env_config[160];
	struct process first, second;
};

extern const struct fixture_card daemon_four_cards[4];

void daemon_setup(struct daemon_fixture *fix);
void daemon_teardown(struct daemon_fixture *fix);
/* 8 cores per device, and up to two flags more. */
void daemon_start(struct daemon_fixture *fix, struct process *process, const char *one,
		  const char *two);
/* The kubelet has a list of that many, from the first process. */
void daemon_wait_for_list(struct daemon_fixture *fix, size_t n_slots, size_t n_healthy);
void daemon_wait_for_end(struct daemon_fixture *fix, struct process *process, int status);
/* The first process has written @words. */
void daemon_wait_for_words(struct daemon_fixture *fix, const char *words);
/* Both files are there. */
void daemon_wait_for_files(struct daemon_fixture *fix, const char *one, const char *two);
