/* SPDX-License-Identifier: Apache-2.0 */
/* Builds device lists. Knows the layout and the codec, and nobody who is listening. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hami/hamidp.h>

#include "complaint.h"
#include "device-list.h"

static void fill(struct device_list *list, const struct hamidp_publication *publication,
		 bool topology)
{
	const struct hamidp_layout *layout = list->layout;
	const struct hamidp_inventory *inv = hamidp_layout_inventory(layout);
	size_t resource = hamidp_publication_resource(publication), n = 0;

	for (size_t pos = 0; pos < hamidp_inventory_n_devices(inv); pos++) {
		size_t slot = hamidp_layout_device_first_slot(layout, pos);
		size_t end = slot + hamidp_layout_device_n_slots(layout, pos);

		if (hamidp_layout_device_resource(layout, pos) != resource)
			continue;
		list->nodes[pos] = hamidp_device_numa_node(hamidp_inventory_device(inv, pos));
		for (; slot < end; slot++)
			list->devices[n++] = (struct dp_device){
				.id = hamidp_layout_slot_id(layout, slot),
				.healthy = hamidp_publication_cause(publication, slot) ==
					   HAMIDP_CAUSE_NONE,
				.numa_nodes = topology ? &list->nodes[pos] : NULL,
				.n_numa_nodes = topology ? 1 : 0,
			};
	}
	list->n_healthy = hamidp_publication_count(publication, HAMIDP_CAUSE_NONE);
	list->list = (struct dp_list){ .devices = list->devices, .n_devices = n };
}

static int check_size(const struct dp_list *list, const char *name, struct complaint *complaint)
{
	size_t size;
	int r;

	r = dp_list_size(list, &size);
	if (r < 0)
		return complain(complaint, r, "%s: a slot's id or NUMA node cannot be sent", name);
	if (size <= DP_MESSAGE_MAX)
		return 0;
	return complain(complaint, -EMSGSIZE,
			"%s: the list of %zu slots takes %zu bytes, accepted: at most %zu: lower "
			"--cores-per-device, or spread the GPUs over several resources",
			name, list->n_devices, size, DP_MESSAGE_MAX);
}

int device_list_build(const struct hamidp_publication *publication, bool topology,
		      struct device_list *ret, struct complaint *complaint)
{
	struct hamidp_layout *layout = hamidp_publication_layout(publication);
	size_t resource = hamidp_publication_resource(publication);
	size_t n_cards = hamidp_inventory_n_devices(hamidp_layout_inventory(layout));
	size_t n_slots = hamidp_layout_resource_n_slots(layout, resource);
	struct device_list list = {
		.layout = hamidp_layout_ref(layout),
		.devices = calloc(n_slots + 1, sizeof(*list.devices)),
		.nodes = calloc(n_cards + 1, sizeof(*list.nodes)),
	};
	int r;

	if (!list.devices || !list.nodes) {
		r = complain(complaint, -ENOMEM, "out of memory");
	} else {
		fill(&list, publication,
		     topology && hamidp_layout_resource_has_numa(layout, resource));
		r = check_size(&list.list, hamidp_layout_resource_name(layout, resource),
			       complaint);
	}
	if (r < 0) {
		device_list_done(&list);
		return r;
	}
	*ret = list;
	return 0;
}

void device_list_done(struct device_list *list)
{
	free(list->devices);
	free(list->nodes);
	hamidp_layout_unref(list->layout);
	*list = (struct device_list){ 0 };
}

bool device_list_equal(const struct device_list *a, const struct device_list *b)
{
	if (a->list.n_devices != b->list.n_devices)
		return false;
	for (size_t i = 0; i < a->list.n_devices; i++) {
		const struct dp_device *x = &a->devices[i], *y = &b->devices[i];

		if (x->healthy != y->healthy || x->n_numa_nodes != y->n_numa_nodes ||
		    (x->n_numa_nodes && x->numa_nodes[0] != y->numa_nodes[0]) ||
		    strcmp(x->id, y->id) != 0)
			return false;
	}
	return true;
}
