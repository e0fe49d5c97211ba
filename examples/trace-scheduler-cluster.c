/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The cluster: an occupancy for each node. Nodes with the same number of cards share one layout,
 * since a scheduler chooses nodes and not slots; the node that is chosen names its own cards.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace-scheduler.h"

static int make_layout(uint32_t n_gpus, struct hamidp_layout **ret)
{
	struct hamidp_slicing slicing = { .size = sizeof(slicing), .slots = CARD_MILLI };
	struct hamidp_inventory *inv = NULL;
	struct hamidp_policy *policy = NULL;
	char text[4096];
	size_t len;
	int r;

	len = (size_t)snprintf(text, sizeof(text),
			       "{\"schema\":\"hami.inventory/1\",\"devices\":[");
	for (uint32_t i = 0; i < n_gpus; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"%s{\"uuid\":\"GPU-%02" PRIu32
					"\",\"pci\":\"0000:%02" PRIx32
					":00.0\",\"memory_mib\":16000,\"health\":\"healthy\"}",
					i ? "," : "", i, i + 1);
	len += (size_t)snprintf(text + len, sizeof(text) - len, "]}");

	r = hamidp_inventory_from_json(text, len, &inv, NULL);
	if (r == 0)
		r = hamidp_policy_new(&policy);
	if (r == 0)
		r = hamidp_policy_add_resource(policy, "hami.com/vgpu", &slicing, NULL, NULL);
	if (r == 0)
		r = hamidp_layout_new(inv, policy, ret, NULL);
	hamidp_policy_free(policy);
	hamidp_inventory_unref(inv);
	return r;
}

static int make_node(struct cluster *cluster, size_t i)
{
	const struct trace_node *spec = &cluster->trace->nodes[i];
	struct node *node = &cluster->nodes[i];
	struct hamidp_layout **layout = &cluster->layouts[spec->n_gpus];
	int r;

	if (!*layout) {
		r = make_layout(spec->n_gpus, layout);
		if (r < 0)
			return r;
	}
	*node = (struct node){ .spec = spec,
			       .layout = *layout,
			       .cpu_milli = spec->cpu_milli,
			       .memory_mib = spec->memory_mib };
	for (uint32_t card = 0; card < spec->n_gpus; card++)
		node->free_milli[card] = CARD_MILLI;
	return hamidp_occupancy_new(*layout, &node->occ);
}

/* What is known of a node's costs no longer holds. */
static void forget(int64_t *costs, size_t n_shapes, size_t n_nodes, size_t node)
{
	for (size_t s = 0; s < n_shapes; s++)
		costs[s * n_nodes + node] = COST_UNKNOWN;
}

static int64_t *new_costs(size_t n_shapes, size_t n_nodes)
{
	int64_t *costs = calloc(n_shapes * n_nodes, sizeof(*costs));

	for (size_t i = 0; costs && i < n_nodes; i++)
		forget(costs, n_shapes, n_nodes, i);
	return costs;
}

static int fill(struct cluster *cluster)
{
	const struct trace *trace = cluster->trace;
	int r;

	cluster->nodes = calloc(trace->n_nodes, sizeof(*cluster->nodes));
	cluster->costs = new_costs(trace->n_shapes, trace->n_nodes);
	cluster->gpu_costs = new_costs(trace->n_gpu_shapes, trace->n_nodes);
	if (!cluster->nodes || !cluster->costs || !cluster->gpu_costs)
		return -ENOMEM;

	r = hamidp_request_new(&cluster->req);
	if (r == 0)
		r = hamidp_decision_new(&cluster->decision);
	if (r == 0)
		r = hamidp_reason_new(&cluster->reason);
	for (size_t i = 0; r == 0 && i < trace->n_nodes; i++)
		r = make_node(cluster, i);
	return r;
}

int cluster_new(const struct trace *trace, struct cluster **ret)
{
	struct cluster *cluster = calloc(1, sizeof(*cluster));
	int r;

	if (!cluster)
		return -ENOMEM;
	cluster->trace = trace;
	r = fill(cluster);
	if (r < 0) {
		cluster_free(cluster);
		return r;
	}
	*ret = cluster;
	return 0;
}

struct cluster *cluster_free(struct cluster *cluster)
{
	if (!cluster)
		return NULL;
	for (size_t i = 0; cluster->nodes && i < cluster->trace->n_nodes; i++)
		hamidp_occupancy_free(cluster->nodes[i].occ);
	for (size_t i = 0; i <= CARDS_MAX; i++)
		hamidp_layout_unref(cluster->layouts[i]);
	hamidp_request_free(cluster->req);
	hamidp_decision_free(cluster->decision);
	hamidp_reason_free(cluster->reason);
	free(cluster->nodes);
	free(cluster->costs);
	free(cluster->gpu_costs);
	free(cluster);
	return NULL;
}

/* "A|B": is the model one of them? "" accepts every model. */
static bool model_accepted(const char *models, const char *model)
{
	size_t len = strlen(model);

	if (*models == '\0')
		return true;
	for (; models; models = strchr(models, '|')) {
		models += *models == '|';
		if (strncmp(models, model, len) == 0 && (models[len] == '|' || models[len] == '\0'))
			return true;
	}
	return false;
}

bool cluster_fits(const struct cluster *cluster, size_t i, const struct shape *shape)
{
	const struct node *node = &cluster->nodes[i];
	uint32_t n = 0;

	if (shape->cpu_milli > node->cpu_milli || shape->memory_mib > node->memory_mib ||
	    !model_accepted(shape->models, node->spec->model))
		return false;
	for (uint32_t card = 0; card < node->spec->n_gpus; card++)
		n += node->free_milli[card] >= shape->gpu_milli;
	return n >= shape->n_gpus;
}

int64_t cluster_library_cost(struct cluster *cluster, size_t i, const struct shape *shape)
{
	struct node *node = &cluster->nodes[i];
	int64_t *cost = &cluster->gpu_costs[shape->gpu_shape * cluster->trace->n_nodes + i];

	if (shape->n_gpus == 0)
		return 0;
	if (*cost != COST_UNKNOWN)
		return *cost;
	hamidp_request_reset(cluster->req);
	hamidp_request_set_devices(cluster->req, shape->n_gpus, shape->gpu_milli);
	if (hamidp_place(node->layout, node->occ, cluster->req, cluster->decision, NULL) < 0)
		*cost = COST_NO_FIT;
	else
		*cost = hamidp_decision_cost(cluster->decision);
	return *cost;
}

/* Leave the library no choice but the cards named. */
static int restrict_cards(struct cluster *cluster, const struct node *node, uint32_t cards)
{
	int r = 0;

	for (size_t slot = 0; r == 0 && slot < hamidp_layout_n_slots(node->layout); slot++)
		if ((cards & 1U << hamidp_layout_slot_device(node->layout, slot)) &&
		    !hamidp_occupancy_holder(node->occ, slot))
			r = hamidp_request_add_available(cluster->req, slot);
	return r;
}

static int place_and_hold(struct cluster *cluster, struct node *node, const struct shape *shape,
			  uint32_t cards)
{
	char holder[32];
	int r;

	hamidp_request_reset(cluster->req);
	hamidp_request_set_devices(cluster->req, shape->n_gpus, shape->gpu_milli);
	r = cards ? restrict_cards(cluster, node, cards) : 0;
	if (r == 0)
		r = hamidp_place(node->layout, node->occ, cluster->req, cluster->decision,
				 cluster->reason);
	if (r < 0)
		return r;
	(void)snprintf(holder, sizeof(holder), "pod-%" PRIu64, cluster->n_placed);
	r = hamidp_occupancy_apply(node->occ, cluster->decision, holder, cluster->reason);
	for (uint32_t card = 0; r == 0 && card < node->spec->n_gpus; card++)
		node->free_milli[card] = hamidp_occupancy_n_free(node->occ, card);
	return r;
}

int cluster_commit(struct cluster *cluster, size_t i, const struct shape *shape, uint32_t cards)
{
	const struct trace *trace = cluster->trace;
	struct node *node = &cluster->nodes[i];
	int r;

	if (shape->n_gpus > 0) {
		r = place_and_hold(cluster, node, shape, cards);
		if (r < 0) {
			fprintf(stderr, "%s: %s\n", node->spec->name,
				hamidp_reason_text(cluster->reason));
			return r;
		}
		forget(cluster->gpu_costs, trace->n_gpu_shapes, trace->n_nodes, i);
	}
	node->cpu_milli -= shape->cpu_milli;
	node->memory_mib -= shape->memory_mib;
	forget(cluster->costs, trace->n_shapes, trace->n_nodes, i);
	cluster->n_placed++;
	cluster->allocated_milli += (uint64_t)shape->n_gpus * shape->gpu_milli;
	return 0;
}
