/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How long the choice among 10,000 nodes takes, each with an inventory of its own, of 4 types.
 * "cold": the first request of its kind, on empty and on loaded nodes; "warm": the next one, after
 * the node that was chosen last has changed. Processor time, for others use the machine, too. One
 * JSON object on one line.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/hamidp.h>

#include "bench.h"

#define NODES 10000U
#define TYPES 4U
#define ROUNDS 200U
#define COLD 24U /* kinds of requests, fewer than a fleet remembers */

struct bench {
	struct hamidp_fleet *fleet;
	struct hamidp_request *req;
	struct hamidp_decision *decision;
	struct hamidp_reason *reason;
	uint64_t took_ns[ROUNDS];
	unsigned n_pods;
};

/* 2, 4, 8 or 8 linked cards. */
static struct hamidp_inventory *make_inventory(unsigned node, unsigned type)
{
	static const unsigned n_cards[TYPES] = { 2, 4, 8, 8 };
	struct hamidp_inventory *inv = NULL;
	char text[16384];
	int len;

	len = snprintf(text, sizeof(text), "{\"schema\":\"hami.inventory/1\",\"devices\":[");
	for (unsigned i = 0; i < n_cards[type]; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len,
				"%s{\"uuid\":\"GPU-%05u-%02u\",\"pci\":\"0000:%02x:00.0\","
				"\"memory_mib\":81920,\"health\":\"healthy\",\"numa_node\":%u}",
				i ? "," : "", node, i, i, 2 * i / n_cards[type]);
	len += snprintf(text + len, sizeof(text) - (size_t)len, "],\"links\":[");
	for (unsigned i = 0; i < n_cards[type]; i++)
		for (unsigned j = 0; j < i; j++)
			len += snprintf(text + len, sizeof(text) - (size_t)len,
					"%s{\"a\":\"GPU-%05u-%02u\",\"b\":\"GPU-%05u-%02u\","
					"\"pcie\":\"%s\"%s}",
					i + j > 1 ? "," : "", node, i, node, j,
					(i ^ j) < 2 ? "PIX" : "SYS",
					type == 3 ? ",\"type\":\"nvlink\",\"lanes\":12" : "");
	len += snprintf(text + len, sizeof(text) - (size_t)len, "]}");
	(void)hamidp_inventory_from_json(text, (size_t)len, &inv, NULL);
	return inv;
}

static int add_nodes(struct bench *b)
{
	struct hamidp_slicing slicing = { .size = sizeof(slicing), .slots = 10 };
	struct hamidp_policy *policy = NULL;
	int r;

	r = hamidp_policy_new(&policy);
	if (r == 0)
		r = hamidp_policy_add_resource(policy, "hami.com/vgpu", &slicing, NULL, NULL);
	for (unsigned i = 0; r == 0 && i < NODES; i++) {
		struct hamidp_inventory *inv = make_inventory(i, i % TYPES);
		struct hamidp_layout *layout = NULL;
		char name[32];

		r = inv ? hamidp_layout_new(inv, policy, &layout, b->reason) : -1;
		snprintf(name, sizeof(name), "node-%05u", i * 7919U % NODES);
		if (r == 0)
			r = hamidp_fleet_add(b->fleet, name, layout, NULL);
		hamidp_layout_unref(layout);
		hamidp_inventory_unref(inv);
	}
	hamidp_policy_free(policy);
	return r;
}

/* One choice; with @apply the pod stays there. */
static int place(struct bench *b, bool apply, uint64_t *ret_ns)
{
	uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	size_t node = 0;
	char name[16];
	int r;

	r = hamidp_fleet_place(b->fleet, b->req, NULL, NULL, b->decision, &node, b->reason);
	*ret_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
	snprintf(name, sizeof(name), "pod-%u", b->n_pods++);
	if (r == 0 && apply)
		r = hamidp_fleet_apply(b->fleet, node, b->decision, name, b->reason);
	return r;
}

static void print(struct bench *b, const char *what, size_t n)
{
	qsort(b->took_ns, n, sizeof(b->took_ns[0]), compare_u64);
	printf(", \"%s\": {\"p50_us\": %.1f, \"p99_us\": %.1f}", what,
	       (double)b->took_ns[n / 2] / 1e3, (double)b->took_ns[n - 1 - n / 100] / 1e3);
}

/* Every request is the first of its kind. */
static int cold(struct bench *b, const char *what, uint32_t first)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < COLD; i++) {
		if (i % 2)
			hamidp_request_set_devices(b->req, 1 + i % 4, first + i / 4);
		else
			hamidp_request_set_units(b->req, first + i);
		r = place(b, false, &b->took_ns[i]);
		if (r < 0 && hamidp_reason_largest(b->reason) > 0)
			r = 0; /* no room: that has to be found out, too */
	}
	print(b, what, COLD);
	return r;
}

static int warm(struct bench *b, uint32_t n_devices, uint32_t units, const char *what)
{
	int r = 0;

	hamidp_request_set_devices(b->req, n_devices, units);
	for (size_t i = 0; r == 0 && i <= ROUNDS; i++) /* the first is a cold one, and goes */
		r = place(b, true, &b->took_ns[i > 0 ? i - 1 : 0]);
	print(b, what, ROUNDS);
	return r;
}

/* Three of four nodes get pods, at random. */
static int load(struct bench *b)
{
	char name[16];
	int r = 0;

	for (unsigned i = 0; r == 0 && i < NODES; i++) {
		struct hamidp_layout *layout = hamidp_fleet_layout(b->fleet, i);

		for (unsigned j = rnd(4) * (unsigned)hamidp_layout_n_slots(layout) / 4; j > 0;
		     j--) {
			snprintf(name, sizeof(name), "pod-%u", j / 3);
			r = hamidp_fleet_hold(b->fleet, i,
					      rnd((uint32_t)hamidp_layout_n_slots(layout)), name);
			r = r == -EBUSY ? 0 : r;
		}
	}
	return r;
}

static int run(struct bench *b)
{
	int r = add_nodes(b);

	printf("{\"bench\": \"fleet\", \"nodes\": %u, \"types\": %u", NODES, TYPES);
	if (r == 0)
		r = cold(b, "cold_empty", 1);
	if (r == 0)
		r = load(b);
	if (r == 0)
		r = cold(b, "cold_loaded", 2);
	if (r == 0)
		r = warm(b, 1, 1, "warm_1x1");
	if (r == 0)
		r = warm(b, 1, 5, "warm_1x5");
	if (r == 0)
		r = warm(b, 2, 8, "warm_2x8");
	puts("}");
	return r;
}

int main(void)
{
	struct bench *b = calloc(1, sizeof(*b));
	int r = -1;

	if (!b)
		return EXIT_FAILURE;
	if (hamidp_fleet_new(&b->fleet) == 0 && hamidp_request_new(&b->req) == 0 &&
	    hamidp_decision_new(&b->decision) == 0 && hamidp_reason_new(&b->reason) == 0)
		r = run(b);
	if (r < 0)
		fprintf(stderr, "bench-fleet: %s\n",
			b->reason ? hamidp_reason_text(b->reason) : "out of memory");
	hamidp_reason_free(b->reason);
	hamidp_decision_free(b->decision);
	hamidp_request_free(b->req);
	hamidp_fleet_free(b->fleet);
	free(b);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
