/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What requests cost on nodes, remembered for each kind of request until a node changes. Only the
 * nodes that changed since are scored again, and empty nodes that are alike are scored once.
 */

#include <errno.h>
#include <string.h>

#include "fleet.h"

static struct hdp_shape_key key_of(const struct hamidp_request *req)
{
	return (struct hdp_shape_key){
		.resource = req->resource,
		.by_device = req->by_device,
		.by_amount = req->by_amount,
		.units = req->by_device ? req->units_each : req->units,
		.n_devices = req->by_device ? req->n_devices : 0,
		.share_ppm = req->by_amount ? req->share_ppm : 0,
		.memory_mib = req->by_amount ? req->memory_mib : 0,
		.numa_node = req->numa_node,
		.placement = req->has_placement ? (int)req->placement : -1,
		.split = req->has_split ? (int)req->split : -1,
	};
}

static bool same_key(const struct hdp_shape_key *a, const struct hdp_shape_key *b)
{
	return a->resource == b->resource && a->by_device == b->by_device &&
	       a->by_amount == b->by_amount && a->units == b->units &&
	       a->n_devices == b->n_devices && a->share_ppm == b->share_ppm &&
	       a->memory_mib == b->memory_mib && a->numa_node == b->numa_node &&
	       a->placement == b->placement && a->split == b->split;
}

/* One not used yet, else the one that was used longest ago, emptied. */
static struct hdp_shape *make_shape(struct hamidp_fleet *fleet)
{
	struct hdp_shape *oldest = &fleet->shapes[0];

	if (fleet->n_shapes < HDP_SHAPES_MAX)
		return &fleet->shapes[fleet->n_shapes++];
	for (size_t i = 1; i < fleet->n_shapes; i++)
		if (fleet->shapes[i].used < oldest->used)
			oldest = &fleet->shapes[i];
	oldest->n_scores = oldest->n_empty = 0;
	return oldest;
}

static struct hdp_shape *find_shape(struct hamidp_fleet *fleet, const struct hamidp_request *req)
{
	struct hdp_shape_key key = key_of(req);
	struct hdp_shape *shape;

	for (size_t i = 0; i < fleet->n_shapes; i++)
		if (same_key(&fleet->shapes[i].key, &key))
			return &fleet->shapes[i];
	shape = make_shape(fleet);
	shape->key = key;
	return shape;
}

/* Nodes and types that came since are not scored yet. */
static int extend(struct hdp_score **scores, size_t *n, size_t *cap, size_t need)
{
	if (hdp_grow(scores, cap, need, sizeof(**scores)) < 0)
		return -ENOMEM;
	if (need > *n)
		memset(*scores + *n, 0, (need - *n) * sizeof(**scores));
	*n = need;
	return 0;
}

int hdp_fleet_shape(struct hamidp_fleet *fleet, const struct hamidp_request *req,
		    struct hdp_shape **ret)
{
	struct hdp_shape *shape = find_shape(fleet, req);

	shape->used = ++fleet->n_placements;
	if (extend(&shape->scores, &shape->n_scores, &shape->cap_scores, fleet->n_nodes) < 0 ||
	    extend(&shape->empty, &shape->n_empty, &shape->cap_empty, fleet->n_types) < 0)
		return -ENOMEM;
	*ret = shape;
	return 0;
}

struct hamidp_occupancy hdp_fleet_view(const struct hamidp_fleet *fleet, size_t node)
{
	struct hamidp_occupancy view = *fleet->nodes[node].occ;

	view.layout = fleet->types[fleet->nodes[node].type];
	return view;
}

/* @reason NULL: not why, for that takes longer than to find out that there is no room. */
static int compute(struct hamidp_fleet *fleet, size_t node, const struct hamidp_request *req,
		   struct hamidp_reason *reason, struct hdp_score *ret)
{
	struct hamidp_occupancy view = hdp_fleet_view(fleet, node);
	int r = hamidp_place(view.layout, &view, req, fleet->scratch, reason);

	if (r == -ENOMEM)
		return r;
	*ret = (struct hdp_score){ .state = reason ? HDP_SCORE_TOLD : HDP_SCORE_NONE };
	if (reason) {
		ret->code = (uint8_t)reason->code;
		ret->largest = reason->largest;
	}
	if (r == 0) {
		ret->state = fleet->scratch->is_split ? HDP_SCORE_SPLIT : HDP_SCORE_FITS;
		ret->cost = fleet->scratch->cost;
	}
	return 0;
}

/* Where the score of a node is kept: empty ones that are alike have one. */
static struct hdp_score *place_of(struct hamidp_fleet *fleet, struct hdp_shape *shape, size_t node)
{
	const struct hdp_fleet_node *it = &fleet->nodes[node];

	return it->occ->n_used > 0 ? &shape->scores[node] : &shape->empty[it->type];
}

int hdp_fleet_score(struct hamidp_fleet *fleet, struct hdp_shape *shape,
		    const struct hamidp_request *req, size_t node, const struct hdp_score **ret)
{
	struct hdp_score *score = &shape->scores[node], *kept = place_of(fleet, shape, node);
	int r;

	if (score->state == HDP_SCORE_STALE && kept->state == HDP_SCORE_STALE) {
		r = compute(fleet, node, req, NULL, kept);
		if (r < 0)
			return r;
	}
	if (score->state == HDP_SCORE_STALE)
		*score = *kept;
	*ret = score;
	return 0;
}

int hdp_fleet_tell(struct hamidp_fleet *fleet, struct hdp_shape *shape,
		   const struct hamidp_request *req, size_t node, const struct hdp_score **ret)
{
	struct hdp_score *score = &shape->scores[node], *kept = place_of(fleet, shape, node);
	int r;

	if (score->state == HDP_SCORE_NONE && kept->state == HDP_SCORE_NONE) {
		r = compute(fleet, node, req, &fleet->reason, kept);
		if (r < 0)
			return r;
	}
	if (score->state == HDP_SCORE_NONE)
		*score = *kept;
	*ret = score;
	return 0;
}

void hdp_fleet_node_changed(struct hamidp_fleet *fleet, size_t node)
{
	for (size_t i = 0; i < fleet->n_shapes; i++)
		if (node < fleet->shapes[i].n_scores)
			fleet->shapes[i].scores[node].state = HDP_SCORE_STALE;
}
