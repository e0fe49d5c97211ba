/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Small machines drawn as text, one word a card, one character a slot:
 *
 *   .  free        x  held        R  free and required        H  held and required
 *   o  free, and available where a test restricts the choice
 *
 * '!' before a word: the card is not healthy. '@N': it lies on NUMA node N. '&': it belongs to the
 * second resource.
 */

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <hami/hamidp.h>

#include "machine.h"

#define FIXTURE_CARDS_MAX 512

struct fixture_card {
	char slots[HAMIDP_SLOTS_MAX + 1];
	bool healthy;
	bool second; /* resource */
	int32_t numa_node;
};

/* Reads one word; returns what follows it. */
static inline const char *fixture_read_card(const char *text, struct fixture_card *card)
{
	size_t n;

	*card = (struct fixture_card){ .healthy = true, .numa_node = -1 };
	for (;; text++) {
		if (*text == '!') {
			card->healthy = false;
		} else if (*text == '&') {
			card->second = true;
		} else if (*text == '@') {
			text++;
			card->numa_node = *text - '0';
		} else {
			break;
		}
	}
	n = strcspn(text, " ");
	ck_assert_uint_lt(n, sizeof(card->slots));
	memcpy(card->slots, text, n);
	text += n;
	return text + strspn(text, " ");
}

static inline void fixture_add_device(struct hdp_machine *machine, struct hamidp_policy *policy,
				      size_t i, const struct fixture_card *card)
{
	struct hdp_device_info info = HDP_DEVICE_INFO_INIT;
	struct hamidp_slicing slicing = { .size = sizeof(slicing),
					  .slots = (uint32_t)strlen(card->slots) };

	ck_assert_int_gt(asprintf(&info.uuid, "GPU-%03zu", i), 0);
	ck_assert_int_gt(asprintf(&info.pci, "0000:%02zx:%02zx.0", i / 32, i % 32), 0);
	info.model = strdup(card->second ? "second" : "first");
	info.index = (int64_t)i;
	info.memory_mib = 1U << 20;
	info.numa_node = card->numa_node;
	info.health = card->healthy ? HAMIDP_HEALTH_HEALTHY : HAMIDP_HEALTH_UNHEALTHY;
	if (!card->healthy)
		info.health_cause = strdup("fell off the bus");
	ck_assert_int_eq(hamidp_policy_add_override(policy, HAMIDP_MATCH_UUID, info.uuid, &slicing,
						    NULL),
			 0);
	ck_assert_int_eq(hdp_machine_add_device(machine, &info), 0);
}

struct fixture {
	struct fixture_card cards[FIXTURE_CARDS_MAX];
	size_t n_cards;
	uint32_t max_per_device;	 /* of the policy */
	enum hamidp_placement placement; /* likewise */
	struct hamidp_layout *layout;
	struct hamidp_occupancy *occ;
	struct hamidp_request *req;
	struct hamidp_decision *decision;
	struct hamidp_reason *reason;
};

/* Resources "hami.com/vgpu" and, if a card is marked for it, "hami.com/other". */
static inline struct hamidp_layout *fixture_layout(const struct fixture *f, bool contiguous)
{
	struct hdp_machine machine = { .contiguous = contiguous };
	struct hamidp_inventory *inv = NULL;
	struct hamidp_policy *policy = NULL;
	struct hamidp_layout *layout = NULL;
	size_t second;

	ck_assert_int_eq(hamidp_policy_new(&policy), 0);
	ck_assert_int_eq(hamidp_policy_add_resource(policy, "hami.com/vgpu", NULL, NULL, NULL), 0);
	ck_assert_int_eq(hamidp_policy_set_max_per_device(policy, f->max_per_device), 0);
	ck_assert_int_eq(hamidp_policy_set_placement(policy, f->placement), 0);
	for (size_t i = 0; i < f->n_cards; i++) {
		if (f->cards[i].second &&
		    hamidp_policy_add_resource(policy, "hami.com/other", NULL, &second, NULL) == 0)
			ck_assert_int_eq(hamidp_policy_add_resource_device(policy, second,
									   HAMIDP_MATCH_MODEL,
									   "second", NULL),
					 0);
		fixture_add_device(&machine, policy, i, &f->cards[i]);
	}
	ck_assert_int_eq(hdp_machine_seal(&machine, &inv, NULL), 0);
	ck_assert_int_eq(hamidp_layout_new(inv, policy, &layout, NULL), 0);
	hamidp_inventory_unref(inv);
	hamidp_policy_free(policy);
	return layout;
}

static inline char fixture_at(const struct fixture *f, size_t slot)
{
	size_t pos = hamidp_layout_slot_device(f->layout, slot);

	return f->cards[pos].slots[slot - hamidp_layout_device_first_slot(f->layout, pos)];
}

/* Layout and occupancy from f->cards, and a request with what is required. */
static inline void fixture_make(struct fixture *f, bool contiguous)
{
	f->layout = fixture_layout(f, contiguous);
	ck_assert_int_eq(hamidp_occupancy_new(f->layout, &f->occ), 0);
	ck_assert_int_eq(hamidp_request_new(&f->req), 0);
	ck_assert_int_eq(hamidp_decision_new(&f->decision), 0);
	ck_assert_int_eq(hamidp_reason_new(&f->reason), 0);
	for (size_t slot = 0; slot < hamidp_layout_n_slots(f->layout); slot++) {
		char c = fixture_at(f, slot);

		if (c == 'x' || c == 'H')
			ck_assert_int_eq(hamidp_occupancy_hold(f->occ, slot, "someone"), 0);
		if (c == 'R' || c == 'H')
			ck_assert_int_eq(hamidp_request_add_required(f->req, slot), 0);
	}
}

static inline void fixture_draw(struct fixture *f, const char *text, bool contiguous)
{
	for (f->n_cards = 0; *text; f->n_cards++)
		text = fixture_read_card(text, &f->cards[f->n_cards]);
	fixture_make(f, contiguous);
}

static inline void fixture_done(struct fixture *f)
{
	hamidp_request_free(f->req);
	hamidp_decision_free(f->decision);
	hamidp_reason_free(f->reason);
	hamidp_occupancy_free(f->occ);
	hamidp_layout_unref(f->layout);
}

/* The decision as text: '#' for what was chosen, '.' for the rest, a blank between cards. */
static inline void fixture_show(const struct fixture *f, char *ret, size_t size)
{
	size_t n = hamidp_layout_n_slots(f->layout), at = 0, next = 0;

	for (size_t slot = 0; slot < n; slot++) {
		if (slot > 0 && hamidp_layout_slot_device(f->layout, slot) !=
					hamidp_layout_slot_device(f->layout, slot - 1))
			ret[at++] = ' ';
		ck_assert_uint_lt(at + 2, size);
		ret[at] = '.';
		if (next < hamidp_decision_n_slots(f->decision) &&
		    hamidp_decision_slot(f->decision, next) == slot) {
			ret[at] = '#';
			next++;
		}
		at++;
	}
	ret[at] = '\0';
	ck_assert_uint_eq(next, hamidp_decision_n_slots(f->decision));
}
