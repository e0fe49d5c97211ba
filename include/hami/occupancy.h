/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HAMI_OCCUPANCY_H
#define HAMI_OCCUPANCY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: occupancy
 *
 * Who holds which slots of a layout. A plain value: cloned, changed and undone without touching any
 * node. A slot has at most one holder. It may be read by many threads while none changes it. No
 * call here blocks.
 */

/* Opaque. Keeps a reference to its layout. */
struct hamidp_occupancy;
struct hamidp_layout;
struct hamidp_decision;
struct hamidp_reason;

#define HAMIDP_HOLDER_MAX 128 /* bytes of a holder's name, without the NUL */

/**
 * hamidp_occupancy_new() - an empty occupancy of a layout
 * @layout: layout; a reference is kept
 * @ret: where to store it
 *
 * Return: 0 and *@ret owned by the caller (hamidp_occupancy_free()), or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_occupancy_new(struct hamidp_layout *layout, struct hamidp_occupancy **ret);

/**
 * hamidp_occupancy_clone() - an independent copy
 * @occ: occupancy
 * @ret: where to store the copy
 *
 * Return: 0 and *@ret owned by the caller, or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_occupancy_clone(const struct hamidp_occupancy *occ, struct hamidp_occupancy **ret);

/** hamidp_occupancy_free() - release (NULL is fine); returns NULL; Since: 0.1 */
struct hamidp_occupancy *hamidp_occupancy_free(struct hamidp_occupancy *occ);

/** hamidp_occupancy_layout() - the layout it is about, borrowed; Since: 0.1 */
struct hamidp_layout *hamidp_occupancy_layout(const struct hamidp_occupancy *occ);

/**
 * hamidp_occupancy_load() - hold what the inventory's "grants" say
 * @occ: occupancy
 * @reason: which grant names what, or NULL
 *
 * Return: 0; -ENOENT (a slot that the layout does not have), -EBUSY (held already) or -ENOMEM, and
 * nothing changed.
 *
 * Since: 0.1
 */
int hamidp_occupancy_load(struct hamidp_occupancy *occ, struct hamidp_reason *reason);

/**
 * hamidp_occupancy_to_json() - the machine and who holds what, as an inventory
 * @occ: occupancy
 * @ret_text: where to store the NUL-terminated text, to be released with free()
 * @ret_len: where to store its length without the NUL, or NULL
 *
 * The inventory of the layout as hamidp_inventory_to_json() writes it, but with "grants" that say
 * what @occ holds: id is the holder, memory and share are what the layout makes of the slots, over
 * all devices of the grant. Grants are in the order of their first slots; a holder with slots of
 * two resources has one for each. Reading the text, laying it out by the same policy and
 * hamidp_occupancy_load() give an equal occupancy.
 *
 * Return: 0; -EINVAL (a holder's name is no UTF-8 text of one line, or more than 65,536 grants) or
 * -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_occupancy_to_json(const struct hamidp_occupancy *occ, char **ret_text, size_t *ret_len);

/**
 * hamidp_occupancy_hold() - mark one slot as held
 * @occ: occupancy
 * @slot: slot number
 * @holder: name, usually a grant id; 1 to HAMIDP_HOLDER_MAX bytes
 *
 * Return: 0, -EINVAL (slot or name), -EBUSY (held by another holder) or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_occupancy_hold(struct hamidp_occupancy *occ, size_t slot, const char *holder);

/**
 * hamidp_occupancy_apply() - mark all slots of a decision as held
 * @occ: occupancy
 * @decision: decision about the same layout
 * @holder: name, usually a grant id
 * @reason: which slot is held by whom, or NULL
 *
 * Return: 0; -EINVAL (another layout, the name), -EBUSY or -ENOMEM, and nothing changed.
 *
 * Since: 0.1
 */
int hamidp_occupancy_apply(struct hamidp_occupancy *occ, const struct hamidp_decision *decision,
			   const char *holder, struct hamidp_reason *reason);

/**
 * hamidp_occupancy_release() - free everything a holder has
 * @occ: occupancy
 * @holder: the name given when it was held
 *
 * Undoes hamidp_occupancy_apply() and hamidp_occupancy_hold().
 *
 * Return: 0, or -ENOENT (holds nothing).
 *
 * Since: 0.1
 */
int hamidp_occupancy_release(struct hamidp_occupancy *occ, const char *holder);

/** hamidp_occupancy_holder() - who holds a slot, borrowed until the next change; NULL if free;
 * Since: 0.1 */
const char *hamidp_occupancy_holder(const struct hamidp_occupancy *occ, size_t slot);
/** hamidp_occupancy_n_free() - free slots of the device at a position, whatever its health; Since:
 * 0.1 */
uint32_t hamidp_occupancy_n_free(const struct hamidp_occupancy *occ, size_t pos);

#ifdef __cplusplus
}
#endif
#endif
