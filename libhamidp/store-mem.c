/* SPDX-License-Identifier: Apache-2.0 */

/* Owns the store that forgets: records in memory, with the same promises as a durable one. */

#include <errno.h>
#include <string.h>

#include "store.h"
#include "strv.h"

struct mem_grant {
	char *id, *resource, *owner, *key;
	uint64_t created_us;
	char **slots;
	size_t n_slots;
};

struct mem_health {
	char *uuid, *cause;
	struct hdp_health_record rec; /* its strings are the two above */
};

struct mem_store {
	struct hdp_store store;
	struct mem_grant **grants; /* oldest first */
	size_t n_grants, cap_grants;
	struct mem_health **healths;
	size_t n_healths, cap_healths;
};

static void grant_free(struct mem_grant *grant)
{
	if (!grant)
		return;
	hdp_strv_free(grant->slots, grant->n_slots);
	free(grant->id);
	free(grant->resource);
	free(grant->owner);
	free(grant->key);
	free(grant);
}
DEFINE_CLEANUP(struct mem_grant *, grant_free)

static void health_free(struct mem_health *health)
{
	if (!health)
		return;
	free(health->uuid);
	free(health->cause);
	free(health);
}
DEFINE_CLEANUP(struct mem_health *, health_free)

static char *dup_or_empty(const char *s)
{
	return strdup(s ? s : "");
}

static int grant_dup(const struct hdp_grant_record *rec, struct mem_grant **ret)
{
	hdp_cleanup(grant_freep) struct mem_grant *grant = calloc(1, sizeof(*grant));

	if (!grant)
		return -ENOMEM;
	grant->id = strdup(rec->id);
	grant->resource = dup_or_empty(rec->resource);
	grant->owner = dup_or_empty(rec->owner);
	grant->key = dup_or_empty(rec->key);
	if (!grant->id || !grant->resource || !grant->owner || !grant->key ||
	    hdp_strv_dup(rec->slots, rec->n_slots, &grant->slots) < 0)
		return -ENOMEM;
	grant->n_slots = rec->n_slots;
	grant->created_us = rec->created_us;
	*ret = take_ptr(grant);
	return 0;
}

/* Position of a grant, or n_grants. */
static size_t find_grant(const struct mem_store *mem, const char *id)
{
	size_t i;

	for (i = 0; i < mem->n_grants; i++)
		if (strcmp(mem->grants[i]->id, id) == 0)
			break;
	return i;
}

static void put_grant(struct mem_store *mem, size_t pos, struct mem_grant *grant)
{
	if (pos < mem->n_grants) {
		grant_free(mem->grants[pos]);
		mem->grants[pos] = grant;
	} else {
		mem->grants[mem->n_grants++] = grant;
	}
}

static void drop_grant(struct mem_store *mem, size_t pos)
{
	grant_free(mem->grants[pos]);
	mem->n_grants--;
	memmove(mem->grants + pos, mem->grants + pos + 1,
		(mem->n_grants - pos) * sizeof(struct mem_grant *));
}

static int reserve(void **items, size_t *cap, size_t n, size_t size)
{
	size_t want = *cap ? *cap * 2 : 16;
	void *grown;

	if (n < *cap)
		return 0;
	grown = reallocarray(*items, want, size);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	*cap = want;
	return 0;
}

static int check_known(const struct mem_store *mem, const struct hdp_store_change *change,
		       struct hamidp_reason *reason)
{
	const char *missing = NULL;

	for (size_t i = 0; i < change->n_lessened; i++)
		if (find_grant(mem, change->lessened[i].id) == mem->n_grants)
			missing = change->lessened[i].id;
	if (change->ended && find_grant(mem, change->ended) == mem->n_grants)
		missing = change->ended;
	if (!missing)
		return 0;
	return hdp_fail(reason, -ENOENT, HAMIDP_REASON_STORE, "grant %s is not in the store",
			missing);
}

/* Copies first: once all of them are there, nothing can fail any more. */
static int copy_all(struct mem_store *mem, const struct hdp_store_change *change,
		    struct mem_grant **copies)
{
	for (size_t i = 0; i < change->n_lessened; i++)
		if (change->lessened[i].n_slots && grant_dup(&change->lessened[i], &copies[i]) < 0)
			return -ENOMEM;
	if (!change->grant)
		return 0;
	if (reserve((void **)&mem->grants, &mem->cap_grants, mem->n_grants,
		    sizeof(struct mem_grant *)) < 0)
		return -ENOMEM;
	return grant_dup(change->grant, &copies[change->n_lessened]);
}

static int mem_change(struct hdp_store *store, const struct hdp_store_change *change,
		      struct hamidp_reason *reason)
{
	struct mem_store *mem = (struct mem_store *)store;
	hdp_cleanup_free struct mem_grant **copies = NULL;
	int r;

	r = check_known(mem, change, reason);
	if (r < 0)
		return r;
	copies = calloc(change->n_lessened + 1, sizeof(struct mem_grant *));
	if (!copies)
		return hdp_oom(reason);
	if (copy_all(mem, change, copies) < 0) {
		for (size_t i = 0; i <= change->n_lessened; i++)
			grant_free(copies[i]);
		return hdp_oom(reason);
	}
	for (size_t i = 0; i < change->n_lessened; i++) {
		size_t pos = find_grant(mem, change->lessened[i].id);

		if (copies[i])
			put_grant(mem, pos, copies[i]);
		else
			drop_grant(mem, pos);
	}
	if (change->ended)
		drop_grant(mem, find_grant(mem, change->ended));
	if (change->grant)
		put_grant(mem, find_grant(mem, change->grant->id), copies[change->n_lessened]);
	return 0;
}

static int health_dup(const struct hdp_health_record *rec, struct mem_health **ret)
{
	hdp_cleanup(health_freep) struct mem_health *health = calloc(1, sizeof(*health));

	if (!health)
		return -ENOMEM;
	health->uuid = strdup(rec->uuid);
	health->cause = dup_or_empty(rec->cause);
	if (!health->uuid || !health->cause)
		return -ENOMEM;
	health->rec = *rec;
	health->rec.uuid = health->uuid;
	health->rec.cause = health->cause;
	*ret = take_ptr(health);
	return 0;
}

static int mem_put_health(struct hdp_store *store, const struct hdp_health_record *rec,
			  struct hamidp_reason *reason)
{
	struct mem_store *mem = (struct mem_store *)store;
	struct mem_health *copy = NULL;
	size_t i;

	if (reserve((void **)&mem->healths, &mem->cap_healths, mem->n_healths,
		    sizeof(struct mem_health *)) < 0 ||
	    health_dup(rec, &copy) < 0)
		return hdp_oom(reason);
	for (i = 0; i < mem->n_healths; i++)
		if (strcmp(mem->healths[i]->uuid, rec->uuid) == 0)
			break;
	if (i == mem->n_healths)
		mem->n_healths++;
	else
		health_free(mem->healths[i]);
	mem->healths[i] = copy;
	return 0;
}

static int mem_each_grant(struct hdp_store *store,
			  int (*fn)(void *userdata, const struct hdp_grant_record *rec),
			  void *userdata)
{
	const struct mem_store *mem = (const struct mem_store *)store;

	for (size_t i = 0; i < mem->n_grants; i++) {
		const struct mem_grant *grant = mem->grants[i];
		const struct hdp_grant_record rec = {
			.id = grant->id,
			.resource = grant->resource,
			.owner = grant->owner,
			.key = grant->key,
			.created_us = grant->created_us,
			.slots = (const char *const *)grant->slots,
			.n_slots = grant->n_slots,
		};
		int r = fn(userdata, &rec);

		if (r)
			return r;
	}
	return 0;
}

static int mem_each_health(struct hdp_store *store,
			   int (*fn)(void *userdata, const struct hdp_health_record *rec),
			   void *userdata)
{
	const struct mem_store *mem = (const struct mem_store *)store;

	for (size_t i = 0; i < mem->n_healths; i++) {
		int r = fn(userdata, &mem->healths[i]->rec);

		if (r)
			return r;
	}
	return 0;
}

static void mem_close(struct hdp_store *store)
{
	struct mem_store *mem = (struct mem_store *)store;

	for (size_t i = 0; i < mem->n_grants; i++)
		grant_free(mem->grants[i]);
	for (size_t i = 0; i < mem->n_healths; i++)
		health_free(mem->healths[i]);
	free(mem->grants);
	free(mem->healths);
	free(mem);
}

static const struct hdp_store_ops mem_ops = {
	.name = "memory",
	.close = mem_close,
	.change = mem_change,
	.put_health = mem_put_health,
	.each_grant = mem_each_grant,
	.each_health = mem_each_health,
};

int hdp_store_mem_new(struct hdp_store **ret)
{
	struct mem_store *mem = calloc(1, sizeof(*mem));

	if (!mem)
		return -ENOMEM;
	mem->store.ops = &mem_ops;
	*ret = &mem->store;
	return 0;
}
