/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HAMI_REASON_H
#define HAMI_REASON_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: reasons
 *
 * A reason says why a call failed, or what a successful one had to give up: a code that programs
 * branch on, one line that people read, and for placements the largest amount that would fit.
 * A caller makes one with hamidp_reason_new() and passes it to as many calls as it likes; each
 * call that takes one overwrites it, on success with HAMIDP_REASON_NONE. NULL is accepted
 * everywhere.
 */

/* Opaque. Belongs to one thread at a time. */
struct hamidp_reason;

/**
 * enum hamidp_reason_code - why
 *
 * The set is closed within a minor version; numbers are never reused.
 *
 * Since: 0.1
 */
enum hamidp_reason_code {
	HAMIDP_REASON_NONE = 0,
	HAMIDP_REASON_BAD_ARGUMENT = 1, /* a value outside its accepted range */
	HAMIDP_REASON_BAD_INPUT =
		2, /* a file or text does not parse; the text has line and column */
	HAMIDP_REASON_NO_MEMORY = 3,	    /* out of memory on the host */
	HAMIDP_REASON_NO_DRIVER = 4,	    /* no driver library could be used */
	HAMIDP_REASON_NO_DEVICE = 5,	    /* a driver works but sees no device */
	HAMIDP_REASON_DRIVER_FAILED = 6,    /* the driver refused, failed or did not answer */
	HAMIDP_REASON_DRIVER_LIMIT = 7,	    /* more slots than the driver supports */
	HAMIDP_REASON_MEMORY_FIT = 8,	    /* slots x memory exceed the device */
	HAMIDP_REASON_UNKNOWN_RESOURCE = 9, /* no such resource in the layout */
	HAMIDP_REASON_UNKNOWN_SLOT = 10,    /* no such slot in the layout */
	HAMIDP_REASON_FOREIGN_SLOT = 11,    /* the slot belongs to another resource */
	HAMIDP_REASON_DUPLICATE_SLOT = 12,  /* the same slot twice in one request */
	HAMIDP_REASON_TOO_LARGE = 13,	    /* more than the resource has even when empty */
	HAMIDP_REASON_NO_ROOM = 14,	    /* fewer free slots than asked for */
	HAMIDP_REASON_FRAGMENTED = 15,	    /* enough free slots, but not in the asked form */
	HAMIDP_REASON_NOT_HEALTHY = 16,	    /* the card is not healthy */
	HAMIDP_REASON_HELD = 17,	    /* a slot is held by another grant */
	HAMIDP_REASON_STALE = 18,	    /* the node changed since the decision */
	HAMIDP_REASON_UNKNOWN_GRANT = 19,   /* no such grant */
	HAMIDP_REASON_NOT_SUPPORTED = 20,   /* this driver or build cannot do it */
	HAMIDP_REASON_STORE = 21,	    /* the store could not be read or written */
	HAMIDP_REASON_DENIED = 22,	    /* permission missing */
	HAMIDP_REASON_CONFLICT = 23,	 /* two parts of the configuration contradict each other */
	HAMIDP_REASON_SPLIT_DENIED = 24, /* enough free slots, but only as a split */
	_HAMIDP_REASON_PAD = 0x7fffffff
};

/**
 * hamidp_reason_new() - make an empty reason
 * @ret: where to store it
 *
 * Does not block.
 *
 * Return: 0 and *@ret owned by the caller (hamidp_reason_free()), or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_reason_new(struct hamidp_reason **ret);

/**
 * hamidp_reason_free() - release a reason
 * @reason: reason or NULL
 *
 * Return: NULL. Does not block.
 *
 * Since: 0.1
 */
struct hamidp_reason *hamidp_reason_free(struct hamidp_reason *reason);

/**
 * hamidp_reason_code() - the code of the last call that took this reason
 * @reason: reason
 *
 * Return: the code; HAMIDP_REASON_NONE after success. Does not block.
 *
 * Since: 0.1
 */
enum hamidp_reason_code hamidp_reason_code(const struct hamidp_reason *reason);

/**
 * hamidp_reason_text() - one line for people
 * @reason: reason
 *
 * Return: valid UTF-8, no newline, "" when there is nothing to say; borrowed until the next call
 * that takes @reason. Does not block.
 *
 * Since: 0.1
 */
const char *hamidp_reason_text(const struct hamidp_reason *reason);

/**
 * hamidp_reason_largest() - how much could have been placed in one request of this kind
 * @reason: reason
 *
 * Return: slots (0 when nothing fits or the call was no placement). Does not block.
 *
 * Since: 0.1
 */
uint32_t hamidp_reason_largest(const struct hamidp_reason *reason);

/**
 * hamidp_reason_code_to_string() - a code's name, e.g. "no-room"
 * @code: any value
 *
 * Return: a static string, never NULL ("unknown" past the set). Does not block. Thread safe.
 *
 * Since: 0.1
 */
const char *hamidp_reason_code_to_string(enum hamidp_reason_code code);

#ifdef __cplusplus
}
#endif
#endif
