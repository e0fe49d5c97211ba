/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Calls to the driver. One that cannot block runs at once on the caller's thread; else one call at
 * a time runs on the worker:
 *
 *   queued --pump--> running --10 s--> silent --10 s--> left behind
 *                       |                |                  |
 *                       +----- collect --+------------------+--> finished --> dispatch
 */

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "node-internal.h"

static int run_look(struct hdp_call *call)
{
	const struct hdp_driver *driver = call->host->driver;
	int r;

	r = driver->enumerate(call->host->priv, call->deadline_us, &call->machine, &call->reason);
	if (r == 0 && driver->topology)
		r = driver->topology(call->host->priv, call->deadline_us, &call->machine,
				     &call->reason);
	if (r < 0)
		hdp_machine_done(&call->machine);
	return r;
}

static int run_bind(struct hdp_call *call)
{
	const struct hamidp_binding binding = {
		.size = sizeof(binding),
		.container_id = call->container_id,
		.cgroup_path = call->cgroup_path,
		.cgroup_id = call->cgroup_id,
		.pid = call->pid,
	};

	return call->host->driver->bind(call->host->priv, call->grant_id, &binding,
					call->deadline_us, &call->reason);
}

/* On the worker's thread, or on the caller's. */
static void call_run(struct hdp_job *job)
{
	struct hdp_call *call = (struct hdp_call *)job;
	const struct hdp_driver *driver = call->host->driver;
	void *priv = call->host->priv;

	switch (call->kind) {
	case HDP_CALL_LOOK:
		call->rc = run_look(call);
		break;
	case HDP_CALL_PROBE:
		call->rc = driver->probe(priv, call->uuid, call->deadline_us, &call->reason);
		break;
	case HDP_CALL_BIND:
		call->rc = run_bind(call);
		break;
	case HDP_CALL_UNBIND:
		call->rc = driver->unbind(priv, call->grant_id, call->container_id,
					  call->deadline_us, &call->reason);
		break;
	case HDP_CALL_UPDATE:
		call->rc = driver->update(priv, call->grant_id, call->uuid, call->memory_mib,
					  call->deadline_us, &call->reason);
		break;
	case HDP_CALL_USAGE:
		call->rc = driver->usage(priv, call->grant_id, call->uuid, call->deadline_us,
					 &call->usage, &call->reason);
		break;
	}
}

void hdp_call_free(struct hdp_call *call)
{
	if (!call)
		return;
	hdp_machine_done(&call->machine);
	free(call->cgroup_path);
	free(call);
}

static void call_free_job(struct hdp_job *job)
{
	hdp_call_free((struct hdp_call *)job);
}

int hdp_call_new(struct hamidp_node *node, enum hdp_call_kind kind, const char *uuid,
		 struct hdp_call **ret)
{
	struct hdp_call *call = calloc(1, sizeof(*call));

	if (!call)
		return -ENOMEM;
	call->job.run = call_run;
	call->job.free = call_free_job;
	call->host = node->host;
	call->kind = kind;
	call->usage.size = sizeof(call->usage);
	call->deadline_us = node_now_us(node) + (kind == HDP_CALL_LOOK || kind == HDP_CALL_PROBE
							 ? HDP_CALL_SILENT_US
							 : HDP_CALL_MS * 1000ULL);
	if (uuid)
		(void)strncat(call->uuid, uuid, sizeof(call->uuid) - 1);
	*ret = call;
	return 0;
}

static void queue_add(struct hdp_call_queue *queue, struct hdp_call *call)
{
	call->next = NULL;
	*queue->last = call;
	queue->last = &call->next;
}

struct hdp_call *hdp_call_queue_take(struct hdp_call_queue *queue)
{
	struct hdp_call *call = queue->first;

	if (!call)
		return NULL;
	queue->first = call->next;
	if (!queue->first)
		queue->last = &queue->first;
	call->next = NULL;
	return call;
}

static bool is_inline(const struct hamidp_node *node)
{
	return (node->flags & HAMIDP_NODE_NO_EVENTS) || !hdp_driver_may_block(node->host);
}

static int need_worker(struct hamidp_node *node)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct hdp_worker *worker = NULL;
	int r;

	if (node->worker)
		return 0;
	r = hdp_worker_new(&worker);
	if (r < 0)
		return r;
	if (epoll_ctl(node->epoll_fd, EPOLL_CTL_ADD, hdp_worker_fd(worker), &event) < 0) {
		(void)hdp_worker_close(worker, 0, NULL, NULL);
		return -EIO;
	}
	node->worker = worker;
	return 0;
}

static int start(struct hamidp_node *node, struct hdp_call *call)
{
	int r = need_worker(node);

	if (r < 0)
		return r;
	call->started_us = node_now_us(node);
	r = hdp_worker_start(node->worker, &call->job);
	if (r == 0)
		node->running = call;
	return r;
}

void hdp_node_submit(struct hamidp_node *node, struct hdp_call *call)
{
	queue_add(&node->queued, call);
}

/* Run what is queued as far as it goes. */
int hdp_node_pump(struct hamidp_node *node)
{
	while (node->queued.first) {
		struct hdp_call *call = node->queued.first;
		bool here = is_inline(node);
		int r;

		if (node->running && !here)
			return 0;
		if (!here) {
			r = start(node, call);
			if (r < 0)
				return r;
		}
		(void)hdp_call_queue_take(&node->queued);
		if (here) {
			call_run(&call->job);
			call->finished = true;
			queue_add(&node->finished, call);
		}
	}
	return 0;
}

/* Take what the worker finished, left-behind calls included. */
void hdp_node_collect(struct hamidp_node *node)
{
	struct hdp_job *job;

	while (node->worker && (job = hdp_worker_take(node->worker))) {
		struct hdp_call *call = (struct hdp_call *)job;

		if (call == node->running)
			node->running = NULL;
		call->finished = true;
		queue_add(&node->finished, call);
	}
}

/* The running call's time limits, on the node's clock. */
void hdp_node_check_running(struct hamidp_node *node)
{
	struct hdp_call *call = node->running;
	uint64_t age_us;

	if (!call)
		return;
	age_us = node_now_us(node) - call->started_us;
	if (call->silence == HDP_ANSWERS && age_us >= HDP_CALL_SILENT_US) {
		call->silence = HDP_SILENT;
		hdp_node_call_silent(node, call);
	}
	if (call->silence == HDP_SILENT && age_us >= 2 * HDP_CALL_SILENT_US) {
		call->silence = HDP_MUTE;
		hdp_worker_abandon(node->worker);
		node->running = NULL;
		hdp_node_call_silent(node, call);
	}
}

static uint64_t monotonic_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static unsigned left_ms(uint64_t until_ms)
{
	uint64_t now_ms = monotonic_ms();

	return now_ms < until_ms ? (unsigned)(until_ms - now_ms) : 0;
}

static int timed_out(const struct hamidp_node *node, struct hamidp_reason *reason)
{
	return hdp_fail(reason, -ETIMEDOUT, HAMIDP_REASON_DRIVER_FAILED,
			"driver '%s' does not answer", node->host->driver->name);
}

/* Take a call back out of the finished ones. */
static void unqueue_finished(struct hamidp_node *node, struct hdp_call *call)
{
	struct hdp_call_queue kept = { .last = NULL };
	struct hdp_call *other;

	kept.last = &kept.first;
	while ((other = hdp_call_queue_take(&node->finished)))
		if (other != call)
			queue_add(&kept, other);
	while ((other = hdp_call_queue_take(&kept)))
		queue_add(&node->finished, other);
}

/* A device that has a call left behind is not worth another wait. */
static bool is_mute(const struct hamidp_node *node, const struct hdp_call *call)
{
	const struct hdp_node_health *health = hdp_node_find_health(node, call->uuid);

	return health && health->n_left > 0;
}

static int wait_for(struct hamidp_node *node, struct hdp_call *call, unsigned timeout_ms)
{
	uint64_t until_ms = monotonic_ms() + timeout_ms;
	int r;

	while (node->running) { /* another call is first */
		if (!hdp_worker_wait(node->worker, left_ms(until_ms)))
			return -EBUSY;
		hdp_node_collect(node);
	}
	call->waited = true;
	r = start(node, call);
	if (r < 0)
		return r;
	if (!hdp_worker_wait(node->worker, left_ms(until_ms))) {
		call->waited = false;
		return -ETIMEDOUT;
	}
	hdp_node_collect(node);
	unqueue_finished(node, call);
	return 0;
}

int hdp_node_call(struct hamidp_node *node, struct hdp_call **call, struct hamidp_reason *reason)
{
	bool is_look = (*call)->kind == HDP_CALL_LOOK;
	int r;

	if (is_inline(node)) {
		call_run(&(*call)->job);
	} else {
		if (is_mute(node, *call))
			return timed_out(node, reason);
		r = wait_for(node, *call, is_look ? node->first_look_ms : node->call_ms);
		if (r == -ETIMEDOUT)
			*call = NULL; /* it is the node's until it returns */
		if (r == -ETIMEDOUT || r == -EBUSY)
			return timed_out(node, reason);
		if (r < 0)
			return hdp_fail(reason, r, HAMIDP_REASON_DRIVER_FAILED,
					"no thread for the driver's call");
	}
	if ((*call)->rc < 0)
		hdp_reason_copy(reason, &(*call)->reason);
	return (*call)->rc;
}

void hdp_node_calls_done(struct hamidp_node *node)
{
	struct hdp_call *call;

	while ((call = hdp_call_queue_take(&node->queued)))
		hdp_call_free(call);
	while ((call = hdp_call_queue_take(&node->finished)))
		hdp_call_free(call);
}
