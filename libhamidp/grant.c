/* SPDX-License-Identifier: Apache-2.0 */

/* Owns pictures of grants. Knows nothing of nodes and drivers. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "grant.h"

static void edits_unref(struct hdp_shared_edits *shared)
{
	if (!shared || __atomic_sub_fetch(&shared->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	hamidp_edits_free(shared->edits);
	free(shared);
}

HAMIDP_EXPORT struct hamidp_grant *hamidp_grant_ref(struct hamidp_grant *grant)
{
	__atomic_add_fetch(&grant->refs, 1, __ATOMIC_RELAXED);
	return grant;
}

HAMIDP_EXPORT struct hamidp_grant *hamidp_grant_unref(struct hamidp_grant *grant)
{
	if (!grant || __atomic_sub_fetch(&grant->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return NULL;
	for (size_t i = 0; i < grant->n_slices; i++)
		free(grant->slices[i].uuid);
	free(grant->slices);
	hdp_strv_free(grant->slots, grant->n_slots);
	hdp_strv_free(grant->containers, grant->n_containers);
	edits_unref(grant->edits);
	free(grant->resource);
	free(grant->owner);
	free(grant->key);
	free(grant);
	return NULL;
}

size_t hdp_slot_uuid_len(const char *slot_id)
{
	const char *end = strrchr(slot_id, ':');

	return end && end > slot_id && end[-1] == ':' ? (size_t)(end - 1 - slot_id)
						      : strlen(slot_id);
}

/* One slice for each run of slots of one device. */
static int make_slices(struct hamidp_grant *grant)
{
	struct hdp_grant_slice *slice = NULL;
	size_t len = 0;

	grant->slices = calloc(grant->n_slots + 1, sizeof(*grant->slices));
	if (!grant->slices)
		return -ENOMEM;
	for (size_t i = 0; i < grant->n_slots; i++) {
		const char *id = grant->slots[i];

		if (!slice || hdp_slot_uuid_len(id) != len || strncmp(id, slice->uuid, len) != 0) {
			len = hdp_slot_uuid_len(id);
			slice = &grant->slices[grant->n_slices];
			slice->uuid = strndup(id, len);
			if (!slice->uuid)
				return -ENOMEM;
			grant->n_slices++;
		}
		slice->n_slots++;
	}
	return 0;
}

static int grant_fill(struct hamidp_grant *grant, const struct hdp_grant_record *rec)
{
	int r;

	(void)strncat(grant->id, rec->id, sizeof(grant->id) - 1);
	grant->created_us = rec->created_us;
	grant->resource = strdup(rec->resource ? rec->resource : "");
	grant->owner = strdup(rec->owner ? rec->owner : "");
	grant->key = strdup(rec->key ? rec->key : "");
	if (!grant->resource || !grant->owner || !grant->key)
		return -ENOMEM;
	r = hdp_strv_dup(rec->slots, rec->n_slots, &grant->slots);
	if (r < 0)
		return r;
	grant->n_slots = rec->n_slots;
	return make_slices(grant);
}

/* Without edits. */
static int grant_alloc(const struct hdp_grant_record *rec, struct hamidp_grant **ret)
{
	hdp_cleanup(hamidp_grant_unrefp) struct hamidp_grant *grant = calloc(1, sizeof(*grant));
	int r;

	if (!grant)
		return -ENOMEM;
	grant->refs = 1;
	r = grant_fill(grant, rec);
	if (r < 0)
		return r;
	*ret = take_ptr(grant);
	return 0;
}

int hdp_grant_new(const struct hdp_grant_record *rec, struct hamidp_edits *edits,
		  struct hamidp_grant **ret)
{
	hdp_cleanup(hamidp_grant_unrefp) struct hamidp_grant *grant = NULL;
	int r;

	r = grant_alloc(rec, &grant);
	if (r < 0)
		return r;
	grant->edits = calloc(1, sizeof(*grant->edits));
	if (!grant->edits)
		return -ENOMEM;
	grant->edits->refs = 1;
	grant->edits->edits = edits;
	*ret = take_ptr(grant);
	return 0;
}

static int derive(const struct hamidp_grant *grant, const char *const *slots, size_t n_slots,
		  struct hamidp_grant **ret)
{
	hdp_cleanup(hamidp_grant_unrefp) struct hamidp_grant *copy = NULL;
	struct hdp_grant_record rec;
	int r;

	hdp_grant_record(grant, &rec);
	rec.slots = slots;
	rec.n_slots = n_slots;
	r = grant_alloc(&rec, &copy);
	if (r < 0)
		return r;
	r = hdp_strv_dup((const char *const *)grant->containers, grant->n_containers,
			 &copy->containers);
	if (r < 0)
		return r;
	copy->n_containers = grant->n_containers;
	__atomic_add_fetch(&grant->edits->refs, 1, __ATOMIC_RELAXED);
	copy->edits = grant->edits;
	copy->prepared = grant->prepared;
	/* Slices that keep all their slots keep their amounts, whatever became of the device. */
	for (size_t i = 0, j = 0; i < copy->n_slices; i++) {
		while (j < grant->n_slices &&
		       strcmp(grant->slices[j].uuid, copy->slices[i].uuid) != 0)
			j++;
		if (j == grant->n_slices)
			break;
		copy->slices[i].memory_mib = grant->slices[j].memory_mib;
		copy->slices[i].share_ppm = grant->slices[j].share_ppm;
	}
	*ret = take_ptr(copy);
	return 0;
}

int hdp_grant_lessen(const struct hamidp_grant *grant, const char *const *slots, size_t n_slots,
		     struct hamidp_grant **ret)
{
	return derive(grant, slots, n_slots, ret);
}

bool hdp_grant_has_container(const struct hamidp_grant *grant, const char *container_id)
{
	for (size_t i = 0; i < grant->n_containers; i++)
		if (strcmp(grant->containers[i], container_id) == 0)
			return true;
	return false;
}

int hdp_grant_add_container(const struct hamidp_grant *grant, const char *container_id,
			    struct hamidp_grant **ret)
{
	hdp_cleanup(hamidp_grant_unrefp) struct hamidp_grant *copy = NULL;
	char **grown;
	int r;

	r = derive(grant, (const char *const *)grant->slots, grant->n_slots, &copy);
	if (r < 0)
		return r;
	if (!hdp_grant_has_container(copy, container_id)) {
		grown = reallocarray(copy->containers, copy->n_containers + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		copy->containers = grown;
		grown[copy->n_containers] = strdup(container_id);
		if (!grown[copy->n_containers])
			return -ENOMEM;
		copy->n_containers++;
	}
	*ret = take_ptr(copy);
	return 0;
}

int hdp_grant_remove_container(const struct hamidp_grant *grant, const char *container_id,
			       struct hamidp_grant **ret)
{
	struct hamidp_grant *copy = NULL;
	int r;

	r = derive(grant, (const char *const *)grant->slots, grant->n_slots, &copy);
	if (r < 0)
		return r;
	for (size_t i = 0; i < copy->n_containers; i++) {
		if (strcmp(copy->containers[i], container_id) != 0)
			continue;
		free(copy->containers[i]);
		copy->n_containers--;
		memmove(copy->containers + i, copy->containers + i + 1,
			(copy->n_containers - i) * sizeof(char *));
		break;
	}
	*ret = copy;
	return 0;
}

bool hdp_grant_fill_amounts(struct hamidp_grant *grant, const struct hamidp_layout *layout)
{
	bool all = true;

	for (size_t i = 0; i < grant->n_slices; i++) {
		struct hdp_grant_slice *slice = &grant->slices[i];
		size_t pos;

		if (hamidp_inventory_find(layout->inv, slice->uuid, &pos) < 0 ||
		    hamidp_layout_device_n_slots(layout, pos) == 0) {
			all = false;
			continue;
		}
		slice->memory_mib = hamidp_layout_slice_memory_mib(layout, pos, slice->n_slots);
		slice->share_ppm = hamidp_layout_slice_share_ppm(layout, pos, slice->n_slots);
	}
	return all;
}

void hdp_grant_record(const struct hamidp_grant *grant, struct hdp_grant_record *ret)
{
	*ret = (struct hdp_grant_record){
		.id = grant->id,
		.resource = grant->resource,
		.owner = grant->owner,
		.key = grant->key,
		.created_us = grant->created_us,
		.slots = (const char *const *)grant->slots,
		.n_slots = grant->n_slots,
	};
}

HAMIDP_EXPORT const char *hamidp_grant_id(const struct hamidp_grant *grant)
{
	return grant->id;
}

HAMIDP_EXPORT const char *hamidp_grant_resource(const struct hamidp_grant *grant)
{
	return grant->resource;
}

HAMIDP_EXPORT const char *hamidp_grant_owner(const struct hamidp_grant *grant)
{
	return grant->owner;
}

HAMIDP_EXPORT const char *hamidp_grant_key(const struct hamidp_grant *grant)
{
	return grant->key;
}

HAMIDP_EXPORT uint64_t hamidp_grant_created_us(const struct hamidp_grant *grant)
{
	return grant->created_us;
}

HAMIDP_EXPORT size_t hamidp_grant_n_slots(const struct hamidp_grant *grant)
{
	return grant->n_slots;
}

HAMIDP_EXPORT const char *hamidp_grant_slot_id(const struct hamidp_grant *grant, size_t i)
{
	return i < grant->n_slots ? grant->slots[i] : NULL;
}

HAMIDP_EXPORT size_t hamidp_grant_n_slices(const struct hamidp_grant *grant)
{
	return grant->n_slices;
}

HAMIDP_EXPORT const char *hamidp_grant_slice_device(const struct hamidp_grant *grant, size_t i)
{
	return i < grant->n_slices ? grant->slices[i].uuid : NULL;
}

HAMIDP_EXPORT uint32_t hamidp_grant_slice_n_slots(const struct hamidp_grant *grant, size_t i)
{
	return i < grant->n_slices ? grant->slices[i].n_slots : 0;
}

HAMIDP_EXPORT uint64_t hamidp_grant_slice_memory_mib(const struct hamidp_grant *grant, size_t i)
{
	return i < grant->n_slices ? grant->slices[i].memory_mib : 0;
}

HAMIDP_EXPORT uint32_t hamidp_grant_slice_share_ppm(const struct hamidp_grant *grant, size_t i)
{
	return i < grant->n_slices ? grant->slices[i].share_ppm : 0;
}

HAMIDP_EXPORT const struct hamidp_edits *hamidp_grant_edits(const struct hamidp_grant *grant)
{
	return grant->edits->edits;
}

HAMIDP_EXPORT size_t hamidp_grant_n_bindings(const struct hamidp_grant *grant)
{
	return grant->n_containers;
}

HAMIDP_EXPORT const char *hamidp_grant_binding_container(const struct hamidp_grant *grant, size_t i)
{
	return i < grant->n_containers ? grant->containers[i] : NULL;
}
