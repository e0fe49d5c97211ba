/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Publications: turns slots into numbers of free slots, lets publish-choose.c choose, and turns
 * numbers into a cause for each slot. Reads only what it is given.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <hami/publish.h>

#include "publish-choose.h"
#include "reason.h"
#include "room.h"
#include "sized.h"

#define N_CAUSES (HAMIDP_CAUSE_HOLD_DOWN + 1U)

struct hamidp_publication {
	struct hamidp_layout *layout;
	size_t resource;
	uint8_t *causes; /* of each slot of the layout */
	size_t cap_causes;
	size_t n_causes[N_CAUSES]; /* slots of the resource, by cause */
	size_t n_free;
	/* Room to work in, kept from call to call. */
	struct hdp_shown *cards;
	size_t n_cards, cap_cards;
};

HAMIDP_EXPORT const char *hamidp_cause_to_string(enum hamidp_cause cause)
{
	switch (cause) {
	case HAMIDP_CAUSE_NONE:
		return "none";
	case HAMIDP_CAUSE_UNHEALTHY:
		return "unhealthy";
	case HAMIDP_CAUSE_WITHHELD:
		return "withheld";
	case HAMIDP_CAUSE_HOLD_DOWN:
		return "hold-down";
	case _HAMIDP_CAUSE_PAD:
		break;
	}
	return "unknown";
}

HAMIDP_EXPORT int hamidp_publication_new(struct hamidp_publication **ret)
{
	struct hamidp_publication *publication = calloc(1, sizeof(*publication));

	if (!publication)
		return -ENOMEM;
	*ret = publication;
	return 0;
}

HAMIDP_EXPORT struct hamidp_publication *hamidp_publication_free(
	struct hamidp_publication *publication)
{
	if (!publication)
		return NULL;
	hamidp_layout_unref(publication->layout);
	free(publication->causes);
	free(publication->cards);
	free(publication);
	return NULL;
}

/* Room for a publication of @layout; what is in it stays. */
static int reserve(struct hamidp_publication *publication, const struct hamidp_layout *layout)
{
	size_t n_cards = layout->inv->n_devices;

	if (layout->n_slots > publication->cap_causes) {
		uint8_t *causes = realloc(publication->causes, layout->n_slots);

		if (!causes)
			return -ENOMEM;
		publication->causes = causes;
		publication->cap_causes = layout->n_slots;
	}
	if (n_cards > publication->cap_cards) {
		struct hdp_shown *cards = reallocarray(publication->cards, n_cards, sizeof(*cards));

		if (!cards)
			return -ENOMEM;
		publication->cards = cards;
		publication->cap_cards = n_cards;
	}
	return 0;
}

static int check(const struct hamidp_layout *layout, const struct hamidp_occupancy *occ,
		 size_t resource, const struct hamidp_publish_options *opts,
		 struct hamidp_publish_options *ret_opts, struct hamidp_reason *reason)
{
	struct hamidp_publish_options own = { 0 };
	int r = hdp_occupancy_check(occ, layout, resource, reason);

	if (r < 0)
		return r;
	if (opts && !hdp_take_sized(&own, sizeof(own), opts, opts->size, sizeof(own)))
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"publish options: size %zu is not accepted, expected %zu to %u, "
				"with zeroes for what this version does not know",
				opts->size, sizeof(own), HDP_SIZED_MAX);
	if (own.mode != HAMIDP_PUBLISH_ALL && own.mode != HAMIDP_PUBLISH_PLACEABLE)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"publish mode %d: 0 and 1 are accepted", (int)own.mode);
	*ret_opts = own;
	return 0;
}

/* Health alone; and the numbers of the cards that have something free. */
static void start(struct hamidp_publication *publication, const struct hamidp_layout *layout,
		  const struct hamidp_occupancy *occ, size_t resource)
{
	if (layout->n_slots > 0)
		memset(publication->causes, HAMIDP_CAUSE_NONE, layout->n_slots);
	publication->n_cards = 0;
	for (size_t pos = 0; pos < layout->inv->n_devices; pos++) {
		const struct hdp_layout_device *dev = &layout->devices[pos];
		struct hdp_shown *card = &publication->cards[publication->n_cards];

		if (dev->resource != resource || dev->n_slots == 0)
			continue;
		if (!hdp_room_is_healthy(layout, pos)) {
			memset(publication->causes + dev->first_slot, HAMIDP_CAUSE_UNHEALTHY,
			       dev->n_slots);
			continue;
		}
		*card = (struct hdp_shown){ .pos = (uint32_t)pos,
					    .free = hdp_room_free(occ, pos),
					    .cap = hdp_room_cap(occ, pos) };
		publication->n_cards += card->free > 0;
	}
	hdp_shown_sort(publication->cards, publication->n_cards);
}

static bool is_held(const struct hamidp_occupancy *occ, size_t slot)
{
	return occ->held && hdp_bit_test(occ->held, slot);
}

/* What the numbers say about one card: free slots that they leave out get @cause. */
static void mark_card(struct hamidp_publication *publication, const struct hamidp_occupancy *occ,
		      const struct hdp_shown *card, enum hamidp_cause cause)
{
	const struct hdp_layout_device *dev = &occ->layout->devices[card->pos];
	size_t end = dev->first_slot + dev->n_slots;
	struct hdp_run part = { dev->first_slot, end };
	uint32_t part_left = card->part, more_left = card->more;

	if (occ->layout->inv->contiguous && card->part > 0)
		part = hdp_room_run(occ, card->pos, card->part);
	for (size_t slot = dev->first_slot; slot < end; slot++) {
		uint8_t *at = &publication->causes[slot];

		if (is_held(occ, slot))
			continue;
		if (part_left > 0 && slot >= part.first && slot < part.end) {
			part_left--;
			*at = HAMIDP_CAUSE_NONE;
		} else if (more_left > 0) {
			more_left--;
			*at = HAMIDP_CAUSE_NONE;
		} else if (*at == HAMIDP_CAUSE_NONE) {
			*at = (uint8_t)cause;
		}
	}
}

static void mark(struct hamidp_publication *publication, const struct hamidp_occupancy *occ,
		 enum hamidp_cause cause)
{
	for (size_t i = 0; i < publication->n_cards; i++)
		mark_card(publication, occ, &publication->cards[i], cause);
}

static uint64_t n_shown(const struct hamidp_publication *publication)
{
	uint64_t n = 0;

	for (size_t i = 0; i < publication->n_cards; i++)
		n += publication->cards[i].part + publication->cards[i].more;
	return n;
}

static void show_all(struct hamidp_publication *publication)
{
	for (size_t i = 0; i < publication->n_cards; i++) {
		publication->cards[i].part = 0;
		publication->cards[i].more = publication->cards[i].free;
	}
}

static void hold_down(struct hamidp_publication *publication, bool placeable,
		      struct hdp_room_rules rules, uint32_t limit)
{
	if (placeable)
		hdp_shown_placeable(publication->cards, publication->n_cards, rules, limit);
	else
		hdp_shown_tightest(publication->cards, publication->n_cards, rules, limit);
}

static void count(struct hamidp_publication *publication, const struct hamidp_layout *layout,
		  const struct hamidp_occupancy *occ, size_t resource)
{
	memset(publication->n_causes, 0, sizeof(publication->n_causes));
	publication->n_free = 0;
	for (size_t pos = 0; pos < layout->inv->n_devices; pos++) {
		const struct hdp_layout_device *dev = &layout->devices[pos];

		for (size_t i = 0; dev->resource == resource && i < dev->n_slots; i++) {
			size_t slot = dev->first_slot + i;
			uint8_t cause = publication->causes[slot];

			publication->n_causes[cause]++;
			publication->n_free += cause == HAMIDP_CAUSE_NONE && !is_held(occ, slot);
		}
	}
}

HAMIDP_EXPORT int hamidp_publish(const struct hamidp_layout *layout,
				 const struct hamidp_occupancy *occ, size_t resource,
				 const struct hamidp_publish_options *opts,
				 struct hamidp_publication *publication,
				 struct hamidp_reason *reason)
{
	/* Only its count of references changes. */
	struct hamidp_layout *shared = (struct hamidp_layout *)layout, *old = publication->layout;
	struct hamidp_publish_options own = { 0 };
	struct hdp_room_rules rules;
	bool placeable;
	int r;

	r = check(layout, occ, resource, opts, &own, reason);
	if (r < 0)
		return r;
	placeable = own.mode == HAMIDP_PUBLISH_PLACEABLE;
	r = reserve(publication, layout);
	if (r < 0)
		return hdp_oom(reason);

	start(publication, layout, occ, resource);
	rules = hdp_room_rules(layout, resource);
	if (placeable) {
		hdp_shown_placeable(publication->cards, publication->n_cards, rules, HDP_NO_LIMIT);
		mark(publication, occ, HAMIDP_CAUSE_WITHHELD);
	} else {
		show_all(publication);
	}
	if (own.limit > 0 && n_shown(publication) > own.limit) {
		hold_down(publication, placeable, rules, own.limit);
		mark(publication, occ, HAMIDP_CAUSE_HOLD_DOWN);
	}
	count(publication, layout, occ, resource);

	publication->layout = hamidp_layout_ref(shared);
	hamidp_layout_unref(old);
	publication->resource = resource;
	hdp_reason_clear(reason);
	return 0;
}

HAMIDP_EXPORT struct hamidp_layout *hamidp_publication_layout(
	const struct hamidp_publication *publication)
{
	return publication->layout;
}

HAMIDP_EXPORT size_t hamidp_publication_resource(const struct hamidp_publication *publication)
{
	return publication->resource;
}

HAMIDP_EXPORT enum hamidp_cause hamidp_publication_cause(
	const struct hamidp_publication *publication, size_t slot)
{
	if (!publication->layout || slot >= publication->layout->n_slots)
		return HAMIDP_CAUSE_NONE;
	return (enum hamidp_cause)publication->causes[slot];
}

HAMIDP_EXPORT size_t hamidp_publication_count(const struct hamidp_publication *publication,
					      enum hamidp_cause cause)
{
	return (size_t)cause < N_CAUSES ? publication->n_causes[cause] : 0;
}

HAMIDP_EXPORT size_t hamidp_publication_n_free(const struct hamidp_publication *publication)
{
	return publication->n_free;
}
