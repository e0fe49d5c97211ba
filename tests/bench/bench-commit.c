/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How long a grant of 8 slots takes on a node of 16 cards with 100 slots: fresh, and superseding
 * the one before, with few and with many other grants alive. One JSON object on one line.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <hami/hamidp.h>

#include "bench.h"

#define SLOTS 100U
#define TAKEN 8U
#define ROUNDS 5000U

static void drop_events(struct hamidp_node *node)
{
	struct hamidp_event *event = NULL;

	while (hamidp_node_next_event(node, &event) == 0)
		event = hamidp_event_free(event);
}

static struct hamidp_node *open_node(const char *driver)
{
	struct hamidp_slicing slicing = { .size = sizeof(slicing), .slots = SLOTS };
	struct hamidp_node_options opts = { .size = sizeof(opts), .driver = driver };
	struct hamidp_policy *policy = NULL;
	struct hamidp_node *node = NULL;

	if (hamidp_policy_new(&policy) == 0 &&
	    hamidp_policy_add_resource(policy, "hami.com/vgpu", &slicing, NULL, NULL) == 0) {
		opts.policy = policy;
		(void)hamidp_node_open(&opts, &node, NULL);
	}
	hamidp_policy_free(policy);
	return node;
}

/* Grants of one slot each, behind the ones that are measured. */
static int fill(struct hamidp_node *node, struct hamidp_decision *decision, size_t n)
{
	struct hamidp_layout *layout = hamidp_node_layout(node);
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const char *id = hamidp_layout_slot_id(layout, TAKEN + i);
		struct hamidp_grant *grant = NULL;

		r = hamidp_decide_ids(layout, 0, &id, 1, decision, NULL);
		if (r == 0)
			r = hamidp_node_commit(node, decision, NULL, &grant, NULL);
		hamidp_grant_unref(grant);
		drop_events(node);
	}
	return r;
}

static int measure(struct hamidp_node *node, const struct hamidp_decision *decision,
		   int superseding, uint64_t *ns)
{
	const struct hamidp_commit_options opts = { .size = sizeof(opts),
						    .flags = superseding ? HAMIDP_COMMIT_SUPERSEDE
									 : 0 };

	for (size_t i = 0; i < ROUNDS; i++) {
		struct hamidp_grant *grant = NULL;
		uint64_t start = clock_ns(CLOCK_MONOTONIC);
		int r = hamidp_node_commit(node, decision, &opts, &grant, NULL);

		ns[i] = clock_ns(CLOCK_MONOTONIC) - start;
		if (r == 0 && !superseding)
			r = hamidp_node_release(node, hamidp_grant_id(grant), NULL);
		hamidp_grant_unref(grant);
		if (r < 0)
			return r;
		drop_events(node);
	}
	qsort(ns, ROUNDS, sizeof(*ns), compare_u64);
	return 0;
}

static int run(struct hamidp_node *node, struct hamidp_decision *decision, size_t n_live)
{
	static uint64_t ns[ROUNDS];
	const char *ids[TAKEN];
	int r = fill(node, decision, n_live);

	for (size_t i = 0; i < TAKEN; i++)
		ids[i] = hamidp_layout_slot_id(hamidp_node_layout(node), i);
	if (r == 0)
		r = hamidp_decide_ids(hamidp_node_layout(node), 0, ids, TAKEN, decision, NULL);
	for (int superseding = 0; r == 0 && superseding < 2; superseding++) {
		r = measure(node, decision, superseding, ns);
		printf(",\"%s_%zu_live_us\":{\"p50\":%.2f,\"p99\":%.2f}",
		       superseding ? "superseding" : "fresh", n_live, (double)ns[ROUNDS / 2] / 1000,
		       (double)ns[ROUNDS * 99 / 100] / 1000);
	}
	return r;
}

int main(void)
{
	static const size_t live[] = { 0, 100, 1500 };
	struct hamidp_decision *decision = NULL;
	int r = hamidp_decision_new(&decision);

	printf("{\"bench\":\"commit\",\"slots\":%u", TAKEN);
	for (size_t i = 0; r == 0 && i < sizeof(live) / sizeof(live[0]); i++) {
		uint64_t start = clock_ns(CLOCK_MONOTONIC);
		struct hamidp_node *node = open_node("sim:bench-16");

		if (i == 0)
			printf(",\"open_us\":%" PRIu64, (clock_ns(CLOCK_MONOTONIC) - start) / 1000);
		r = node ? run(node, decision, live[i]) : -1;
		hamidp_node_close(node);
	}
	printf("}\n");
	hamidp_decision_free(decision);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
