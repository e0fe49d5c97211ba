/* SPDX-License-Identifier: Apache-2.0 */

/* The node's face towards an event loop: descriptor, deadline, dispatch, events; and its getters.
 */

#include <errno.h>

#include "node-internal.h"

int hdp_node_again(struct hamidp_node *node, int r)
{
	if (r < 0) {
		uint64_t at_us = node_now_us(node) + HDP_AGAIN_US;

		if (at_us < node->again_us)
			node->again_us = at_us;
	}
	return r;
}

static void take_earlier(uint64_t *at_us, uint64_t other_us)
{
	if (other_us < *at_us)
		*at_us = other_us;
}

void hdp_node_update_timers(struct hamidp_node *node)
{
	uint64_t at_us = node->again_us;

	take_earlier(&at_us, node->retry_us);
	if (node->running)
		take_earlier(&at_us,
			     node->running->started_us + (node->running->silence == HDP_ANSWERS
								  ? HDP_CALL_SILENT_US
								  : 2 * HDP_CALL_SILENT_US));
	for (size_t i = 0; i < node->n_healths; i++) {
		const struct hdp_node_health *health = node->healths[i];

		if (!health->probing && health->n_left == 0)
			take_earlier(&at_us, hdp_health_deadline_us(&health->h));
	}
	node->timers_us = node->flags & HAMIDP_NODE_NO_EVENTS ? node->again_us : at_us;
}

/* Always to the end: a driver may hold back what releases its own calls. */
void hdp_node_drain_driver(struct hamidp_node *node)
{
	const struct hdp_driver *driver = node->host->driver;
	struct hdp_driver_event event;

	if (!driver || !driver->next_event)
		return;
	while (driver->next_event(node->host->priv, &event) == 0) {
		switch (event.type) {
		case HDP_DRIVER_CHANGED:
			(void)hdp_node_look(node);
			/* An inline look is done before the errors that follow find their device.
			 */
			(void)hdp_node_dispatch_step(node);
			break;
		case HDP_DRIVER_ERROR:
			hdp_node_device_error(node, &event);
			break;
		}
	}
}

static int finish(struct hamidp_node *node, struct hdp_call *call)
{
	int r = 0;

	if (call->kind == HDP_CALL_LOOK)
		r = hdp_node_look_finished(node, call);
	else if (call->kind == HDP_CALL_PROBE)
		hdp_node_probe_finished(node, call);
	hdp_node_call_returned(node, call);
	hdp_call_free(call);
	return r;
}

/* Run what is queued and take in what finished, until nothing moves. */
int hdp_node_dispatch_step(struct hamidp_node *node)
{
	int result = 0;

	for (;;) {
		struct hdp_call *call;
		int r = hdp_node_pump(node);

		if (r < 0)
			result = hdp_node_again(node, r);
		call = hdp_call_queue_take(&node->finished);
		if (!call)
			return result;
		r = finish(node, call);
		if (r < 0)
			result = hdp_node_again(node, r);
	}
}

static int run_timers(struct hamidp_node *node)
{
	uint64_t now_us = node_now_us(node);
	int r = 0;

	if (node->again_us <= now_us)
		node->again_us = UINT64_MAX;
	if (node->retry_us <= now_us || (node->look_wanted && !node->looking))
		r = hdp_node_look(node);
	if (r != -ENOMEM)
		r = hdp_node_again(node, hdp_node_probe_due(node));
	return r == -ENOMEM ? r : 0;
}

HAMIDP_EXPORT int hamidp_node_dispatch(struct hamidp_node *node)
{
	int result = 0;
	int r;

	if (!(node->flags & HAMIDP_NODE_NO_EVENTS)) {
		hdp_node_collect(node);
		hdp_node_check_running(node);
		result = hdp_node_dispatch_step(node);
		hdp_node_drain_driver(node);
		r = run_timers(node);
		result = r < 0 ? r : result;
		r = hdp_node_dispatch_step(node);
		result = r < 0 ? r : result;
	}
	if (node->dirty) {
		r = hdp_node_again(node, hdp_node_relayout(node));
		result = r < 0 ? r : result;
	}
	hdp_node_update_timers(node);
	return result == 0 || result == -ENOMEM ? result : 0;
}

HAMIDP_EXPORT int hamidp_node_fd(const struct hamidp_node *node)
{
	return node->epoll_fd;
}

HAMIDP_EXPORT uint64_t hamidp_node_deadline_us(const struct hamidp_node *node)
{
	if (node->events.n || node->finished.first)
		return 0;
	if (node->dirty && node->again_us == UINT64_MAX)
		return 0;
	return node->timers_us;
}

HAMIDP_EXPORT int hamidp_node_next_event(struct hamidp_node *node, struct hamidp_event **ret)
{
	struct hamidp_event *event = hdp_event_pop(&node->events);

	if (!event)
		return -EAGAIN;
	*ret = event;
	return 0;
}

HAMIDP_EXPORT int hamidp_node_state(const struct hamidp_node *node, struct hamidp_reason *reason)
{
	hdp_reason_copy(reason, &node->state_reason);
	return node->state;
}

HAMIDP_EXPORT struct hamidp_layout *hamidp_node_layout(const struct hamidp_node *node)
{
	return node->layout;
}

HAMIDP_EXPORT const struct hamidp_occupancy *hamidp_node_occupancy(const struct hamidp_node *node)
{
	return node->occupancy;
}

HAMIDP_EXPORT uint64_t hamidp_node_generation(const struct hamidp_node *node)
{
	return node->generation;
}

HAMIDP_EXPORT size_t hamidp_node_n_grants(const struct hamidp_node *node)
{
	return node->n_grants;
}

HAMIDP_EXPORT struct hamidp_grant *hamidp_node_grant(const struct hamidp_node *node, size_t i)
{
	return i < node->n_grants ? node->grants[i] : NULL;
}

HAMIDP_EXPORT struct hamidp_grant *hamidp_node_find_grant(const struct hamidp_node *node,
							  const char *id)
{
	return hamidp_node_grant(node, hdp_node_grant_pos(node, id));
}
