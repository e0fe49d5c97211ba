/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HAMI_PLAN_H
#define HAMI_PLAN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: compaction planning
 *
 * A node may have enough free slots for a request, but not in the form that it needs. A plan says
 * which grants would have to move to which cards so that the request has its form: the fewest
 * moves, then the fewest moved slots. It is a pure function of layout, occupancy and request, and
 * it never acts: a container keeps its slots until somebody evicts its pod, so a move is an
 * eviction, and slots kept back for the pod that was meant (docs/planning.md).
 *
 * A plan keeps its memory from call to call and belongs to one thread at a time; layouts and
 * occupancies may be shared by readers. No call here blocks.
 */

/* Opaque. */
struct hamidp_plan;
struct hamidp_layout;
struct hamidp_occupancy;
struct hamidp_request;
struct hamidp_reason;

/** enum hamidp_pin - why a holder stays where it is; Since: 0.1 */
enum hamidp_pin {
	HAMIDP_PIN_SEVERAL_DEVICES = 1, /* it holds slots of several devices */
	HAMIDP_PIN_ASKED = 2,		/* hamidp_plan_pin() named it */
	HAMIDP_PIN_NOT_HEALTHY = 3,	/* its device is not healthy: moving it makes no room */
	_HAMIDP_PIN_PAD = 0x7fffffff
};

/**
 * hamidp_plan_new() - an empty plan
 * @ret: where to store it
 *
 * Return: 0 and *@ret owned by the caller (hamidp_plan_free()), or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_plan_new(struct hamidp_plan **ret);

/** hamidp_plan_free() - release (NULL is fine); returns NULL; Since: 0.1 */
struct hamidp_plan *hamidp_plan_free(struct hamidp_plan *plan);

/** hamidp_plan_reset() - forget what was planned and pinned, keeping the memory; Since: 0.1 */
void hamidp_plan_reset(struct hamidp_plan *plan);

/**
 * hamidp_plan_pin() - a holder that must stay where it is
 * @plan: plan
 * @holder: name as in the occupancy, 1 to HAMIDP_HOLDER_MAX bytes; one that holds nothing is passed
 *	over
 *
 * Holds for every hamidp_plan_make() until hamidp_plan_reset().
 *
 * Return: 0, -EINVAL (the name) or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_plan_pin(struct hamidp_plan *plan, const char *holder);

/**
 * hamidp_plan_make() - which grants to move so that a request fits
 * @plan: overwritten
 * @layout: layout
 * @occ: occupancy of @layout; each holder is moved as one
 * @req: request for slots, without available and required ones
 * @reason: why not, with the largest placeable number of slots, or NULL
 *
 * Up to two moves the plan is the shortest there is and moves the fewest slots, unless the node has
 * so many different grants that the search is cut off (hamidp_plan_is_minimal()); beyond it is
 * greedy. A holder moves at most once, and only to a healthy device of the same resource. If the
 * request fits already there are no moves. The same input gives the same plan on every machine.
 *
 * Return: 0; -EINVAL (as hamidp_place(), and a request for amounts or with slots named); -ENOSPC:
 * no plan was found, there are no moves, and hamidp_plan_pinned_holder() says what could not be
 * moved; or -ENOMEM (only until @plan has grown to size).
 *
 * Since: 0.1
 */
int hamidp_plan_make(struct hamidp_plan *plan, const struct hamidp_layout *layout,
		     const struct hamidp_occupancy *occ, const struct hamidp_request *req,
		     struct hamidp_reason *reason);

/* Moves, in an order in which each finds room when its turn comes. Past the end: NULL or 0. */

/** hamidp_plan_n_moves() - moves of the plan; Since: 0.1 */
size_t hamidp_plan_n_moves(const struct hamidp_plan *plan);
/** hamidp_plan_move_holder() - who moves, borrowed until @plan is made again; Since: 0.1 */
const char *hamidp_plan_move_holder(const struct hamidp_plan *plan, size_t i);
/** hamidp_plan_move_n_slots() - its slots; Since: 0.1 */
uint32_t hamidp_plan_move_n_slots(const struct hamidp_plan *plan, size_t i);
/** hamidp_plan_move_from() - position of the device that it leaves; Since: 0.1 */
size_t hamidp_plan_move_from(const struct hamidp_plan *plan, size_t i);
/** hamidp_plan_move_to() - position of the device that has room for it then; Since: 0.1 */
size_t hamidp_plan_move_to(const struct hamidp_plan *plan, size_t i);
/** hamidp_plan_is_minimal() - 1 if no plan with fewer moves exists, 0 if that is not known; Since:
 * 0.1 */
int hamidp_plan_is_minimal(const struct hamidp_plan *plan);

/* What the plan is good for. */

/** hamidp_plan_n_targets() - devices that can take the request after the moves; Since: 0.1 */
size_t hamidp_plan_n_targets(const struct hamidp_plan *plan);
/** hamidp_plan_target() - position of the i-th of them, ascending; 0 past the end; Since: 0.1 */
size_t hamidp_plan_target(const struct hamidp_plan *plan, size_t i);
/** hamidp_plan_largest_before() - most slots of one such request without the plan; Since: 0.1 */
uint32_t hamidp_plan_largest_before(const struct hamidp_plan *plan);
/** hamidp_plan_largest_after() - most slots of one such request after the moves; Since: 0.1 */
uint32_t hamidp_plan_largest_after(const struct hamidp_plan *plan);

/* Holders of the resource that could not be moved, in the order of their first slots. */

/** hamidp_plan_n_pinned() - how many; Since: 0.1 */
size_t hamidp_plan_n_pinned(const struct hamidp_plan *plan);
/** hamidp_plan_pinned_holder() - who stays, borrowed until @plan is made again; NULL past the end;
 * Since: 0.1 */
const char *hamidp_plan_pinned_holder(const struct hamidp_plan *plan, size_t i);
/** hamidp_plan_pinned_why() - and why; 0 past the end; Since: 0.1 */
enum hamidp_pin hamidp_plan_pinned_why(const struct hamidp_plan *plan, size_t i);
/** hamidp_pin_to_string() - "it holds slots of several devices", ...; static, never NULL; Since:
 * 0.1 */
const char *hamidp_pin_to_string(enum hamidp_pin why);

/**
 * hamidp_plan_to_text() - the plan as an operator would carry it out
 * @plan: plan that was made
 * @label: gives the pod of a holder as "namespace/pod", or NULL if it is not known; may be NULL
 * @userdata: passed to @label
 * @ret_text: where to store the NUL-terminated text, to be released with free()
 * @ret_len: where to store its length without the NUL, or NULL
 *
 * Lines for a shell: a command for each move, and comments. A move whose holder has no label, or
 * one that is no pair of Kubernetes names, is a comment with the holder's name; so is a second move
 * of the same pod.
 *
 * Return: 0, -EINVAL (nothing was planned) or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_plan_to_text(const struct hamidp_plan *plan,
			const char *(*label)(const char *holder, void *userdata), void *userdata,
			char **ret_text, size_t *ret_len);

#ifdef __cplusplus
}
#endif
#endif
