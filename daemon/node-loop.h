/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The node on the event loop: its descriptor, its deadline, its events into the log. */

#include <stdbool.h>
#include <systemd/sd-event.h>

struct hamidp_node;
struct node_loop;

/*
 * Cards changed, once for all that one dispatch brought. @layout: also which there are or how they
 * are cut, not only their health.
 */
typedef void (*node_loop_fn)(bool layout, void *userdata);

/* @node is borrowed and must outlive the loop. 0 or a negative errno of sd-event. */
int node_loop_new(sd_event *event, struct hamidp_node *node, node_loop_fn fn, void *userdata,
		  struct node_loop **ret);
struct node_loop *node_loop_free(struct node_loop *loop);
