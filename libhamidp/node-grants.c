/* SPDX-License-Identifier: Apache-2.0 */

/* What happens to grants after they were committed, and the node's list of them. */

#include <errno.h>
#include <string.h>

#include "node-internal.h"
#include "text.h"

size_t hdp_node_grant_pos(const struct hamidp_node *node, const char *id)
{
	size_t i;

	for (i = 0; i < node->n_grants; i++)
		if (strcmp(node->grants[i]->id, id) == 0)
			break;
	return i;
}

bool hdp_node_device_held(const struct hamidp_node *node, const char *uuid)
{
	for (size_t i = 0; i < node->n_grants; i++)
		for (size_t j = 0; j < node->grants[i]->n_slices; j++)
			if (strcmp(node->grants[i]->slices[j].uuid, uuid) == 0)
				return true;
	return false;
}

int hdp_node_reserve_grant(struct hamidp_node *node)
{
	size_t cap = node->cap_grants ? 2 * node->cap_grants : 16;
	struct hamidp_grant **grown;

	if (node->n_grants < node->cap_grants)
		return 0;
	grown = reallocarray(node->grants, cap, sizeof(struct hamidp_grant *));
	if (!grown)
		return -ENOMEM;
	node->grants = grown;
	node->cap_grants = cap;
	return 0;
}

/* Must the devices be laid out anew once nobody holds this one any more? */
static bool waits_for_release(const struct hamidp_node *node, const char *uuid)
{
	const struct hdp_node_health *health = hdp_node_find_health(node, uuid);
	size_t pos;

	if (health && !health->h.present)
		return true;
	return hamidp_inventory_find(node->layout->inv, uuid, &pos) == 0 &&
	       node->layout->devices[pos].kept;
}

/* A device that left can go, too, and one that was cut as before be cut anew: at the next dispatch.
 */
void hdp_node_drop_grant(struct hamidp_node *node, size_t pos)
{
	for (size_t i = 0; i < node->grants[pos]->n_slices; i++)
		if (waits_for_release(node, node->grants[pos]->slices[i].uuid))
			node->dirty = true;
	hamidp_grant_unref(node->grants[pos]);
	node->n_grants--;
	memmove(node->grants + pos, node->grants + pos + 1,
		(node->n_grants - pos) * sizeof(struct hamidp_grant *));
}

/* The grant is over whatever the driver says; what it keeps shows up in its list. */
void hdp_node_unprepare(struct hamidp_node *node, const char *id)
{
	const struct hdp_driver *driver = node->host->driver;
	struct hamidp_reason reason = { 0 };
	int r;

	if (!driver || !driver->unprepare)
		return;
	r = driver->unprepare(node->host->priv, id, node_now_us(node) + HDP_CALL_MS * 1000ULL,
			      &reason);
	if (r < 0)
		log_warning(&node->log, "grant %s: driver '%s' keeps it: %s", id, driver->name,
			    reason.text);
}

static int no_grant(const char *id, struct hamidp_reason *reason)
{
	return hdp_fail(reason, -ENOENT, HAMIDP_REASON_UNKNOWN_GRANT, "no grant '%.64s'", id);
}

static int not_supported(const struct hamidp_node *node, const char *what,
			 struct hamidp_reason *reason)
{
	return hdp_fail(reason, -EOPNOTSUPP, HAMIDP_REASON_NOT_SUPPORTED, "driver '%s' cannot %s",
			node->host->driver ? node->host->driver->name : "", what);
}

/* What a driver may say of a call about a grant; anything else is -EIO. */
static int fold(int r)
{
	switch (r) {
	case 0:
	case -ENOENT:
	case -EINVAL:
	case -EOPNOTSUPP:
	case -ETIMEDOUT:
	case -EACCES:
	case -ENOMEM:
		return r;
	default:
		return -EIO;
	}
}

static int new_call(struct hamidp_node *node, enum hdp_call_kind kind,
		    const struct hamidp_grant *grant, const char *uuid, struct hdp_call **ret,
		    struct hamidp_reason *reason)
{
	if (hdp_call_new(node, kind, uuid ? uuid : grant->slices[0].uuid, ret) < 0)
		return hdp_oom(reason);
	memcpy((*ret)->grant_id, grant->id, sizeof(grant->id));
	return 0;
}

static int unbind(struct hamidp_node *node, const struct hamidp_grant *grant,
		  const char *container_id, struct hamidp_reason *reason)
{
	hdp_cleanup(hdp_call_freep) struct hdp_call *call = NULL;
	int r;

	if (!node->host->driver || !node->host->driver->unbind)
		return 0;
	r = new_call(node, HDP_CALL_UNBIND, grant, NULL, &call, reason);
	if (r < 0)
		return r;
	(void)strncat(call->container_id, container_id, sizeof(call->container_id) - 1);
	r = hdp_node_call(node, &call, reason);
	return r == -ENOENT ? 0 : fold(r);
}

static void tell_released(struct hamidp_node *node, const char *id)
{
	const struct hdp_event_info info = { .type = HAMIDP_EVENT_RELEASED,
					     .time_us = node_now_us(node),
					     .grant = id };

	hdp_event_push(&node->events, &info, "grant %s: released", id);
	log_info(&node->log, "grant %s: released", id);
}

static int release(struct hamidp_node *node, size_t pos, struct hamidp_reason *reason)
{
	hdp_cleanup(hamidp_grant_unrefp) struct hamidp_grant *grant =
		hamidp_grant_ref(node->grants[pos]);
	const struct hdp_store_change change = { .ended = grant->id };
	int r;

	for (size_t i = 0; i < grant->n_containers; i++) {
		r = unbind(node, grant, grant->containers[i], reason);
		if (r < 0)
			return r == -ETIMEDOUT || r == -ENOMEM ? r : -EIO;
	}
	r = node->store->ops->change(node->store, &change, reason);
	if (r < 0)
		return r == -ENOMEM ? r : -EIO;
	(void)hamidp_occupancy_release(node->occupancy, grant->id);
	hdp_node_drop_grant(node, pos);
	hdp_node_unprepare(node, grant->id);
	tell_released(node, grant->id);
	return 0;
}

HAMIDP_EXPORT int hamidp_node_release(struct hamidp_node *node, const char *grant_id,
				      struct hamidp_reason *reason)
{
	size_t pos = hdp_node_grant_pos(node, grant_id);
	int r;

	hdp_reason_clear(reason);
	if (pos == node->n_grants)
		return no_grant(grant_id, reason);
	r = release(node, pos, reason);
	hdp_node_update_timers(node);
	return r;
}

/* Put a new picture in the place of the one at @pos; takes it over. */
static void replace(struct hamidp_node *node, size_t pos, struct hamidp_grant *picture)
{
	hamidp_grant_unref(node->grants[pos]);
	node->grants[pos] = picture;
}

static bool name_is_good(const char *name)
{
	return name && name[0] && strlen(name) <= HDP_NAME_MAX &&
	       hdp_text_valid(name, strlen(name));
}

static int check_binding(const struct hamidp_binding *binding, struct hamidp_binding *ret,
			 struct hamidp_reason *reason)
{
	struct hamidp_binding copy = { 0 };
	const char *path;

	if (!binding || !hdp_take_sized(&copy, sizeof(copy), binding, binding->size,
					offsetof(struct hamidp_binding, cgroup_path)))
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"binding: size %zu is not accepted", binding ? binding->size : 0);
	if (!name_is_good(copy.container_id))
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"binding: container id must have 1 to %u bytes of UTF-8 without "
				"control characters",
				HDP_NAME_MAX);
	path = copy.cgroup_path;
	if (path && (path[0] != '/' || strlen(path) > HDP_STRING_MAX ||
		     !hdp_text_valid(path, strlen(path))))
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"binding: cgroup path must be absolute and have at most %u bytes",
				HDP_STRING_MAX);
	if (copy.pid < 0 || copy.pid > INT32_MAX)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"binding: pid %lld is not accepted, expected 0 to %d",
				(long long)copy.pid, INT32_MAX);
	*ret = copy;
	return 0;
}

static int call_bind(struct hamidp_node *node, const struct hamidp_grant *grant,
		     const struct hamidp_binding *binding, struct hamidp_reason *reason)
{
	hdp_cleanup(hdp_call_freep) struct hdp_call *call = NULL;
	int r;

	r = new_call(node, HDP_CALL_BIND, grant, NULL, &call, reason);
	if (r < 0)
		return r;
	(void)strncat(call->container_id, binding->container_id, sizeof(call->container_id) - 1);
	call->cgroup_id = binding->cgroup_id;
	call->pid = binding->pid;
	if (binding->cgroup_path) {
		call->cgroup_path = strdup(binding->cgroup_path);
		if (!call->cgroup_path)
			return hdp_oom(reason);
	}
	return fold(hdp_node_call(node, &call, reason));
}

static int bind(struct hamidp_node *node, size_t pos, const struct hamidp_binding *binding,
		struct hamidp_reason *reason)
{
	hdp_cleanup(hamidp_grant_unrefp) struct hamidp_grant *picture = NULL;
	const struct hamidp_grant *grant = node->grants[pos];
	int r;

	if (!node->host->driver || !node->host->driver->bind)
		return not_supported(node, "bind containers", reason);
	if (grant->n_containers >= HDP_BINDINGS_MAX &&
	    !hdp_grant_has_container(grant, binding->container_id))
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_TOO_LARGE,
				"grant %s has %u containers, more are not accepted", grant->id,
				HDP_BINDINGS_MAX);
	if (hdp_grant_add_container(grant, binding->container_id, &picture) < 0)
		return hdp_oom(reason);
	r = call_bind(node, grant, binding, reason);
	if (r == 0)
		replace(node, pos, take_ptr(picture));
	return r;
}

HAMIDP_EXPORT int hamidp_node_bind(struct hamidp_node *node, const char *grant_id,
				   const struct hamidp_binding *binding,
				   struct hamidp_reason *reason)
{
	size_t pos = hdp_node_grant_pos(node, grant_id);
	struct hamidp_binding checked = { 0 };
	int r;

	hdp_reason_clear(reason);
	r = check_binding(binding, &checked, reason);
	if (r < 0)
		return r;
	if (pos == node->n_grants)
		return no_grant(grant_id, reason);
	r = bind(node, pos, &checked, reason);
	hdp_node_update_timers(node);
	return r;
}

HAMIDP_EXPORT int hamidp_node_unbind(struct hamidp_node *node, const char *grant_id,
				     const char *container_id, struct hamidp_reason *reason)
{
	size_t pos = hdp_node_grant_pos(node, grant_id);
	struct hamidp_grant *picture = NULL;
	int r;

	hdp_reason_clear(reason);
	if (!container_id)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT, "no container id");
	if (pos == node->n_grants)
		return no_grant(grant_id, reason);
	if (!hdp_grant_has_container(node->grants[pos], container_id))
		return hdp_fail(reason, -ENOENT, HAMIDP_REASON_BAD_ARGUMENT,
				"grant %s is not bound to container '%.128s'", grant_id,
				container_id);
	if (hdp_grant_remove_container(node->grants[pos], container_id, &picture) < 0)
		return hdp_oom(reason);
	r = unbind(node, node->grants[pos], container_id, reason);
	if (r == 0)
		replace(node, pos, take_ptr(picture));
	hamidp_grant_unref(picture);
	hdp_node_update_timers(node);
	return r;
}

/* The slice of a live grant on a device. */
static int find_slice(const struct hamidp_node *node, const char *grant_id, const char *device,
		      const struct hamidp_grant **ret_grant, const struct hdp_grant_slice **ret,
		      struct hamidp_reason *reason)
{
	size_t pos = hdp_node_grant_pos(node, grant_id);
	const struct hamidp_grant *grant;

	if (pos == node->n_grants)
		return no_grant(grant_id, reason);
	grant = node->grants[pos];
	for (size_t i = 0; device && i < grant->n_slices; i++) {
		if (strcmp(grant->slices[i].uuid, device) != 0)
			continue;
		*ret_grant = grant;
		*ret = &grant->slices[i];
		return 0;
	}
	return hdp_fail(reason, -ENOENT, HAMIDP_REASON_NO_DEVICE,
			"grant %s has no slice on device '%.128s'", grant_id, device ? device : "");
}

HAMIDP_EXPORT int hamidp_node_update(struct hamidp_node *node, const char *grant_id,
				     const char *device, uint64_t memory_mib,
				     struct hamidp_reason *reason)
{
	hdp_cleanup(hdp_call_freep) struct hdp_call *call = NULL;
	const struct hamidp_grant *grant = NULL;
	const struct hdp_grant_slice *slice = NULL;
	int r;

	hdp_reason_clear(reason);
	r = find_slice(node, grant_id, device, &grant, &slice, reason);
	if (r < 0)
		return r;
	if (memory_mib == 0 || memory_mib > slice->memory_mib)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"memory %llu MiB is not accepted, expected 1 to %llu",
				(unsigned long long)memory_mib,
				(unsigned long long)slice->memory_mib);
	if (!node->host->driver || !node->host->driver->update)
		return not_supported(node, "change limits", reason);
	r = new_call(node, HDP_CALL_UPDATE, grant, device, &call, reason);
	if (r < 0)
		return r;
	call->memory_mib = memory_mib;
	r = fold(hdp_node_call(node, &call, reason));
	hdp_node_update_timers(node);
	return r;
}

HAMIDP_EXPORT int hamidp_node_usage(struct hamidp_node *node, const char *grant_id,
				    const char *device, struct hamidp_usage *ret,
				    struct hamidp_reason *reason)
{
	hdp_cleanup(hdp_call_freep) struct hdp_call *call = NULL;
	const struct hamidp_grant *grant = NULL;
	const struct hdp_grant_slice *slice = NULL;
	size_t size = ret->size;
	int r;

	hdp_reason_clear(reason);
	r = find_slice(node, grant_id, device, &grant, &slice, reason);
	if (r < 0)
		return r;
	if (!node->host->driver || !node->host->driver->usage)
		return not_supported(node, "measure usage", reason);
	r = new_call(node, HDP_CALL_USAGE, grant, device, &call, reason);
	if (r < 0)
		return r;
	r = fold(hdp_node_call(node, &call, reason));
	hdp_node_update_timers(node);
	if (r < 0)
		return r;
	call->usage.size = size;
	memcpy(ret, &call->usage, size < sizeof(*ret) ? size : sizeof(*ret));
	return 0;
}
