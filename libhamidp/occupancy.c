/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Occupancy: who holds which slots, as a value. Holders have a name in a pool, a place in a hash
 * table that is only looked up and never walked (so no order depends on it), and a count.
 */

#include <errno.h>
#include <string.h>

#include "occupancy.h"
#include "place.h"
#include "reason.h"

#define NO_HOLDER UINT32_MAX

HAMIDP_EXPORT int hamidp_occupancy_new(struct hamidp_layout *layout, struct hamidp_occupancy **ret)
{
	struct hamidp_occupancy *occ = calloc(1, sizeof(*occ));

	if (!occ)
		return -ENOMEM;
	occ->layout = hamidp_layout_ref(layout);
	*ret = occ;
	return 0;
}

HAMIDP_EXPORT struct hamidp_occupancy *hamidp_occupancy_free(struct hamidp_occupancy *occ)
{
	if (!occ)
		return NULL;
	hamidp_layout_unref(occ->layout);
	free(occ->held);
	free(occ->slot_holder);
	free(occ->holders);
	free(occ->hash);
	free(occ->names);
	free(occ);
	return NULL;
}
DEFINE_CLEANUP(struct hamidp_occupancy *, hamidp_occupancy_free)

/* *@ret is NULL where there is nothing to copy. */
static int copy_array(const void *src, size_t n, size_t item_size, void *ret)
{
	void *copy = NULL;

	if (src && n > 0) {
		copy = reallocarray(NULL, n, item_size);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, src, n * item_size);
	}
	memcpy(ret, &copy, sizeof(copy));
	return 0;
}

HAMIDP_EXPORT int hamidp_occupancy_clone(const struct hamidp_occupancy *occ,
					 struct hamidp_occupancy **ret)
{
	hdp_cleanup(hamidp_occupancy_freep) struct hamidp_occupancy *copy = NULL;
	size_t n_slots = occ->layout->n_slots;
	int r;

	r = hamidp_occupancy_new(occ->layout, &copy);
	if (r < 0)
		return r;
	if (occ->n_used == 0) {
		*ret = take_ptr(copy);
		return 0;
	}
	if (copy_array(occ->held, hdp_bit_words(n_slots), sizeof(*occ->held), &copy->held) < 0 ||
	    copy_array(occ->slot_holder, n_slots, sizeof(*occ->slot_holder), &copy->slot_holder) <
		    0 ||
	    copy_array(occ->holders, occ->n_holders, sizeof(*occ->holders), &copy->holders) < 0 ||
	    copy_array(occ->hash, occ->hash_size, sizeof(*occ->hash), &copy->hash) < 0 ||
	    copy_array(occ->names, occ->names_len, 1, &copy->names) < 0)
		return -ENOMEM;
	copy->n_holders = copy->cap_holders = occ->n_holders;
	copy->n_used = occ->n_used;
	copy->hash_size = occ->hash_size;
	copy->names_len = copy->names_cap = occ->names_len;
	*ret = take_ptr(copy);
	return 0;
}

HAMIDP_EXPORT struct hamidp_layout *hamidp_occupancy_layout(const struct hamidp_occupancy *occ)
{
	return occ->layout;
}

/* FNV-1a; names are short and the table is not reachable with chosen names at a price. */
static uint32_t name_hash(const char *name)
{
	uint32_t hash = 2166136261U;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619U;
	return hash;
}

static const char *holder_name(const struct hamidp_occupancy *occ, uint32_t holder)
{
	return occ->names + occ->holders[holder].name;
}

/* Index of a holder that holds something, or NO_HOLDER; *@ret_at is its cell or the empty one. */
static uint32_t find_holder(const struct hamidp_occupancy *occ, const char *name, uint32_t *ret_at)
{
	uint32_t mask = occ->hash_size - 1;

	*ret_at = 0;
	if (occ->hash_size == 0)
		return NO_HOLDER;
	for (uint32_t at = name_hash(name) & mask;; at = (at + 1) & mask) {
		*ret_at = at;
		if (occ->hash[at] == 0)
			return NO_HOLDER;
		if (strcmp(holder_name(occ, occ->hash[at] - 1), name) == 0)
			return occ->hash[at] - 1;
	}
}

bool hdp_occupancy_find(const struct hamidp_occupancy *occ, const char *name, uint32_t *ret_holder)
{
	uint32_t at, holder = find_holder(occ, name, &at);

	if (holder == NO_HOLDER)
		return false;
	*ret_holder = holder;
	return true;
}

static int grow_hash(struct hamidp_occupancy *occ)
{
	uint32_t size = occ->hash_size ? 2 * occ->hash_size : 8, at;
	uint32_t *old = occ->hash;

	if (2 * (occ->n_used + 1) <= occ->hash_size)
		return 0;
	occ->hash = calloc(size, sizeof(*occ->hash));
	if (!occ->hash) {
		occ->hash = old;
		return -ENOMEM;
	}
	free(old);
	occ->hash_size = size;
	for (uint32_t i = 0; i < occ->n_holders; i++)
		if (occ->holders[i].n_held > 0) {
			(void)find_holder(occ, holder_name(occ, i), &at);
			occ->hash[at] = i + 1;
		}
	return 0;
}

/* Room for @len more bytes; names no longer used are left behind whenever the pool moves. */
static int grow_names(struct hamidp_occupancy *occ, size_t len)
{
	size_t live = 0, cap, at = 0;
	char *names;

	if (occ->names_len + len <= occ->names_cap)
		return 0;
	for (uint32_t i = 0; i < occ->n_holders; i++)
		if (occ->holders[i].n_held > 0)
			live += strlen(holder_name(occ, i)) + 1;
	cap = live + len + live / 2;
	cap = cap < 64 ? 64 : cap;
	names = malloc(cap);
	if (!names)
		return -ENOMEM;
	for (uint32_t i = 0; i < occ->n_holders; i++) {
		size_t size;

		if (occ->holders[i].n_held == 0)
			continue;
		size = strlen(holder_name(occ, i)) + 1;
		memcpy(names + at, holder_name(occ, i), size);
		occ->holders[i].name = (uint32_t)at;
		at += size;
	}
	free(occ->names);
	occ->names = names;
	occ->names_len = (uint32_t)at;
	occ->names_cap = (uint32_t)cap;
	return 0;
}

static int grow_slots(struct hamidp_occupancy *occ)
{
	size_t n = occ->layout->n_slots;

	if (!occ->held) {
		occ->held = calloc(hdp_bit_words(n), sizeof(*occ->held));
		if (!occ->held)
			return -ENOMEM;
	}
	if (!occ->slot_holder) {
		occ->slot_holder = calloc(n, sizeof(*occ->slot_holder));
		if (!occ->slot_holder)
			return -ENOMEM;
	}
	return 0;
}

static int grow_holders(struct hamidp_occupancy *occ)
{
	uint32_t cap = occ->cap_holders ? occ->cap_holders + occ->cap_holders / 2 + 1 : 4;
	struct hdp_holder *holders;

	if (occ->n_used < occ->n_holders || occ->n_holders < occ->cap_holders)
		return 0;
	holders = reallocarray(occ->holders, cap, sizeof(*holders));
	if (!holders)
		return -ENOMEM;
	occ->holders = holders;
	occ->cap_holders = cap;
	return 0;
}

/*
 * Everything that take_holder() and take_slot() need. What is grown and not used changes nothing,
 * and nothing moves for a known holder: its name may have been borrowed from here.
 */
static int reserve(struct hamidp_occupancy *occ, const char *name)
{
	uint32_t at;
	int r;

	if (find_holder(occ, name, &at) != NO_HOLDER)
		return 0;
	r = grow_slots(occ);
	if (r < 0)
		return r;
	r = grow_holders(occ);
	if (r < 0)
		return r;
	r = grow_names(occ, strlen(name) + 1);
	if (r < 0)
		return r;
	return grow_hash(occ);
}

/* The holder of this name, a new one if need be. Cannot fail after reserve(). */
static uint32_t take_holder(struct hamidp_occupancy *occ, const char *name)
{
	size_t size = strlen(name) + 1;
	uint32_t at, holder = find_holder(occ, name, &at);

	if (holder != NO_HOLDER)
		return holder;
	holder = occ->n_holders;
	if (occ->n_used < occ->n_holders)
		for (holder = 0; occ->holders[holder].n_held > 0;)
			holder++;
	else
		occ->n_holders++;
	memcpy(occ->names + occ->names_len, name, size);
	occ->holders[holder] = (struct hdp_holder){ .name = occ->names_len };
	occ->names_len += (uint32_t)size;
	occ->hash[at] = holder + 1;
	occ->n_used++;
	return holder;
}

static void take_slot(struct hamidp_occupancy *occ, size_t slot, uint32_t holder)
{
	if (occ->slot_holder[slot] == holder + 1)
		return;
	occ->slot_holder[slot] = holder + 1;
	hdp_bit_set(occ->held, slot);
	occ->holders[holder].n_held++;
}

/* Take a name out of the table and close the gap, so that every name is still found. */
static void drop_from_hash(struct hamidp_occupancy *occ, uint32_t gap)
{
	uint32_t mask = occ->hash_size - 1;

	for (uint32_t at = (gap + 1) & mask; occ->hash[at] != 0; at = (at + 1) & mask) {
		uint32_t home = name_hash(holder_name(occ, occ->hash[at] - 1)) & mask;

		if (((at - home) & mask) >= ((at - gap) & mask)) {
			occ->hash[gap] = occ->hash[at];
			gap = at;
		}
	}
	occ->hash[gap] = 0;
}

static bool name_is_good(const char *name)
{
	return name[0] != '\0' && strnlen(name, HAMIDP_HOLDER_MAX + 1) <= HAMIDP_HOLDER_MAX;
}

/* The name of another holder of the slot, or NULL. */
static const char *other_holder(const struct hamidp_occupancy *occ, size_t slot, const char *name)
{
	const char *held_by = hamidp_occupancy_holder(occ, slot);

	return held_by && strcmp(held_by, name) != 0 ? held_by : NULL;
}

HAMIDP_EXPORT int hamidp_occupancy_hold(struct hamidp_occupancy *occ, size_t slot,
					const char *holder)
{
	int r;

	if (slot >= occ->layout->n_slots || !name_is_good(holder))
		return -EINVAL;
	if (other_holder(occ, slot, holder))
		return -EBUSY;
	r = reserve(occ, holder);
	if (r < 0)
		return r;
	take_slot(occ, slot, take_holder(occ, holder));
	return 0;
}

HAMIDP_EXPORT int hamidp_occupancy_apply(struct hamidp_occupancy *occ,
					 const struct hamidp_decision *decision, const char *holder,
					 struct hamidp_reason *reason)
{
	const struct hamidp_layout *layout = occ->layout;
	uint32_t index;

	if (decision->layout != layout)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"the decision is one about another layout");
	if (!name_is_good(holder))
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"holder '%.128s': 1 to %d bytes are accepted", holder,
				HAMIDP_HOLDER_MAX);
	for (size_t i = 0; i < decision->n_slots; i++) {
		const char *other = other_holder(occ, decision->slots[i], holder);

		if (other)
			return hdp_fail(reason, -EBUSY, HAMIDP_REASON_HELD,
					"slot '%.128s' is held by '%s'",
					layout->slots[decision->slots[i]].id, other);
	}
	if (reserve(occ, holder) < 0)
		return hdp_oom(reason);
	index = take_holder(occ, holder);
	for (size_t i = 0; i < decision->n_slots; i++)
		take_slot(occ, decision->slots[i], index);
	hdp_reason_clear(reason);
	return 0;
}

int hdp_occupancy_reserve(struct hamidp_occupancy *occ, const char *holder)
{
	return reserve(occ, holder);
}

static void lose_slot(struct hamidp_occupancy *occ, size_t slot)
{
	uint32_t holder = occ->slot_holder[slot] - 1;
	uint32_t at;

	occ->slot_holder[slot] = 0;
	if (--occ->holders[holder].n_held > 0)
		return;
	(void)find_holder(occ, holder_name(occ, holder), &at);
	drop_from_hash(occ, at);
	occ->n_used--;
}

void hdp_occupancy_take_over(struct hamidp_occupancy *occ, const size_t *slots, size_t n_slots,
			     const char *holder)
{
	uint32_t index = take_holder(occ, holder);

	for (size_t i = 0; i < n_slots; i++) {
		uint32_t before = occ->slot_holder[slots[i]];

		if (before != 0 && before != index + 1)
			lose_slot(occ, slots[i]);
		take_slot(occ, slots[i], index);
	}
}

HAMIDP_EXPORT int hamidp_occupancy_release(struct hamidp_occupancy *occ, const char *holder)
{
	uint32_t at, index = find_holder(occ, holder, &at), left;
	size_t end = occ->layout->n_slots;

	if (index == NO_HOLDER)
		return -ENOENT;
	left = occ->holders[index].n_held;
	for (size_t slot = hdp_bit_next_set(occ->held, 0, end); left > 0;
	     slot = hdp_bit_next_set(occ->held, slot + 1, end)) {
		if (occ->slot_holder[slot] != index + 1)
			continue;
		occ->slot_holder[slot] = 0;
		hdp_bit_clear(occ->held, slot);
		left--;
	}
	drop_from_hash(occ, at);
	occ->holders[index].n_held = 0;
	occ->n_used--;
	return 0;
}

/* Hold the slots of one stated grant. */
static int load_grant(struct hamidp_occupancy *occ, const struct hdp_stated_grant *grant,
		      struct hamidp_reason *reason)
{
	for (size_t i = 0; i < grant->n_slots; i++) {
		const char *other;
		size_t slot;
		int r;

		if (hamidp_layout_find_slot(occ->layout, grant->slots[i], &slot) < 0)
			return hdp_fail(reason, -ENOENT, HAMIDP_REASON_UNKNOWN_SLOT,
					"grant '%.128s': there is no slot '%.128s'", grant->id,
					grant->slots[i]);
		other = other_holder(occ, slot, grant->id);
		if (other)
			return hdp_fail(reason, -EBUSY, HAMIDP_REASON_HELD,
					"grant '%.128s': slot '%.128s' is held by '%s'", grant->id,
					grant->slots[i], other);
		r = hamidp_occupancy_hold(occ, slot, grant->id);
		if (r == -ENOMEM)
			return hdp_oom(reason);
		if (r < 0)
			return hdp_fail(reason, r, HAMIDP_REASON_BAD_ARGUMENT,
					"grant '%.128s': 1 to %d bytes are accepted as id",
					grant->id, HAMIDP_HOLDER_MAX);
	}
	return 0;
}

HAMIDP_EXPORT int hamidp_occupancy_load(struct hamidp_occupancy *occ, struct hamidp_reason *reason)
{
	hdp_cleanup(hamidp_occupancy_freep) struct hamidp_occupancy *next = NULL;
	const struct hamidp_inventory *inv = occ->layout->inv;
	struct hamidp_occupancy swap;
	int r;

	if (hamidp_occupancy_clone(occ, &next) < 0)
		return hdp_oom(reason);
	for (size_t i = 0; i < inv->n_grants; i++) {
		r = load_grant(next, &inv->grants[i], reason);
		if (r < 0)
			return r;
	}
	swap = *occ;
	*occ = *next;
	*next = swap;
	hdp_reason_clear(reason);
	return 0;
}

int hdp_occupancy_check(const struct hamidp_occupancy *occ, const struct hamidp_layout *layout,
			size_t resource, struct hamidp_reason *reason)
{
	if (resource >= layout->n_resources)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_UNKNOWN_RESOURCE,
				"resource number %zu: the layout has %zu", resource,
				layout->n_resources);
	if (occ->layout != layout)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"the occupancy is one of another layout");
	return 0;
}

HAMIDP_EXPORT const char *hamidp_occupancy_holder(const struct hamidp_occupancy *occ, size_t slot)
{
	if (slot >= occ->layout->n_slots || !occ->held || !hdp_bit_test(occ->held, slot))
		return NULL;
	return holder_name(occ, occ->slot_holder[slot] - 1);
}

HAMIDP_EXPORT uint32_t hamidp_occupancy_n_free(const struct hamidp_occupancy *occ, size_t pos)
{
	const struct hdp_layout_device *dev;

	if (pos >= occ->layout->inv->n_devices)
		return 0;
	dev = &occ->layout->devices[pos];
	if (!occ->held)
		return dev->n_slots;
	return dev->n_slots -
	       hdp_bit_count(occ->held, dev->first_slot, dev->first_slot + dev->n_slots);
}
