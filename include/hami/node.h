/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HAMI_NODE_H
#define HAMI_NODE_H

#include <stddef.h>
#include <stdint.h>

#include <hami/inventory.h>
#include <hami/log.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: node
 *
 * This machine: a driver, its current inventory, the layout of a policy on it, and the store of
 * grants. A node fits every event loop: wait until hamidp_node_fd() is readable or
 * hamidp_node_deadline_us() has passed, call hamidp_node_dispatch(), then take events with
 * hamidp_node_next_event() until there are none.
 *
 * A node without a working driver is a node all the same: it has no devices, keeps looking (with
 * back-off, by its deadline) and reports HAMIDP_EVENT_DRIVER when one appears.
 *
 * A node belongs to one thread. Inventories, layouts and grants that it gives out may be read by
 * many and outlive it.
 */

/* Opaque. */
struct hamidp_node;
struct hamidp_event;
struct hamidp_layout;
struct hamidp_policy;
struct hamidp_occupancy;
struct hamidp_decision;
struct hamidp_grant;
struct hamidp_reason;

/** typedef hamidp_now_fn - the time in microseconds of a clock that never goes back; Since: 0.1 */
typedef uint64_t (*hamidp_now_fn)(void *userdata);

#define HAMIDP_NODE_NO_EVENTS 0x1U /* look once at open; no watching, no worker thread */

/**
 * struct hamidp_node_options - how to open a node
 * @size: sizeof(struct hamidp_node_options) at the caller's build time
 * @flags: HAMIDP_NODE_* or 0
 * @driver: "auto" (also NULL), "sim:NAME", "sim:FILE", "hamivgpu" or "hamivgpu:LIBRARY"
 * @driver_root: where the driver's libraries lie, or NULL for the driver's default
 * @sysroot: prefix for /sys, /proc and /dev, or NULL for "/"
 * @policy: how to cut devices; read at open and kept
 * @log_fn: sink for messages, or NULL to be silent
 * @log_userdata: passed to @log_fn
 * @log_priority: least important syslog priority delivered
 * @now_fn: clock, or NULL for CLOCK_BOOTTIME
 * @now_userdata: passed to @now_fn
 *
 * Zero-initialize it, set @size and @policy. Fields may be added at the end; zero keeps the old
 * behaviour. "sim:" takes a bundled machine's name, or a file if it has a '/' or ends in ".json".
 *
 * Since: 0.1
 */
struct hamidp_node_options {
	size_t size;
	uint32_t flags;
	const char *driver;
	const char *driver_root;
	const char *sysroot;
	const struct hamidp_policy *policy;
	hamidp_log_fn log_fn;
	void *log_userdata;
	int log_priority;
	hamidp_now_fn now_fn;
	void *now_userdata;
};

/**
 * hamidp_node_open() - open this machine
 * @opts: options
 * @ret: where to store the node
 * @reason: what is wrong with the options, or why there is no driver or device, or NULL
 *
 * Looks for a driver and its devices once; that may block for as long as the driver takes, at most
 * 10 s. A missing driver or device is no failure: see hamidp_node_state().
 *
 * Return: 0 and *@ret owned by the caller (hamidp_node_close()); -EINVAL (options, policy), -ENOENT
 * (no driver or bundled machine of that name), -EIO or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_node_open(const struct hamidp_node_options *opts, struct hamidp_node **ret,
		     struct hamidp_reason *reason);

/**
 * hamidp_node_close() - close a node
 * @node: node or NULL
 *
 * Waits at most 1 s for a driver that does not answer, then leaves its call behind. Grants that
 * live only in memory are lost.
 *
 * Return: NULL.
 *
 * Since: 0.1
 */
struct hamidp_node *hamidp_node_close(struct hamidp_node *node);

/**
 * hamidp_node_fd() - a descriptor for poll(), readable when there is work
 * @node: node
 *
 * Return: the descriptor, owned by the node, the same for its whole life. Does not block.
 *
 * Since: 0.1
 */
int hamidp_node_fd(const struct hamidp_node *node);

#define HAMIDP_NO_DEADLINE UINT64_MAX

/**
 * hamidp_node_deadline_us() - when to call hamidp_node_dispatch() at the latest
 * @node: node
 *
 * Return: a time on the node's clock, 0 if events are queued, or HAMIDP_NO_DEADLINE. Does not
 * block.
 *
 * Since: 0.1
 */
uint64_t hamidp_node_deadline_us(const struct hamidp_node *node);

/**
 * hamidp_node_dispatch() - do what is due
 * @node: node
 *
 * Never blocks on a driver that may hang: such calls run on the driver's worker.
 *
 * Return: 0, or -ENOMEM (nothing is lost: call again).
 *
 * Since: 0.1
 */
int hamidp_node_dispatch(struct hamidp_node *node);

/**
 * hamidp_node_state() - is there a driver with devices
 * @node: node
 * @reason: the sentence for operators if not, or NULL
 *
 * The layout may have devices all the same: those of a driver that was lost are unhealthy, and
 * where the driver failed or the policy takes no more, what was served stays until it is known
 * better. Each change of the state was given to the log callback, at LOG_ERR if it is not 0.
 *
 * Return: 0; -ENODEV (no driver, or no device), -EINVAL (the policy does not fit the devices),
 * -EPROTO, -EIO or -ETIMEDOUT (the driver failed). Does not block.
 *
 * Since: 0.1
 */
int hamidp_node_state(const struct hamidp_node *node, struct hamidp_reason *reason);

/** hamidp_node_layout() - the current layout, borrowed until the next dispatch; never NULL; Since:
 * 0.1 */
struct hamidp_layout *hamidp_node_layout(const struct hamidp_node *node);
/** hamidp_node_occupancy() - who holds what now, borrowed until the next dispatch or commit; never
 * NULL; Since: 0.1 */
const struct hamidp_occupancy *hamidp_node_occupancy(const struct hamidp_node *node);
/** hamidp_node_generation() - grows with every change of layout or health; Since: 0.1 */
uint64_t hamidp_node_generation(const struct hamidp_node *node);

/**
 * struct hamidp_commit_options - how to commit
 * @size: sizeof(struct hamidp_commit_options) at the caller's build time
 * @flags: HAMIDP_COMMIT_* or 0
 * @owner: name of the front end, or NULL; at most 128 bytes
 * @key: idempotency key, or NULL; at most 128 bytes. A live grant with the same owner and key is
 *       returned instead of a new one, if it has the same slots; else -EBUSY.
 *
 * Zero-initialize it and set @size. Fields may be added at the end; zero keeps the old behaviour.
 *
 * Since: 0.1
 */
struct hamidp_commit_options {
	size_t size;
	uint32_t flags;
	const char *owner;
	const char *key;
};

#define HAMIDP_COMMIT_SUPERSEDE 0x1U /* take slots over from older grants, id by id */

/**
 * hamidp_node_commit() - turn a decision into a grant
 * @node: node
 * @decision: from hamidp_place() or hamidp_decide_ids()
 * @opts: options, or NULL
 * @ret: where to store the grant
 * @reason: why not, or NULL
 *
 * One transaction of the store: the new grant, and what older ones lose (HAMIDP_COMMIT_SUPERSEDE).
 * The driver is asked to prepare before, with a deadline of 2 s where it may block; nothing is
 * changed on failure.
 *
 * Return: 0 and *@ret owned by the caller (hamidp_grant_unref()); -EINVAL (empty decision,
 * options, more slots than an environment variable can name), -ESTALE (a device or its slots
 * changed), -EAGAIN (a device is not healthy), -EBUSY (held, without HAMIDP_COMMIT_SUPERSEDE),
 * -ETIMEDOUT, -EACCES, -EIO (driver or store) or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_node_commit(struct hamidp_node *node, const struct hamidp_decision *decision,
		       const struct hamidp_commit_options *opts, struct hamidp_grant **ret,
		       struct hamidp_reason *reason);

/** hamidp_node_n_grants() - live grants; Since: 0.1 */
size_t hamidp_node_n_grants(const struct hamidp_node *node);
/** hamidp_node_grant() - the @i-th live grant, oldest first, borrowed until the next dispatch or
 * change; NULL past the end; Since: 0.1 */
struct hamidp_grant *hamidp_node_grant(const struct hamidp_node *node, size_t i);
/** hamidp_node_find_grant() - a live grant by id, borrowed likewise; NULL if there is none; Since:
 * 0.1 */
struct hamidp_grant *hamidp_node_find_grant(const struct hamidp_node *node, const char *id);

/**
 * hamidp_node_release() - end a grant: unbind, unprepare, free its slots
 * @node: node
 * @grant_id: id
 * @reason: why not, or NULL
 *
 * Return: 0; -ENOENT (no such grant), -ETIMEDOUT, -EIO (driver or store) or -ENOMEM. May block for
 * up to 2 s for each bound container.
 *
 * Since: 0.1
 */
int hamidp_node_release(struct hamidp_node *node, const char *grant_id,
			struct hamidp_reason *reason);

/**
 * struct hamidp_binding - a container that a grant is for
 * @size: sizeof(struct hamidp_binding) at the caller's build time
 * @container_id: the runtime's id, at most 128 bytes
 * @cgroup_path: absolute path of its leaf cgroup, or NULL if not known
 * @cgroup_id: inode number of the cgroup, 0 if not known
 * @pid: a process in it, in our pid namespace, 0 if not known
 *
 * Zero-initialize it and set @size. Fields may be added at the end; zero keeps the old behaviour.
 *
 * Since: 0.1
 */
struct hamidp_binding {
	size_t size;
	const char *container_id;
	const char *cgroup_path;
	uint64_t cgroup_id;
	int64_t pid;
};

/**
 * hamidp_node_bind() - tell the driver which container a grant is for
 * @node: node
 * @grant_id: id
 * @binding: container
 * @reason: why not, or NULL
 *
 * Binding the same container again updates it.
 *
 * Return: 0; -EINVAL (@binding, or more than 256 containers), -ENOENT (no such grant), -EOPNOTSUPP,
 * -ETIMEDOUT, -EACCES, -EIO (driver) or -ENOMEM. May block for up to 2 s.
 *
 * Since: 0.1
 */
int hamidp_node_bind(struct hamidp_node *node, const char *grant_id,
		     const struct hamidp_binding *binding, struct hamidp_reason *reason);

/** hamidp_node_unbind() - the container is gone; errors as hamidp_node_bind(), -EINVAL without
 * @container_id, -ENOENT also if it was not bound; Since: 0.1 */
int hamidp_node_unbind(struct hamidp_node *node, const char *grant_id, const char *container_id,
		       struct hamidp_reason *reason);

/**
 * hamidp_node_update() - change the memory limit of one slice of a grant
 * @node: node
 * @grant_id: id
 * @device: UUID of the slice's device
 * @memory_mib: new limit, 1 to the slice's own memory
 * @reason: why not, or NULL
 *
 * Return: 0; -EINVAL (@memory_mib), -ENOENT (no such grant, or no slice of it there), -EOPNOTSUPP,
 * -ETIMEDOUT, -EACCES, -EIO (driver) or -ENOMEM. May block for up to 2 s.
 *
 * Since: 0.1
 */
int hamidp_node_update(struct hamidp_node *node, const char *grant_id, const char *device,
		       uint64_t memory_mib, struct hamidp_reason *reason);

/**
 * struct hamidp_usage - what a slice uses now
 * @size: sizeof(struct hamidp_usage) at the caller's build time
 * @used_bytes: memory in use
 * @peak_bytes: the highest it was
 * @denials: allocations that the limit refused
 *
 * Fields may be added at the end; only those within @size are filled.
 *
 * Since: 0.1
 */
struct hamidp_usage {
	size_t size;
	uint64_t used_bytes;
	uint64_t peak_bytes;
	uint64_t denials;
};

/**
 * hamidp_node_usage() - ask the driver what one slice of a grant uses
 * @node: node
 * @grant_id: id
 * @device: UUID of the slice's device
 * @ret: filled; set ret->size before
 * @reason: why not, or NULL
 *
 * Return: 0; -EINVAL (the driver refused), -ENOENT (no such grant, or no slice of it there),
 * -EOPNOTSUPP, -ETIMEDOUT, -EACCES, -EIO (driver) or -ENOMEM. May block for up to 2 s.
 *
 * Since: 0.1
 */
int hamidp_node_usage(struct hamidp_node *node, const char *grant_id, const char *device,
		      struct hamidp_usage *ret, struct hamidp_reason *reason);

/** enum hamidp_event_type - what happened; Since: 0.1 */
enum hamidp_event_type {
	HAMIDP_EVENT_DRIVER = 1,     /* a driver appeared or was lost; see hamidp_node_state() */
	HAMIDP_EVENT_LAYOUT = 2,     /* devices or slots changed: ask for the layout again */
	HAMIDP_EVENT_HEALTH = 3,     /* a device's health changed */
	HAMIDP_EVENT_ERROR = 4,	     /* a device reported an error code */
	HAMIDP_EVENT_GRANTED = 5,    /* a grant was committed */
	HAMIDP_EVENT_SUPERSEDED = 6, /* a grant lost slots to a newer one; if all, it ended */
	HAMIDP_EVENT_RELEASED = 7,   /* a grant ended by hamidp_node_release() */
	HAMIDP_EVENT_LOST = 8, /* events before this one were dropped: look at everything again */
	_HAMIDP_EVENT_PAD = 0x7fffffff
};

/**
 * hamidp_node_next_event() - take the oldest queued event
 * @node: node
 * @ret: where to store it
 *
 * The queue is bounded; where it would overflow the oldest events give way to HAMIDP_EVENT_LOST.
 *
 * Return: 0 and *@ret owned by the caller (hamidp_event_free()), or -EAGAIN (none). Does not block.
 *
 * Since: 0.1
 */
int hamidp_node_next_event(struct hamidp_node *node, struct hamidp_event **ret);

/** hamidp_event_free() - release (NULL is fine); returns NULL; Since: 0.1 */
struct hamidp_event *hamidp_event_free(struct hamidp_event *event);
/** hamidp_event_type() - what happened; Since: 0.1 */
enum hamidp_event_type hamidp_event_type(const struct hamidp_event *event);
/** hamidp_event_type_to_string() - "health", ...; static, never NULL; Since: 0.1 */
const char *hamidp_event_type_to_string(enum hamidp_event_type type);
/** hamidp_event_time_us() - when, on the node's clock; Since: 0.1 */
uint64_t hamidp_event_time_us(const struct hamidp_event *event);
/** hamidp_event_device() - UUID of the device it is about, "" if none; Since: 0.1 */
const char *hamidp_event_device(const struct hamidp_event *event);
/** hamidp_event_grant() - id of the grant it is about, "" if none; Since: 0.1 */
const char *hamidp_event_grant(const struct hamidp_event *event);
/** hamidp_event_health() - the device's new health (HAMIDP_EVENT_HEALTH); Since: 0.1 */
enum hamidp_health hamidp_event_health(const struct hamidp_event *event);
/** hamidp_event_code() - the driver's error code (HAMIDP_EVENT_ERROR), e.g. an XID; Since: 0.1 */
uint64_t hamidp_event_code(const struct hamidp_event *event);
/** hamidp_event_text() - one line for people, object first; Since: 0.1 */
const char *hamidp_event_text(const struct hamidp_event *event);

/**
 * hamidp_bundled_machine() - the i-th machine that the sim driver knows by name
 * @i: from 0
 *
 * Return: a static name, or NULL past the end. Does not block. Thread safe.
 *
 * Since: 0.1
 */
const char *hamidp_bundled_machine(size_t i);

#ifdef __cplusplus
}
#endif
#endif
