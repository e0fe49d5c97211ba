/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How long a compaction plan takes. Nodes are filled at random with grants that come and go, then a
 * request that finds free slots, but not its form, is planned for. Times by cards, slots and moves;
 * "none" is a search that ends without a plan. One JSON object on one line.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/hamidp.h>

#include "bench.h"

#define ROUNDS 4000U
#define REPEATS 3U /* of one plan, the shortest counts: others use the machine, too */
#define KINDS 4U   /* 1, 2, more moves, none */

struct bench {
	struct hamidp_layout *layout;
	struct hamidp_occupancy *occ;
	struct hamidp_request *req;
	struct hamidp_decision *decision;
	struct hamidp_plan *plan;
	struct hamidp_reason *reason;
	uint64_t took_ns[KINDS][ROUNDS];
	size_t n[KINDS];
	size_t n_unproven; /* plans of up to 2 moves that may not be the shortest */
};

static struct hamidp_layout *make_layout(unsigned n_cards, uint32_t n_slots)
{
	struct hamidp_slicing slicing = { .size = sizeof(slicing), .slots = n_slots };
	struct hamidp_inventory *inv = NULL;
	struct hamidp_policy *policy = NULL;
	struct hamidp_layout *layout = NULL;
	char text[8192];
	int len;

	len = snprintf(text, sizeof(text), "{\"schema\":\"hami.inventory/1\",\"devices\":[");
	for (unsigned i = 0; i < n_cards; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len,
				"%s{\"uuid\":\"GPU-%02u\",\"pci\":\"0000:%02x:00.0\","
				"\"memory_mib\":81920,\"health\":\"healthy\"}",
				i ? "," : "", i, i);
	len += snprintf(text + len, sizeof(text) - (size_t)len, "]}");
	if (hamidp_inventory_from_json(text, (size_t)len, &inv, NULL) == 0 &&
	    hamidp_policy_new(&policy) == 0 &&
	    hamidp_policy_add_resource(policy, "hami.com/vgpu", &slicing, NULL, NULL) == 0)
		(void)hamidp_layout_new(inv, policy, &layout, NULL);
	hamidp_policy_free(policy);
	hamidp_inventory_unref(inv);
	return layout;
}

/* A grant of random size comes, where it fits in one piece, or a random one goes. */
static int churn(struct bench *b, uint32_t largest)
{
	char name[16];

	snprintf(name, sizeof(name), "grant-%" PRIu32, rnd(400));
	if (hamidp_occupancy_release(b->occ, name) == 0 && rnd(2) > 0)
		return 0;
	hamidp_request_set_devices(b->req, 1, 1 + rnd(largest));
	if (hamidp_place(b->layout, b->occ, b->req, b->decision, NULL) < 0)
		return 0;
	return hamidp_occupancy_apply(b->occ, b->decision, name, b->reason);
}

static int plan_one(struct bench *b, uint32_t units)
{
	uint64_t took = UINT64_MAX;
	size_t n_moves, kind;
	int r = 0;

	hamidp_request_set_units(b->req, units);
	for (unsigned i = 0; i < REPEATS; i++) {
		uint64_t start = clock_ns(CLOCK_MONOTONIC), t;

		r = hamidp_plan_make(b->plan, b->layout, b->occ, b->req, b->reason);
		t = clock_ns(CLOCK_MONOTONIC) - start;
		took = t < took ? t : took;
	}
	if (r < 0 && hamidp_reason_code(b->reason) != HAMIDP_REASON_FRAGMENTED)
		return hamidp_reason_code(b->reason) == HAMIDP_REASON_NO_ROOM ? 0 : r;
	n_moves = hamidp_plan_n_moves(b->plan);
	if (r == 0 && n_moves == 0)
		return 0;
	kind = r < 0 ? 3 : (n_moves > 3 ? 3 : n_moves) - 1;
	b->n_unproven += kind < 2 && !hamidp_plan_is_minimal(b->plan);
	if (b->n[kind] < ROUNDS)
		b->took_ns[kind][b->n[kind]++] = took;
	return 0;
}

static void print(struct bench *b)
{
	static const char *const names[KINDS] = { "1_move", "2_moves", "more", "none" };

	for (size_t i = 0; i < KINDS; i++) {
		size_t n = b->n[i];

		qsort(b->took_ns[i], n, sizeof(b->took_ns[i][0]), compare_u64);
		if (n > 0)
			printf(", \"%s\": {\"n\": %zu, \"p50_ns\": %" PRIu64
			       ", \"p99_ns\": %" PRIu64 ", \"max_ns\": %" PRIu64 "}",
			       names[i], n, b->took_ns[i][n / 2], b->took_ns[i][n - 1 - n / 100],
			       b->took_ns[i][n - 1]);
	}
	printf(", \"unproven\": %zu}", b->n_unproven);
}

/* @largest: slots of the largest grant; the requests are up to a whole card, or two. */
static int run(struct bench *b, unsigned n_cards, uint32_t n_slots, uint32_t largest)
{
	int r = 0;

	b->layout = make_layout(n_cards, n_slots);
	if (!b->layout || hamidp_occupancy_new(b->layout, &b->occ) < 0 ||
	    hamidp_request_new(&b->req) < 0 || hamidp_decision_new(&b->decision) < 0 ||
	    hamidp_plan_new(&b->plan) < 0 || hamidp_reason_new(&b->reason) < 0)
		return -1;
	for (unsigned i = 0; r == 0 && i < 1000; i++)
		r = churn(b, largest);
	for (unsigned i = 0; r == 0 && i < ROUNDS; i++) {
		for (unsigned j = 0; r == 0 && j < 10; j++)
			r = churn(b, largest);
		if (r == 0)
			r = plan_one(b, 1 + rnd(rnd(4) ? n_slots : 2 * n_slots));
	}
	printf("\"%ux%" PRIu32 "_grants_to_%" PRIu32 "\": {\"cards\": %u", n_cards, n_slots,
	       largest, n_cards);
	print(b);
	return r;
}

int main(void)
{
	static const struct {
		unsigned n_cards;
		uint32_t n_slots, largest;
	} nodes[] = {
		{ 8, 10, 6 }, { 8, 100, 60 }, { 16, 10, 6 }, { 16, 100, 60 }, { 16, 100, 20 }
	};
	int r = 0;

	printf("{\"bench\": \"plan\", ");
	for (size_t i = 0; r == 0 && i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		struct bench *b = calloc(1, sizeof(*b));

		if (!b)
			return EXIT_FAILURE;
		printf("%s", i ? ", " : "");
		r = run(b, nodes[i].n_cards, nodes[i].n_slots, nodes[i].largest);
		if (r < 0)
			fprintf(stderr, "bench-plan: %s\n",
				b->reason ? hamidp_reason_text(b->reason) : "out of memory");
		hamidp_plan_free(b->plan);
		hamidp_reason_free(b->reason);
		hamidp_decision_free(b->decision);
		hamidp_request_free(b->req);
		hamidp_occupancy_free(b->occ);
		hamidp_layout_unref(b->layout);
		free(b);
	}
	puts("}");
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
