/* SPDX-License-Identifier: Apache-2.0 */

/* A machine while it is being described: growing it, copying a device, letting go of it. */

#include <errno.h>
#include <string.h>

#include "grow.h"
#include "machine.h"
#include "strv.h"

void hdp_path_done(struct hdp_path *path)
{
	free(path->host);
	free(path->container);
	free(path->permissions);
	*path = (struct hdp_path){ 0 };
}

void hdp_device_info_done(struct hdp_device_info *info)
{
	free(info->uuid);
	free(info->model);
	free(info->pci);
	free(info->compute_capability);
	free(info->cpus);
	free(info->health_cause);
	for (size_t i = 0; i < info->n_nodes; i++)
		hdp_path_done(&info->nodes[i]);
	free(info->nodes);
	*info = (struct hdp_device_info){ 0 };
}

void hdp_link_info_done(struct hdp_link_info *link)
{
	free(link->a);
	free(link->b);
	*link = (struct hdp_link_info){ 0 };
}

void hdp_stated_grant_done(struct hdp_stated_grant *grant)
{
	free(grant->id);
	free(grant->resource);
	hdp_strv_free(grant->slots, grant->n_slots);
	*grant = (struct hdp_stated_grant){ 0 };
}

void hdp_machine_done(struct hdp_machine *m)
{
	free(m->driver_name);
	free(m->driver_version);
	for (size_t i = 0; i < m->n_devices; i++)
		hdp_device_info_done(&m->devices[i]);
	for (size_t i = 0; i < m->n_links; i++)
		hdp_link_info_done(&m->links[i]);
	for (size_t i = 0; i < m->n_mounts; i++)
		hdp_path_done(&m->mounts[i]);
	for (size_t i = 0; i < m->n_grants; i++)
		hdp_stated_grant_done(&m->grants[i]);
	free(m->devices);
	free(m->links);
	free(m->mounts);
	free(m->grants);
	*m = (struct hdp_machine){ 0 };
}

/* NULL copies to NULL. */
static int copy_string(const char *src, char **ret)
{
	char *copy = src ? strdup(src) : NULL;

	if (src && !copy)
		return -ENOMEM;
	*ret = copy;
	return 0;
}

int hdp_path_copy(const struct hdp_path *src, struct hdp_path *ret)
{
	struct hdp_path copy = { 0 };

	if (copy_string(src->host, &copy.host) < 0 ||
	    copy_string(src->container, &copy.container) < 0 ||
	    copy_string(src->permissions, &copy.permissions) < 0) {
		hdp_path_done(&copy);
		return -ENOMEM;
	}
	*ret = copy;
	return 0;
}

static int copy_nodes(const struct hdp_device_info *src, struct hdp_device_info *copy)
{
	if (src->n_nodes == 0)
		return 0;
	copy->nodes = calloc(src->n_nodes, sizeof(*copy->nodes));
	if (!copy->nodes)
		return -ENOMEM;
	for (size_t i = 0; i < src->n_nodes; i++) {
		if (hdp_path_copy(&src->nodes[i], &copy->nodes[i]) < 0)
			return -ENOMEM;
		copy->n_nodes++;
	}
	return 0;
}

int hdp_device_info_copy(const struct hdp_device_info *src, struct hdp_device_info *ret)
{
	struct hdp_device_info copy = *src;

	copy.uuid = copy.model = copy.pci = copy.compute_capability = NULL;
	copy.cpus = copy.health_cause = NULL;
	copy.nodes = NULL;
	copy.n_nodes = 0;

	if (copy_string(src->uuid, &copy.uuid) < 0 || copy_string(src->model, &copy.model) < 0 ||
	    copy_string(src->pci, &copy.pci) < 0 ||
	    copy_string(src->compute_capability, &copy.compute_capability) < 0 ||
	    copy_string(src->cpus, &copy.cpus) < 0 ||
	    copy_string(src->health_cause, &copy.health_cause) < 0 || copy_nodes(src, &copy) < 0) {
		hdp_device_info_done(&copy);
		return -ENOMEM;
	}
	*ret = copy;
	return 0;
}

int hdp_stated_grant_copy(const struct hdp_stated_grant *src, struct hdp_stated_grant *ret)
{
	struct hdp_stated_grant copy = {
		.memory_mib = src->memory_mib,
		.share_ppm = src->share_ppm,
	};

	if (copy_string(src->id, &copy.id) < 0 || copy_string(src->resource, &copy.resource) < 0)
		goto oom;
	copy.slots = calloc(src->n_slots ? src->n_slots : 1, sizeof(*copy.slots));
	if (!copy.slots)
		goto oom;
	for (; copy.n_slots < src->n_slots; copy.n_slots++)
		if (copy_string(src->slots[copy.n_slots], &copy.slots[copy.n_slots]) < 0)
			goto oom;
	*ret = copy;
	return 0;
oom:
	hdp_stated_grant_done(&copy);
	return -ENOMEM;
}

int hdp_machine_add_device(struct hdp_machine *m, struct hdp_device_info *item)
{
	if (hdp_grow(&m->devices, &m->cap_devices, m->n_devices + 1, sizeof(*item)) < 0)
		return -ENOMEM;
	m->devices[m->n_devices++] = *item;
	*item = (struct hdp_device_info){ 0 };
	return 0;
}

int hdp_machine_add_link(struct hdp_machine *m, struct hdp_link_info *item)
{
	if (hdp_grow(&m->links, &m->cap_links, m->n_links + 1, sizeof(*item)) < 0)
		return -ENOMEM;
	m->links[m->n_links++] = *item;
	*item = (struct hdp_link_info){ 0 };
	return 0;
}

int hdp_machine_add_mount(struct hdp_machine *m, struct hdp_path *item)
{
	if (hdp_grow(&m->mounts, &m->cap_mounts, m->n_mounts + 1, sizeof(*item)) < 0)
		return -ENOMEM;
	m->mounts[m->n_mounts++] = *item;
	*item = (struct hdp_path){ 0 };
	return 0;
}

int hdp_machine_add_grant(struct hdp_machine *m, struct hdp_stated_grant *item)
{
	if (hdp_grow(&m->grants, &m->cap_grants, m->n_grants + 1, sizeof(*item)) < 0)
		return -ENOMEM;
	m->grants[m->n_grants++] = *item;
	*item = (struct hdp_stated_grant){ 0 };
	return 0;
}
