/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the two rooms of the simulated driver share, and what tests look at. */

#include <pthread.h>

#include "driver.h"
#include "sim-json.h"
#include "sim-watch.h"

struct hdp_sim_limit { /* of one slice, as the last update said */
	char *uuid;
	uint64_t memory_mib;
};

struct hdp_sim_grant { /* what prepare() left */
	char *id;
	char **containers;
	size_t n_containers;
	struct hdp_sim_limit *limits;
	size_t n_limits;
	struct hdp_sim_grant *next;
};

struct hdp_sim {
	const struct hdp_driver_env *env;
	char *path;		      /* NULL: bundled */
	struct hdp_watch *watch;      /* NULL: not watched */
	bool changed;		      /* to be announced, by the node's thread */
	bool reload;		      /* there was no memory for the last look */
	struct hdp_sim_event *events; /* to be fired, ascending */
	size_t n_events, next_event;
	uint64_t last_seq;

	pthread_mutex_t lock; /* guards what calls on the worker look at, all below */
	pthread_cond_t woken;
	bool cancelled;
	bool may_block; /* a script that hangs was loaded */
	int rc;		/* of the last look at the file, with why */
	struct hamidp_reason why;
	char *text; /* the last one that was right; the three below are made from it */
	size_t len;
	struct hdp_machine machine;
	struct hdp_sim_script script;
	struct hdp_sim_grant *grants;
};

/* Calls that concern grants: driver-sim-grants.c. */
int hdp_sim_prepare(void *priv, const struct hdp_grant_spec *grant, uint64_t deadline_us,
		    struct hamidp_edits *edits, struct hamidp_reason *reason);
int hdp_sim_unprepare(void *priv, const char *grant_id, uint64_t deadline_us,
		      struct hamidp_reason *reason);
int hdp_sim_list(void *priv, uint64_t deadline_us, char ***ret_ids, size_t *ret_n);
int hdp_sim_bind(void *priv, const char *grant_id, const struct hamidp_binding *binding,
		 uint64_t deadline_us, struct hamidp_reason *reason);
int hdp_sim_unbind(void *priv, const char *grant_id, const char *container_id, uint64_t deadline_us,
		   struct hamidp_reason *reason);
int hdp_sim_update(void *priv, const char *grant_id, const char *uuid, uint64_t memory_mib,
		   uint64_t deadline_us, struct hamidp_reason *reason);
int hdp_sim_usage(void *priv, const char *grant_id, const char *uuid, uint64_t deadline_us,
		  struct hamidp_usage *ret, struct hamidp_reason *reason);
void hdp_sim_grants_done(struct hdp_sim *sim);

/*
 * Wait, with the lock held, while the script says that calls (@uuid NULL: any call, else those
 * about a device) do not return. 0, or -EIO once the driver is cancelled.
 */
int hdp_sim_wait_answer(struct hdp_sim *sim, const char *uuid, struct hamidp_reason *reason);
