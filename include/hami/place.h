/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HAMI_PLACE_H
#define HAMI_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include <hami/layout.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: placement
 *
 * hamidp_place() chooses slots for a request. It is a pure function: the same layout, occupancy and
 * request give the same decision on every machine. Requests and decisions are reused from call to
 * call, so that a scheduler places without allocating memory; each belongs to one thread at a time,
 * while layouts and occupancies may be shared by readers. No call here blocks.
 */

/* Opaque. */
struct hamidp_request;
struct hamidp_decision;
struct hamidp_layout;
struct hamidp_occupancy;
struct hamidp_reason;

/**
 * hamidp_request_new() - an empty request
 * @ret: where to store it
 *
 * Return: 0 and *@ret owned by the caller (hamidp_request_free()), or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_request_new(struct hamidp_request **ret);

/** hamidp_request_free() - release (NULL is fine); returns NULL; Since: 0.1 */
struct hamidp_request *hamidp_request_free(struct hamidp_request *req);

/** hamidp_request_reset() - empty it for the next use, keeping its memory; Since: 0.1 */
void hamidp_request_reset(struct hamidp_request *req);

/**
 * hamidp_request_set_resource() - which resource of the layout
 * @req: request
 * @resource: resource number; 0 if never set
 *
 * Since: 0.1
 */
void hamidp_request_set_resource(struct hamidp_request *req, size_t resource);

/**
 * hamidp_request_set_units() - ask for a number of slots in the best form
 * @req: request
 * @units: slots, at least 1
 *
 * Up to the slots of one device (or the policy's limit) they come from one device; more come from
 * the fewest devices, evenly. This is the normal form of so many slots. Under SPREAD it is as many
 * devices as can be, evenly.
 *
 * Since: 0.1
 */
void hamidp_request_set_units(struct hamidp_request *req, uint32_t units);

/**
 * hamidp_request_set_devices() - ask for slots on a number of devices
 * @req: request
 * @n_devices: distinct devices, at least 1
 * @units_each: slots on each, at least 1
 *
 * Replaces hamidp_request_set_units().
 *
 * Since: 0.1
 */
void hamidp_request_set_devices(struct hamidp_request *req, uint32_t n_devices,
				uint32_t units_each);

/**
 * hamidp_request_set_amounts() - ask for compute and memory on a number of devices
 * @req: request
 * @n_devices: distinct devices, at least 1
 * @share_ppm: compute on each, ppm of the device, at most HAMIDP_PPM; 0: whatever comes
 * @memory_mib: memory on each in MiB; 0: whatever comes
 *
 * On each device as many slots as both amounts need, rounded up: devices that are cut differently
 * give different numbers of slots. Replaces hamidp_request_set_units(); one amount must be stated.
 *
 * Since: 0.1
 */
void hamidp_request_set_amounts(struct hamidp_request *req, uint32_t n_devices, uint32_t share_ppm,
				uint64_t memory_mib);

/**
 * hamidp_request_set_placement() - another placement than the policy's, until the next reset
 * @req: request
 * @placement: one of the enum's values
 *
 * Return: 0, or -EINVAL.
 *
 * Since: 0.1
 */
int hamidp_request_set_placement(struct hamidp_request *req, enum hamidp_placement placement);

/**
 * hamidp_request_set_split() - another split than the policy's, until the next reset
 * @req: request
 * @split: one of the enum's values
 *
 * Return: 0, or -EINVAL.
 *
 * Since: 0.1
 */
int hamidp_request_set_split(struct hamidp_request *req, enum hamidp_split split);

/**
 * hamidp_request_set_numa_node() - take devices of one NUMA node only
 * @req: request
 * @node: node number, or -1 for any (the default)
 *
 * Since: 0.1
 */
void hamidp_request_set_numa_node(struct hamidp_request *req, int32_t node);

/**
 * hamidp_request_add_available() - restrict the choice to named slots
 * @req: request
 * @slot: slot number of the layout that will be placed on
 *
 * Once one is named, exactly the named slots of healthy devices count as free, whatever the
 * occupancy says. Naming a slot twice is the same as once.
 *
 * Return: 0, or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_request_add_available(struct hamidp_request *req, size_t slot);

/**
 * hamidp_request_add_required() - a slot that must be part of the decision
 * @req: request
 * @slot: slot number; counted as free
 *
 * Return: 0, or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_request_add_required(struct hamidp_request *req, size_t slot);

/**
 * hamidp_decision_new() - an empty decision
 * @ret: where to store it
 *
 * Return: 0 and *@ret owned by the caller (hamidp_decision_free()), or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_decision_new(struct hamidp_decision **ret);

/** hamidp_decision_free() - release (NULL is fine); returns NULL; Since: 0.1 */
struct hamidp_decision *hamidp_decision_free(struct hamidp_decision *decision);

/**
 * hamidp_place() - choose slots for a request
 * @layout: layout
 * @occ: occupancy of @layout
 * @req: request
 * @decision: overwritten on success, unchanged otherwise; keeps a reference to @layout
 * @reason: why not, with the largest placeable number of slots, or NULL
 *
 * The whole request first: the devices that have its normal form, and of those the set with the
 * lowest cost; docs/placement.md says what is weighed. Where required slots lie on more devices
 * than that form has, or leave it no room, the fewest more devices share evenly, whatever the
 * policy's split is. Where there is no such form either the request is refused
 * (HAMIDP_REASON_SPLIT_DENIED if it would have had room as a split), or, with HAMIDP_SPLIT_ALLOW,
 * takes the fewest devices, largest parts first. hamidp_decision_is_split() says so, and
 * hamidp_reason_largest() what one request could have got in the normal form. Ties go to the first
 * devices in PCI order, then to the lowest slots. A required slot counts as free even on a device
 * that is not healthy, which serves nothing else.
 *
 * Return: 0; -EINVAL (nothing asked for, more than the resource has even when empty, numbers
 * outside the layout, an occupancy of another layout, contradictions), -ENOSPC (no room) or -ENOMEM
 * (only until @decision has grown to size and the tables of the inventory's links are made).
 *
 * Since: 0.1
 */
int hamidp_place(const struct hamidp_layout *layout, const struct hamidp_occupancy *occ,
		 const struct hamidp_request *req, struct hamidp_decision *decision,
		 struct hamidp_reason *reason);

/**
 * hamidp_decide_ids() - turn slot ids that somebody else chose into a decision
 * @layout: layout
 * @resource: resource number they must belong to
 * @ids: slot ids in any order
 * @n_ids: how many, at least 1
 * @decision: overwritten on success, unchanged otherwise
 * @reason: which id is wrong and how, or NULL
 *
 * Ids that are held are accepted: the caller is the authority. Ids on devices that are not healthy
 * are refused.
 *
 * Return: 0; -EINVAL (none, a duplicate, more than the resource has), -ENOENT (unknown, or of
 * another resource), -EAGAIN (device not healthy) or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_decide_ids(const struct hamidp_layout *layout, size_t resource, const char *const *ids,
		      size_t n_ids, struct hamidp_decision *decision, struct hamidp_reason *reason);

/** hamidp_decision_layout() - the layout it is about, borrowed; NULL while empty; Since: 0.1 */
struct hamidp_layout *hamidp_decision_layout(const struct hamidp_decision *decision);
/** hamidp_decision_resource() - resource number; 0 while empty; Since: 0.1 */
size_t hamidp_decision_resource(const struct hamidp_decision *decision);
/** hamidp_decision_n_slots() - slots chosen; 0 while empty; Since: 0.1 */
size_t hamidp_decision_n_slots(const struct hamidp_decision *decision);
/** hamidp_decision_slot() - the i-th slot number, ascending (device order, then slot order); 0 past
 * the end; Since: 0.1 */
size_t hamidp_decision_slot(const struct hamidp_decision *decision, size_t i);
/** hamidp_decision_n_devices() - distinct devices; 0 while empty; Since: 0.1 */
size_t hamidp_decision_n_devices(const struct hamidp_decision *decision);
/** hamidp_decision_is_split() - 1 if the slots are spread over more devices, or less evenly, than
 * asked for; Since: 0.1 */
int hamidp_decision_is_split(const struct hamidp_decision *decision);

#define HAMIDP_COST_ONE (1 << 20) /* a cost of one slot */

/**
 * hamidp_decision_cost() - what the decision costs, for a choice between machines
 * @decision: from hamidp_place()
 *
 * The objective of docs/placement.md, in slots times HAMIDP_COST_ONE: how much fuller devices get,
 * what is lost for later requests of whole devices, and what is missing from the best links. May be
 * negative under SPREAD. The machine where it is lowest is the best for this request; its value
 * means nothing between different requests. 0 for decisions of hamidp_decide_ids().
 *
 * Since: 0.1
 */
int64_t hamidp_decision_cost(const struct hamidp_decision *decision);

/**
 * hamidp_decision_check_split() - is a decision one that HAMIDP_SPLIT_DENY refuses?
 * @decision: from hamidp_decide_ids()
 * @occ: occupancy of its layout, to tell what could be placed
 * @reason: why, with the largest placeable amount, or NULL
 *
 * Looks at the spread only, whatever the policy's split is: under SPREAD every even spread is a
 * normal form.
 *
 * Return: 0, -ENOSPC (HAMIDP_REASON_SPLIT_DENIED), -EINVAL (another layout, an empty decision) or
 * -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_decision_check_split(const struct hamidp_decision *decision,
				const struct hamidp_occupancy *occ, struct hamidp_reason *reason);

#ifdef __cplusplus
}
#endif
#endif
