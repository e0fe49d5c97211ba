/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HAMI_FLEET_H
#define HAMI_FLEET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: fleet
 *
 * Many nodes as values, and the choice of one of them for a request: a scheduler's view. Each node
 * is a layout with an occupancy of its own; the node where the request costs least is chosen, ties
 * go to the first name. What is no slot (CPU, memory) can be added to the cost. Nothing here talks
 * to a node.
 *
 * What a request costs on a node is remembered for the last 32 kinds of requests, until that
 * node changes, and nodes that are equal but for their names and empty share it. A fleet belongs to
 * one thread at a time; layouts may be shared between fleets and threads. No call here blocks.
 *
 * Nodes are addressed by numbers from 0 in the order in which they were added. The tables that
 * placement looks up links in are made when first needed, once for machines that are equal.
 */

/* Opaque. */
struct hamidp_fleet;
struct hamidp_decision;
struct hamidp_layout;
struct hamidp_occupancy;
struct hamidp_reason;
struct hamidp_request;

#define HAMIDP_FLEET_MAX 1000000U   /* nodes */
#define HAMIDP_FLEET_NAME_MAX 253U  /* bytes of a node's name, without the NUL */
#define HAMIDP_NO_NODE ((size_t)-1) /* no node's number, for callers to start with */

/**
 * hamidp_fleet_new() - a fleet without nodes
 * @ret: where to store it
 *
 * Return: 0 and *@ret owned by the caller (hamidp_fleet_free()), or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_fleet_new(struct hamidp_fleet **ret);

/** hamidp_fleet_free() - release it and its occupancies (NULL is fine); returns NULL; Since: 0.1 */
struct hamidp_fleet *hamidp_fleet_free(struct hamidp_fleet *fleet);

/**
 * hamidp_fleet_add() - add a node, empty
 * @fleet: fleet
 * @name: its name, 1 to HAMIDP_FLEET_NAME_MAX bytes, unique
 * @layout: its layout; a reference is kept. Several nodes may have the same one
 * @ret_node: where to store its number, or NULL
 *
 * Return: 0, -EINVAL (the name, or HAMIDP_FLEET_MAX nodes are there), -EBUSY (the name is taken) or
 * -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_fleet_add(struct hamidp_fleet *fleet, const char *name, struct hamidp_layout *layout,
		     size_t *ret_node);

/** hamidp_fleet_n_nodes() - number of nodes; Since: 0.1 */
size_t hamidp_fleet_n_nodes(const struct hamidp_fleet *fleet);
/** hamidp_fleet_name() - a node's name, borrowed; NULL past the end; Since: 0.1 */
const char *hamidp_fleet_name(const struct hamidp_fleet *fleet, size_t node);
/** hamidp_fleet_layout() - a node's layout, borrowed; NULL past the end; Since: 0.1 */
struct hamidp_layout *hamidp_fleet_layout(const struct hamidp_fleet *fleet, size_t node);
/** hamidp_fleet_occupancy() - a node's occupancy, borrowed and only to be read; NULL past the end;
 * Since: 0.1 */
const struct hamidp_occupancy *hamidp_fleet_occupancy(const struct hamidp_fleet *fleet,
						      size_t node);

/**
 * hamidp_fleet_find() - number of a node
 * @fleet: fleet
 * @name: its name
 * @ret_node: where to store the number
 *
 * Return: 0, or -ENOENT.
 *
 * Since: 0.1
 */
int hamidp_fleet_find(const struct hamidp_fleet *fleet, const char *name, size_t *ret_node);

/**
 * hamidp_fleet_load() - hold what the grants of a node's inventory say
 * @fleet: fleet
 * @node: node
 * @reason: which grant names what, or NULL
 *
 * Return: as hamidp_occupancy_load(), or -EINVAL (no such node).
 *
 * Since: 0.1
 */
int hamidp_fleet_load(struct hamidp_fleet *fleet, size_t node, struct hamidp_reason *reason);

/**
 * hamidp_fleet_hold() - mark one slot of a node as held
 * @fleet: fleet
 * @node: node
 * @slot: slot number
 * @holder: as for hamidp_occupancy_hold()
 *
 * Return: as hamidp_occupancy_hold(), or -EINVAL (no such node).
 *
 * Since: 0.1
 */
int hamidp_fleet_hold(struct hamidp_fleet *fleet, size_t node, size_t slot, const char *holder);

/**
 * hamidp_fleet_set_bias() - let what is no slot weigh in the choice of a node
 * @fleet: fleet
 * @bias: says what a node costs besides, in slots times HAMIDP_COST_ONE as hamidp_decision_cost():
 *	for instance devices that the request would leave without CPU or memory. Below 0 the node is
 *	preferred. NULL: nothing
 * @userdata: passed to @bias
 *
 * hamidp_fleet_place() adds it to the cost of a node's placement; a sum beyond int64_t counts as
 *the nearest that is not. It is asked at most once a placement and node, about nodes with room that
 * may be chosen, in no particular order, and must not change @fleet. Nothing of it is remembered,
 *so it may depend on the request at hand. Without it fewer nodes are looked at.
 *
 * Since: 0.1
 */
void hamidp_fleet_set_bias(struct hamidp_fleet *fleet, int64_t (*bias)(size_t node, void *userdata),
			   void *userdata);

/**
 * hamidp_fleet_place() - choose a node for a request, and slots on it
 * @fleet: fleet
 * @req: request without available and required slots; its resource number is that of each layout
 * @admits: says (by other than 0) whether a node may be chosen, for what is no slot: CPU, memory,
 *	labels; NULL: every node may. It is asked about few nodes, in no particular order, and must
 *	not change @fleet
 * @userdata: passed to @admits
 * @decision: overwritten on success, unchanged otherwise
 * @ret_node: where to store the node
 * @reason: why not, with the largest number of slots placeable on an admitted node, or NULL
 *
 * A node where the request has its form is chosen before any where it would be split, whatever
 * either costs.
 *
 * Return: 0; -EINVAL (nothing asked for, a NUMA node below -1, slots named); -ENOSPC (no admitted
 * node has room, is large enough or has such a resource); or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_fleet_place(struct hamidp_fleet *fleet, const struct hamidp_request *req,
		       int (*admits)(size_t node, void *userdata), void *userdata,
		       struct hamidp_decision *decision, size_t *ret_node,
		       struct hamidp_reason *reason);

/**
 * hamidp_fleet_apply() - mark all slots of a decision as held
 * @fleet: fleet
 * @node: node
 * @decision: decision about the node's layout
 * @holder: as for hamidp_occupancy_apply()
 * @reason: which slot is held by whom, or NULL
 *
 * Return: as hamidp_occupancy_apply(), or -EINVAL (no such node).
 *
 * Since: 0.1
 */
int hamidp_fleet_apply(struct hamidp_fleet *fleet, size_t node,
		       const struct hamidp_decision *decision, const char *holder,
		       struct hamidp_reason *reason);

/**
 * hamidp_fleet_release() - free everything a holder has on a node
 * @fleet: fleet
 * @node: node
 * @holder: the name given when it was held
 *
 * Return: 0, -EINVAL (no such node) or -ENOENT (holds nothing there).
 *
 * Since: 0.1
 */
int hamidp_fleet_release(struct hamidp_fleet *fleet, size_t node, const char *holder);

#ifdef __cplusplus
}
#endif
#endif
