/* SPDX-License-Identifier: Apache-2.0 */
/* Drives a node from sd-event. Knows nothing of what hangs on the changes. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <syslog.h>

#include <hami/hamidp.h>

#include "clock.h"
#include "log.h"
#include "node-loop.h"

struct node_loop {
	struct hamidp_node *node;
	sd_event_source *io;
	sd_event_source *timer;
	node_loop_fn fn;
	void *userdata;
};

/* Errors and a driver that fails the library has logged itself, louder. */
static int event_priority(const struct hamidp_node *node, const struct hamidp_event *event)
{
	switch (hamidp_event_type(event)) {
	case HAMIDP_EVENT_HEALTH:
		return hamidp_event_health(event) == HAMIDP_HEALTH_HEALTHY ? LOG_INFO : LOG_WARNING;
	case HAMIDP_EVENT_LOST:
		return LOG_WARNING;
	case HAMIDP_EVENT_DRIVER:
		return hamidp_node_state(node, NULL) < 0 ? LOG_DEBUG : LOG_INFO;
	case HAMIDP_EVENT_ERROR:
	case HAMIDP_EVENT_LAYOUT: /* said by resource */
	case HAMIDP_EVENT_GRANTED:
	case HAMIDP_EVENT_SUPERSEDED:
	case HAMIDP_EVENT_RELEASED:
	case _HAMIDP_EVENT_PAD:
		break;
	}
	return LOG_DEBUG;
}

/* What a batch of events was about; those about grants change neither cards nor slots. */
struct change {
	bool any;
	bool layout;
};

static void note(struct change *change, enum hamidp_event_type type)
{
	bool grants = type == HAMIDP_EVENT_GRANTED || type == HAMIDP_EVENT_SUPERSEDED ||
		      type == HAMIDP_EVENT_RELEASED;

	change->any = change->any || !grants;
	change->layout = change->layout || type == HAMIDP_EVENT_LAYOUT || type == HAMIDP_EVENT_LOST;
}

static struct change take_events(struct hamidp_node *node)
{
	struct change change = { 0 };
	struct hamidp_event *event;

	while (hamidp_node_next_event(node, &event) == 0) {
		log_at(event_priority(node, event), "%s", hamidp_event_text(event));
		note(&change, hamidp_event_type(event));
		hamidp_event_free(event);
	}
	return change;
}

static void dispatch(struct node_loop *loop)
{
	struct change change;

	(void)hamidp_node_dispatch(loop->node); /* short of memory: called again, nothing is lost */
	change = take_events(loop->node);
	if (change.any)
		loop->fn(change.layout, loop->userdata);
}

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	dispatch(userdata);
	return 0;
}

static int on_time(sd_event_source *source, uint64_t usec, void *userdata)
{
	dispatch(userdata);
	return 0;
}

/* Before each wait: calls on the node may have moved its deadline, from wherever they came. */
static int on_prepare(sd_event_source *source, void *userdata)
{
	struct node_loop *loop = userdata;
	uint64_t deadline_us = hamidp_node_deadline_us(loop->node);
	int r;

	if (deadline_us == HAMIDP_NO_DEADLINE)
		return sd_event_source_set_enabled(loop->timer, SD_EVENT_OFF);
	r = sd_event_source_set_time(loop->timer, deadline_us);
	return r < 0 ? r : sd_event_source_set_enabled(loop->timer, SD_EVENT_ONESHOT);
}

static int attach(sd_event *event, struct node_loop *loop)
{
	int r;

	r = sd_event_add_time(event, &loop->timer, CLOCK_ROOM_ID, UINT64_MAX, 1000, on_time, loop);
	if (r < 0)
		return r;
	r = sd_event_add_io(event, &loop->io, hamidp_node_fd(loop->node), EPOLLIN, on_io, loop);
	if (r < 0)
		return r;
	return sd_event_source_set_prepare(loop->io, on_prepare);
}

int node_loop_new(sd_event *event, struct hamidp_node *node, node_loop_fn fn, void *userdata,
		  struct node_loop **ret)
{
	struct node_loop *loop = calloc(1, sizeof(*loop));
	int r;

	if (!loop)
		return -ENOMEM;
	loop->node = node;
	loop->fn = fn;
	loop->userdata = userdata;
	r = attach(event, loop);
	if (r < 0) {
		node_loop_free(loop);
		return r;
	}
	*ret = loop;
	return 0;
}

struct node_loop *node_loop_free(struct node_loop *loop)
{
	if (!loop)
		return NULL;
	sd_event_source_disable_unref(loop->io);
	sd_event_source_disable_unref(loop->timer);
	free(loop);
	return NULL;
}
