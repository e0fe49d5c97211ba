/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Decision to grant. Everything that can fail is made first; then one transaction of the store
 * decides; what follows it cannot fail:
 *
 *   check -> prepare -> pictures -> room -> store | swap, events, unprepare what ended
 */

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include <hami/place.h>

#include "node-internal.h"
#include "occupancy.h"
#include "text.h"

DEFINE_CLEANUP(struct hamidp_edits *, hamidp_edits_free)

struct lessened {		      /* an older grant that loses slots */
	size_t pos;		      /* among the node's grants */
	struct hamidp_grant *picture; /* what is left of it; no slots: it ends */
	struct hdp_grant_record record;
	const char **left;
	size_t n_left;
	size_t n_lost;
};

struct commit {
	struct hamidp_node *node;
	struct hamidp_commit_options opts;
	struct hamidp_reason *reason;
	size_t resource;
	size_t *slots; /* numbers in the current layout, ascending */
	const char **ids;
	size_t n_slots;
	char id[HAMIDP_GRANT_ID_LEN + 1];
	struct hamidp_grant *grant;
	struct lessened *lessened;
	size_t n_lessened;
	struct hdp_grant_record *records; /* of the lessened, for the store */
};

static bool name_is_good(const char *name)
{
	return !name || (strlen(name) <= HDP_NAME_MAX && hdp_text_valid(name, strlen(name)));
}

static int check_options(struct commit *c, const struct hamidp_commit_options *opts)
{
	struct hamidp_commit_options *copy = &c->opts;

	if (!opts)
		return 0;
	if (!hdp_take_sized(copy, sizeof(*copy), opts, opts->size,
			    offsetof(struct hamidp_commit_options, owner)))
		return hdp_fail(c->reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"commit options: size %zu is not accepted", opts->size);
	if (copy->flags & ~HAMIDP_COMMIT_SUPERSEDE)
		return hdp_fail(c->reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"commit options: flags %#x are not known", copy->flags);
	if (!name_is_good(copy->owner) || !name_is_good(copy->key))
		return hdp_fail(c->reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"commit options: owner and key must be UTF-8 without control "
				"characters, at most %u bytes",
				HDP_NAME_MAX);
	return 0;
}

static int stale(struct commit *c, const char *id, const char *what)
{
	return hdp_fail(c->reason, -ESTALE, HAMIDP_REASON_STALE,
			"slot '%s' %s since the decision was taken", id, what);
}

/* Is it still the slot that was decided about? */
static int check_slot(struct commit *c, const struct hamidp_layout *then, size_t then_slot,
		      size_t *ret_slot)
{
	const struct hamidp_layout *now = c->node->layout;
	const struct hdp_layout_device *was, *is;
	const char *id = then->slots[then_slot].id;
	size_t slot = then_slot;

	if (then != now) {
		if (hamidp_layout_find_slot(now, id, &slot) < 0)
			return stale(c, id, "left");
		was = &then->devices[then->slots[then_slot].device];
		is = &now->devices[now->slots[slot].device];
		if (was->n_slots != is->n_slots || was->slot_mib != is->slot_mib ||
		    was->memory_mib != is->memory_mib ||
		    was->cores_ratio_ppm != is->cores_ratio_ppm || is->resource != c->resource)
			return stale(c, id, "was cut differently");
	}
	*ret_slot = slot;
	return 0;
}

static int check_usable(struct commit *c, size_t slot)
{
	const struct hamidp_layout *layout = c->node->layout;
	const struct hdp_device_info *info = &layout->inv->devices[layout->slots[slot].device].info;
	const char *holder = hamidp_occupancy_holder(c->node->occupancy, slot);

	if (info->health != HAMIDP_HEALTH_HEALTHY)
		return hdp_fail(c->reason, -EAGAIN, HAMIDP_REASON_NOT_HEALTHY,
				"slot '%s': its device is %s%s%s", layout->slots[slot].id,
				hamidp_health_to_string(info->health),
				info->health_cause && info->health_cause[0] ? ", " : "",
				info->health_cause ? info->health_cause : "");
	if (holder && !(c->opts.flags & HAMIDP_COMMIT_SUPERSEDE))
		return hdp_fail(c->reason, -EBUSY, HAMIDP_REASON_HELD,
				"slot '%s' is held by grant %s", layout->slots[slot].id, holder);
	return 0;
}

static int find_resource(struct commit *c, const struct hamidp_layout *then, size_t then_resource)
{
	const char *name = hamidp_layout_resource_name(then, then_resource);

	if (!name || hamidp_layout_find_resource(c->node->layout, name, &c->resource) < 0)
		return hdp_fail(c->reason, -ESTALE, HAMIDP_REASON_STALE,
				"the decision's resource is not served");
	return 0;
}

static int compare_slots(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Look the slots up, without judging them yet. */
static int resolve(struct commit *c, const struct hamidp_decision *decision)
{
	struct hamidp_layout *then = decision ? hamidp_decision_layout(decision) : NULL;
	size_t n = decision ? hamidp_decision_n_slots(decision) : 0;
	int r;

	if (!then || n == 0)
		return hdp_fail(c->reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"the decision is empty");
	r = find_resource(c, then, hamidp_decision_resource(decision));
	if (r < 0)
		return r;
	c->slots = calloc(n, sizeof(*c->slots));
	c->ids = calloc(n, sizeof(*c->ids));
	if (!c->slots || !c->ids)
		return hdp_oom(c->reason);
	for (; c->n_slots < n; c->n_slots++) {
		size_t slot = hamidp_decision_slot(decision, c->n_slots);

		r = check_slot(c, then, slot, &c->slots[c->n_slots]);
		if (r < 0)
			return r;
	}
	if (then != c->node->layout) /* devices may have changed places */
		qsort(c->slots, n, sizeof(*c->slots), compare_slots);
	for (size_t i = 0; i < n; i++)
		c->ids[i] = c->node->layout->slots[c->slots[i]].id;
	return 0;
}

static bool same_slots(const struct commit *c, const struct hamidp_grant *grant)
{
	if (grant->n_slots != c->n_slots)
		return false;
	for (size_t i = 0; i < c->n_slots; i++)
		if (strcmp(grant->slots[i], c->ids[i]) != 0)
			return false;
	return true;
}

/* 1: *@ret is the answer given before; 0: there is none. */
static int find_earlier(struct commit *c, struct hamidp_grant **ret)
{
	const char *owner = c->opts.owner ? c->opts.owner : "";

	for (size_t i = 0; c->opts.key && c->opts.key[0] && i < c->node->n_grants; i++) {
		struct hamidp_grant *grant = c->node->grants[i];

		if (strcmp(grant->key, c->opts.key) != 0 || strcmp(grant->owner, owner) != 0)
			continue;
		if (!same_slots(c, grant))
			return hdp_fail(c->reason, -EBUSY, HAMIDP_REASON_CONFLICT,
					"key '%s' was used for grant %s with other slots",
					c->opts.key, grant->id);
		*ret = hamidp_grant_ref(grant);
		return 1;
	}
	return 0;
}

static int make_id(struct commit *c)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char random[HAMIDP_GRANT_ID_LEN / 2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return hdp_fail(c->reason, -EIO, HAMIDP_REASON_DRIVER_FAILED,
				"no random number for a grant id: %m");
	for (size_t i = 0; i < sizeof(random); i++) {
		c->id[2 * i] = digits[random[i] >> 4];
		c->id[2 * i + 1] = digits[random[i] & 15];
	}
	return 0;
}

static int make_grant(struct commit *c)
{
	hdp_cleanup(hamidp_edits_freep) struct hamidp_edits *edits = NULL;
	const struct hdp_grant_record rec = {
		.id = c->id,
		.resource = c->node->layout->resources[c->resource].name,
		.owner = c->opts.owner,
		.key = c->opts.key,
		.created_us = node_now_us(c->node),
		.slots = c->ids,
		.n_slots = c->n_slots,
	};
	struct hamidp_edits *filled;

	if (hamidp_edits_new(&edits) < 0)
		return hdp_oom(c->reason);
	filled = edits;
	if (hdp_grant_new(&rec, edits, &c->grant) < 0)
		return hdp_oom(c->reason);
	edits = NULL; /* the grant's now */
	(void)hdp_grant_fill_amounts(c->grant, c->node->layout);
	c->grant->prepared = true;
	return hdp_node_prepare(c->node, c->grant, filled, c->reason);
}

static struct lessened *find_lessened(struct commit *c, const char *holder)
{
	size_t pos;

	for (size_t i = 0; i < c->n_lessened; i++)
		if (strcmp(c->node->grants[c->lessened[i].pos]->id, holder) == 0)
			return &c->lessened[i];
	pos = hdp_node_grant_pos(c->node, holder);
	if (pos == c->node->n_grants)
		return NULL;
	c->lessened[c->n_lessened].pos = pos;
	return &c->lessened[c->n_lessened++];
}

/* What @old keeps: its slots that are not among the new grant's. */
static int lessen(struct commit *c, struct lessened *l)
{
	const struct hamidp_grant *old = c->node->grants[l->pos];

	l->left = calloc(old->n_slots + 1, sizeof(*l->left));
	if (!l->left)
		return -ENOMEM;
	for (size_t i = 0; i < old->n_slots; i++) {
		bool taken = false;

		for (size_t j = 0; j < c->n_slots && !taken; j++)
			taken = strcmp(old->slots[i], c->ids[j]) == 0;
		if (!taken)
			l->left[l->n_left++] = old->slots[i];
	}
	l->n_lost = old->n_slots - l->n_left;
	if (hdp_grant_lessen(old, l->left, l->n_left, &l->picture) < 0)
		return -ENOMEM;
	(void)hdp_grant_fill_amounts(l->picture, c->node->layout);
	hdp_grant_record(l->picture, &l->record);
	return 0;
}

static int make_lessened(struct commit *c)
{
	c->lessened = calloc(c->n_slots, sizeof(*c->lessened));
	if (!c->lessened)
		return hdp_oom(c->reason);
	for (size_t i = 0; i < c->n_slots; i++) {
		const char *holder = hamidp_occupancy_holder(c->node->occupancy, c->slots[i]);

		if (holder)
			(void)find_lessened(c, holder);
	}
	c->records = calloc(c->n_lessened + 1, sizeof(*c->records));
	if (!c->records)
		return hdp_oom(c->reason);
	for (size_t i = 0; i < c->n_lessened; i++) {
		if (lessen(c, &c->lessened[i]) < 0)
			return hdp_oom(c->reason);
		c->records[i] = c->lessened[i].record;
	}
	return 0;
}

/* The store decides; before it nothing is visible, after it nothing fails. */
static int store_change(struct commit *c)
{
	struct hdp_grant_record rec;
	const struct hdp_store_change change = {
		.grant = &rec,
		.lessened = c->records,
		.n_lessened = c->n_lessened,
	};
	int r;

	hdp_grant_record(c->grant, &rec);
	r = c->node->store->ops->change(c->node->store, &change, c->reason);
	return r == 0 || r == -ENOMEM ? r : -EIO;
}

static void tell_superseded(struct commit *c, const struct lessened *l)
{
	const struct hdp_event_info info = { .type = HAMIDP_EVENT_SUPERSEDED,
					     .time_us = node_now_us(c->node),
					     .grant = l->record.id };

	hdp_event_push(&c->node->events, &info, "grant %s: lost %zu slots to grant %s, %zu left",
		       l->record.id, l->n_lost, c->id, l->n_left);
}

static void swap_lessened(struct commit *c)
{
	struct hamidp_node *node = c->node;

	for (size_t i = 0; i < c->n_lessened; i++) {
		struct lessened *l = &c->lessened[i];

		tell_superseded(c, l);
		hamidp_grant_unref(node->grants[l->pos]);
		node->grants[l->pos] = hamidp_grant_ref(l->picture);
	}
	for (size_t i = 0; i < c->n_lessened; i++) {
		const struct lessened *l = &c->lessened[i];

		if (l->n_left)
			continue;
		hdp_node_unprepare(node, l->record.id);
		hdp_node_drop_grant(node, hdp_node_grant_pos(node, l->record.id));
	}
}

static void swap(struct commit *c)
{
	struct hamidp_node *node = c->node;
	const struct hdp_event_info info = { .type = HAMIDP_EVENT_GRANTED,
					     .time_us = c->grant->created_us,
					     .grant = c->id };

	hdp_occupancy_take_over(node->occupancy, c->slots, c->n_slots, c->id);
	swap_lessened(c);
	node->grants[node->n_grants++] = hamidp_grant_ref(c->grant);
	hdp_event_push(&node->events, &info, "grant %s: %zu slots of %s", c->id, c->n_slots,
		       c->grant->resource);
	log_info(&node->log, "grant %s: %zu slots of %s, from %s", c->id, c->n_slots,
		 c->grant->resource, c->ids[0]);
}

/* From the prepared driver on, a failure is undone here. */
static int settle(struct commit *c)
{
	int r;

	r = make_lessened(c);
	if (r == 0 && (hdp_node_reserve_grant(c->node) < 0 ||
		       hdp_occupancy_reserve(c->node->occupancy, c->id) < 0))
		r = hdp_oom(c->reason);
	if (r == 0)
		r = store_change(c);
	if (r == 0)
		swap(c);
	else
		hdp_node_unprepare(c->node, c->id);
	return r;
}

static int run(struct commit *c, const struct hamidp_decision *decision, struct hamidp_grant **ret)
{
	int r;

	r = resolve(c, decision);
	if (r < 0)
		return r;
	r = find_earlier(c, ret);
	if (r != 0)
		return r < 0 ? r : 0;
	for (size_t i = 0; i < c->n_slots; i++) {
		r = check_usable(c, c->slots[i]);
		if (r < 0)
			return r;
	}
	r = make_id(c);
	if (r == 0)
		r = make_grant(c);
	if (r == 0)
		r = settle(c);
	if (r == 0)
		*ret = hamidp_grant_ref(c->grant);
	return r;
}

HAMIDP_EXPORT int hamidp_node_commit(struct hamidp_node *node,
				     const struct hamidp_decision *decision,
				     const struct hamidp_commit_options *opts,
				     struct hamidp_grant **ret, struct hamidp_reason *reason)
{
	struct commit c = { .node = node, .reason = reason };
	int r;

	hdp_reason_clear(reason);
	r = check_options(&c, opts);
	if (r == 0)
		r = run(&c, decision, ret);
	for (size_t i = 0; i < c.n_lessened; i++) {
		hamidp_grant_unref(c.lessened[i].picture);
		free(c.lessened[i].left);
	}
	free(c.lessened);
	free(c.records);
	free(c.slots);
	free(c.ids);
	hamidp_grant_unref(c.grant);
	hdp_node_update_timers(node);
	return r;
}
