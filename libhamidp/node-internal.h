/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The insides of a node. All of it belongs to the caller's thread; only calls of drivers that may
 * block run elsewhere, on what a struct hdp_call carries.
 *
 *   node-open.c     options, first look, close
 *   node.c          descriptor, deadline, dispatch, getters
 *   node-call.c     calls to the driver: inline or on the worker, their time limits
 *   node-look.c     asking the driver what there is, and what its failures mean
 *   node-layout.c   from what is known to layout and occupancy, and the events of that
 *   node-health.c   the table of devices' healths, events and probes, its record in the store
 *   node-commit.c   decision to grant
 *   node-grants.c   release, bind, unbind, update, usage, lookup
 *   node-restore.c  grants that the store had
 */

#include <hami/layout.h>
#include <hami/node.h>
#include <hami/occupancy.h>

#include "driver-host.h"
#include "event.h"
#include "grant.h"
#include "health.h"
#include "layout.h"
#include "log.h"
#include "reason.h"
#include "sized.h"
#include "store.h"
#include "worker.h"

#define HDP_FIRST_LOOK_MS 10000U
#define HDP_CALL_MS 2000U /* a caller waits that long for its own call */
#define HDP_CLOSE_MS 1000U
#define HDP_BACKOFF_MIN_US (1 * HDP_SECOND_US)
#define HDP_BACKOFF_MAX_US (30 * HDP_SECOND_US)
#define HDP_BLIND_US                                                                              \
	(30 * HDP_SECOND_US)		  /* a driver that fails, until its devices are unhealthy \
					   */
#define HDP_AGAIN_US (HDP_SECOND_US / 10) /* after running out of memory */
#define HDP_HEALTHS_MAX (4 * HDP_DEVICES_MAX)
#define HDP_NAME_MAX 128U     /* owner, key, container id */
#define HDP_BINDINGS_MAX 256U /* containers of one grant */

enum hdp_call_kind {
	HDP_CALL_LOOK, /* enumerate, then topology */
	HDP_CALL_PROBE,
	HDP_CALL_BIND,
	HDP_CALL_UNBIND,
	HDP_CALL_UPDATE,
	HDP_CALL_USAGE,
};

struct hdp_call {
	struct hdp_job job;
	struct hdp_call *next; /* in the node's queues */
	struct hdp_driver_host *host;
	enum hdp_call_kind kind;
	uint64_t started_us;
	enum hdp_silence silence; /* HDP_MUTE: it was left behind */
	bool waited;		  /* somebody waits for it, and frees it */
	bool finished;

	uint64_t deadline_us;	     /* what goes in */
	char uuid[HDP_UUID_MAX + 1]; /* "": the driver as a whole */
	char grant_id[HAMIDP_GRANT_ID_LEN + 1];
	char container_id[HDP_NAME_MAX + 1];
	char *cgroup_path;
	uint64_t cgroup_id;
	int64_t pid;
	uint64_t memory_mib;

	int rc; /* what comes out */
	struct hamidp_reason reason;
	struct hdp_machine machine;
	struct hamidp_usage usage;
};

struct hdp_call_queue {
	struct hdp_call *first;
	struct hdp_call **last;
};

struct hdp_node_health {
	struct hdp_health h;
	bool probing;	 /* a probe is queued or runs */
	unsigned n_left; /* calls that were left behind */
	struct {	 /* what the store has; nothing is as good as healthy */
		enum hamidp_health health;
		unsigned fault_class;
		uint64_t since_us;
	} recorded;
};

struct hamidp_node {
	uint32_t flags;
	struct hdp_log log;
	hamidp_now_fn now_fn;
	void *now_userdata;
	struct hamidp_policy *policy;
	struct hdp_driver_host *host;
	struct hdp_store *store;
	struct hdp_worker *worker; /* NULL until a call may block */
	unsigned first_look_ms;
	unsigned call_ms;
	unsigned close_ms;
	int epoll_fd;
	bool driver_watched; /* its descriptor is in the set */

	struct hdp_call *running;
	struct hdp_call_queue queued;
	struct hdp_call_queue finished;

	bool looking; /* a look is queued, runs or was left behind */
	bool look_wanted;
	int state;
	struct hamidp_reason state_reason;
	uint64_t retry_us;
	uint64_t backoff_us;
	uint64_t blind_since_us; /* UINT64_MAX: not blind */
	uint64_t again_us;	 /* after running out of memory */

	struct hamidp_inventory *said; /* the driver's last word that the policy took */
	char *link_note;	       /* what was last logged about its links, or NULL */
	struct hamidp_layout *layout;
	struct hamidp_occupancy *occupancy;
	uint64_t generation;
	bool dirty; /* layout has to follow what is known */
	bool open;  /* events are wanted: the caller has the node */

	struct hdp_node_health **healths;
	size_t n_healths;
	size_t cap_healths;
	struct hamidp_grant **grants; /* oldest first */
	size_t n_grants;
	size_t cap_grants;
	bool restored; /* some grants came from the store and wait for their devices */

	struct hdp_event_queue events;
	uint64_t timers_us; /* the earliest of all times that something is due */
};

/* What tests put in place of the library's own; NULL members: its own. */
struct hdp_node_parts {
	const struct hdp_driver *const *drivers;
	struct hdp_store *store; /* taken over in any case */
	unsigned first_look_ms;	 /* 0: the library's own; likewise below */
	unsigned call_ms;
	unsigned close_ms;
};

int hdp_node_open_with(const struct hamidp_node_options *opts, const struct hdp_node_parts *parts,
		       struct hamidp_node **ret, struct hamidp_reason *reason);

static inline uint64_t node_now_us(const struct hamidp_node *node)
{
	return node->now_fn(node->now_userdata);
}

/* node.c */
void hdp_node_update_timers(struct hamidp_node *node);
/* A step failed: -ENOMEM means that it is wanted again soon. Returns @r. */
int hdp_node_again(struct hamidp_node *node, int r);
void hdp_node_drain_driver(struct hamidp_node *node);
int hdp_node_dispatch_step(struct hamidp_node *node);

/* node-call.c */
int hdp_call_new(struct hamidp_node *node, enum hdp_call_kind kind, const char *uuid,
		 struct hdp_call **ret) hdp_must_check;
void hdp_call_free(struct hdp_call *call);
DEFINE_CLEANUP(struct hdp_call *, hdp_call_free)
/* Queue a call; the node owns it from now on. Ends up in node->finished. */
void hdp_node_submit(struct hamidp_node *node, struct hdp_call *call);
int hdp_node_pump(struct hamidp_node *node);
void hdp_node_collect(struct hamidp_node *node);
void hdp_node_check_running(struct hamidp_node *node);
struct hdp_call *hdp_call_queue_take(struct hdp_call_queue *queue);
/*
 * Run a call and wait for it. The call's own result, or -ETIMEDOUT with the call left to the node:
 * *@call is NULL then.
 */
int hdp_node_call(struct hamidp_node *node, struct hdp_call **call, struct hamidp_reason *reason);
void hdp_node_calls_done(struct hamidp_node *node);

/* node-look.c */
int hdp_node_look(struct hamidp_node *node);
int hdp_node_look_finished(struct hamidp_node *node, struct hdp_call *call);
void hdp_node_look_failed(struct hamidp_node *node, int rc, const struct hamidp_reason *reason);
void hdp_node_driver_mute(struct hamidp_node *node, enum hdp_silence silence);

/* node-layout.c */
int hdp_node_relayout(struct hamidp_node *node);
/* Make @said the driver's word; -EINVAL: the policy does not take it, the last one stays. */
int hdp_node_take_inventory(struct hamidp_node *node, struct hamidp_inventory *said,
			    struct hamidp_reason *reason);

/* node-health.c */
struct hdp_node_health *hdp_node_find_health(const struct hamidp_node *node, const char *uuid);
int hdp_node_get_health(struct hamidp_node *node, const char *uuid, struct hdp_node_health **ret);
void hdp_node_forget_healths(struct hamidp_node *node);
int hdp_node_healths_follow(struct hamidp_node *node, const struct hamidp_inventory *said);
void hdp_node_healths_driver(struct hamidp_node *node, enum hdp_silence silence, const char *cause);
void hdp_node_device_error(struct hamidp_node *node, const struct hdp_driver_event *event);
int hdp_node_probe_all(struct hamidp_node *node);
int hdp_node_probe_due(struct hamidp_node *node);
void hdp_node_probe_finished(struct hamidp_node *node, struct hdp_call *call);
void hdp_node_call_silent(struct hamidp_node *node, struct hdp_call *call);
void hdp_node_call_returned(struct hamidp_node *node, struct hdp_call *call);
void hdp_node_record_healths(struct hamidp_node *node);
int hdp_node_restore_healths(struct hamidp_node *node);
void hdp_node_healths_done(struct hamidp_node *node);

/* node-commit.c, node-grants.c, node-restore.c */
size_t hdp_node_grant_pos(const struct hamidp_node *node, const char *id); /* n_grants: none */
bool hdp_node_device_held(const struct hamidp_node *node, const char *uuid);
int hdp_node_reserve_grant(struct hamidp_node *node) hdp_must_check;
void hdp_node_drop_grant(struct hamidp_node *node, size_t pos);
void hdp_node_unprepare(struct hamidp_node *node, const char *id);
/* Have the driver prepare what @grant holds: its edits, then the contract's variables. */
int hdp_node_prepare(struct hamidp_node *node, const struct hamidp_grant *grant,
		     struct hamidp_edits *edits, struct hamidp_reason *reason);
int hdp_node_restore_grants(struct hamidp_node *node);
void hdp_node_prepare_restored(struct hamidp_node *node);
