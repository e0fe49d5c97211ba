/* SPDX-License-Identifier: Apache-2.0 */

/* The nodes of a fleet, and every change of their occupancies. */

#include <errno.h>
#include <string.h>

#include "fleet.h"

HAMIDP_EXPORT int hamidp_fleet_new(struct hamidp_fleet **ret)
{
	struct hamidp_fleet *fleet = calloc(1, sizeof(*fleet));

	if (!fleet)
		return -ENOMEM;
	if (hamidp_decision_new(&fleet->scratch) < 0) {
		free(fleet);
		return -ENOMEM;
	}
	*ret = fleet;
	return 0;
}

static void node_done(struct hdp_fleet_node *node)
{
	free(node->name);
	hamidp_layout_unref(node->layout);
	hamidp_occupancy_free(node->occ);
}

HAMIDP_EXPORT struct hamidp_fleet *hamidp_fleet_free(struct hamidp_fleet *fleet)
{
	if (!fleet)
		return NULL;
	for (size_t i = 0; i < fleet->n_nodes; i++)
		node_done(&fleet->nodes[i]);
	for (size_t i = 0; i < fleet->n_shapes; i++) {
		free(fleet->shapes[i].scores);
		free(fleet->shapes[i].empty);
	}
	free(fleet->nodes);
	free(fleet->ranks);
	free(fleet->order);
	free(fleet->types);
	hdp_index_done(&fleet->by_name);
	hdp_index_done(&fleet->by_type);
	hamidp_decision_free(fleet->scratch);
	free(fleet);
	return NULL;
}

static uint32_t hash_name(const char *name)
{
	return hdp_hash(HDP_HASH_START, name, strlen(name));
}

HAMIDP_EXPORT int hamidp_fleet_find(const struct hamidp_fleet *fleet, const char *name,
				    size_t *ret_node)
{
	uint32_t hash = hash_name(name);
	size_t at = 0;

	for (uint32_t node = hdp_index_next(&fleet->by_name, hash, &at); node != HDP_INDEX_END;
	     node = hdp_index_next(&fleet->by_name, hash, &at))
		if (strcmp(fleet->nodes[node].name, name) == 0) {
			*ret_node = node;
			return 0;
		}
	return -ENOENT;
}

/* A node whose layout is kept, so that the type that may be named after it stays valid. */
static int add_node(struct hamidp_fleet *fleet, struct hdp_fleet_node *node)
{
	if (!node->name || hamidp_occupancy_new(node->layout, &node->occ) < 0)
		return -ENOMEM;
	if (hdp_grow(&fleet->nodes, &fleet->cap_nodes, fleet->n_nodes + 1, sizeof(*fleet->nodes)) <
		    0 ||
	    hdp_index_reserve(&fleet->by_name) < 0 ||
	    hdp_fleet_type(fleet, node->layout, &node->type) < 0)
		return -ENOMEM;
	hdp_index_add(&fleet->by_name, hash_name(node->name), (uint32_t)fleet->n_nodes);
	fleet->nodes[fleet->n_nodes++] = *node;
	return 0;
}

HAMIDP_EXPORT int hamidp_fleet_add(struct hamidp_fleet *fleet, const char *name,
				   struct hamidp_layout *layout, size_t *ret_node)
{
	size_t len = strnlen(name, HAMIDP_FLEET_NAME_MAX + 1), other;
	struct hdp_fleet_node node = { 0 };

	if (len == 0 || len > HAMIDP_FLEET_NAME_MAX || fleet->n_nodes >= HAMIDP_FLEET_MAX)
		return -EINVAL;
	if (hamidp_fleet_find(fleet, name, &other) == 0)
		return -EBUSY;
	node.name = strdup(name);
	node.layout = hamidp_layout_ref(layout);
	if (add_node(fleet, &node) < 0) {
		node_done(&node);
		return -ENOMEM;
	}
	if (ret_node)
		*ret_node = fleet->n_nodes - 1;
	return 0;
}

HAMIDP_EXPORT size_t hamidp_fleet_n_nodes(const struct hamidp_fleet *fleet)
{
	return fleet->n_nodes;
}

HAMIDP_EXPORT const char *hamidp_fleet_name(const struct hamidp_fleet *fleet, size_t node)
{
	return node < fleet->n_nodes ? fleet->nodes[node].name : NULL;
}

HAMIDP_EXPORT struct hamidp_layout *hamidp_fleet_layout(const struct hamidp_fleet *fleet,
							size_t node)
{
	return node < fleet->n_nodes ? fleet->nodes[node].layout : NULL;
}

HAMIDP_EXPORT const struct hamidp_occupancy *hamidp_fleet_occupancy(
	const struct hamidp_fleet *fleet, size_t node)
{
	return node < fleet->n_nodes ? fleet->nodes[node].occ : NULL;
}

static int no_node(const struct hamidp_fleet *fleet, size_t node, struct hamidp_reason *reason)
{
	return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
			"node number %zu: the fleet has %zu", node, fleet->n_nodes);
}

HAMIDP_EXPORT int hamidp_fleet_load(struct hamidp_fleet *fleet, size_t node,
				    struct hamidp_reason *reason)
{
	int r;

	if (node >= fleet->n_nodes)
		return no_node(fleet, node, reason);
	r = hamidp_occupancy_load(fleet->nodes[node].occ, reason);
	if (r == 0)
		hdp_fleet_node_changed(fleet, node);
	return r;
}

HAMIDP_EXPORT int hamidp_fleet_hold(struct hamidp_fleet *fleet, size_t node, size_t slot,
				    const char *holder)
{
	int r;

	if (node >= fleet->n_nodes)
		return -EINVAL;
	r = hamidp_occupancy_hold(fleet->nodes[node].occ, slot, holder);
	if (r == 0)
		hdp_fleet_node_changed(fleet, node);
	return r;
}

HAMIDP_EXPORT int hamidp_fleet_apply(struct hamidp_fleet *fleet, size_t node,
				     const struct hamidp_decision *decision, const char *holder,
				     struct hamidp_reason *reason)
{
	int r;

	if (node >= fleet->n_nodes)
		return no_node(fleet, node, reason);
	r = hamidp_occupancy_apply(fleet->nodes[node].occ, decision, holder, reason);
	if (r == 0)
		hdp_fleet_node_changed(fleet, node);
	return r;
}

HAMIDP_EXPORT int hamidp_fleet_release(struct hamidp_fleet *fleet, size_t node, const char *holder)
{
	int r;

	if (node >= fleet->n_nodes)
		return -EINVAL;
	r = hamidp_occupancy_release(fleet->nodes[node].occ, holder);
	if (r == 0)
		hdp_fleet_node_changed(fleet, node);
	return r;
}

HAMIDP_EXPORT void hamidp_fleet_set_bias(struct hamidp_fleet *fleet,
					 int64_t (*bias)(size_t node, void *userdata),
					 void *userdata)
{
	fleet->bias = bias;
	fleet->bias_userdata = userdata;
}
