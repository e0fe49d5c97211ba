/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dp-codec-arena.h"

/*
 * The messages of the device plugin and plugin registration APIs as plain structs.
 *
 * What is decoded, and what is encoded, lives in the arena, until it is reset. Decoding:
 *   -EBADMSG  malformed, or a string with a NUL byte or invalid UTF-8: INVALID_ARGUMENT
 *   -E2BIG    over the arena's budget or a cap below: RESOURCE_EXHAUSTED
 *   -ENOMEM
 * Encoding:
 *   -EINVAL   a NULL string
 *   -EILSEQ   a string that is not UTF-8, which the kubelet would drop the whole message for
 *   -EMSGSIZE larger than DP_MESSAGE_MAX
 *   -E2BIG, -ENOMEM as above
 */
#define DP_MESSAGE_MAX ((size_t)4 * 1024 * 1024)
#define DP_CONTAINERS_MAX ((size_t)64) /* in one request; the kubelet sends one */
#define DP_IDS_MAX ((size_t)65536)     /* per container; a 4 MiB list holds about 51,000 */
#define DP_NUMA_NODES_MAX ((size_t)64) /* per device */

#define DP_VERSION "v1beta1"

struct dp_ids {
	const char *const *ids;
	size_t n_ids;
};

struct dp_options {
	bool pre_start_required;
	bool preferred_allocation;
};

struct dp_allocate_request {
	const struct dp_ids *containers;
	size_t n_containers;
};

struct dp_preferred_container {
	struct dp_ids available;
	struct dp_ids must_include;
	int32_t size;
};

struct dp_preferred_request {
	const struct dp_preferred_container *containers;
	size_t n_containers;
};

struct dp_pair {
	const char *key;
	const char *value;
};

struct dp_mount {
	const char *container_path;
	const char *host_path;
	bool read_only;
};

struct dp_device_node {
	const char *container_path;
	const char *host_path;
	const char *permissions; /* of "rwm" */
};

struct dp_container_response {
	const struct dp_pair *envs;
	size_t n_envs;
	const struct dp_mount *mounts;
	size_t n_mounts;
	const struct dp_device_node *devices;
	size_t n_devices;
	const struct dp_pair *annotations;
	size_t n_annotations;
	const char *const *cdi_devices; /* "vendor.com/class=name" */
	size_t n_cdi_devices;
};

struct dp_allocate_response {
	const struct dp_container_response *containers;
	size_t n_containers;
};

struct dp_preferred_response {
	const struct dp_ids *containers;
	size_t n_containers;
};

struct dp_device {
	const char *id;
	bool healthy;
	const int64_t *numa_nodes; /* none: no topology is sent */
	size_t n_numa_nodes;
};

struct dp_list {
	const struct dp_device *devices;
	size_t n_devices;
};

struct dp_register_request {
	const char *endpoint; /* the socket's name in the device plugin directory */
	const char *resource_name;
	struct dp_options options;
};

struct dp_plugin_info {
	const char *type; /* "DevicePlugin" */
	const char *name;
	const char *endpoint;
};

struct dp_registration_status {
	bool registered;
	const char *error;
};

/* An encoded message. */
struct dp_bytes {
	const uint8_t *bytes;
	size_t len;
};

int dp_decode_allocate(struct dp_arena *arena, const void *bytes, size_t len,
		       struct dp_allocate_request *ret);
int dp_decode_preferred(struct dp_arena *arena, const void *bytes, size_t len,
			struct dp_preferred_request *ret);
int dp_decode_pre_start(struct dp_arena *arena, const void *bytes, size_t len, struct dp_ids *ret);
int dp_decode_empty(struct dp_arena *arena, const void *bytes, size_t len);
int dp_decode_options(struct dp_arena *arena, const void *bytes, size_t len,
		      struct dp_options *ret);
int dp_decode_registration_status(struct dp_arena *arena, const void *bytes, size_t len,
				  struct dp_registration_status *ret);

int dp_encode_options(struct dp_arena *arena, const struct dp_options *options,
		      struct dp_bytes *ret);
int dp_encode_allocate(struct dp_arena *arena, const struct dp_allocate_response *response,
		       struct dp_bytes *ret);
int dp_encode_preferred(struct dp_arena *arena, const struct dp_preferred_response *response,
			struct dp_bytes *ret);
int dp_encode_register(struct dp_arena *arena, const struct dp_register_request *request,
		       struct dp_bytes *ret);
int dp_encode_plugin_info(struct dp_arena *arena, const struct dp_plugin_info *info,
			  struct dp_bytes *ret);

/*
 * The size that @list has on the wire. Allocates nothing. -EINVAL: also more than
 * DP_NUMA_NODES_MAX nodes.
 */
int dp_list_size(const struct dp_list *list, size_t *ret_size);
/* Into @buf of dp_list_size() bytes. -EMSGSIZE: the list would be refused; ask for its size. */
int dp_encode_list(const struct dp_list *list, void *buf, size_t size);

bool dp_is_utf8(const char *s);
