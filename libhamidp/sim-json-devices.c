/* SPDX-License-Identifier: Apache-2.0 */

/* The schema "hami.inventory/1" (docs/inventory.md): its devices and their links. */

#include <errno.h>
#include <string.h>

#include "form.h"
#include "json-read.h"
#include "sim-json-parts.h"

#define NODES_MAX 64U	     /* device nodes of one device */
#define TFLOPS_MAX 1000000.0 /* of one device */

bool hdp_json_is_path(const char *text)
{
	return text[0] == '/';
}

static bool is_permissions(const char *text)
{
	size_t len = strlen(text);

	if (len > 3 || strspn(text, "rwm") != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (strchr(text + i + 1, text[i]))
			return false;
	return true;
}

static bool is_pci(const char *text)
{
	char normal[HDP_PCI_SIZE];
	uint64_t key;

	return hdp_pci_parse(text, normal, &key);
}

/* Keeps TFLOPS, which may have a fraction, as whole GFLOPS. */
static int read_tflops(const json_t *value, const struct hdp_json_at *at, void *out,
		       struct hamidp_reason *reason)
{
	struct hdp_device_info *info = out;
	double tflops = json_number_value(value);

	if (!json_is_number(value) || !(tflops >= 0.001 && tflops <= TFLOPS_MAX))
		return hdp_json_refuse(value, at, "a number from 0.001 to 1000000", reason);
	info->gflops_fp32 = (uint64_t)(tflops * 1000.0 + 0.5);
	return 0;
}

static const struct hdp_json_field node_fields[] = {
	HDP_JSON_TEXT(struct hdp_path, host, hdp_json_is_path, HDP_JSON_PATH_RULE),
	{ .key = "container",
	  .kind = HDP_JSON_STRING,
	  .required = true,
	  .offset = offsetof(struct hdp_path, container),
	  .check = hdp_json_is_path,
	  .rule = HDP_JSON_PATH_RULE },
	HDP_JSON_TEXT(struct hdp_path, permissions, is_permissions,
		      "some of the letters rwm, each once"),
};

/* A node that is not named on the host is a simulated one. */
static int settle_node(struct hdp_path *node)
{
	if (!node->host)
		node->host = strdup("/dev/null");
	if (!node->permissions)
		node->permissions = strdup("rw");
	return node->host && node->permissions ? 0 : -ENOMEM;
}

static int read_node(const json_t *value, const struct hdp_json_at *at, void *out,
		     struct hamidp_reason *reason)
{
	hdp_cleanup(hdp_path_done) struct hdp_path node = { 0 };
	struct hdp_device_info *info = out;
	int r = hdp_json_object(value, at, node_fields, ARRAY_SIZE(node_fields), &node, reason);

	if (r < 0)
		return r;
	if (settle_node(&node) < 0)
		return hdp_oom(reason);
	info->nodes[info->n_nodes++] = node;
	node = (struct hdp_path){ 0 };
	return 0;
}

static int read_nodes(const json_t *value, const struct hdp_json_at *at, void *out,
		      struct hamidp_reason *reason)
{
	struct hdp_device_info *info = out;

	info->nodes = calloc(NODES_MAX, sizeof(*info->nodes));
	if (!info->nodes)
		return hdp_oom(reason);
	return hdp_json_array(value, at, NODES_MAX, read_node, info, reason);
}

static const struct hdp_json_word health_words[] = {
	{ "unknown", HAMIDP_HEALTH_UNKNOWN }, { "healthy", HAMIDP_HEALTH_HEALTHY },
	{ "suspect", HAMIDP_HEALTH_SUSPECT }, { "unhealthy", HAMIDP_HEALTH_UNHEALTHY },
	{ "gone", HAMIDP_HEALTH_GONE },	      { 0 },
};

#define INFO struct hdp_device_info
static const struct hdp_json_field device_fields[] = {
	{ .key = "uuid",
	  .kind = HDP_JSON_STRING,
	  .required = true,
	  .offset = offsetof(INFO, uuid),
	  .check = hdp_uuid_valid,
	  .rule = HDP_UUID_RULE },
	HDP_JSON_NUMBER(INFO, index, HDP_JSON_INT64, 0, INT32_MAX),
	HDP_JSON_NUMBER(INFO, minor, HDP_JSON_INT64, 0, INT32_MAX),
	HDP_JSON_TEXT(INFO, model, NULL, NULL),
	HDP_JSON_TEXT(INFO, pci, is_pci, HDP_PCI_RULE),
	{ .key = "memory_mib",
	  .kind = HDP_JSON_UINT64,
	  .required = true,
	  .offset = offsetof(INFO, memory_mib),
	  .min = 1,
	  .max = HDP_MEMORY_MIB_MAX },
	HDP_JSON_NUMBER(INFO, sms, HDP_JSON_UINT32, 1, 1000000),
	HDP_JSON_NUMBER(INFO, sm_mhz, HDP_JSON_UINT32, 1, 1000000),
	HDP_JSON_TEXT(INFO, compute_capability, hdp_capability_valid, "major.minor, as 8.0"),
	{ .key = "tflops_fp32", .kind = HDP_JSON_FN, .fn = read_tflops },
	HDP_JSON_NUMBER(INFO, numa_node, HDP_JSON_INT32, -1, 65535),
	HDP_JSON_TEXT(INFO, cpus, hdp_cpulist_valid, "a cpulist, as 0-15,32-47"),
	{ .key = "health",
	  .kind = HDP_JSON_WORD,
	  .offset = offsetof(INFO, health),
	  .words = health_words },
	HDP_JSON_TEXT(INFO, health_cause, NULL, NULL),
	{ .key = "device_nodes", .kind = HDP_JSON_FN, .fn = read_nodes },
};

int hdp_json_read_device(const json_t *value, const struct hdp_json_at *at, void *out,
			 struct hamidp_reason *reason)
{
	hdp_cleanup(hdp_device_info_done) struct hdp_device_info info = HDP_DEVICE_INFO_INIT;
	int r = hdp_json_object(value, at, device_fields, ARRAY_SIZE(device_fields), &info, reason);

	if (r < 0)
		return r;
	if (info.gflops_fp32 == 0)
		info.gflops_fp32 = hdp_gflops_fp32(info.compute_capability, info.sms, info.sm_mhz);
	if (hdp_machine_add_device(out, &info) < 0)
		return hdp_oom(reason);
	return 0;
}

static const struct hdp_json_word type_words[] = {
	{ "nvlink", HAMIDP_LINK_NVLINK },
	{ "xgmi", HAMIDP_LINK_XGMI },
	{ "pcie", HAMIDP_LINK_NONE },
	{ 0 },
};

static const struct hdp_json_word pcie_words[] = {
	{ "PIX", HAMIDP_PCIE_PIX },   { "PXB", HAMIDP_PCIE_PXB }, { "PHB", HAMIDP_PCIE_PHB },
	{ "NODE", HAMIDP_PCIE_NODE }, { "SYS", HAMIDP_PCIE_SYS }, { 0 },
};

#define LINK struct hdp_link_info
static const struct hdp_json_field link_fields[] = {
	{ .key = "a",
	  .kind = HDP_JSON_STRING,
	  .required = true,
	  .offset = offsetof(LINK, a),
	  .check = hdp_uuid_valid,
	  .rule = HDP_UUID_RULE },
	{ .key = "b",
	  .kind = HDP_JSON_STRING,
	  .required = true,
	  .offset = offsetof(LINK, b),
	  .check = hdp_uuid_valid,
	  .rule = HDP_UUID_RULE },
	{ .key = "type",
	  .kind = HDP_JSON_WORD,
	  .offset = offsetof(LINK, type),
	  .words = type_words },
	HDP_JSON_NUMBER(LINK, lanes, HDP_JSON_UINT32, 1, UINT16_MAX),
	HDP_JSON_NUMBER(LINK, gbps, HDP_JSON_UINT32, 1, 1000000),
	{ .key = "pcie",
	  .kind = HDP_JSON_WORD,
	  .offset = offsetof(LINK, pcie),
	  .words = pcie_words },
};

int hdp_json_read_link(const json_t *value, const struct hdp_json_at *at, void *out,
		       struct hamidp_reason *reason)
{
	hdp_cleanup(hdp_link_info_done) struct hdp_link_info link = { 0 };
	int r = hdp_json_object(value, at, link_fields, ARRAY_SIZE(link_fields), &link, reason);

	if (r < 0)
		return r;
	if (link.lanes > 0 && link.type == HAMIDP_LINK_NONE) {
		const struct hdp_json_at here = { .up = at, .key = "lanes" };

		return hdp_json_refuse(json_object_get(value, "lanes"), &here,
				       "lanes only with type nvlink or xgmi", reason);
	}
	if (hdp_machine_add_link(out, &link) < 0)
		return hdp_oom(reason);
	return 0;
}
