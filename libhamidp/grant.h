/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Grants: immutable pictures, counted by reference. A change makes a new picture. */

#include <stdbool.h>

#include <hami/edits.h>
#include <hami/grant.h>

#include "layout.h"
#include "machine.h"
#include "store.h"

struct hdp_grant_slice {
	char *uuid;
	uint32_t n_slots;
	uint64_t memory_mib;
	uint32_t share_ppm;
};

struct hdp_shared_edits { /* of all pictures of one grant */
	unsigned refs;	  /* atomic */
	struct hamidp_edits *edits;
};

struct hamidp_grant {
	unsigned refs; /* atomic */
	char id[HAMIDP_GRANT_ID_LEN + 1];
	char *resource;
	char *owner;
	char *key;
	uint64_t created_us;
	char **slots; /* ids, device order then slot order */
	size_t n_slots;
	struct hdp_grant_slice *slices;
	size_t n_slices;
	struct hdp_shared_edits *edits;
	char **containers;
	size_t n_containers;
	bool prepared; /* the driver knows it */
};

DEFINE_CLEANUP(struct hamidp_grant *, hamidp_grant_unref)

/* A picture from a record; takes over @edits on success. Slices follow from the slots' ids. */
int hdp_grant_new(const struct hdp_grant_record *rec, struct hamidp_edits *edits,
		  struct hamidp_grant **ret) hdp_must_check;

/* The same grant with the slots that @slots names, which are some of its own, in its order. */
int hdp_grant_lessen(const struct hamidp_grant *grant, const char *const *slots, size_t n_slots,
		     struct hamidp_grant **ret) hdp_must_check;

/* The same grant with one more container, or one less. */
int hdp_grant_add_container(const struct hamidp_grant *grant, const char *container_id,
			    struct hamidp_grant **ret) hdp_must_check;
int hdp_grant_remove_container(const struct hamidp_grant *grant, const char *container_id,
			       struct hamidp_grant **ret) hdp_must_check;
bool hdp_grant_has_container(const struct hamidp_grant *grant, const char *container_id);

/*
 * Before a picture is shared: fill the amounts of the slices that the layout has. True if it has
 * them all.
 */
bool hdp_grant_fill_amounts(struct hamidp_grant *grant, const struct hamidp_layout *layout);

/* Length of the UUID in a slot id; slot ids end in "::<n>". */
size_t hdp_slot_uuid_len(const char *slot_id);

void hdp_grant_record(const struct hamidp_grant *grant, struct hdp_grant_record *ret);
