/* SPDX-License-Identifier: Apache-2.0 */

/* Topologies: weights of pairs, references, and the one publication of their tables. */

#include <errno.h>
#include <string.h>

#include "inventory.h"
#include "topology.h"

/* More lanes than any machine has; it keeps every sum of weights within its type. */
#define LANES_MAX 1000U
#define WEIGHT_OF_LANE 100U

struct hdp_topology *hdp_topology_ref(struct hdp_topology *topology)
{
	__atomic_add_fetch(&topology->refs, 1, __ATOMIC_RELAXED);
	return topology;
}

struct hdp_topology *hdp_topology_unref(struct hdp_topology *topology)
{
	if (!topology || __atomic_sub_fetch(&topology->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return NULL;
	hdp_tables_free(topology->tables);
	free(topology->weights);
	free(topology->numa);
	free(topology);
	return NULL;
}
DEFINE_CLEANUP(struct hdp_topology *, hdp_topology_unref)

/* Where nobody knows the PCIe level, a common NUMA node is what is left to go by. */
static uint32_t weigh(const struct hamidp_inventory *inv, size_t a, size_t b)
{
	int32_t node_a = inv->devices[a].info.numa_node, node_b = inv->devices[b].info.numa_node;
	uint32_t lanes = hamidp_inventory_link_lanes(inv, a, b);
	uint32_t level = (uint32_t)hamidp_inventory_pcie_level(inv, a, b);

	if (level == HAMIDP_PCIE_UNKNOWN)
		level = node_a >= 0 && node_a == node_b ? HAMIDP_PCIE_NODE : HAMIDP_PCIE_SYS;
	return WEIGHT_OF_LANE * (lanes < LANES_MAX ? lanes : LANES_MAX) + level;
}

int hdp_topology_new(const struct hamidp_inventory *inv, struct hdp_topology **ret)
{
	hdp_cleanup(hdp_topology_unrefp) struct hdp_topology *t = calloc(1, sizeof(*t));
	size_t n = inv->n_devices, room = n ? n : 1;

	if (!t)
		return -ENOMEM;
	t->refs = 1;
	t->n = n;
	t->weights = calloc(room * room, sizeof(*t->weights));
	t->numa = calloc(room, sizeof(*t->numa));
	if (!t->weights || !t->numa)
		return -ENOMEM;
	for (size_t a = 0; a < n; a++) {
		t->numa[a] = inv->devices[a].info.numa_node;
		for (size_t b = 0; b < n; b++)
			t->weights[a * n + b] = a == b ? 0 : weigh(inv, a, b);
	}
	*ret = take_ptr(t);
	return 0;
}

bool hdp_topology_equal(const struct hdp_topology *a, const struct hdp_topology *b)
{
	return a == b || (a->n == b->n &&
			  memcmp(a->weights, b->weights, a->n * a->n * sizeof(*a->weights)) == 0 &&
			  memcmp(a->numa, b->numa, a->n * sizeof(*a->numa)) == 0);
}

const struct hdp_tables *hdp_topology_tables(struct hdp_topology *topology)
{
	struct hdp_tables *tables = __atomic_load_n(&topology->tables, __ATOMIC_ACQUIRE);
	struct hdp_tables *none = NULL;

	if (tables)
		return tables;
	tables = hdp_tables_new(topology);
	if (!tables)
		return NULL;
	/* Who comes second throws its own away: both are the same. */
	if (!__atomic_compare_exchange_n(&topology->tables, &none, tables, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE)) {
		hdp_tables_free(tables);
		return none;
	}
	return tables;
}

uint64_t hdp_set_quality(const struct hdp_topology *t, const uint32_t *set, size_t n)
{
	bool one_node = n > 0 && t->numa[set[0]] >= 0;
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		one_node = one_node && t->numa[set[i]] == t->numa[set[0]];
		for (size_t j = 0; j < i; j++)
			sum += hdp_weight(t, set[i], set[j]);
	}
	return sum * (one_node ? HDP_QUALITY_NUMA : HDP_QUALITY_PLAIN);
}
