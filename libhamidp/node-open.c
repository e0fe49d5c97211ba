/* SPDX-License-Identifier: Apache-2.0 */

/* The beginning and the end of a node. */

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "node-internal.h"

static uint64_t boottime_us(void *userdata)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static int check_options(const struct hamidp_node_options *opts, struct hamidp_node_options *ret,
			 struct hamidp_reason *reason)
{
	struct hamidp_node_options copy = { 0 };

	if (!opts || !hdp_take_sized(&copy, sizeof(copy), opts, opts->size,
				     offsetof(struct hamidp_node_options, log_fn)))
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"node options: size %zu is not accepted", opts ? opts->size : 0);
	if (copy.flags & ~HAMIDP_NODE_NO_EVENTS)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"node options: flags %#x are not known", copy.flags);
	if (!copy.policy)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"node options: no policy");
	*ret = copy;
	return 0;
}

/* Nothing is known yet: no devices, and the policy as it is. */
static int start_empty(struct hamidp_node *node, struct hamidp_reason *reason)
{
	struct hdp_machine machine = { 0 };
	int r;

	r = hdp_machine_seal(&machine, &node->said, reason);
	if (r == 0)
		r = hamidp_layout_new(node->said, node->policy, &node->layout, reason);
	if (r == 0 && hamidp_occupancy_new(node->layout, &node->occupancy) < 0)
		r = hdp_oom(reason);
	hdp_machine_done(&machine);
	return r;
}

static int setup(struct hamidp_node *node, const struct hamidp_node_options *opts,
		 const struct hdp_node_parts *parts, struct hamidp_reason *reason)
{
	int r;

	r = hdp_policy_copy(opts->policy, &node->policy);
	if (r < 0)
		return hdp_oom(reason);
	if (!node->store && hdp_store_mem_new(&node->store) < 0)
		return hdp_oom(reason);
	r = hdp_driver_host_new(opts, parts && parts->drivers ? parts->drivers : hdp_drivers,
				&node->host, reason);
	if (r < 0)
		return r;
	node->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (node->epoll_fd < 0)
		return hdp_fail(reason, -EIO, HAMIDP_REASON_NO_MEMORY,
				"cannot make a poll descriptor: %m");
	r = start_empty(node, reason);
	if (r < 0)
		return r;
	r = hdp_node_restore_healths(node);
	if (r == 0)
		r = hdp_node_restore_grants(node);
	if (r == -ENOMEM)
		return hdp_oom(reason);
	if (r < 0)
		return hdp_fail(reason, -EIO, HAMIDP_REASON_STORE, "the store cannot be read");
	return 0;
}

/* Wait for the look that was just queued: the one time that the caller may be kept. */
static int wait_for_look(struct hamidp_node *node)
{
	struct hdp_call *call = hdp_call_queue_take(&node->queued);
	struct hamidp_reason why = { 0 };
	int r;

	r = hdp_node_call(node, &call, &why);
	if (!call) { /* it goes on */
		node->running->silence = HDP_SILENT;
		hdp_node_driver_mute(node, HDP_SILENT);
		return 0;
	}
	if (r != call->rc) { /* it was not even made */
		call->rc = r;
		hdp_reason_copy(&call->reason, &why);
	}
	r = hdp_node_look_finished(node, call);
	hdp_call_free(call);
	return r;
}

static int first_look(struct hamidp_node *node, struct hamidp_reason *reason)
{
	struct hamidp_reason why = { 0 };
	int r;

	r = hdp_driver_host_open(node->host, &why);
	if (r == -EINVAL || r == -ENOENT || r == -ENOMEM) {
		hdp_reason_copy(reason, &why);
		return r;
	}
	if (r < 0) {
		hdp_node_look_failed(node, r, &why);
		return 0;
	}
	r = hdp_node_look(node); /* the driver is open: this only queues */
	if (r == 0)
		r = wait_for_look(node);
	return r < 0 ? hdp_oom(reason) : 0;
}

/* What came up during the first look, before anybody asks. */
static int settle(struct hamidp_node *node, struct hamidp_reason *reason)
{
	node->open = true;
	if (!(node->flags & HAMIDP_NODE_NO_EVENTS)) {
		if (hdp_node_dispatch_step(node) < 0)
			return hdp_oom(reason);
		hdp_node_drain_driver(node);
	}
	if (node->dirty && hdp_node_relayout(node) < 0)
		return hdp_oom(reason);
	hdp_node_update_timers(node);
	(void)hamidp_node_state(node, reason);
	return 0;
}

static struct hamidp_node *node_new(const struct hamidp_node_options *opts)
{
	struct hamidp_node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->flags = opts->flags;
	node->log = (struct hdp_log){ opts->log_fn, opts->log_userdata, opts->log_priority };
	node->now_fn = opts->now_fn ? opts->now_fn : boottime_us;
	node->now_userdata = opts->now_userdata;
	node->first_look_ms = HDP_FIRST_LOOK_MS;
	node->call_ms = HDP_CALL_MS;
	node->close_ms = HDP_CLOSE_MS;
	node->epoll_fd = -1;
	node->queued.last = &node->queued.first;
	node->finished.last = &node->finished.first;
	node->retry_us = UINT64_MAX;
	node->again_us = UINT64_MAX;
	node->timers_us = UINT64_MAX;
	node->blind_since_us = UINT64_MAX;
	node->backoff_us = HDP_BACKOFF_MIN_US;
	node->generation = 1;
	return node;
}

static void take_times(struct hamidp_node *node, const struct hdp_node_parts *parts)
{
	if (parts->first_look_ms)
		node->first_look_ms = parts->first_look_ms;
	if (parts->call_ms)
		node->call_ms = parts->call_ms;
	if (parts->close_ms)
		node->close_ms = parts->close_ms;
}

int hdp_node_open_with(const struct hamidp_node_options *opts, const struct hdp_node_parts *parts,
		       struct hamidp_node **ret, struct hamidp_reason *reason)
{
	struct hdp_store *store = parts ? parts->store : NULL;
	struct hamidp_node_options checked = { 0 };
	struct hamidp_node *node = NULL;
	int r;

	hdp_reason_clear(reason);
	r = check_options(opts, &checked, reason);
	if (r == 0)
		node = node_new(&checked);
	if (!node) {
		if (store)
			store->ops->close(store);
		return r < 0 ? r : hdp_oom(reason);
	}
	node->store = store;
	if (parts)
		take_times(node, parts);
	r = setup(node, &checked, parts, reason);
	if (r == 0)
		r = first_look(node, reason);
	if (r == 0)
		r = settle(node, reason);
	if (r < 0) {
		hamidp_node_close(node);
		return r;
	}
	*ret = node;
	return 0;
}

HAMIDP_EXPORT int hamidp_node_open(const struct hamidp_node_options *opts, struct hamidp_node **ret,
				   struct hamidp_reason *reason)
{
	return hdp_node_open_with(opts, NULL, ret, reason);
}

/* A call that does not come back keeps the driver open, and the worker closes it then. */
static void close_driver(struct hamidp_node *node)
{
	const struct hdp_driver *driver = node->host ? node->host->driver : NULL;

	hdp_node_calls_done(node);
	if (!node->worker) {
		hdp_driver_host_free(node->host);
		return;
	}
	if (driver && driver->cancel)
		driver->cancel(node->host->priv);
	if (!hdp_worker_close(node->worker, node->close_ms, hdp_driver_host_free, node->host))
		log_warning(&node->log, "driver '%s': a call did not return, left behind",
			    driver ? driver->name : "");
}

HAMIDP_EXPORT struct hamidp_node *hamidp_node_close(struct hamidp_node *node)
{
	if (!node)
		return NULL;
	close_driver(node);
	for (size_t i = 0; i < node->n_grants; i++)
		hamidp_grant_unref(node->grants[i]);
	free(node->grants);
	hdp_node_healths_done(node);
	hdp_event_queue_done(&node->events);
	hamidp_occupancy_free(node->occupancy);
	hamidp_layout_unref(node->layout);
	hamidp_inventory_unref(node->said);
	free(node->link_note);
	hamidp_policy_free(node->policy);
	if (node->store)
		node->store->ops->close(node->store);
	if (node->epoll_fd >= 0)
		close(node->epoll_fd);
	free(node);
	return NULL;
}
