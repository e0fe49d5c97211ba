/* SPDX-License-Identifier: Apache-2.0 */

/* The machine: cards, the weights of their pairs, and the best that a set of them can have. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node-sim.h"

static uint32_t bit_count(uint32_t bits)
{
	uint32_t n = 0;

	for (; bits; bits &= bits - 1)
		n++;
	return n;
}

uint32_t machine_score(const struct machine *machine, uint32_t cards)
{
	uint32_t sum = 0;

	for (uint32_t a = 0; a < machine->n_cards; a++)
		for (uint32_t b = a + 1; b < machine->n_cards; b++)
			if (cards >> a & cards >> b & 1)
				sum += machine->weight[a][b];
	return sum;
}

static int measure(struct machine *machine, struct hamidp_inventory *inv)
{
	size_t n = hamidp_inventory_n_devices(inv);

	if (n == 0 || n > CARDS_MAX)
		return -EINVAL;
	machine->inv = inv;
	machine->n_cards = (uint32_t)n;
	for (size_t a = 0; a < n; a++) {
		machine->numa[a] = hamidp_device_numa_node(hamidp_inventory_device(inv, a));
		for (size_t b = 0; b < n; b++)
			machine->weight[a][b] = 100 * hamidp_inventory_link_lanes(inv, a, b) +
						(uint32_t)hamidp_inventory_pcie_level(inv, a, b);
	}
	for (uint32_t cards = 0; cards < 1U << n; cards++) {
		uint32_t size = bit_count(cards), score;

		if (size != 2 && size != 4)
			continue;
		score = machine_score(machine, cards);
		if (score > machine->best[size])
			machine->best[size] = score;
	}
	return 0;
}

int machine_open(const char *name, struct machine *ret)
{
	struct hamidp_node_options opts = { .size = sizeof(opts), .flags = HAMIDP_NODE_NO_EVENTS };
	struct hamidp_policy *policy = NULL;
	struct hamidp_node *node = NULL;
	struct machine machine = { 0 };
	char driver[80];
	int r;

	(void)snprintf(machine.name, sizeof(machine.name), "%s", name);
	(void)snprintf(driver, sizeof(driver), "sim:%s", machine.name);
	opts.driver = driver;
	r = hamidp_policy_new(&policy);
	if (r == 0)
		r = hamidp_policy_add_resource(policy, "hami.com/vgpu", NULL, NULL, NULL);
	opts.policy = policy;
	if (r == 0)
		r = hamidp_node_open(&opts, &node, NULL);
	if (r == 0)
		r = measure(&machine, hamidp_inventory_ref(
					      hamidp_layout_inventory(hamidp_node_layout(node))));
	if (node)
		hamidp_node_close(node);
	hamidp_policy_free(policy);
	if (r < 0) {
		fprintf(stderr, "machine '%s': %s\n", name, hamidp_strerror(r));
		machine_done(&machine);
		return r;
	}
	*ret = machine;
	return 0;
}

int machine_plain(uint32_t n_cards, struct machine *ret)
{
	struct machine machine = { 0 };
	struct hamidp_inventory *inv = NULL;
	char text[4096];
	size_t len;
	int r;

	if (n_cards == 0 || n_cards > CARDS_MAX)
		return -EINVAL;
	(void)snprintf(machine.name, sizeof(machine.name), "plain");
	len = (size_t)snprintf(text, sizeof(text),
			       "{\"schema\":\"hami.inventory/1\",\"devices\":[");
	for (uint32_t i = 0; i < n_cards; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"%s{\"uuid\":\"GPU-%02u\",\"pci\":\"0000:%02x:00.0\","
					"\"memory_mib\":81920,\"health\":\"healthy\"}",
					i ? "," : "", i, i + 1);
	len += (size_t)snprintf(text + len, sizeof(text) - len, "]}");
	r = hamidp_inventory_from_json(text, len, &inv, NULL);
	if (r == 0)
		r = measure(&machine, inv);
	if (r == 0)
		*ret = machine;
	return r;
}

void machine_done(struct machine *machine)
{
	machine->inv = hamidp_inventory_unref(machine->inv);
}
