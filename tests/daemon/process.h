/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The daemon as a process of its own: started with flags and a clean environment, watched, ended.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct process {
	pid_t pid;
	int status; /* exit status, or 128 + signal, once it has ended */
	bool ended;
	char output[64]; /* file with its stdout and stderr */
	char *text;	 /* of the last process_output() */
};

/* NULL-terminated lists; the program is what HAMI_DP names. @dir takes the output's file. */
void process_start(struct process *process, const char *dir, const char *const *flags,
		   const char *const *env);
/* For test_run_until(): userdata is the process. */
bool process_has_ended(void *process);
void process_signal(struct process *process, int signal);
/* What it wrote so far; valid until the next call. */
const char *process_output(struct process *process);
size_t process_count_lines(struct process *process);
/* Kills it if it still runs. */
void process_done(struct process *process);
