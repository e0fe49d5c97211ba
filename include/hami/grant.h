/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HAMI_GRANT_H
#define HAMI_GRANT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: grants
 *
 * The answer to one request: slices, amounts, and everything that a container needs. A grant object
 * is an immutable picture of the moment it was got; where a later commit takes some of its slots
 * over, hamidp_node_find_grant() gives a new picture. Pictures may be read by many threads, and
 * outlive the node. No call here blocks.
 */

/* Opaque. */
struct hamidp_grant;
struct hamidp_edits;

#define HAMIDP_GRANT_ID_LEN 32 /* lower-case hex digits of a grant id */

/** hamidp_grant_ref() - take another reference; thread safe; returns @grant; Since: 0.1 */
struct hamidp_grant *hamidp_grant_ref(struct hamidp_grant *grant);
/** hamidp_grant_unref() - drop a reference (NULL is fine); thread safe; returns NULL; Since: 0.1 */
struct hamidp_grant *hamidp_grant_unref(struct hamidp_grant *grant);

/** hamidp_grant_id() - HAMIDP_GRANT_ID_LEN lower-case hex digits; Since: 0.1 */
const char *hamidp_grant_id(const struct hamidp_grant *grant);
/** hamidp_grant_resource() - full name of the resource; Since: 0.1 */
const char *hamidp_grant_resource(const struct hamidp_grant *grant);
/** hamidp_grant_owner() - front end that committed it, "" if it gave no name; Since: 0.1 */
const char *hamidp_grant_owner(const struct hamidp_grant *grant);
/** hamidp_grant_key() - idempotency key that it was committed with, "" if none; Since: 0.1 */
const char *hamidp_grant_key(const struct hamidp_grant *grant);
/** hamidp_grant_created_us() - when it was committed, on the node's clock, microseconds; Since: 0.1
 */
uint64_t hamidp_grant_created_us(const struct hamidp_grant *grant);
/** hamidp_grant_n_slots() - slots it holds; Since: 0.1 */
size_t hamidp_grant_n_slots(const struct hamidp_grant *grant);
/** hamidp_grant_slot_id() - the @i-th slot id, device order then slot order; NULL past the end;
 * Since: 0.1 */
const char *hamidp_grant_slot_id(const struct hamidp_grant *grant, size_t i);
/** hamidp_grant_n_slices() - slices, one for each device, in device order; Since: 0.1 */
size_t hamidp_grant_n_slices(const struct hamidp_grant *grant);
/** hamidp_grant_slice_device() - UUID of the @i-th slice's device; NULL past the end; Since: 0.1 */
const char *hamidp_grant_slice_device(const struct hamidp_grant *grant, size_t i);
/** hamidp_grant_slice_n_slots() - slots of the @i-th slice; 0 past the end; Since: 0.1 */
uint32_t hamidp_grant_slice_n_slots(const struct hamidp_grant *grant, size_t i);
/** hamidp_grant_slice_memory_mib() - memory of the @i-th slice, MiB; 0 past the end; Since: 0.1 */
uint64_t hamidp_grant_slice_memory_mib(const struct hamidp_grant *grant, size_t i);
/** hamidp_grant_slice_share_ppm() - compute of the @i-th slice, ppm of its device; 0 past the end;
 * Since: 0.1 */
uint32_t hamidp_grant_slice_share_ppm(const struct hamidp_grant *grant, size_t i);
/** hamidp_grant_edits() - what the container must get, borrowed; as answered at commit; Since: 0.1
 */
const struct hamidp_edits *hamidp_grant_edits(const struct hamidp_grant *grant);
/** hamidp_grant_n_bindings() - containers bound to it; Since: 0.1 */
size_t hamidp_grant_n_bindings(const struct hamidp_grant *grant);
/** hamidp_grant_binding_container() - container id of the @i-th binding; NULL past the end; Since:
 * 0.1 */
const char *hamidp_grant_binding_container(const struct hamidp_grant *grant, size_t i);

#ifdef __cplusplus
}
#endif
#endif
