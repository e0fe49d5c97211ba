/* SPDX-License-Identifier: Apache-2.0 */

/* An occupancy as JSON: the inventory that it is about, with grants that say who holds what. */

#include <errno.h>
#include <string.h>

#include "occupancy.h"
#include "text.h"

/* Grants under way. Ids, resources and slot ids are borrowed from the occupancy and its layout. */
struct listing {
	const struct hamidp_occupancy *occ;
	struct hdp_stated_grant *grants; /* in the order of their first slots */
	size_t n;
	uint32_t *grant_of; /* for each holder and resource: its grant + 1, 0 none yet */
	uint32_t *numbers;  /* slots of the first grant, then of the next, ... */
	char **ids;	    /* theirs */
};

static void listing_done(struct listing *list)
{
	free(list->grants);
	free(list->grant_of);
	free(list->numbers);
	free(list->ids);
}

static int listing_init(struct listing *list, const struct hamidp_occupancy *occ)
{
	size_t n_cells = (size_t)occ->n_holders * occ->layout->n_resources;
	size_t n_slots = 0;

	for (uint32_t i = 0; i < occ->n_holders; i++)
		n_slots += occ->holders[i].n_held;
	list->occ = occ;
	list->grants = calloc(n_slots ? n_slots : 1, sizeof(*list->grants));
	list->grant_of = calloc(n_cells ? n_cells : 1, sizeof(*list->grant_of));
	list->numbers = calloc(n_slots ? n_slots : 1, sizeof(*list->numbers));
	list->ids = calloc(n_slots ? n_slots : 1, sizeof(*list->ids));
	return list->grants && list->grant_of && list->numbers && list->ids ? 0 : -ENOMEM;
}

static size_t next_held(const struct listing *list, size_t from)
{
	size_t end = list->occ->layout->n_slots;

	return list->occ->held ? hdp_bit_next_set(list->occ->held, from, end) : end;
}

static size_t resource_of(const struct hamidp_layout *layout, size_t slot)
{
	return layout->devices[layout->slots[slot].device].resource;
}

/* The grant of a held slot, a new one if need be; NULL: its holder cannot be written. */
static struct hdp_stated_grant *grant_of(struct listing *list, size_t slot)
{
	const struct hamidp_layout *layout = list->occ->layout;
	size_t resource = resource_of(layout, slot), holder = list->occ->slot_holder[slot] - 1;
	uint32_t *cell = &list->grant_of[holder * layout->n_resources + resource];
	const char *name;

	if (*cell == 0) {
		name = hamidp_occupancy_holder(list->occ, slot);
		if (list->n == HDP_GRANTS_MAX || !hdp_text_valid(name, strlen(name)))
			return NULL;
		list->grants[list->n].id = (char *)name;
		list->grants[list->n].resource = layout->resources[resource].name;
		*cell = (uint32_t)++list->n;
	}
	return &list->grants[*cell - 1];
}

static int count_slots(struct listing *list)
{
	for (size_t slot = next_held(list, 0); slot < list->occ->layout->n_slots;
	     slot = next_held(list, slot + 1)) {
		struct hdp_stated_grant *grant = grant_of(list, slot);

		if (!grant)
			return -EINVAL;
		grant->n_slots++;
	}
	return 0;
}

/* Give each grant its slots, ascending. */
static void fill_slots(struct listing *list)
{
	char **at = list->ids;

	for (size_t i = 0; i < list->n; i++) {
		list->grants[i].slots = at;
		at += list->grants[i].n_slots;
		list->grants[i].n_slots = 0;
	}
	for (size_t slot = next_held(list, 0); slot < list->occ->layout->n_slots;
	     slot = next_held(list, slot + 1)) {
		struct hdp_stated_grant *grant = grant_of(list, slot);
		char **cell = &grant->slots[grant->n_slots++];

		*cell = (char *)list->occ->layout->slots[slot].id;
		list->numbers[cell - list->ids] = (uint32_t)slot;
	}
}

/* What the slots of a grant amount to, device by device. */
static void add_amounts(const struct listing *list, struct hdp_stated_grant *grant)
{
	const struct hamidp_layout *layout = list->occ->layout;
	const uint32_t *numbers = list->numbers + (grant->slots - list->ids);
	uint32_t k;

	for (size_t i = 0; i < grant->n_slots; i += k) {
		uint32_t pos = layout->slots[numbers[i]].device;

		for (k = 1; i + k < grant->n_slots && layout->slots[numbers[i + k]].device == pos;)
			k++;
		grant->memory_mib += hamidp_layout_slice_memory_mib(layout, pos, k);
		grant->share_ppm += hamidp_layout_slice_share_ppm(layout, pos, k);
	}
}

HAMIDP_EXPORT int hamidp_occupancy_to_json(const struct hamidp_occupancy *occ, char **ret_text,
					   size_t *ret_len)
{
	hdp_cleanup(listing_done) struct listing list = { 0 };
	int r;

	r = listing_init(&list, occ);
	if (r < 0)
		return r;
	r = count_slots(&list);
	if (r < 0)
		return r;
	fill_slots(&list);
	for (size_t i = 0; i < list.n; i++)
		add_amounts(&list, &list.grants[i]);
	return hdp_inventory_write(occ->layout->inv, list.grants, list.n, ret_text, ret_len);
}
