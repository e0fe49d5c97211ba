/* SPDX-License-Identifier: Apache-2.0 */

/* Looking at the machine: opening the driver, enumerating, and what its failures mean. */

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "node-internal.h"
#include "sysfs-pci.h"

/* The closed set of hamidp_node_state(). */
static int fold_state(int rc)
{
	switch (rc) {
	case -ENODEV:
	case -EINVAL:
	case -EPROTO:
	case -ETIMEDOUT:
		return rc;
	case -EOPNOTSUPP:
		return -ENODEV;
	default:
		return -EIO;
	}
}

static void push_driver_event(struct hamidp_node *node)
{
	const struct hdp_event_info info = { .type = HAMIDP_EVENT_DRIVER,
					     .time_us = node_now_us(node) };

	if (!node->open)
		return;
	if (node->state == 0)
		hdp_event_push(&node->events, &info, "driver '%s': ready",
			       node->host->driver->name);
	else
		hdp_event_push(&node->events, &info, "%s", node->state_reason.text);
}

/* Each change is said once, however often it is tried in between. */
static void set_state(struct hamidp_node *node, int state, const struct hamidp_reason *reason)
{
	static const struct hamidp_reason none;
	const struct hamidp_reason *why = reason ? reason : &none;
	bool new_kind = state != node->state || why->code != node->state_reason.code;
	bool new_text = strcmp(why->text, node->state_reason.text) != 0;

	if (!new_kind && !new_text)
		return;
	node->state = state;
	hdp_reason_copy(&node->state_reason, why);
	if (state < 0)
		log_err(&node->log, "%s", why->text);
	else if (node->open)
		log_notice(&node->log, "driver '%s': ready", node->host->driver->name);
	if (new_kind)
		push_driver_event(node);
}

static void schedule_retry(struct hamidp_node *node)
{
	if (node->flags & HAMIDP_NODE_NO_EVENTS)
		return;
	node->retry_us = node_now_us(node) + node->backoff_us;
	node->backoff_us *= 2;
	if (node->backoff_us > HDP_BACKOFF_MAX_US)
		node->backoff_us = HDP_BACKOFF_MAX_US;
}

static void see_again(struct hamidp_node *node)
{
	node->retry_us = UINT64_MAX;
	node->backoff_us = HDP_BACKOFF_MIN_US;
	node->blind_since_us = UINT64_MAX;
	hdp_node_healths_driver(node, HDP_ANSWERS, NULL);
}

/*
 * No driver: its devices are unhealthy at once. A description that does not parse says nothing of
 * the devices, they stay as they are. Any other failure is borne for a while.
 */
void hdp_node_look_failed(struct hamidp_node *node, int rc, const struct hamidp_reason *reason)
{
	uint64_t now_us = node_now_us(node);

	set_state(node, fold_state(rc), reason);
	schedule_retry(node);
	if (fold_state(rc) == -ENODEV) {
		hdp_node_healths_driver(node, HDP_MUTE, reason->text);
		return;
	}
	if (reason->code == HAMIDP_REASON_BAD_INPUT)
		return;
	if (node->blind_since_us == UINT64_MAX)
		node->blind_since_us = now_us;
	if (now_us - node->blind_since_us >= HDP_BLIND_US)
		hdp_node_healths_driver(node, HDP_MUTE, reason->text);
}

/* No call of the driver comes back. */
void hdp_node_driver_mute(struct hamidp_node *node, enum hdp_silence silence)
{
	struct hamidp_reason reason = { 0 };

	(void)hdp_fail(&reason, -ETIMEDOUT, HAMIDP_REASON_DRIVER_FAILED,
		       "driver '%s' does not answer", node->host->driver->name);
	set_state(node, -ETIMEDOUT, &reason);
	hdp_node_healths_driver(node, silence, reason.text);
}

static void no_device(struct hamidp_node *node)
{
	struct hamidp_reason reason = { 0 };

	(void)hdp_fail(&reason, -ENODEV, HAMIDP_REASON_NO_DEVICE,
		       "no HAMI GPU found: driver '%s' works and reports no device",
		       node->host->driver->name);
	set_state(node, -ENODEV, &reason);
	schedule_retry(node);
}

/* Once for each change of what is stated; without memory to remember that, once too often. */
static void note_links(struct hamidp_node *node, const char *note)
{
	if (note && (!node->link_note || strcmp(note, node->link_note) != 0))
		log_warning(
			&node->log,
			"driver '%s': links stated in different ways, the smaller value counts: %s",
			node->host->driver->name, note);
	free(node->link_note);
	node->link_note = note ? strdup(note) : NULL;
}

static int take_machine(struct hamidp_node *node, struct hdp_machine *machine)
{
	struct hamidp_reason reason = { 0 };
	struct hamidp_inventory *said = NULL;
	int r = 0;

	if (node->host->driver->flags & HDP_DRIVER_HOST_NUMA)
		r = hdp_sysfs_join_pci(node->host->sysroot, machine);
	if (r < 0)
		return r;
	r = hdp_machine_seal(machine, &said, &reason);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		reason.code = HAMIDP_REASON_BAD_INPUT;
		hdp_node_look_failed(node, -EPROTO, &reason);
		return 0;
	}
	r = hdp_node_take_inventory(node, said, &reason);
	if (r == 0 || r == -EINVAL)
		see_again(node);
	if (r == 0)
		note_links(node, said->link_note);
	if (r == 0 && hamidp_inventory_n_devices(said) == 0)
		no_device(node);
	else if (r == 0)
		set_state(node, 0, NULL);
	else if (r == -EINVAL)
		set_state(node, -EINVAL, &reason);
	hamidp_inventory_unref(said);
	return r == -EINVAL ? 0 : r;
}

int hdp_node_look_finished(struct hamidp_node *node, struct hdp_call *call)
{
	int r = call->rc;

	node->looking = false;
	if (r == 0)
		r = take_machine(node, &call->machine);
	else if (r != -ENOMEM)
		hdp_node_look_failed(node, r, &call->reason);
	/* A driver that may hang has to show that its devices answer. */
	if (r == 0 && call->rc == 0 && hdp_driver_may_block(node->host) &&
	    !(node->flags & HAMIDP_NODE_NO_EVENTS))
		r = hdp_node_probe_all(node);
	if (r == -ENOMEM)
		node->look_wanted = true;
	return r == -ENOMEM ? r : 0;
}

static int watch_driver(struct hamidp_node *node)
{
	const struct hdp_driver *driver = node->host->driver;
	struct epoll_event event = { .events = EPOLLIN };
	int fd;

	if (node->driver_watched || (node->flags & HAMIDP_NODE_NO_EVENTS))
		return 0;
	fd = driver->event_fd ? driver->event_fd(node->host->priv) : -1;
	if (fd >= 0 && epoll_ctl(node->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return -ENOMEM;
	node->driver_watched = true;
	return 0;
}

static int open_driver(struct hamidp_node *node)
{
	struct hamidp_reason reason = { 0 };
	int r;

	r = hdp_driver_host_open(node->host, &reason);
	if (r == 0 || r == -ENOMEM)
		return r;
	/* Only the first try can find the argument wrong; open refuses it then. */
	hdp_node_look_failed(node, r, &reason);
	return r;
}

static int start_look(struct hamidp_node *node)
{
	struct hdp_call *call = NULL;
	int r;

	if (!node->host->driver) {
		r = open_driver(node);
		if (r < 0)
			return r;
	}
	r = watch_driver(node);
	if (r < 0)
		return r;
	if (node->looking) {
		node->look_wanted = true;
		return 0;
	}
	r = hdp_call_new(node, HDP_CALL_LOOK, NULL, &call);
	if (r < 0)
		return r;
	node->looking = true;
	hdp_node_submit(node, call);
	return 0;
}

/*
 * Start a look. 0: one is on its way; -ENOMEM: it is wanted again; another code: there is no
 * driver, and that was said.
 */
int hdp_node_look(struct hamidp_node *node)
{
	int r;

	node->retry_us = UINT64_MAX;
	node->look_wanted = false;
	r = start_look(node);
	if (r == -ENOMEM) {
		node->look_wanted = true;
		return hdp_node_again(node, r);
	}
	return r;
}
