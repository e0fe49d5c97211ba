/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HAMI_EXPLAIN_H
#define HAMI_EXPLAIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: explanations
 *
 * Why a placement went where it went, as data: every device of the resource with its verdict, and
 * where it could have served, what the best set with it would have cost, term by term. For people
 * and for a scheduler's log; hamidp_place() itself spends nothing on it. docs/placement.md says how
 * to read one. No call here blocks.
 */

/* Opaque. Belongs to one thread at a time, and is used again by the next call. */
struct hamidp_explanation;
struct hamidp_decision;
struct hamidp_layout;
struct hamidp_occupancy;
struct hamidp_reason;
struct hamidp_request;

/** enum hamidp_verdict - what became of a device; Since: 0.1 */
enum hamidp_verdict {
	HAMIDP_VERDICT_CHOSEN = 1,	 /* part of the decision */
	HAMIDP_VERDICT_COSTS_MORE = 2,	 /* the best set with it costs more */
	HAMIDP_VERDICT_EQUAL = 3,	 /* it costs the same; others come first */
	HAMIDP_VERDICT_NO_ROOM = 4,	 /* too few free slots, or none that are neighbours */
	HAMIDP_VERDICT_NOT_HEALTHY = 5,	 /* serves nothing */
	HAMIDP_VERDICT_OTHER_NUMA = 6,	 /* not on the NUMA node asked for */
	HAMIDP_VERDICT_NOT_REQUIRED = 7, /* required slots leave no part for it */
	HAMIDP_VERDICT_NO_FORM = 8,	 /* it has room, but not enough others do */
	_HAMIDP_VERDICT_PAD = 0x7fffffff
};

#define HAMIDP_NO_DEVICE ((size_t)-1) /* no device's position */

/**
 * hamidp_explanation_new() - an empty explanation
 * @ret: where to store it
 *
 * Return: 0 and *@ret owned by the caller (hamidp_explanation_free()), or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_explanation_new(struct hamidp_explanation **ret);

/** hamidp_explanation_free() - release (NULL is fine); returns NULL; Since: 0.1 */
struct hamidp_explanation *hamidp_explanation_free(struct hamidp_explanation *explanation);

/**
 * hamidp_explain() - hamidp_place(), and why
 * @layout: layout
 * @occ: occupancy of @layout
 * @req: request
 * @decision: as for hamidp_place()
 * @explanation: overwritten; empty where the request itself is wrong
 * @reason: as for hamidp_place()
 *
 * Return: as hamidp_place(). A request that finds no room (-ENOSPC) is explained, too.
 *
 * Since: 0.1
 */
int hamidp_explain(const struct hamidp_layout *layout, const struct hamidp_occupancy *occ,
		   const struct hamidp_request *req, struct hamidp_decision *decision,
		   struct hamidp_explanation *explanation, struct hamidp_reason *reason);

/* Candidates, by position in the explanation. Past the end: HAMIDP_NO_DEVICE or 0. */

/** hamidp_explanation_n_candidates() - devices of the resource; 0 while empty; Since: 0.1 */
size_t hamidp_explanation_n_candidates(const struct hamidp_explanation *explanation);
/** hamidp_explanation_device() - position of the i-th, ascending; HAMIDP_NO_DEVICE past the end;
 * Since: 0.1 */
size_t hamidp_explanation_device(const struct hamidp_explanation *explanation, size_t i);
/** hamidp_explanation_verdict() - what became of it; Since: 0.1 */
enum hamidp_verdict hamidp_explanation_verdict(const struct hamidp_explanation *explanation,
					       size_t i);
/** hamidp_explanation_n_free() - slots that could be chosen on it; Since: 0.1 */
uint32_t hamidp_explanation_n_free(const struct hamidp_explanation *explanation, size_t i);
/** hamidp_explanation_n_slots() - slots that it gives, or would give; Since: 0.1 */
uint32_t hamidp_explanation_n_slots(const struct hamidp_explanation *explanation, size_t i);
/** hamidp_explanation_instead_of() - the chosen device that it would replace, or HAMIDP_NO_DEVICE;
 * Since: 0.1 */
size_t hamidp_explanation_instead_of(const struct hamidp_explanation *explanation, size_t i);

/* The terms of the cost of the decision (where it is chosen) or of the best set with it; slots
 * times HAMIDP_COST_ONE, 0 where there is no such set. */

/** hamidp_explanation_load() - how much fuller devices get; Since: 0.1 */
int64_t hamidp_explanation_load(const struct hamidp_explanation *explanation, size_t i);
/** hamidp_explanation_room() - what later requests of whole devices lose; Since: 0.1 */
int64_t hamidp_explanation_room(const struct hamidp_explanation *explanation, size_t i);
/** hamidp_explanation_quality() - what is missing from the best links; Since: 0.1 */
int64_t hamidp_explanation_quality(const struct hamidp_explanation *explanation, size_t i);
/** hamidp_explanation_cost() - the sum; Since: 0.1 */
int64_t hamidp_explanation_cost(const struct hamidp_explanation *explanation, size_t i);

/**
 * hamidp_explanation_to_json() - write an explanation
 * @explanation: explanation
 * @ret_text: where to store the NUL-terminated text, to be released with free()
 *
 * One object with "schema": "hami.explanation/1", the policy, and a list of candidates. Costs are
 * integers in millionths of a slot.
 *
 * Return: 0, or -ENOMEM. An empty explanation has no candidates.
 *
 * Since: 0.1
 */
int hamidp_explanation_to_json(const struct hamidp_explanation *explanation, char **ret_text);

/** hamidp_verdict_to_string() - "chosen", "costs-more", ...; static, never NULL ("unknown" past the
 * set); Since: 0.1 */
const char *hamidp_verdict_to_string(enum hamidp_verdict verdict);

#ifdef __cplusplus
}
#endif
#endif
