/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How near the devices of an inventory are to each other, as numbers that placement weighs. The
 * weights are made when an inventory is sealed; the tables are made by the first who needs them and
 * published by one atomic exchange, so any number of readers share a topology without a lock.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hami/layout.h>

#include "macro.h"

struct hamidp_inventory;

#define HDP_TABLE_DEVICES_MAX 16U /* up to here sets of devices are looked up as masks */

/* A set within one NUMA node is worth 102, any other 100 times the sum of its pairs' weights. */
#define HDP_QUALITY_PLAIN 100U
#define HDP_QUALITY_NUMA 102U

/* What one slot is worth in costs, a power of two; costs inside the library are times S as well. */
#define HDP_COST_SHIFT 20

struct hdp_tables {
	/* The potential of f free slots, times S: f^2. Placement takes it from here only. */
	int64_t phi[HAMIDP_SLOTS_MAX + 1];
	uint64_t *best;	 /* [n]: quality of the best set of n devices; n = 0 to n_devices */
	uint32_t *twins; /* [pos]: the first device that can stand in for this one */
	/* Only up to HDP_TABLE_DEVICES_MAX devices, else NULL: */
	uint32_t *best_set;	 /* [n]: mask of the first best set */
	uint32_t *room2, *room4; /* [mask]: quality of the best disjoint sets of 2 or 4 inside */
};

struct hdp_topology {
	unsigned refs; /* atomic */
	size_t n;
	uint32_t *weights;	   /* n x n, 0 on the diagonal */
	int32_t *numa;		   /* -1: none */
	struct hdp_tables *tables; /* atomic; NULL until first needed */
};

/* From the links and NUMA nodes of @inv. 0 or -ENOMEM. */
int hdp_topology_new(const struct hamidp_inventory *inv, struct hdp_topology **ret) hdp_must_check;
struct hdp_topology *hdp_topology_ref(struct hdp_topology *topology);
struct hdp_topology *hdp_topology_unref(struct hdp_topology *topology);
bool hdp_topology_equal(const struct hdp_topology *a, const struct hdp_topology *b);

/* The tables, made now if need be; NULL: out of memory. They live as long as the topology. */
const struct hdp_tables *hdp_topology_tables(struct hdp_topology *topology);
/* Those that were made before, or NULL; another thread may be about to offer its own. */
static inline const struct hdp_tables *hdp_topology_made_tables(const struct hdp_topology *topology)
{
	return __atomic_load_n(&topology->tables, __ATOMIC_ACQUIRE);
}

/* topology-tables.c: make or release them. */
struct hdp_tables *hdp_tables_new(const struct hdp_topology *topology);
void hdp_tables_free(struct hdp_tables *tables);

static inline uint32_t hdp_weight(const struct hdp_topology *t, size_t a, size_t b)
{
	return t->weights[a * t->n + b];
}

static inline bool hdp_same_numa(const struct hdp_topology *t, size_t a, size_t b)
{
	return t->numa[a] >= 0 && t->numa[a] == t->numa[b];
}

/* Quality of a pair. */
static inline uint32_t hdp_pair_quality(const struct hdp_topology *t, size_t a, size_t b)
{
	return hdp_weight(t, a, b) *
	       (hdp_same_numa(t, a, b) ? HDP_QUALITY_NUMA : HDP_QUALITY_PLAIN);
}

/* Quality of a set of positions, without a table. */
uint64_t hdp_set_quality(const struct hdp_topology *t, const uint32_t *set, size_t n);

/* The best set of @n devices, @n at most the topology's: positions, ascending. 0 or -ENOMEM. */
int hdp_topology_best_set(const struct hdp_topology *topology, const struct hdp_tables *tables,
			  size_t n, uint32_t *ret_set) hdp_must_check;
