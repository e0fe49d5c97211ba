/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the files of the trace scheduler share. A trace is two tables in the openb format of the
 * Alibaba GPU trace 2023; a cluster is the nodes of a trace with what has been placed on them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hami/hamidp.h>

#define CARD_MILLI 1000U /* a card is cut into thousandths, the unit that pods ask in */
#define CARDS_MAX 16U	 /* cards of one node */
#define NO_NODE SIZE_MAX

/* A distinct request: pods that ask for the same share one. */
struct shape {
	uint32_t cpu_milli;
	uint32_t memory_mib;
	uint32_t n_gpus;    /* 0: needs no GPU */
	uint32_t gpu_milli; /* of each GPU */
	char *models;	    /* "A|B", "" for any */
	uint64_t n_pods;    /* how many pods of the trace ask for it */
	size_t gpu_shape;   /* shapes that ask for the same GPUs share a number; 0: none */
};

struct trace_node {
	char *name;
	char *model;
	uint32_t cpu_milli;
	uint32_t memory_mib;
	uint32_t n_gpus;
};

struct trace {
	struct trace_node *nodes; /* by name */
	size_t n_nodes;
	size_t *pods; /* the shape of each */
	size_t n_pods;
	struct shape *shapes;
	size_t n_shapes;
	size_t n_gpu_shapes;		 /* with number 0 */
	uint64_t gpu_milli;		 /* capacity of all nodes */
	uint64_t pod_cpu_milli_per_gpu;	 /* what pods with GPUs ask for on average */
	uint64_t node_cpu_milli_per_gpu; /* what the nodes have */
};

/* Say what is wrong on stderr; 0 or a negative errno. */
int trace_read(const char *nodes_path, const char *pods_path, struct trace *ret);
void trace_done(struct trace *trace);

struct node {
	const struct trace_node *spec;
	struct hamidp_layout *layout; /* nodes of the same number of cards share one */
	struct hamidp_occupancy *occ;
	uint32_t cpu_milli;  /* free */
	uint32_t memory_mib; /* free */
	uint32_t free_milli[CARDS_MAX];
};

#define COST_UNKNOWN INT64_MIN
#define COST_NO_FIT INT64_MAX

struct cluster {
	const struct trace *trace;
	struct node *nodes;
	struct hamidp_layout *layouts[CARDS_MAX + 1]; /* by number of cards */
	int64_t *costs;				      /* [shape][node], for the policy that runs */
	int64_t *gpu_costs;			      /* [GPU shape][node], what the library says */
	struct hamidp_request *req;
	struct hamidp_decision *decision;
	struct hamidp_reason *reason;
	uint64_t n_placed; /* pods, for the names of holders */
	uint64_t allocated_milli;
};

int cluster_new(const struct trace *trace, struct cluster **ret);
struct cluster *cluster_free(struct cluster *cluster);

/* Would the node take the shape at all? Counts, names and cards; no order of preference. */
bool cluster_fits(const struct cluster *cluster, size_t node, const struct shape *shape);

/* Let the library decide on the node without doing it; what it costs, or COST_NO_FIT. */
int64_t cluster_library_cost(struct cluster *cluster, size_t node, const struct shape *shape);

/* Place it. @cards: bit for each card that may be used, 0 for any. 0 or a negative errno. */
int cluster_commit(struct cluster *cluster, size_t node, const struct shape *shape, uint32_t cards);

/* How to choose a node, and where the policy chooses itself, the cards on it. */
struct policy {
	const char *name;
	/* smallest wins, then the first name; COST_NO_FIT: not there */
	int64_t (*cost)(struct cluster *cluster, size_t node, const struct shape *shape);
	/* bits of cards; NULL: the library chooses */
	uint32_t (*cards)(struct cluster *cluster, size_t node, const struct shape *shape);
	bool takes_first; /* the first node that fits will do */
};

extern const struct policy policies[];
extern const size_t n_policies;
