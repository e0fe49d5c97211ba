/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The insides of a fleet. fleet.c keeps the nodes, fleet-type.c tells which are alike,
 * fleet-score.c remembers what requests cost, fleet-place.c chooses.
 */

#include <stdbool.h>

#include <hami/fleet.h>

#include "grow.h"
#include "index.h"
#include "place.h"
#include "reason.h"

#define HDP_SHAPES_MAX 32U /* kinds of requests that are remembered */

struct hdp_fleet_node {
	char *name;
	struct hamidp_layout *layout;
	struct hamidp_occupancy *occ;
	uint32_t type;
};

enum hdp_score_state {
	HDP_SCORE_STALE = 0, /* not known */
	HDP_SCORE_FITS,	     /* the request has its form */
	HDP_SCORE_SPLIT,     /* it has room, but not in its form */
	HDP_SCORE_NONE,	     /* it has no room */
	HDP_SCORE_TOLD,	     /* it has no room; @code and @largest say more */
};

struct hdp_score { /* of one kind of request on one node */
	int64_t cost;
	uint32_t largest;
	uint8_t state;
	uint8_t code; /* enum hamidp_reason_code */
};

/* All of a request that a score depends on. */
struct hdp_shape_key {
	size_t resource;
	bool by_device, by_amount;
	uint32_t units; /* each, if by device */
	uint32_t n_devices;
	uint32_t share_ppm;
	uint64_t memory_mib;
	int32_t numa_node;
	int placement, split; /* the request's own, else -1 */
};

struct hdp_shape {
	struct hdp_shape_key key;
	uint64_t used;		  /* the fleet's count of placements when it was last used */
	struct hdp_score *scores; /* by node */
	struct hdp_score *empty;  /* by type: of its empty nodes */
	size_t n_scores, cap_scores, n_empty, cap_empty;
};

struct hamidp_fleet {
	struct hdp_fleet_node *nodes;
	size_t n_nodes, cap_nodes;
	struct hdp_index by_name;
	uint32_t *ranks; /* by node: place of its name among all */
	uint32_t *order; /* by rank: node */
	size_t n_ranked, cap_ranks, cap_order;
	struct hamidp_layout **types; /* a node's layout of each type */
	size_t n_types, cap_types;
	struct hdp_index by_type;
	struct hdp_shape shapes[HDP_SHAPES_MAX];
	size_t n_shapes;
	uint64_t n_placements;
	int64_t (*bias)(size_t node, void *userdata); /* NULL: none */
	void *bias_userdata;
	struct hamidp_decision *scratch;
	struct hamidp_reason reason;
};

/* The number of the layout's type, a new one if need be. 0 or -ENOMEM. */
int hdp_fleet_type(struct hamidp_fleet *fleet, struct hamidp_layout *layout, uint32_t *ret_type)
	hdp_must_check;

/*
 * A node's occupancy as one of its type's layout, to be read only: slot numbers are the same there.
 * So the layouts, links and tables of thousands of nodes need not be looked at, but those of a few.
 */
struct hamidp_occupancy hdp_fleet_view(const struct hamidp_fleet *fleet, size_t node);

/* The memory of what such requests cost, the oldest one's if need be. 0 or -ENOMEM. */
int hdp_fleet_shape(struct hamidp_fleet *fleet, const struct hamidp_request *req,
		    struct hdp_shape **ret) hdp_must_check;
/* What @req of this shape costs on a node; borrowed until the node changes. 0 or -ENOMEM. */
int hdp_fleet_score(struct hamidp_fleet *fleet, struct hdp_shape *shape,
		    const struct hamidp_request *req, size_t node, const struct hdp_score **ret)
	hdp_must_check;
/* The same for a node without room: why, which takes longer. */
int hdp_fleet_tell(struct hamidp_fleet *fleet, struct hdp_shape *shape,
		   const struct hamidp_request *req, size_t node, const struct hdp_score **ret)
	hdp_must_check;
/* Forget what is known of a node. */
void hdp_fleet_node_changed(struct hamidp_fleet *fleet, size_t node);
