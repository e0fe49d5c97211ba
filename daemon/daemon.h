/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The daemon as a whole: starts the rooms in order, runs the loop, ends them in order. */

struct options;

/* Exit statuses; part of the interface (hami-dp(8)). */
enum daemon_exit {
	DAEMON_OK = 0,
	DAEMON_FAILED = 1, /* no driver, no GPU, the node or the sockets failed */
	DAEMON_USAGE = 2,  /* the command line or the configuration is wrong */
};

/* Until a signal ends it. Blocks signals in the calling thread and leaves them blocked. */
enum daemon_exit daemon_run(const struct options *opts);
/* Look at the machine once, print the table on stdout. */
enum daemon_exit daemon_dry_run(const struct options *opts);
