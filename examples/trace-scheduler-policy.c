/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How a node is chosen. "pack" asks the library what each node's placement costs and adds what the
 * library cannot see: GPUs that no CPU is left for. The others choose without the library, for
 * comparison: first-fit, best-fit, and the fragmentation gradient (FGD, USENIX ATC 2023).
 */

#include "trace-scheduler.h"

static int64_t first_fit_cost(struct cluster *cluster, size_t i, const struct shape *shape)
{
	return cluster_fits(cluster, i, shape) ? (int64_t)i : COST_NO_FIT;
}

static uint32_t first_fit_cards(struct cluster *cluster, size_t i, const struct shape *shape)
{
	const struct node *node = &cluster->nodes[i];
	uint32_t cards = 0, n = 0;

	for (uint32_t card = 0; n < shape->n_gpus; card++)
		if (node->free_milli[card] >= shape->gpu_milli) {
			cards |= 1U << card;
			n++;
		}
	return cards;
}

static uint32_t free_gpus_milli(const struct node *node)
{
	uint32_t sum = 0;

	for (uint32_t card = 0; card < node->spec->n_gpus; card++)
		sum += node->free_milli[card];
	return sum;
}

/* The node with the least left, each dimension as a share of the largest node's. */
static int64_t best_fit_cost(struct cluster *cluster, size_t i, const struct shape *shape)
{
	const struct node *node = &cluster->nodes[i];

	if (!cluster_fits(cluster, i, shape))
		return COST_NO_FIT;
	return (int64_t)node->cpu_milli * 1000000 / 128000 +
	       (int64_t)node->memory_mib * 1000000 / 1048576 +
	       (int64_t)free_gpus_milli(node) * 1000000 / 8000;
}

static uint32_t best_fit_cards(struct cluster *cluster, size_t i, const struct shape *shape)
{
	const struct node *node = &cluster->nodes[i];
	uint32_t cards = 0;

	for (uint32_t n = 0; n < shape->n_gpus; n++) {
		uint32_t best = CARDS_MAX;

		for (uint32_t card = 0; card < node->spec->n_gpus; card++)
			if (!(cards & 1U << card) && node->free_milli[card] >= shape->gpu_milli &&
			    (best == CARDS_MAX || node->free_milli[card] < node->free_milli[best]))
				best = card;
		cards |= 1U << best;
	}
	return cards;
}

/* The library's cost alone: pods without GPUs find every node equal. */
static int64_t gpu_only_cost(struct cluster *cluster, size_t i, const struct shape *shape)
{
	return cluster_fits(cluster, i, shape) ? cluster_library_cost(cluster, i, shape)
					       : COST_NO_FIT;
}

/*
 * GPU milli that no CPU is left for, times what a GPU needs: exact, as a rounding error would make
 * equal nodes look different, and pods spread over them.
 */
static int64_t stranded(int64_t free_gpu_milli, int64_t free_cpu_milli, int64_t cpu_milli_per_gpu)
{
	int64_t product = free_gpu_milli * cpu_milli_per_gpu - free_cpu_milli * CARD_MILLI;

	return product > 0 ? product : 0;
}

/* What is stranded is lost, as what is taken; the library counts in slots, here thousandths. */
static int64_t balanced_cost(struct cluster *cluster, size_t i, const struct shape *shape,
			     uint64_t cpu_milli_per_gpu)
{
	const struct node *node = &cluster->nodes[i];
	int64_t gpu_milli = free_gpus_milli(node), ratio = (int64_t)cpu_milli_per_gpu;
	int64_t before, after;

	if (!cluster_fits(cluster, i, shape))
		return COST_NO_FIT;
	before = stranded(gpu_milli, node->cpu_milli, ratio);
	after = stranded(gpu_milli - (int64_t)shape->n_gpus * shape->gpu_milli,
			 (int64_t)node->cpu_milli - shape->cpu_milli, ratio);
	return cluster_library_cost(cluster, i, shape) + (after - before) * HAMIDP_COST_ONE / ratio;
}

/* As much CPU for each GPU as pods with GPUs ask for on average. */
static int64_t pack_cost(struct cluster *cluster, size_t i, const struct shape *shape)
{
	return balanced_cost(cluster, i, shape, cluster->trace->pod_cpu_milli_per_gpu);
}

/* As much CPU for each GPU as the nodes have: nothing is known about pods. */
static int64_t pack_blind_cost(struct cluster *cluster, size_t i, const struct shape *shape)
{
	return balanced_cost(cluster, i, shape, cluster->trace->node_cpu_milli_per_gpu);
}

/* GPU milli that the shapes of the trace cannot use on the node, weighted by their pods. */
static int64_t fragmentation(const struct cluster *cluster, const struct node *node)
{
	const struct trace *trace = cluster->trace;
	int64_t sum = 0, total = free_gpus_milli(node);

	for (size_t s = 0; s < trace->n_shapes; s++) {
		const struct shape *shape = &trace->shapes[s];
		int64_t usable = 0;
		uint32_t n = 0;

		for (uint32_t card = 0; card < node->spec->n_gpus; card++)
			if (node->free_milli[card] >= shape->gpu_milli) {
				usable += node->free_milli[card];
				n++;
			}
		if (shape->n_gpus == 0 || n < shape->n_gpus || shape->cpu_milli > node->cpu_milli ||
		    shape->memory_mib > node->memory_mib)
			usable = 0;
		sum += (int64_t)shape->n_pods * (total - usable);
	}
	return sum;
}

static int64_t gradient(const struct cluster *cluster, const struct node *node,
			const struct shape *shape, uint32_t cards)
{
	struct node after = *node;

	after.cpu_milli -= shape->cpu_milli;
	after.memory_mib -= shape->memory_mib;
	for (uint32_t card = 0; card < node->spec->n_gpus; card++)
		if (cards & 1U << card)
			after.free_milli[card] -= shape->gpu_milli;
	return fragmentation(cluster, &after) - fragmentation(cluster, node);
}

/* For one GPU the card with the smallest gradient, as the paper has it; else whole cards. */
static int64_t fgd_choose(struct cluster *cluster, size_t i, const struct shape *shape,
			  uint32_t *ret_cards)
{
	const struct node *node = &cluster->nodes[i];
	int64_t best = COST_NO_FIT;

	if (shape->n_gpus != 1) {
		*ret_cards = first_fit_cards(cluster, i, shape);
		return gradient(cluster, node, shape, *ret_cards);
	}
	for (uint32_t card = 0; card < node->spec->n_gpus; card++) {
		int64_t cost;

		if (node->free_milli[card] < shape->gpu_milli)
			continue;
		cost = gradient(cluster, node, shape, 1U << card);
		if (cost < best) {
			best = cost;
			*ret_cards = 1U << card;
		}
	}
	return best;
}

/*
 * In steps of a tenth of a GPU, so that nodes which hardly differ are equal and go by name: the
 * exact gradient spreads pods over them, and allocates less. Its own scheduler scores 0 to 100.
 */
static int64_t fgd_cost(struct cluster *cluster, size_t i, const struct shape *shape)
{
	int64_t step = (int64_t)cluster->trace->n_pods * CARD_MILLI / 10, cost;
	uint32_t cards;

	if (!cluster_fits(cluster, i, shape))
		return COST_NO_FIT;
	cost = fgd_choose(cluster, i, shape, &cards);
	return (cost - (cost < 0 ? step - 1 : 0)) / step;
}

static uint32_t fgd_cards(struct cluster *cluster, size_t i, const struct shape *shape)
{
	uint32_t cards = 0;

	(void)fgd_choose(cluster, i, shape, &cards);
	return cards;
}

const struct policy policies[] = {
	{ .name = "pack", .cost = pack_cost },
	{ .name = "pack-blind", .cost = pack_blind_cost },
	{ .name = "pack-gpu-only", .cost = gpu_only_cost },
	{ .name = "first-fit",
	  .cost = first_fit_cost,
	  .cards = first_fit_cards,
	  .takes_first = true },
	{ .name = "best-fit", .cost = best_fit_cost, .cards = best_fit_cards },
	{ .name = "fgd", .cost = fgd_cost, .cards = fgd_cards },
};
const size_t n_policies = sizeof(policies) / sizeof(policies[0]);
