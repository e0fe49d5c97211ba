/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Policies to compare with. Those that choose whole cards for the whole request: first-fit,
 * best-fit, least-used-first. Those that choose slot by slot and do not care what form comes out:
 * packed, distributed, and random as the kubelet does where nothing is preferred.
 */

#include <errno.h>
#include <string.h>

#include "node-sim.h"

/* Is card @a a better choice than @b, which comes before it? */
typedef bool (*better_fn)(const struct node *node, uint32_t a, uint32_t b);

static bool never(const struct node *node, uint32_t a, uint32_t b)
{
	(void)node;
	(void)a;
	(void)b;
	return false;
}

static bool tighter(const struct node *node, uint32_t a, uint32_t b)
{
	return node->visible[a] < node->visible[b];
}

static bool emptier(const struct node *node, uint32_t a, uint32_t b)
{
	return node->visible[a] > node->visible[b];
}

/* The best card with at least @slots free, not in @taken; CARDS_MAX if there is none. */
static uint32_t best_card(const struct node *node, uint32_t slots, const uint32_t *taken,
			  better_fn better)
{
	uint32_t best = CARDS_MAX;

	for (uint32_t card = 0; card < node->n_cards; card++)
		if (node->visible[card] >= slots && taken[card] == 0 &&
		    (best == CARDS_MAX || better(node, card, best)))
			best = card;
	return best;
}

static int choose_form(struct node *node, const uint32_t *form, uint32_t n, better_fn better,
		       uint32_t *parts)
{
	memset(parts, 0, CARDS_MAX * sizeof(*parts));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t card = best_card(node, form[i], parts, better);

		if (card == CARDS_MAX)
			return -ENOSPC;
		parts[card] = form[i];
	}
	return 0;
}

static int choose_cards(struct node *node, const struct arrival *arrival, better_fn better,
			uint32_t *parts)
{
	uint32_t form[CARDS_MAX], n = arrival->n_cards;

	for (uint32_t i = 0; i < n; i++)
		form[i] = arrival->slots;
	if (node->publish_table)
		n = normal_form(arrival->n_cards * arrival->slots, node->slots, node->n_cards,
				form);
	return choose_form(node, form, n, better, parts);
}

static int first_fit(struct node *node, const struct arrival *arrival, uint64_t holder,
		     uint32_t *parts)
{
	return choose_cards(node, arrival, never, parts);
}

static int best_fit(struct node *node, const struct arrival *arrival, uint64_t holder,
		    uint32_t *parts)
{
	return choose_cards(node, arrival, tighter, parts);
}

static int least_used(struct node *node, const struct arrival *arrival, uint64_t holder,
		      uint32_t *parts)
{
	return choose_cards(node, arrival, emptier, parts);
}

/* The card of a random visible slot. */
static uint32_t random_card(struct node *node, uint32_t n_visible)
{
	uint32_t pick = random_below(&node->rnd, n_visible), card = 0;

	while (pick >= node->visible[card])
		pick -= node->visible[card++];
	return card;
}

/* Slot by slot; with no order of cards, at random. */
static int choose_slots(struct node *node, const struct arrival *arrival, better_fn better,
			uint32_t *parts)
{
	static const uint32_t none[CARDS_MAX];
	uint32_t before[CARDS_MAX], n = arrival->n_cards * arrival->slots, n_visible = 0;

	for (uint32_t card = 0; card < node->n_cards; card++)
		n_visible += node->visible[card];
	if (n_visible < n)
		return -ENOSPC;
	memcpy(before, node->visible, sizeof(before));
	memset(parts, 0, CARDS_MAX * sizeof(*parts));
	for (; n > 0; n--) {
		uint32_t card =
			better ? best_card(node, 1, none, better) : random_card(node, n_visible);

		parts[card]++;
		node->visible[card]--;
		n_visible--;
	}
	memcpy(node->visible, before, sizeof(before));
	return 0;
}

static int replica_packed(struct node *node, const struct arrival *arrival, uint64_t holder,
			  uint32_t *parts)
{
	return choose_slots(node, arrival, tighter, parts);
}

static int replica_distributed(struct node *node, const struct arrival *arrival, uint64_t holder,
			       uint32_t *parts)
{
	return choose_slots(node, arrival, emptier, parts);
}

static int random_ids(struct node *node, const struct arrival *arrival, uint64_t holder,
		      uint32_t *parts)
{
	return choose_slots(node, arrival, NULL, parts);
}

/* best-fit comes first: the others are compared with it. */
const struct policy policies[] = {
	{ .name = "best-fit", .choose = best_fit },
	{ .name = "pack",
	  .choose = library_choose,
	  .is_library = true,
	  .placement = HAMIDP_PLACEMENT_PACK },
	{ .name = "topology",
	  .choose = library_choose,
	  .is_library = true,
	  .placement = HAMIDP_PLACEMENT_TOPOLOGY },
	{ .name = "spread",
	  .choose = library_choose,
	  .is_library = true,
	  .placement = HAMIDP_PLACEMENT_SPREAD },
	{ .name = "fit",
	  .choose = library_choose,
	  .is_library = true,
	  .placement = HAMIDP_PLACEMENT_FIT },
	{ .name = "first-fit", .choose = first_fit },
	{ .name = "least-used", .choose = least_used },
	{ .name = "replica-packed", .choose = replica_packed },
	{ .name = "replica-distributed", .choose = replica_distributed },
	{ .name = "random-ids", .choose = random_ids },
	{ .name = "local-pairs", .choose = bound_local_pairs, .is_bound = true },
	{ .name = "departures", .choose = bound_departures, .is_bound = true },
	{ .name = "foresight", .choose = bound_foresight, .is_bound = true },
};
const size_t n_policies = sizeof(policies) / sizeof(policies[0]);

uint32_t normal_form(uint32_t units, uint32_t slots, uint32_t n_cards, uint32_t *ret_parts)
{
	uint32_t n = (units + slots - 1) / slots;

	n = n > n_cards ? n_cards : n;
	for (uint32_t i = 0; i < n; i++)
		ret_parts[i] = units / n + (i < units % n);
	return n;
}
