/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A layout and its cards' health as the list that the kubelet gets. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dp-codec.h"

struct complaint;
struct hamidp_publication;
struct hamidp_layout;

struct device_list {
	struct dp_list list;
	size_t n_healthy;
	/* What @list points into. */
	struct hamidp_layout *layout;
	struct dp_device *devices;
	int64_t *nodes;
};

/*
 * All slots that @publication is about, in slot order, Healthy where it gives no cause. NUMA nodes
 * are told for all of them or for none: only if
 * @topology, and if every card of the resource has one. Keeps a reference to the layout.
 *
 * Return: 0 with *@ret filled (device_list_done()), -EMSGSIZE (with the size, and what to change),
 * -EILSEQ (an id that is not UTF-8) or -ENOMEM.
 */
int device_list_build(const struct hamidp_publication *publication, bool topology,
		      struct device_list *ret, struct complaint *complaint);
void device_list_done(struct device_list *list);
/* Would the kubelet get the same? */
bool device_list_equal(const struct device_list *a, const struct device_list *b);
