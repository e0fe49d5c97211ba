/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One resource on this node: what is served, and to whom. It appears to the kubelet once the layout
 * has slots for it, and stays from then on, whatever becomes of them.
 */

#include <stdbool.h>

#include "endpoint.h"

struct complaint;
struct hamidp_node;
struct options;
struct resource;

/* The kubelet took it, lost it, or it has failed for good. Do not free it from here. */
typedef void (*resource_state_fn)(enum endpoint_state state, void *userdata);

/*
 * @opts, @node, @rpc and @event are borrowed and must outlive it. 0 with *@ret owned by the caller
 * (resource_free()), or -ENOMEM.
 */
int resource_new(const char *name, const struct options *opts, struct hamidp_node *node,
		 struct rpc *rpc, sd_event *event, resource_state_fn fn, void *userdata,
		 struct resource **ret);

/*
 * Bring what is published in line with the node's layout; the first slots start the endpoint.
 *
 * Return: 0; -EMSGSIZE, -EILSEQ or -ENOMEM with a complaint, and what was published before stays;
 * or, of the start only and for good, what endpoint_start() says, which has logged it: the
 * complaint is then empty.
 */
int resource_update(struct resource *resource, struct complaint *complaint);

const char *resource_name(const struct resource *resource);
/* It was offered to the kubelet, and stays so. */
bool resource_is_started(const struct resource *resource);
size_t resource_n_slots(const struct resource *resource);
size_t resource_n_healthy(const struct resource *resource);
bool resource_is_registered(const struct resource *resource);

/* Before rpc_stop(), and after it. */
void resource_stop(struct resource *resource);
struct resource *resource_free(struct resource *resource);
