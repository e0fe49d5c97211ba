/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The insides of requests and decisions, and the seams between the rooms of placement. */

#include <stdbool.h>

#include <hami/place.h>

#include "choose.h"
#include "occupancy.h"
#include "search.h"

/* No layout has more slots than this; numbers beyond are remembered, not stored. */
#define HDP_LAYOUT_SLOTS_MAX ((size_t)HDP_DEVICES_MAX * HAMIDP_SLOTS_MAX)

struct hdp_slot_set { /* grows with the largest number put in */
	uint64_t *words;
	size_t n_words; /* words that may be other than 0 */
	size_t cap_words;
	size_t outside; /* the largest number that no layout has, 0: none */
};

struct hamidp_request {
	size_t resource;
	uint32_t units;
	uint32_t n_devices;  /* with @units_each or amounts instead of @units, if @by_device */
	uint32_t units_each; /* 0: amounts */
	uint32_t share_ppm;
	uint64_t memory_mib;
	int32_t numa_node;
	bool by_device, by_amount;
	bool has_placement, has_split; /* other than the policy's */
	enum hamidp_placement placement;
	enum hamidp_split split;
	bool has_available;
	struct hdp_slot_set available;
	struct hdp_slot_set required;
};

static inline bool hdp_request_names_slots(const struct hamidp_request *req)
{
	return req->has_available || req->required.n_words > 0 || req->required.outside > 0;
}

struct hamidp_decision {
	struct hamidp_layout *layout;
	size_t resource;
	uint32_t *slots; /* ascending */
	size_t n_slots;
	size_t n_devices;
	bool is_split;
	int64_t cost;
	/* Room to work in, kept from call to call; what it holds means nothing in between. */
	size_t cap_slots, cap_words, cap_cards;
	uint64_t *free;	  /* slots that may be chosen */
	uint64_t *chosen; /* slots that are */
	struct hdp_card *cards;
	size_t cap_numbers;
	uint32_t *numbers; /* HDP_SPARE_ARRAYS and one more of the number of devices */
	struct hdp_search *search;
	struct hdp_spare spare;
};

/* What a request wants once the policy has had its say. */
struct hdp_place_rules {
	enum hamidp_placement placement;
	enum hamidp_split split;
	uint32_t slots;	   /* S: of the resource's largest device */
	uint32_t per_card; /* the most that one card gives */
};

/* Room for a decision about @layout with @n_slots slots. 0 or -ENOMEM. */
int hdp_decision_reserve(struct hamidp_decision *decision, const struct hamidp_layout *layout,
			 size_t n_slots) hdp_must_check;
/*
 * Make the slots in decision->chosen the decision. Cannot fail after hdp_decision_reserve().
 * @rules: what counts as a split, NULL: nothing does.
 */
void hdp_decision_settle(struct hamidp_decision *decision, const struct hamidp_layout *layout,
			 size_t resource, const struct hdp_place_rules *rules);

/* @req may be NULL: the policy alone. */
struct hdp_place_rules hdp_place_rules(const struct hamidp_layout *layout, size_t resource,
				       const struct hamidp_request *req);

/* The most units that one request gets in a normal form. */
uint32_t hdp_place_largest(const struct hdp_place_rules *rules, const struct hdp_card *cards,
			   size_t n_cards);

/* Slots of the resource's largest device. */
uint32_t hdp_layout_slots_per_device(const struct hamidp_layout *layout, size_t resource);

/* One placement, while it is worked out and as long as nobody uses its decision's room again. */
struct hdp_place_call {
	const struct hamidp_layout *layout;
	const struct hamidp_request *req;
	struct hdp_place_rules rules;
	struct hamidp_decision *decision;
	size_t n_cards; /* of decision->cards; 0 until they are collected */
	struct hdp_goal goal;
	struct hdp_terms terms; /* of the decision */
};

/* hamidp_place(), whose layout, request and decision are in @call. */
int hdp_place(struct hdp_place_call *call, const struct hamidp_occupancy *occ,
	      struct hamidp_reason *reason);

/* place-cards.c: from slots to numbers and back. */

/*
 * Fill decision->free, decision->spare and decision->cards (@ret_n of them) for a checked request.
 */
void hdp_cards_collect(const struct hamidp_layout *layout, const struct hamidp_occupancy *occ,
		       const struct hamidp_request *req, const struct hdp_place_rules *rules,
		       struct hamidp_decision *decision, size_t *ret_n);
/* What each card must give for the amounts of a request; more than it has: it cannot. */
void hdp_cards_need_amounts(const struct hamidp_layout *layout, const struct hamidp_request *req,
			    struct hdp_card *cards, size_t n_cards);
/* Fill decision->chosen with the slots that the cards' parts stand for. */
void hdp_cards_take(const struct hamidp_layout *layout, const struct hamidp_request *req,
		    struct hamidp_decision *decision, size_t n_cards);
