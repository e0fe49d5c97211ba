/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers onto the wire. Go refuses a whole message for one string that is not UTF-8, and
 * protobuf-c reads through a NULL element: every string is checked before anything is packed.
 */
#include <errno.h>
#include <string.h>

#include "deviceplugin.pb-c.h"
#include "dp-codec-internal.h"
#include "macro.h"
#include "pluginregistration.pb-c.h"

/* Collects the first failure, so that a message is filled without a check a line. */
struct filler {
	struct dp_arena *arena;
	int error;
};

static void fail(struct filler *f, int error)
{
	if (!f->error)
		f->error = error;
}

static char *text(struct filler *f, const char *s)
{
	if (!s)
		fail(f, -EINVAL);
	else if (!dp_is_utf8(s))
		fail(f, -EILSEQ);
	return (char *)s;
}

static void *array(struct filler *f, size_t n, size_t size)
{
	void *p = n ? dp_arena_calloc(f->arena, n, size) : NULL;

	if (n && !p)
		fail(f, dp_arena_error(f->arena, -ENOMEM));
	return p;
}

/* An array of @n pointers to @n new structs of @size. */
static void *pointers(struct filler *f, size_t n, size_t size)
{
	char *items = array(f, n, size);
	void **ptrs = array(f, n, sizeof(*ptrs));

	if (!items || !ptrs)
		return NULL;
	for (size_t i = 0; i < n; i++)
		ptrs[i] = items + i * size;
	return ptrs;
}

static int pack(struct filler *f, const ProtobufCMessage *message, struct dp_bytes *ret)
{
	uint8_t *buf;
	size_t len;

	if (f->error)
		return f->error;
	len = protobuf_c_message_get_packed_size(message);
	if (len > DP_MESSAGE_MAX)
		return -EMSGSIZE;
	buf = dp_arena_alloc(f->arena, len);
	if (!buf)
		return dp_arena_error(f->arena, -ENOMEM);
	*ret = (struct dp_bytes){ .bytes = buf, .len = protobuf_c_message_pack(message, buf) };
	return 0;
}

int dp_encode_options(struct dp_arena *arena, const struct dp_options *options,
		      struct dp_bytes *ret)
{
	V1beta1__DevicePluginOptions msg = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;
	struct filler f = { .arena = arena };

	msg.pre_start_required = options->pre_start_required;
	msg.get_preferred_allocation_available = options->preferred_allocation;
	return pack(&f, &msg.base, ret);
}

static void fill_envs(struct filler *f, const struct dp_container_response *in,
		      V1beta1__ContainerAllocateResponse *out)
{
	out->envs = pointers(f, in->n_envs, sizeof(**out->envs));
	for (size_t i = 0; out->envs && i < in->n_envs; i++) {
		v1beta1__container_allocate_response__envs_entry__init(out->envs[i]);
		out->envs[i]->key = text(f, in->envs[i].key);
		out->envs[i]->value = text(f, in->envs[i].value);
		out->n_envs++;
	}
}

static void fill_annotations(struct filler *f, const struct dp_container_response *in,
			     V1beta1__ContainerAllocateResponse *out)
{
	out->annotations = pointers(f, in->n_annotations, sizeof(**out->annotations));
	for (size_t i = 0; out->annotations && i < in->n_annotations; i++) {
		v1beta1__container_allocate_response__annotations_entry__init(out->annotations[i]);
		out->annotations[i]->key = text(f, in->annotations[i].key);
		out->annotations[i]->value = text(f, in->annotations[i].value);
		out->n_annotations++;
	}
}

static void fill_mounts(struct filler *f, const struct dp_container_response *in,
			V1beta1__ContainerAllocateResponse *out)
{
	out->mounts = pointers(f, in->n_mounts, sizeof(**out->mounts));
	for (size_t i = 0; out->mounts && i < in->n_mounts; i++) {
		v1beta1__mount__init(out->mounts[i]);
		out->mounts[i]->container_path = text(f, in->mounts[i].container_path);
		out->mounts[i]->host_path = text(f, in->mounts[i].host_path);
		out->mounts[i]->read_only = in->mounts[i].read_only;
		out->n_mounts++;
	}
}

static void fill_devices(struct filler *f, const struct dp_container_response *in,
			 V1beta1__ContainerAllocateResponse *out)
{
	out->devices = pointers(f, in->n_devices, sizeof(**out->devices));
	for (size_t i = 0; out->devices && i < in->n_devices; i++) {
		v1beta1__device_spec__init(out->devices[i]);
		out->devices[i]->container_path = text(f, in->devices[i].container_path);
		out->devices[i]->host_path = text(f, in->devices[i].host_path);
		out->devices[i]->permissions = text(f, in->devices[i].permissions);
		out->n_devices++;
	}
}

static void fill_cdi_devices(struct filler *f, const struct dp_container_response *in,
			     V1beta1__ContainerAllocateResponse *out)
{
	out->cdi_devices = pointers(f, in->n_cdi_devices, sizeof(**out->cdi_devices));
	for (size_t i = 0; out->cdi_devices && i < in->n_cdi_devices; i++) {
		v1beta1__cdidevice__init(out->cdi_devices[i]);
		out->cdi_devices[i]->name = text(f, in->cdi_devices[i]);
		out->n_cdi_devices++;
	}
}

int dp_encode_allocate(struct dp_arena *arena, const struct dp_allocate_response *response,
		       struct dp_bytes *ret)
{
	V1beta1__AllocateResponse msg = V1BETA1__ALLOCATE_RESPONSE__INIT;
	struct filler f = { .arena = arena };

	msg.container_responses =
		pointers(&f, response->n_containers, sizeof(**msg.container_responses));
	for (size_t i = 0; msg.container_responses && i < response->n_containers; i++) {
		const struct dp_container_response *in = &response->containers[i];
		V1beta1__ContainerAllocateResponse *out = msg.container_responses[i];

		v1beta1__container_allocate_response__init(out);
		fill_envs(&f, in, out);
		fill_mounts(&f, in, out);
		fill_devices(&f, in, out);
		fill_annotations(&f, in, out);
		fill_cdi_devices(&f, in, out);
		msg.n_container_responses++;
	}
	return pack(&f, &msg.base, ret);
}

int dp_encode_preferred(struct dp_arena *arena, const struct dp_preferred_response *response,
			struct dp_bytes *ret)
{
	V1beta1__PreferredAllocationResponse msg = V1BETA1__PREFERRED_ALLOCATION_RESPONSE__INIT;
	struct filler f = { .arena = arena };

	msg.container_responses =
		pointers(&f, response->n_containers, sizeof(**msg.container_responses));
	for (size_t i = 0; msg.container_responses && i < response->n_containers; i++) {
		const struct dp_ids *in = &response->containers[i];
		V1beta1__ContainerPreferredAllocationResponse *out = msg.container_responses[i];

		v1beta1__container_preferred_allocation_response__init(out);
		out->deviceids = (char **)in->ids;
		out->n_deviceids = in->n_ids;
		for (size_t j = 0; j < in->n_ids; j++)
			(void)text(&f, in->ids[j]);
		msg.n_container_responses++;
	}
	return pack(&f, &msg.base, ret);
}

int dp_encode_register(struct dp_arena *arena, const struct dp_register_request *request,
		       struct dp_bytes *ret)
{
	V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;
	V1beta1__RegisterRequest msg = V1BETA1__REGISTER_REQUEST__INIT;
	struct filler f = { .arena = arena };

	options.pre_start_required = request->options.pre_start_required;
	options.get_preferred_allocation_available = request->options.preferred_allocation;
	msg.version = text(&f, DP_VERSION);
	msg.endpoint = text(&f, request->endpoint);
	msg.resource_name = text(&f, request->resource_name);
	msg.options = &options;
	return pack(&f, &msg.base, ret);
}

int dp_encode_plugin_info(struct dp_arena *arena, const struct dp_plugin_info *info,
			  struct dp_bytes *ret)
{
	Pluginregistration__PluginInfo msg = PLUGINREGISTRATION__PLUGIN_INFO__INIT;
	char version[] = DP_VERSION, *versions[] = { version };
	struct filler f = { .arena = arena };

	msg.type = text(&f, info->type);
	msg.name = text(&f, info->name);
	msg.endpoint = text(&f, info->endpoint);
	msg.supported_versions = versions;
	msg.n_supported_versions = ARRAY_SIZE(versions);
	return pack(&f, &msg.base, ret);
}

/* One device as protobuf-c structs that point into each other: do not copy. */
struct device_message {
	V1beta1__Device device;
	V1beta1__TopologyInfo topology;
	V1beta1__NUMANode nodes[DP_NUMA_NODES_MAX];
	V1beta1__NUMANode *node_ptrs[DP_NUMA_NODES_MAX];
};

static int fill_device(const struct dp_device *in, struct device_message *ret)
{
	struct filler f = { 0 };

	if (in->n_numa_nodes > DP_NUMA_NODES_MAX)
		return -EINVAL;
	v1beta1__device__init(&ret->device);
	ret->device.id = text(&f, in->id);
	ret->device.health = (char *)(in->healthy ? "Healthy" : "Unhealthy");
	if (in->n_numa_nodes) {
		v1beta1__topology_info__init(&ret->topology);
		for (size_t i = 0; i < in->n_numa_nodes; i++) {
			v1beta1__numanode__init(&ret->nodes[i]);
			ret->nodes[i].id = in->numa_nodes[i];
			ret->node_ptrs[i] = &ret->nodes[i];
		}
		ret->topology.nodes = ret->node_ptrs;
		ret->topology.n_nodes = in->n_numa_nodes;
		ret->device.topology = &ret->topology;
	}
	return f.error;
}

static size_t put_varint(uint8_t *out, size_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		out[n++] = (uint8_t)(value | 0x80);
	out[n++] = (uint8_t)value;
	return n;
}

/*
 * The list is packed device by device, to need no memory: 51,000 devices as one tree would be
 * 12 MB. On the wire it is a tag byte (field 1, length-delimited), a length and the device, each.
 */
static int pack_devices(const struct dp_list *list, uint8_t *out, size_t *ret_len)
{
	struct device_message msg;
	uint8_t varint[10];
	size_t len = 0;

	for (size_t i = 0; i < list->n_devices; i++) {
		size_t size, n;
		int r = fill_device(&list->devices[i], &msg);

		if (r < 0)
			return r;
		size = v1beta1__device__get_packed_size(&msg.device);
		n = put_varint(varint, size);
		if (out) {
			out[len] = 1 << 3 | PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
			memcpy(out + len + 1, varint, n);
			(void)v1beta1__device__pack(&msg.device, out + len + 1 + n);
		}
		len += 1 + n + size;
	}
	*ret_len = len;
	return 0;
}

int dp_list_size(const struct dp_list *list, size_t *ret_size)
{
	return pack_devices(list, NULL, ret_size);
}

int dp_encode_list(const struct dp_list *list, void *buf, size_t size)
{
	size_t len;
	int r;

	r = dp_list_size(list, &len);
	if (r < 0)
		return r;
	if (len > DP_MESSAGE_MAX)
		return -EMSGSIZE;
	if (len != size)
		return -EINVAL;
	return pack_devices(list, buf, &len);
}
