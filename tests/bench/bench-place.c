/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How long a decision takes on random states of a machine: cards of the same number of slots, some
 * wholly free, the others filled at random. Every round is another state. "available" names every
 * free slot, as the kubelet does; the rest asks as a scheduler does. One JSON object on one line.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/hamidp.h>

#include "bench.h"

#define ROUNDS 5000U
#define CARDS_MAX 64U

/* What joins two cards of a machine. */
enum wiring { WIRING_SWITCH, WIRING_MESH, WIRING_MIG };

struct machine {
	const char *name;
	unsigned cards, slots;
	enum wiring wiring;
};

static const struct machine machines[] = {
	{ "16x100-switch", 16, 100, WIRING_SWITCH },
	{ "16x100-mesh", 16, 100, WIRING_MESH },
	{ "8x10-mesh", 8, 10, WIRING_MESH },
	{ "64x10-mesh", 64, 10, WIRING_MESH },
	{ "mig-8x7", 56, 1, WIRING_MIG },
};

static unsigned lanes_of(const struct machine *m, unsigned a, unsigned b)
{
	if (m->wiring == WIRING_SWITCH)
		return 6;
	if (m->wiring == WIRING_MESH)
		return (a * 7 + b * 7 + (a ^ b) * 3) % 4; /* symmetric and uneven */
	return 0;
}

static const char *level_of(const struct machine *m, unsigned a, unsigned b)
{
	if (m->wiring == WIRING_MIG)
		return a / 7 == b / 7 ? "PIX" : a / 28 == b / 28 ? "NODE" : "SYS";
	return a * 2 / m->cards == b * 2 / m->cards ? "NODE" : "SYS";
}

static void print_machine(FILE *out, const struct machine *m)
{
	fprintf(out, "{\"schema\":\"hami.inventory/1\",\"devices\":[");
	for (unsigned i = 0; i < m->cards; i++)
		fprintf(out,
			"%s{\"uuid\":\"GPU-%02u\",\"pci\":\"0000:%02x:00.0\",\"memory_mib\":81920,"
			"\"numa_node\":%u,\"health\":\"healthy\"}",
			i ? "," : "", i, i, i * 2 / m->cards);
	fprintf(out, "],\"links\":[");
	for (unsigned i = 1; i < m->cards; i++)
		for (unsigned j = 0; j < i; j++) {
			unsigned lanes = lanes_of(m, i, j);

			fprintf(out, "%s{\"a\":\"GPU-%02u\",\"b\":\"GPU-%02u\",",
				i + j > 1 ? "," : "", i, j);
			if (lanes)
				fprintf(out, "\"type\":\"nvlink\",\"lanes\":%u,", lanes);
			fprintf(out, "\"pcie\":\"%s\"}", level_of(m, i, j));
		}
	fprintf(out, "]}");
}

static struct hamidp_layout *make_layout(const struct machine *m, uint64_t *ret_setup_ns)
{
	struct hamidp_slicing slicing = { .size = sizeof(slicing), .slots = m->slots };
	struct hamidp_inventory *inv = NULL;
	struct hamidp_policy *policy = NULL;
	struct hamidp_layout *layout = NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	uint64_t start;

	if (!out)
		return NULL;
	print_machine(out, m);
	if (fclose(out) == 0 && hamidp_inventory_from_json(text, len, &inv, NULL) == 0 &&
	    hamidp_policy_new(&policy) == 0 &&
	    hamidp_policy_add_resource(policy, "hami.com/vgpu", &slicing, NULL, NULL) == 0)
		(void)hamidp_layout_new(inv, policy, &layout, NULL);
	start = clock_ns(CLOCK_MONOTONIC);
	if (inv && hamidp_inventory_prepare(inv) < 0)
		layout = hamidp_layout_unref(layout);
	*ret_setup_ns = clock_ns(CLOCK_MONOTONIC) - start;
	hamidp_policy_free(policy);
	hamidp_inventory_unref(inv);
	free(text);
	return layout;
}

struct bench {
	const struct machine *machine;
	struct hamidp_layout *layout;
	struct hamidp_occupancy *occ;
	struct hamidp_request *req;
	struct hamidp_decision *decision;
	struct hamidp_reason *reason;
	size_t order[CARDS_MAX * 100];
	size_t n_order;
	uint64_t took_ns[ROUNDS];
};

/* Another state: about half of the cards wholly free. */
static int draw(struct bench *b)
{
	int r = 0;

	(void)hamidp_occupancy_release(b->occ, "x");
	b->n_order = 0;
	for (unsigned pos = 0; pos < b->machine->cards; pos++) {
		size_t first = hamidp_layout_device_first_slot(b->layout, pos);
		uint32_t held = rnd(2) ? rnd(b->machine->slots + 1) : 0;

		for (uint32_t i = 0; r == 0 && i < held; i++)
			r = hamidp_occupancy_hold(b->occ, first + i, "x");
		for (uint32_t i = held; i < b->machine->slots; i++)
			b->order[b->n_order++] = first + i;
	}
	for (size_t i = b->n_order; i > 1; i--) {
		size_t j = rnd((uint32_t)i), t = b->order[i - 1];

		b->order[i - 1] = b->order[j];
		b->order[j] = t;
	}
	return r;
}

/* One decision, the naming of slots included. -ENOSPC is one, too. */
static int decide(struct bench *b, uint32_t n, uint32_t each, bool available)
{
	int r = 0;

	hamidp_request_reset(b->req);
	hamidp_request_set_devices(b->req, n, each);
	for (size_t i = 0; r == 0 && available && i < b->n_order; i++)
		r = hamidp_request_add_available(b->req, b->order[i]);
	if (r == 0)
		r = hamidp_place(b->layout, b->occ, b->req, b->decision, b->reason);
	return r == -ENOSPC ? 0 : r;
}

static int measure(struct bench *b, const char *what, uint32_t n, bool available)
{
	for (size_t i = 0; i < ROUNDS; i++) {
		uint32_t each = rnd(2) ? b->machine->slots : 1 + rnd(b->machine->slots);
		int r = draw(b);
		uint64_t start = clock_ns(CLOCK_MONOTONIC);

		if (r == 0)
			r = decide(b, n, each, available);
		b->took_ns[i] = clock_ns(CLOCK_MONOTONIC) - start;
		if (r < 0)
			return r;
	}
	qsort(b->took_ns, ROUNDS, sizeof(b->took_ns[0]), compare_u64);
	printf(", \"%s_%" PRIu32 "\": {\"p50_ns\": %" PRIu64 ", \"p99_ns\": %" PRIu64
	       ", \"max_ns\": %" PRIu64 "}",
	       what, n, b->took_ns[ROUNDS / 2], b->took_ns[ROUNDS - ROUNDS / 100],
	       b->took_ns[ROUNDS - 1]);
	return 0;
}

static int run(struct bench *b, const struct machine *machine)
{
	uint64_t setup_ns = 0;
	int r;

	b->machine = machine;
	b->layout = make_layout(machine, &setup_ns);
	if (!b->layout)
		return -ENOMEM;
	r = hamidp_occupancy_new(b->layout, &b->occ);
	printf("%s\"%s\": {\"table_setup_ns\": %" PRIu64, machine == machines ? "" : ", ",
	       machine->name, setup_ns);
	for (uint32_t n = 1; r == 0 && n <= 8; n *= 2)
		r = measure(b, "n", n, false);
	if (r == 0)
		r = measure(b, "available_n", 1, true);
	printf("}");
	b->occ = hamidp_occupancy_free(b->occ);
	b->layout = hamidp_layout_unref(b->layout);
	return r;
}

int main(void)
{
	struct bench *b = calloc(1, sizeof(*b));
	int r = -ENOMEM;

	if (!b)
		return EXIT_FAILURE;
	if (hamidp_request_new(&b->req) == 0 && hamidp_decision_new(&b->decision) == 0 &&
	    hamidp_reason_new(&b->reason) == 0)
		r = 0;
	printf("{\"bench\": \"place\", \"rounds\": %u, ", ROUNDS);
	for (size_t i = 0; r == 0 && i < sizeof(machines) / sizeof(machines[0]); i++)
		r = run(b, &machines[i]);
	puts("}");
	if (r < 0)
		fprintf(stderr, "bench-place: %s\n",
			b->reason ? hamidp_reason_text(b->reason) : "out of memory");
	hamidp_reason_free(b->reason);
	hamidp_decision_free(b->decision);
	hamidp_request_free(b->req);
	free(b);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
