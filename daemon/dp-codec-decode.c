/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests off the wire. protobuf-c checks neither UTF-8 nor NUL bytes, and the structs it fills
 * can be many times the size of the message: all that is bounded and checked here.
 */
#include <errno.h>
#include <string.h>

#include "deviceplugin.pb-c.h"
#include "dp-codec-internal.h"
#include "pluginregistration.pb-c.h"
#include "utf8.h"

static void *pb_alloc(void *userdata, size_t size)
{
	return dp_arena_alloc(userdata, size);
}

static void pb_free(void *userdata, void *p)
{
}

ProtobufCAllocator dp_arena_allocator(struct dp_arena *arena)
{
	return (ProtobufCAllocator){ .alloc = pb_alloc, .free = pb_free, .allocator_data = arena };
}

int dp_arena_error(const struct dp_arena *arena, int otherwise)
{
	if (arena->over_budget)
		return -E2BIG;
	return arena->out_of_memory ? -ENOMEM : otherwise;
}

/* NULL: dp_arena_error() says why. */
static void *unpack(struct dp_arena *arena, const ProtobufCMessageDescriptor *type,
		    const void *bytes, size_t len)
{
	ProtobufCAllocator allocator = dp_arena_allocator(arena);

	return protobuf_c_message_unpack(type, &allocator, len, bytes ? bytes : "");
}

bool dp_is_utf8(const char *s)
{
	while (*s) {
		size_t n = utf8_len(s);

		if (!n)
			return false;
		s += n;
	}
	return true;
}

/* An unpacked string was allocated with its length on the wire and one byte more. */
static bool string_ok(const char *s)
{
	if (s == protobuf_c_empty_string)
		return true;
	return s && strlen(s) + 1 == dp_arena_size(s) && dp_is_utf8(s);
}

static int take_ids(char **ids, size_t n, struct dp_ids *ret)
{
	if (n > DP_IDS_MAX)
		return -E2BIG;
	for (size_t i = 0; i < n; i++)
		if (!string_ok(ids[i]))
			return -EBADMSG;
	*ret = (struct dp_ids){ .ids = (const char *const *)ids, .n_ids = n };
	return 0;
}

int dp_decode_allocate(struct dp_arena *arena, const void *bytes, size_t len,
		       struct dp_allocate_request *ret)
{
	V1beta1__AllocateRequest *msg;
	struct dp_ids *containers;
	int r;

	msg = unpack(arena, &v1beta1__allocate_request__descriptor, bytes, len);
	if (!msg)
		return dp_arena_error(arena, -EBADMSG);
	if (msg->n_container_requests > DP_CONTAINERS_MAX)
		return -E2BIG;
	containers = dp_arena_calloc(arena, msg->n_container_requests, sizeof(*containers));
	if (!containers)
		return dp_arena_error(arena, -ENOMEM);
	for (size_t i = 0; i < msg->n_container_requests; i++) {
		const V1beta1__ContainerAllocateRequest *c = msg->container_requests[i];

		r = take_ids(c->devices_ids, c->n_devices_ids, &containers[i]);
		if (r < 0)
			return r;
	}
	*ret = (struct dp_allocate_request){
		.containers = containers,
		.n_containers = msg->n_container_requests,
	};
	return 0;
}

int dp_decode_preferred(struct dp_arena *arena, const void *bytes, size_t len,
			struct dp_preferred_request *ret)
{
	V1beta1__PreferredAllocationRequest *msg;
	struct dp_preferred_container *containers;
	int r;

	msg = unpack(arena, &v1beta1__preferred_allocation_request__descriptor, bytes, len);
	if (!msg)
		return dp_arena_error(arena, -EBADMSG);
	if (msg->n_container_requests > DP_CONTAINERS_MAX)
		return -E2BIG;
	containers = dp_arena_calloc(arena, msg->n_container_requests, sizeof(*containers));
	if (!containers)
		return dp_arena_error(arena, -ENOMEM);
	for (size_t i = 0; i < msg->n_container_requests; i++) {
		const V1beta1__ContainerPreferredAllocationRequest *c = msg->container_requests[i];

		r = take_ids(c->available_deviceids, c->n_available_deviceids,
			     &containers[i].available);
		if (r < 0)
			return r;
		r = take_ids(c->must_include_deviceids, c->n_must_include_deviceids,
			     &containers[i].must_include);
		if (r < 0)
			return r;
		containers[i].size = c->allocation_size;
	}
	*ret = (struct dp_preferred_request){
		.containers = containers,
		.n_containers = msg->n_container_requests,
	};
	return 0;
}

int dp_decode_pre_start(struct dp_arena *arena, const void *bytes, size_t len, struct dp_ids *ret)
{
	V1beta1__PreStartContainerRequest *msg;

	msg = unpack(arena, &v1beta1__pre_start_container_request__descriptor, bytes, len);
	if (!msg)
		return dp_arena_error(arena, -EBADMSG);
	return take_ids(msg->devices_ids, msg->n_devices_ids, ret);
}

int dp_decode_empty(struct dp_arena *arena, const void *bytes, size_t len)
{
	V1beta1__Empty *msg = unpack(arena, &v1beta1__empty__descriptor, bytes, len);

	return msg ? 0 : dp_arena_error(arena, -EBADMSG);
}

int dp_decode_options(struct dp_arena *arena, const void *bytes, size_t len, struct dp_options *ret)
{
	V1beta1__DevicePluginOptions *msg;

	msg = unpack(arena, &v1beta1__device_plugin_options__descriptor, bytes, len);
	if (!msg)
		return dp_arena_error(arena, -EBADMSG);
	*ret = (struct dp_options){
		.pre_start_required = msg->pre_start_required,
		.preferred_allocation = msg->get_preferred_allocation_available,
	};
	return 0;
}

int dp_decode_registration_status(struct dp_arena *arena, const void *bytes, size_t len,
				  struct dp_registration_status *ret)
{
	Pluginregistration__RegistrationStatus *msg;

	msg = unpack(arena, &pluginregistration__registration_status__descriptor, bytes, len);
	if (!msg)
		return dp_arena_error(arena, -EBADMSG);
	if (!string_ok(msg->error))
		return -EBADMSG;
	*ret = (struct dp_registration_status){
		.registered = msg->plugin_registered,
		.error = msg->error,
	};
	return 0;
}
