/* SPDX-License-Identifier: Apache-2.0 */

/* What the simulated driver does for grants: it gives out device nodes and mounts, and remembers.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "driver-sim.h"
#include "sysfs.h"

#define DEFAULT_HOST_NODE "/dev/null"

static void grant_free(struct hdp_sim_grant *grant)
{
	if (!grant)
		return;
	for (size_t i = 0; i < grant->n_limits; i++)
		free(grant->limits[i].uuid);
	free(grant->limits);
	hdp_strv_free(grant->containers, grant->n_containers);
	free(grant->id);
	free(grant);
}
DEFINE_CLEANUP(struct hdp_sim_grant *, grant_free)

void hdp_sim_grants_done(struct hdp_sim *sim)
{
	while (sim->grants) {
		struct hdp_sim_grant *grant = sim->grants;

		sim->grants = grant->next;
		grant_free(grant);
	}
}

static struct hdp_sim_grant **find_grant(struct hdp_sim *sim, const char *id)
{
	struct hdp_sim_grant **at = &sim->grants;

	while (*at && strcmp((*at)->id, id) != 0)
		at = &(*at)->next;
	return at;
}

static int no_grant(const char *id, struct hamidp_reason *reason)
{
	return hdp_fail(reason, -ENOENT, HAMIDP_REASON_UNKNOWN_GRANT, "grant %s is not prepared",
			id);
}

static int add_node(struct hdp_sim *sim, const struct hdp_path *path, const char *container,
		    struct hamidp_edits *edits)
{
	struct hamidp_device_node node = {
		.size = sizeof(node),
		.container_path = path && path->container ? path->container : container,
		.host_path = path ? path->host : DEFAULT_HOST_NODE,
		.permissions = path && path->permissions ? path->permissions : "rw",
	};

	hdp_sysfs_node_type(sim->env->sysroot, &node);
	return hamidp_edits_add_device_node(edits, &node);
}

static int add_device(struct hdp_sim *sim, const char *uuid, struct hamidp_edits *edits,
		      struct hamidp_reason *reason)
{
	const struct hdp_device_info *device;
	char container[64];
	int64_t number;
	size_t i;
	int r;

	for (i = 0; i < sim->machine.n_devices; i++)
		if (strcmp(sim->machine.devices[i].uuid, uuid) == 0)
			break;
	if (i == sim->machine.n_devices)
		return hdp_fail(reason, -ENODEV, HAMIDP_REASON_NO_DEVICE, "no such device '%s'",
				uuid);
	device = &sim->machine.devices[i];
	number = device->minor >= 0   ? device->minor
		 : device->index >= 0 ? device->index
				      : (int64_t)i;
	(void)snprintf(container, sizeof(container), "/dev/hamivgpu%" PRId64, number);
	if (device->n_nodes == 0)
		return add_node(sim, NULL, container, edits);
	for (i = 0; i < device->n_nodes; i++) {
		r = add_node(sim, &device->nodes[i], container, edits);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_all(struct hdp_sim *sim, const struct hdp_grant_spec *grant,
		   struct hamidp_edits *edits, struct hamidp_reason *reason)
{
	int r;

	for (size_t i = 0; i < grant->n_slices; i++) {
		r = add_device(sim, grant->slices[i].uuid, edits, reason);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < sim->machine.n_mounts; i++) {
		const struct hdp_path *mount = &sim->machine.mounts[i];

		r = hamidp_edits_add_mount(edits, mount->container ? mount->container : mount->host,
					   mount->host, 1);
		if (r < 0)
			return r;
	}
	return 0;
}

static int remember(struct hdp_sim *sim, const char *id)
{
	hdp_cleanup(grant_freep) struct hdp_sim_grant *grant = NULL;

	if (*find_grant(sim, id))
		return 0;
	grant = calloc(1, sizeof(*grant));
	if (!grant)
		return -ENOMEM;
	grant->id = strdup(id);
	if (!grant->id)
		return -ENOMEM;
	grant->next = sim->grants;
	sim->grants = take_ptr(grant);
	return 0;
}

int hdp_sim_prepare(void *priv, const struct hdp_grant_spec *grant, uint64_t deadline_us,
		    struct hamidp_edits *edits, struct hamidp_reason *reason)
{
	struct hdp_sim *sim = priv;
	int r;

	pthread_mutex_lock(&sim->lock);
	r = add_all(sim, grant, edits, reason);
	if (r == 0)
		r = remember(sim, grant->id);
	pthread_mutex_unlock(&sim->lock);
	if (r == -ENOMEM)
		return hdp_oom(reason);
	if (r == -EINVAL)
		return hdp_fail(reason, -EPROTO, HAMIDP_REASON_DRIVER_FAILED,
				"simulated machine '%s' has a device node or mount that no "
				"container can be given",
				sim->env->argument);
	return r;
}

int hdp_sim_unprepare(void *priv, const char *grant_id, uint64_t deadline_us,
		      struct hamidp_reason *reason)
{
	struct hdp_sim *sim = priv;
	struct hdp_sim_grant **at;
	struct hdp_sim_grant *grant;

	pthread_mutex_lock(&sim->lock);
	at = find_grant(sim, grant_id);
	grant = *at;
	if (grant)
		*at = grant->next;
	pthread_mutex_unlock(&sim->lock);
	grant_free(grant);
	return 0;
}

static int list_locked(struct hdp_sim *sim, char ***ret_ids, size_t *ret_n)
{
	size_t n = 0;
	char **ids;

	for (const struct hdp_sim_grant *grant = sim->grants; grant; grant = grant->next)
		n++;
	ids = calloc(n + 1, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	n = 0;
	for (const struct hdp_sim_grant *grant = sim->grants; grant; grant = grant->next) {
		ids[n] = strdup(grant->id);
		if (!ids[n]) {
			hdp_strv_free(ids, n);
			return -ENOMEM;
		}
		n++;
	}
	*ret_ids = ids;
	*ret_n = n;
	return 0;
}

int hdp_sim_list(void *priv, uint64_t deadline_us, char ***ret_ids, size_t *ret_n)
{
	struct hdp_sim *sim = priv;
	int r;

	pthread_mutex_lock(&sim->lock);
	r = hdp_sim_wait_answer(sim, NULL, NULL);
	if (r == 0)
		r = list_locked(sim, ret_ids, ret_n);
	pthread_mutex_unlock(&sim->lock);
	return r;
}

static size_t find_container(const struct hdp_sim_grant *grant, const char *container_id)
{
	size_t i;

	for (i = 0; i < grant->n_containers; i++)
		if (strcmp(grant->containers[i], container_id) == 0)
			break;
	return i;
}

static int add_container(struct hdp_sim_grant *grant, const char *container_id)
{
	char **grown;
	char *copy;

	if (find_container(grant, container_id) < grant->n_containers)
		return 0;
	copy = strdup(container_id);
	grown = copy ? reallocarray(grant->containers, grant->n_containers + 1, sizeof(*grown))
		     : NULL;
	if (!grown) {
		free(copy);
		return -ENOMEM;
	}
	grant->containers = grown;
	grant->containers[grant->n_containers++] = copy;
	return 0;
}

int hdp_sim_bind(void *priv, const char *grant_id, const struct hamidp_binding *binding,
		 uint64_t deadline_us, struct hamidp_reason *reason)
{
	struct hdp_sim *sim = priv;
	struct hdp_sim_grant *grant;
	int r;

	pthread_mutex_lock(&sim->lock);
	r = hdp_sim_wait_answer(sim, NULL, reason);
	grant = *find_grant(sim, grant_id);
	if (r == 0)
		r = grant ? add_container(grant, binding->container_id)
			  : no_grant(grant_id, reason);
	pthread_mutex_unlock(&sim->lock);
	return r == -ENOMEM ? hdp_oom(reason) : r;
}

int hdp_sim_unbind(void *priv, const char *grant_id, const char *container_id, uint64_t deadline_us,
		   struct hamidp_reason *reason)
{
	struct hdp_sim *sim = priv;
	struct hdp_sim_grant *grant;
	size_t i;
	int r;

	pthread_mutex_lock(&sim->lock);
	r = hdp_sim_wait_answer(sim, NULL, reason);
	grant = *find_grant(sim, grant_id);
	i = grant ? find_container(grant, container_id) : 0;
	if (r == 0 && grant && i < grant->n_containers) {
		free(grant->containers[i]);
		grant->containers[i] = grant->containers[--grant->n_containers];
	}
	pthread_mutex_unlock(&sim->lock);
	return r;
}

static int set_limit(struct hdp_sim_grant *grant, const char *uuid, uint64_t memory_mib)
{
	struct hdp_sim_limit *grown;
	char *copy;

	for (size_t i = 0; i < grant->n_limits; i++) {
		if (strcmp(grant->limits[i].uuid, uuid) != 0)
			continue;
		grant->limits[i].memory_mib = memory_mib;
		return 0;
	}
	copy = strdup(uuid);
	grown = copy ? reallocarray(grant->limits, grant->n_limits + 1, sizeof(*grown)) : NULL;
	if (!grown) {
		free(copy);
		return -ENOMEM;
	}
	grant->limits = grown;
	grant->limits[grant->n_limits++] = (struct hdp_sim_limit){ copy, memory_mib };
	return 0;
}

int hdp_sim_update(void *priv, const char *grant_id, const char *uuid, uint64_t memory_mib,
		   uint64_t deadline_us, struct hamidp_reason *reason)
{
	struct hdp_sim *sim = priv;
	struct hdp_sim_grant *grant;
	int r;

	pthread_mutex_lock(&sim->lock);
	r = hdp_sim_wait_answer(sim, uuid, reason);
	grant = *find_grant(sim, grant_id);
	if (r == 0)
		r = grant ? set_limit(grant, uuid, memory_mib) : no_grant(grant_id, reason);
	pthread_mutex_unlock(&sim->lock);
	return r == -ENOMEM ? hdp_oom(reason) : r;
}

int hdp_sim_usage(void *priv, const char *grant_id, const char *uuid, uint64_t deadline_us,
		  struct hamidp_usage *ret, struct hamidp_reason *reason)
{
	return hdp_fail(reason, -EOPNOTSUPP, HAMIDP_REASON_NOT_SUPPORTED,
			"a simulated device measures no usage");
}
