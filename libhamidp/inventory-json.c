/* SPDX-License-Identifier: Apache-2.0 */

/* Inventories to and from "hami.inventory/1". What is not known is not written. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "inventory.h"
#include "reason.h"
#include "sim-json.h"

HAMIDP_EXPORT int hamidp_inventory_from_json(const char *text, size_t len,
					     struct hamidp_inventory **ret,
					     struct hamidp_reason *reason)
{
	hdp_cleanup(hdp_machine_done) struct hdp_machine m = { 0 };
	int r;

	hdp_reason_clear(reason);
	r = hdp_machine_parse(text, len, &m, NULL, reason);
	if (r < 0)
		return r;
	return hdp_machine_seal(&m, ret, reason);
}

/* Writes the ',' between two members of one object or array. */
struct list {
	struct hdp_buffer *out;
	bool more;
};

static void next(struct list *list)
{
	if (list->more)
		hdp_buffer_put(list->out, ",");
	list->more = true;
}

static void put_key(struct list *list, const char *key)
{
	next(list);
	hdp_buffer_json_string(list->out, key);
	hdp_buffer_put(list->out, ":");
}

static void put_string(struct list *list, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	put_key(list, key);
	hdp_buffer_json_string(list->out, value);
}

static void put_number(struct list *list, const char *key, int64_t value, int64_t unknown)
{
	if (value == unknown)
		return;
	put_key(list, key);
	if (value < 0)
		hdp_buffer_put(list->out, "-");
	hdp_buffer_number(list->out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* GFLOPS as TFLOPS, without the locale that printf() would use for the point. */
static void put_tflops(struct list *list, uint64_t gflops)
{
	char text[40];

	if (gflops == 0)
		return;
	(void)snprintf(text, sizeof(text), "%llu.%03llu", (unsigned long long)(gflops / 1000),
		       (unsigned long long)(gflops % 1000));
	put_key(list, "tflops_fp32");
	hdp_buffer_put(list->out, text);
}

static void put_path(struct list *items, const struct hdp_path *path)
{
	struct list list = { .out = items->out };

	next(items);
	hdp_buffer_put(list.out, "{");
	put_string(&list, "host", path->host);
	put_string(&list, "container", path->container);
	put_string(&list, "permissions", path->permissions);
	hdp_buffer_put(list.out, "}");
}

static void put_paths(struct list *list, const char *key, const struct hdp_path *paths, size_t n)
{
	struct list items = { .out = list->out };

	if (n == 0)
		return;
	put_key(list, key);
	hdp_buffer_put(list->out, "[");
	for (size_t i = 0; i < n; i++)
		put_path(&items, &paths[i]);
	hdp_buffer_put(list->out, "]");
}

static void put_driver(struct list *top, const struct hamidp_inventory *inv)
{
	struct list list = { .out = top->out };

	put_key(top, "driver");
	hdp_buffer_put(list.out, "{");
	put_string(&list, "name", inv->driver_name);
	put_string(&list, "version", inv->driver_version);
	put_number(&list, "max_slots", inv->max_slots, 0);
	if (inv->contiguous) {
		put_key(&list, "contiguous");
		hdp_buffer_put(list.out, "true");
	}
	hdp_buffer_put(list.out, "}");
}

static void put_device(struct list *items, const struct hdp_device_info *info)
{
	struct list list = { .out = items->out };

	next(items);
	hdp_buffer_put(list.out, "{");
	put_string(&list, "uuid", info->uuid);
	put_number(&list, "index", info->index, -1);
	put_number(&list, "minor", info->minor, -1);
	put_string(&list, "model", info->model);
	put_string(&list, "pci", info->pci);
	put_number(&list, "memory_mib", (int64_t)info->memory_mib, 0);
	put_number(&list, "sms", info->sms, 0);
	put_number(&list, "sm_mhz", info->sm_mhz, 0);
	put_string(&list, "compute_capability", info->compute_capability);
	put_tflops(&list, info->gflops_fp32);
	put_number(&list, "numa_node", info->numa_node, -1);
	put_string(&list, "cpus", info->cpus);
	if (info->health != HAMIDP_HEALTH_UNKNOWN)
		put_string(&list, "health", hamidp_health_to_string(info->health));
	put_string(&list, "health_cause", info->health_cause);
	put_paths(&list, "device_nodes", info->nodes, info->n_nodes);
	hdp_buffer_put(list.out, "}");
}

static void put_devices(struct list *top, const struct hamidp_inventory *inv)
{
	struct list items = { .out = top->out };

	put_key(top, "devices");
	hdp_buffer_put(top->out, "[");
	for (size_t i = 0; i < inv->n_devices; i++)
		put_device(&items, &inv->devices[i].info);
	hdp_buffer_put(top->out, "]");
}

static void put_link(struct list *items, const struct hamidp_inventory *inv, size_t a, size_t b)
{
	const struct hdp_link *link = &inv->links[a * inv->n_devices + b];
	struct list list = { .out = items->out };

	if (link->type == HAMIDP_LINK_NONE && link->gbps == 0 && link->pcie == 0)
		return;
	next(items);
	hdp_buffer_put(list.out, "{");
	put_string(&list, "a", inv->devices[a].info.uuid);
	put_string(&list, "b", inv->devices[b].info.uuid);
	put_string(&list, "type",
		   link->type == HAMIDP_LINK_NONE
			   ? "pcie"
			   : hamidp_link_type_to_string((enum hamidp_link_type)link->type));
	put_number(&list, "lanes", link->lanes, 0);
	put_number(&list, "gbps", link->gbps, 0);
	if (link->pcie != HAMIDP_PCIE_UNKNOWN)
		put_string(&list, "pcie",
			   hamidp_pcie_level_to_string((enum hamidp_pcie_level)link->pcie));
	hdp_buffer_put(list.out, "}");
}

static void put_links(struct list *top, const struct hamidp_inventory *inv)
{
	struct list items = { .out = top->out };

	if (!inv->links)
		return;
	put_key(top, "links");
	hdp_buffer_put(top->out, "[");
	for (size_t a = 0; a < inv->n_devices; a++)
		for (size_t b = a + 1; b < inv->n_devices; b++)
			put_link(&items, inv, a, b);
	hdp_buffer_put(top->out, "]");
}

static void put_grant(struct list *items, const struct hdp_stated_grant *grant)
{
	struct list list = { .out = items->out }, slots = { .out = items->out };

	next(items);
	hdp_buffer_put(list.out, "{");
	put_string(&list, "id", grant->id);
	put_string(&list, "resource", grant->resource);
	put_key(&list, "slots");
	hdp_buffer_put(list.out, "[");
	for (size_t i = 0; i < grant->n_slots; i++) {
		next(&slots);
		hdp_buffer_json_string(list.out, grant->slots[i]);
	}
	hdp_buffer_put(list.out, "]");
	put_number(&list, "memory_mib", (int64_t)grant->memory_mib, 0);
	put_number(&list, "share_ppm", grant->share_ppm, 0);
	hdp_buffer_put(list.out, "}");
}

static void put_grants(struct list *top, const struct hdp_stated_grant *grants, size_t n)
{
	struct list items = { .out = top->out };

	if (n == 0)
		return;
	put_key(top, "grants");
	hdp_buffer_put(top->out, "[");
	for (size_t i = 0; i < n; i++)
		put_grant(&items, &grants[i]);
	hdp_buffer_put(top->out, "]");
}

int hdp_inventory_write(const struct hamidp_inventory *inv, const struct hdp_stated_grant *grants,
			size_t n_grants, char **ret_text, size_t *ret_len)
{
	struct hdp_buffer out = { 0 };
	struct list top = { .out = &out };
	char *text;

	hdp_buffer_put(&out, "{");
	put_string(&top, "schema", "hami.inventory/1");
	put_driver(&top, inv);
	put_devices(&top, inv);
	put_links(&top, inv);
	put_paths(&top, "mounts", inv->mounts, inv->n_mounts);
	put_grants(&top, grants, n_grants);
	hdp_buffer_put(&out, "}");

	text = hdp_buffer_take(&out, ret_len);
	if (!text)
		return -ENOMEM;
	*ret_text = text;
	return 0;
}

HAMIDP_EXPORT int hamidp_inventory_to_json(const struct hamidp_inventory *inv, char **ret_text,
					   size_t *ret_len)
{
	return hdp_inventory_write(inv, inv->grants, inv->n_grants, ret_text, ret_len);
}
