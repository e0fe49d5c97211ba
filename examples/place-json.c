/* SPDX-License-Identifier: Apache-2.0 */

/* Place a request on a machine that is described in a file, as a scheduler does for many. */

#include <stdio.h>
#include <stdlib.h>

#include <hami/hamidp.h>

static int place(struct hamidp_layout *layout, uint32_t units, struct hamidp_reason *reason)
{
	struct hamidp_occupancy *occ = NULL;
	struct hamidp_request *req = NULL;
	struct hamidp_decision *decision = NULL;
	int r;

	r = hamidp_occupancy_new(layout, &occ);
	if (r == 0)
		r = hamidp_request_new(&req);
	if (r == 0)
		r = hamidp_decision_new(&decision);
	if (r == 0)
		r = hamidp_occupancy_load(occ, reason); /* what the file says is taken */
	if (r == 0) {
		hamidp_request_set_units(req, units);
		r = hamidp_place(layout, occ, req, decision, reason);
	}
	for (size_t i = 0; r == 0 && i < hamidp_decision_n_slots(decision); i++)
		puts(hamidp_layout_slot_id(layout, hamidp_decision_slot(decision, i)));
	hamidp_decision_free(decision);
	hamidp_request_free(req);
	hamidp_occupancy_free(occ);
	return r;
}

static int run(const char *text, size_t len, uint32_t units, struct hamidp_reason *reason)
{
	struct hamidp_slicing slicing = { .size = sizeof(slicing), .slots = 8 };
	struct hamidp_inventory *inv = NULL;
	struct hamidp_policy *policy = NULL;
	struct hamidp_layout *layout = NULL;
	int r;

	r = hamidp_inventory_from_json(text, len, &inv, reason);
	if (r == 0)
		r = hamidp_policy_new(&policy);
	if (r == 0)
		r = hamidp_policy_add_resource(policy, "hami.com/vgpu", &slicing, NULL, reason);
	if (r == 0)
		r = hamidp_layout_new(inv, policy, &layout, reason);
	if (r == 0)
		r = place(layout, units, reason);
	hamidp_layout_unref(layout);
	hamidp_policy_free(policy);
	hamidp_inventory_unref(inv);
	return r;
}

int main(int argc, char **argv)
{
	static char text[1 << 20];
	FILE *file = argc > 2 ? fopen(argv[1], "re") : NULL;
	struct hamidp_reason *reason = NULL;
	size_t len;
	int r;

	if (!file) {
		fprintf(stderr, "usage: place-json INVENTORY.json SLOTS\n");
		return EXIT_FAILURE;
	}
	len = fread(text, 1, sizeof(text), file);
	fclose(file);
	r = hamidp_reason_new(&reason);
	if (r == 0)
		r = run(text, len, (uint32_t)strtoul(argv[2], NULL, 10), reason);
	if (r < 0)
		fprintf(stderr, "%s: %s\n", hamidp_strerror(r),
			reason ? hamidp_reason_text(reason) : "");
	hamidp_reason_free(reason);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
