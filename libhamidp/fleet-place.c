/* SPDX-License-Identifier: Apache-2.0 */

/* The choice of a node: where the request has its form, then where it costs least (with
 * what the caller adds), then by name. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "fleet.h"

/* One call of hamidp_fleet_place(). */
struct choice {
	struct hamidp_fleet *fleet;
	const struct hamidp_request *req;
	int (*admits)(size_t node, void *userdata);
	void *userdata;
	struct hdp_shape *shape;
	size_t best;
	struct hdp_score best_score;
};

static int compare_names(const void *a, const void *b, void *userdata)
{
	const struct hdp_fleet_node *nodes = userdata;

	return strcmp(nodes[*(const uint32_t *)a].name, nodes[*(const uint32_t *)b].name);
}

/* Names are unique, so the order is the same wherever the nodes come from. */
static int rank_names(struct hamidp_fleet *fleet)
{
	size_t n = fleet->n_nodes;

	if (fleet->n_ranked == n)
		return 0;
	if (hdp_grow(&fleet->ranks, &fleet->cap_ranks, n, sizeof(*fleet->ranks)) < 0 ||
	    hdp_grow(&fleet->order, &fleet->cap_order, n, sizeof(*fleet->order)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		fleet->order[i] = (uint32_t)i;
	qsort_r(fleet->order, n, sizeof(*fleet->order), compare_names, fleet->nodes);
	for (size_t i = 0; i < n; i++)
		fleet->ranks[fleet->order[i]] = (uint32_t)i;
	fleet->n_ranked = n;
	return 0;
}

static bool is_admitted(const struct choice *c, size_t node)
{
	return !c->admits || c->admits(node, c->userdata) != 0;
}

static bool is_better(const struct choice *c, const struct hdp_score *score, size_t node)
{
	if (score->state >= HDP_SCORE_NONE)
		return false;
	if (c->best == HAMIDP_NO_NODE)
		return true;
	if (score->state != c->best_score.state)
		return score->state < c->best_score.state;
	if (score->cost != c->best_score.cost)
		return score->cost < c->best_score.cost;
	return c->fleet->ranks[node] < c->fleet->ranks[c->best];
}

/* What the caller adds may make any node that has room the best. */
static bool may_be_better(const struct choice *c, const struct hdp_score *score, size_t node)
{
	if (!c->fleet->bias)
		return is_better(c, score, node);
	return score->state < HDP_SCORE_NONE &&
	       (c->best == HAMIDP_NO_NODE || score->state <= c->best_score.state);
}

static struct hdp_score add_bias(const struct choice *c, const struct hdp_score *score, size_t node)
{
	struct hdp_score sum = *score;
	int64_t bias;

	if (!c->fleet->bias || !may_be_better(c, score, node))
		return sum;
	bias = c->fleet->bias(node, c->fleet->bias_userdata);
	if (__builtin_add_overflow(score->cost, bias, &sum.cost))
		sum.cost = bias < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

/* Others are asked last of all, and only about nodes that would be chosen or must be scored. */
static int consider(struct choice *c, size_t node)
{
	const struct hdp_score *score = &c->shape->scores[node];
	struct hdp_score sum;
	int r;

	if (score->state != HDP_SCORE_STALE && !may_be_better(c, score, node))
		return 0;
	if (!is_admitted(c, node))
		return 0;
	r = hdp_fleet_score(c->fleet, c->shape, c->req, node, &score);
	if (r < 0)
		return r;
	sum = add_bias(c, score, node);
	if (is_better(c, &sum, node)) {
		c->best = node;
		c->best_score = sum;
	}
	return 0;
}

static bool asks_for_nothing(const struct hamidp_request *req)
{
	if (req->by_amount)
		return req->n_devices == 0 || (req->share_ppm == 0 && req->memory_mib == 0);
	return req->by_device ? req->n_devices == 0 || req->units_each == 0 : req->units == 0;
}

static int check_request(const struct hamidp_request *req, struct hamidp_reason *reason)
{
	if (asks_for_nothing(req))
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"0 slots asked for, at least 1 is accepted");
	if (req->numa_node < -1)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"NUMA node %" PRId32 ": -1 or more is accepted", req->numa_node);
	if (hdp_request_names_slots(req))
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"a request for any node cannot name available or required slots");
	return 0;
}

static bool is_fragmented(const struct hdp_score *score)
{
	return score->code == HAMIDP_REASON_FRAGMENTED || score->code == HAMIDP_REASON_SPLIT_DENIED;
}

/* If any node is only fragmented, that is why: there somebody could make room. */
static int fail_no_node(const struct choice *c, struct hamidp_reason *reason)
{
	enum hamidp_reason_code code = HAMIDP_REASON_NO_ROOM;
	uint32_t largest = 0;
	size_t n = 0;

	for (size_t node = 0; node < c->fleet->n_nodes; node++) {
		const struct hdp_score *score;

		if (!is_admitted(c, node))
			continue;
		if (hdp_fleet_tell(c->fleet, c->shape, c->req, node, &score) < 0)
			return hdp_oom(reason);
		n++;
		largest = score->largest > largest ? score->largest : largest;
		if (is_fragmented(score))
			code = (enum hamidp_reason_code)score->code;
	}
	hdp_fail(reason, -ENOSPC, code,
		 "none of %zu admitted nodes (of %zu) has room, at most %" PRIu32
		 " slots in one such request",
		 n, c->fleet->n_nodes, largest);
	hdp_reason_set_largest(reason, largest);
	return -ENOSPC;
}

static int choose(struct choice *c, struct hamidp_reason *reason)
{
	if (rank_names(c->fleet) < 0 || hdp_fleet_shape(c->fleet, c->req, &c->shape) < 0)
		return hdp_oom(reason);
	for (size_t node = 0; node < c->fleet->n_nodes; node++)
		if (consider(c, node) < 0)
			return hdp_oom(reason);
	return c->best == HAMIDP_NO_NODE ? fail_no_node(c, reason) : 0;
}

HAMIDP_EXPORT int hamidp_fleet_place(struct hamidp_fleet *fleet, const struct hamidp_request *req,
				     int (*admits)(size_t node, void *userdata), void *userdata,
				     struct hamidp_decision *decision, size_t *ret_node,
				     struct hamidp_reason *reason)
{
	struct choice c = {
		.fleet = fleet,
		.req = req,
		.admits = admits,
		.userdata = userdata,
		.best = HAMIDP_NO_NODE,
	};
	struct hamidp_occupancy view;
	int r;

	r = check_request(req, reason);
	if (r < 0)
		return r;
	r = choose(&c, reason);
	if (r < 0)
		return r;
	view = hdp_fleet_view(fleet, c.best);
	r = hamidp_place(view.layout, &view, req, decision, reason);
	if (r < 0)
		return r;
	hamidp_layout_unref(decision->layout);
	decision->layout = hamidp_layout_ref(fleet->nodes[c.best].layout);
	*ret_node = c.best;
	return 0;
}
