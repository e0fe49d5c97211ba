/* SPDX-License-Identifier: Apache-2.0 */

/* The library's policies: hamidp_place() on a layout of the machine. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node-sim.h"

struct library {
	struct hamidp_layout *layout;
	struct hamidp_occupancy *occ;
	struct hamidp_request *req;
	struct hamidp_decision *decision;
	struct hamidp_publication *publication;
};

static int make_layout(const struct machine *machine, const struct mix *mix,
		       const struct policy *policy, struct hamidp_layout **ret)
{
	struct hamidp_slicing slicing = { .size = sizeof(slicing), .slots = mix->slots };
	struct hamidp_policy *cut = NULL;
	int r;

	r = hamidp_policy_new(&cut);
	if (r == 0)
		r = hamidp_policy_set_placement(cut, policy->placement);
	if (r == 0)
		r = hamidp_policy_set_mix(cut, mix_share_ppm(mix, 2), mix_share_ppm(mix, 4));
	if (r == 0)
		r = hamidp_policy_add_resource(cut, "hami.com/vgpu", &slicing, NULL, NULL);
	if (r == 0)
		r = hamidp_layout_new(machine->inv, cut, ret, NULL);
	hamidp_policy_free(cut);
	return r;
}

int library_new(const struct machine *machine, const struct mix *mix, const struct policy *policy,
		struct library **ret)
{
	struct library *library = calloc(1, sizeof(*library));
	int r;

	if (!library)
		return -ENOMEM;
	r = make_layout(machine, mix, policy, &library->layout);
	if (r == 0)
		r = hamidp_occupancy_new(library->layout, &library->occ);
	if (r == 0)
		r = hamidp_request_new(&library->req);
	if (r == 0)
		r = hamidp_decision_new(&library->decision);
	if (r == 0)
		r = hamidp_publication_new(&library->publication);
	if (r < 0) {
		library_free(library);
		return r;
	}
	*ret = library;
	return 0;
}

struct library *library_free(struct library *library)
{
	if (!library)
		return NULL;
	hamidp_publication_free(library->publication);
	hamidp_decision_free(library->decision);
	hamidp_request_free(library->req);
	hamidp_occupancy_free(library->occ);
	hamidp_layout_unref(library->layout);
	free(library);
	return NULL;
}

static bool is_visible(const struct library *library, size_t slot)
{
	return hamidp_publication_cause(library->publication, slot) == HAMIDP_CAUSE_NONE &&
	       !hamidp_occupancy_holder(library->occ, slot);
}

int library_publish(struct library *library, uint32_t *ret_visible)
{
	struct hamidp_publish_options opts = { .size = sizeof(opts),
					       .mode = HAMIDP_PUBLISH_PLACEABLE };
	size_t n = hamidp_layout_n_slots(library->layout);
	int r = hamidp_publish(library->layout, library->occ, 0, &opts, library->publication, NULL);

	if (r < 0)
		return r;
	memset(ret_visible, 0, CARDS_MAX * sizeof(*ret_visible));
	for (size_t slot = 0; slot < n; slot++)
		if (is_visible(library, slot))
			ret_visible[hamidp_layout_slot_device(library->layout, slot)]++;
	return 0;
}

/* What the kubelet would offer. */
static int name_visible(struct library *library)
{
	int r = 0;

	for (size_t slot = 0; r == 0 && slot < hamidp_layout_n_slots(library->layout); slot++)
		if (is_visible(library, slot))
			r = hamidp_request_add_available(library->req, slot);
	return r;
}

static int hold(struct library *library, uint64_t holder, uint32_t *parts)
{
	char name[32];

	memset(parts, 0, CARDS_MAX * sizeof(*parts));
	for (size_t i = 0; i < hamidp_decision_n_slots(library->decision); i++)
		parts[hamidp_layout_slot_device(library->layout,
						hamidp_decision_slot(library->decision, i))]++;
	(void)snprintf(name, sizeof(name), "%" PRIu64, holder);
	return hamidp_occupancy_apply(library->occ, library->decision, name, NULL);
}

int library_choose(struct node *node, const struct arrival *arrival, uint64_t holder,
		   uint32_t *ret_parts)
{
	struct library *library = node->library;
	uint32_t n_visible = 0;
	int r = 0;

	for (uint32_t card = 0; card < node->n_cards; card++)
		n_visible += node->visible[card];
	if (n_visible < arrival->n_cards * arrival->slots)
		return -ENOSPC;
	hamidp_request_reset(library->req);
	if (node->publish_table) {
		hamidp_request_set_units(library->req, arrival->n_cards * arrival->slots);
		r = name_visible(library);
	} else {
		hamidp_request_set_devices(library->req, arrival->n_cards, arrival->slots);
	}
	if (r == 0)
		r = hamidp_place(library->layout, library->occ, library->req, library->decision,
				 NULL);
	return r < 0 ? r : hold(library, holder, ret_parts);
}

int library_release(struct library *library, uint64_t holder)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "%" PRIu64, holder);
	return hamidp_occupancy_release(library->occ, name);
}
