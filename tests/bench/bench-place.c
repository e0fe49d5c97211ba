/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How long a decision takes: 16 cards of 100 slots. "available" as the kubelet asks (every free
 * slot is named, in random order), "occupancy" as a scheduler does. One JSON object on one line.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hami/hamidp.h>

#define CARDS 16U
#define SLOTS 100U
#define ROUNDS 20000U

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static uint32_t rnd(uint32_t below)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(state >> 33) % below;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static struct hamidp_layout *make_layout(void)
{
	struct hamidp_slicing slicing = { .size = sizeof(slicing), .slots = SLOTS };
	struct hamidp_inventory *inv = NULL;
	struct hamidp_policy *policy = NULL;
	struct hamidp_layout *layout = NULL;
	char text[8192];
	int len;

	len = snprintf(text, sizeof(text), "{\"schema\":\"hami.inventory/1\",\"devices\":[");
	for (unsigned i = 0; i < CARDS; i++)
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

struct bench {
	struct hamidp_layout *layout;
	struct hamidp_occupancy *occ;
	struct hamidp_request *req;
	struct hamidp_decision *decision;
	struct hamidp_reason *reason;
	size_t order[CARDS * SLOTS];
	uint64_t took_ns[ROUNDS];
};

/* One decision, the naming of slots included. */
static int decide(struct bench *b, uint32_t units, size_t n_available)
{
	int r = 0;

	hamidp_request_reset(b->req);
	hamidp_request_set_units(b->req, units);
	for (size_t i = 0; r == 0 && i < n_available; i++)
		r = hamidp_request_add_available(b->req, b->order[i]);
	return r < 0 ? r : hamidp_place(b->layout, b->occ, b->req, b->decision, b->reason);
}

static int measure(struct bench *b, const char *what, uint32_t units, size_t n_available)
{
	for (size_t i = 0; i < ROUNDS; i++) {
		uint64_t start = now_ns();
		int r = decide(b, units, n_available);

		b->took_ns[i] = now_ns() - start;
		if (r < 0)
			return r;
	}
	qsort(b->took_ns, ROUNDS, sizeof(b->took_ns[0]), compare);
	printf(", \"%s_%" PRIu32 "\": {\"p50_ns\": %" PRIu64 ", \"p99_ns\": %" PRIu64 "}", what,
	       units, b->took_ns[ROUNDS / 2], b->took_ns[ROUNDS - ROUNDS / 100]);
	return 0;
}

static int run(struct bench *b)
{
	static const uint32_t units[] = { 1, 8, 100, 250, 800 };
	int r = 0;

	for (size_t i = 0; i < CARDS * SLOTS; i++)
		b->order[i] = i;
	for (size_t i = CARDS * SLOTS - 1; i > 0; i--) {
		size_t j = rnd((uint32_t)i + 1), t = b->order[i];

		b->order[i] = b->order[j];
		b->order[j] = t;
	}
	printf("{\"bench\": \"place\", \"cards\": %u, \"slots\": %u, \"rounds\": %u", CARDS, SLOTS,
	       ROUNDS);
	for (size_t i = 0; r == 0 && i < sizeof(units) / sizeof(units[0]); i++) {
		r = measure(b, "available", units[i], CARDS * SLOTS);
		if (r == 0)
			r = measure(b, "occupancy", units[i], 0);
	}
	puts("}");
	return r;
}

int main(void)
{
	struct bench *b = calloc(1, sizeof(*b));
	int r = -1;

	if (!b)
		return EXIT_FAILURE;
	b->layout = make_layout();
	if (b->layout && hamidp_occupancy_new(b->layout, &b->occ) == 0 &&
	    hamidp_request_new(&b->req) == 0 && hamidp_decision_new(&b->decision) == 0 &&
	    hamidp_reason_new(&b->reason) == 0)
		r = run(b);
	if (r < 0)
		fprintf(stderr, "bench-place: %s\n",
			b->reason ? hamidp_reason_text(b->reason) : "out of memory");
	hamidp_reason_free(b->reason);
	hamidp_decision_free(b->decision);
	hamidp_request_free(b->req);
	hamidp_occupancy_free(b->occ);
	hamidp_layout_unref(b->layout);
	free(b);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
