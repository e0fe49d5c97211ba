/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The node on the event loop: its descriptor, its deadline, its events into the log. */

#include <systemd/sd-event.h>

struct hamidp_node;
struct node_loop;

/* The most that a batch of events was about. */
enum node_change {
	NODE_CHANGE_NONE = 0,
	NODE_CHANGE_GRANTS = 1, /* who holds what */
	NODE_CHANGE_HEALTH = 2, /* also of the cards that there were */
	NODE_CHANGE_LAYOUT = 3, /* also which cards there are, or how they are cut */
};

/* Once for all that one dispatch brought; never with NODE_CHANGE_NONE. */
typedef void (*node_loop_fn)(enum node_change change, void *userdata);

/* @node is borrowed and must outlive the loop. 0 or a negative errno of sd-event. */
int node_loop_new(sd_event *event, struct hamidp_node *node, node_loop_fn fn, void *userdata,
		  struct node_loop **ret);
struct node_loop *node_loop_free(struct node_loop *loop);
