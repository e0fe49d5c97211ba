/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Preparing grants at the driver: new ones, and those that the store had when the node was opened.
 * The latter hold their slots at once, and get their edits as soon as all their devices are there.
 */

#include <errno.h>
#include <string.h>

#include "contract.h"
#include "node-internal.h"

DEFINE_CLEANUP(struct hamidp_edits *, hamidp_edits_free)

/* The slots of a grant as numbers within their devices, one array for all slices. */
static int number_slots(const struct hamidp_node *node, const struct hamidp_grant *grant,
			uint32_t *ret)
{
	for (size_t i = 0; i < grant->n_slots; i++) {
		size_t slot;

		if (hamidp_layout_find_slot(node->layout, grant->slots[i], &slot) < 0)
			return -ENOENT;
		ret[i] = node->layout->slots[slot].number;
	}
	return 0;
}

static int call_prepare(struct hamidp_node *node, const struct hamidp_grant *grant,
			struct hamidp_edits *edits, struct hamidp_reason *reason)
{
	hdp_cleanup_free uint32_t *numbers = calloc(grant->n_slots + 1, sizeof(*numbers));
	hdp_cleanup_free struct hdp_slice *slices = calloc(grant->n_slices + 1, sizeof(*slices));
	const struct hdp_driver *driver = node->host->driver;
	const struct hdp_grant_spec spec = { grant->id, slices, grant->n_slices };
	size_t first = 0;

	if (!numbers || !slices)
		return hdp_oom(reason);
	if (!driver || number_slots(node, grant, numbers) < 0)
		return hdp_fail(reason, -ESTALE, HAMIDP_REASON_STALE,
				"grant %s: its devices are not there", grant->id);
	if (!driver->prepare)
		return 0;
	for (size_t i = 0; i < grant->n_slices; i++) {
		const struct hdp_grant_slice *slice = &grant->slices[i];

		slices[i] = (struct hdp_slice){
			.uuid = slice->uuid,
			.slots = numbers + first,
			.n_slots = slice->n_slots,
			.memory_mib = slice->memory_mib,
			.share_ppm = slice->share_ppm,
		};
		first += slice->n_slots;
	}
	return driver->prepare(node->host->priv, &spec, node_now_us(node) + HDP_CALL_MS * 1000ULL,
			       edits, reason);
}

/* The closed set of hamidp_node_commit(). A driver without the device is ahead of the layout. */
static int fold_prepare(int r)
{
	switch (r) {
	case 0:
	case -ENOMEM:
	case -ETIMEDOUT:
	case -EACCES:
	case -ESTALE:
		return r;
	case -ENODEV:
	case -ENOENT:
		return -ESTALE;
	default:
		return -EIO;
	}
}

int hdp_node_prepare(struct hamidp_node *node, const struct hamidp_grant *grant,
		     struct hamidp_edits *edits, struct hamidp_reason *reason)
{
	size_t resource;
	int r;

	if (hamidp_layout_find_resource(node->layout, grant->resource, &resource) < 0)
		return hdp_fail(reason, -ESTALE, HAMIDP_REASON_STALE, "resource '%s' is not served",
				grant->resource);
	r = fold_prepare(call_prepare(node, grant, edits, reason));
	if (r < 0)
		return r;
	r = hdp_contract_env(&node->layout->resources[resource], grant, edits, reason);
	if (r < 0)
		hdp_node_unprepare(node, grant->id);
	return r;
}

static bool id_is_good(const char *id)
{
	return strlen(id) == HAMIDP_GRANT_ID_LEN &&
	       strspn(id, "0123456789abcdef") == HAMIDP_GRANT_ID_LEN;
}

static int restore_one(void *userdata, const struct hdp_grant_record *rec)
{
	hdp_cleanup(hamidp_edits_freep) struct hamidp_edits *edits = NULL;
	struct hamidp_node *node = userdata;
	struct hamidp_grant *grant = NULL;

	if (!id_is_good(rec->id) || rec->n_slots == 0) {
		log_warning(&node->log, "store: grant '%.64s' is not valid, ignoring", rec->id);
		return 0;
	}
	if (hdp_node_reserve_grant(node) < 0 || hamidp_edits_new(&edits) < 0 ||
	    hdp_grant_new(rec, edits, &grant) < 0)
		return -ENOMEM;
	edits = NULL; /* the grant's now */
	node->grants[node->n_grants++] = grant;
	node->restored = true;
	return 0;
}

int hdp_node_restore_grants(struct hamidp_node *node)
{
	return node->store->ops->each_grant(node->store, restore_one, node);
}

static bool has_all_slots(const struct hamidp_node *node, const struct hamidp_grant *grant)
{
	size_t slot;

	for (size_t i = 0; i < grant->n_slots; i++)
		if (hamidp_layout_find_slot(node->layout, grant->slots[i], &slot) < 0)
			return false;
	return true;
}

/* A picture with what the driver gives now, in the place of the one without. */
static int prepare_restored(struct hamidp_node *node, size_t pos, struct hamidp_reason *reason)
{
	hdp_cleanup(hamidp_edits_freep) struct hamidp_edits *edits = NULL;
	hdp_cleanup(hamidp_grant_unrefp) struct hamidp_grant *grant = NULL;
	struct hdp_grant_record rec;
	struct hamidp_edits *filled;
	int r;

	hdp_grant_record(node->grants[pos], &rec);
	if (hamidp_edits_new(&edits) < 0)
		return hdp_oom(reason);
	filled = edits;
	if (hdp_grant_new(&rec, edits, &grant) < 0)
		return hdp_oom(reason);
	edits = NULL; /* the grant's now */
	(void)hdp_grant_fill_amounts(grant, node->layout);
	r = hdp_node_prepare(node, grant, filled, reason);
	if (r < 0)
		return r;
	grant->prepared = true;
	hamidp_grant_unref(node->grants[pos]);
	node->grants[pos] = take_ptr(grant);
	return 0;
}

void hdp_node_prepare_restored(struct hamidp_node *node)
{
	struct hamidp_reason reason = { 0 };
	bool waiting = false;

	if (!node->restored)
		return;
	for (size_t i = 0; i < node->n_grants; i++) {
		if (node->grants[i]->prepared)
			continue;
		if (has_all_slots(node, node->grants[i]) && prepare_restored(node, i, &reason) < 0)
			log_warning(&node->log, "grant %s: not prepared: %s", node->grants[i]->id,
				    reason.text);
		if (!node->grants[i]->prepared)
			waiting = true;
	}
	node->restored = waiting;
}
