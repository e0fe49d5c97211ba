/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Call worker: runs one job at a time on a thread of its own, for calls that may never return. A
 * job that takes too long can be left behind: a fresh thread then takes over, and the old one hands
 * its job in whenever it comes back. The only place of the library that makes threads.
 *
 *   owner's thread                     worker's thread
 *   start(job) ----------------------> job->run(job)
 *   take() <--- event fd readable ---- finished
 */

#include <stdbool.h>

#include "macro.h"

struct hdp_worker;

struct hdp_job {			   /* first member of every job */
	void (*run)(struct hdp_job *job);  /* on the worker's thread */
	void (*free)(struct hdp_job *job); /* for jobs that nobody takes */
	struct hdp_job *next;		   /* the worker's, from start to take */
};

/* No thread is started before the first job. */
int hdp_worker_new(struct hdp_worker **ret) hdp_must_check;

/* Readable when take() may have something; the worker's for its whole life. */
int hdp_worker_fd(const struct hdp_worker *worker);

/* True while the current thread has a job that did not finish. */
bool hdp_worker_busy(struct hdp_worker *worker);

/* Hand over a job; the worker must not be busy. 0, -ENOMEM or -EIO with the job still yours. */
int hdp_worker_start(struct hdp_worker *worker, struct hdp_job *job) hdp_must_check;

/* Wait until the worker is not busy; false if it still is after @timeout_ms. */
bool hdp_worker_wait(struct hdp_worker *worker, unsigned timeout_ms);

/* A job that finished, yours again; NULL if there is none. Abandoned jobs turn up here, too. */
struct hdp_job *hdp_worker_take(struct hdp_worker *worker);

/* Leave the running job behind; the next start() gets a fresh thread. */
void hdp_worker_abandon(struct hdp_worker *worker);

/*
 * End. Waits at most @timeout_ms for jobs that run, frees what was not taken, and calls @fn(@arg)
 * as soon as no thread is left: before this returns (true), or from the last thread that comes back
 * (false).
 */
bool hdp_worker_close(struct hdp_worker *worker, unsigned timeout_ms, void (*fn)(void *arg),
		      void *arg);
