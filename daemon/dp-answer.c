/* SPDX-License-Identifier: Apache-2.0 */
/* Edits of grants as the answer to Allocate. Strings are the grant's; only the tables are new. */
#include <errno.h>

#include <hami/hamidp.h>

#include "dp-service-internal.h"

/* Room for @n entries; one more, so that an empty table is no failure. */
static void *make_table(struct dp_arena *arena, size_t n, size_t size)
{
	return dp_arena_calloc(arena, n + 1, size);
}

static int fill_envs(struct dp_arena *arena, const struct hamidp_edits *edits,
		     struct dp_container_response *ret)
{
	size_t n = hamidp_edits_n_env(edits);
	struct dp_pair *envs = make_table(arena, n, sizeof(*envs));
	int r = envs ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && r == 0; i++)
		r = hamidp_edits_env(edits, i, &envs[i].key, &envs[i].value);
	if (r < 0)
		return r;
	ret->envs = envs;
	ret->n_envs = n;
	return 0;
}

static int fill_mounts(struct dp_arena *arena, const struct hamidp_edits *edits,
		       struct dp_container_response *ret)
{
	size_t n = hamidp_edits_n_mounts(edits);
	struct dp_mount *mounts = make_table(arena, n, sizeof(*mounts));
	int r = mounts ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && r == 0; i++) {
		int read_only = 0;

		r = hamidp_edits_mount(edits, i, &mounts[i].container_path, &mounts[i].host_path,
				       &read_only);
		mounts[i].read_only = read_only != 0;
	}
	if (r < 0)
		return r;
	ret->mounts = mounts;
	ret->n_mounts = n;
	return 0;
}

static int fill_devices(struct dp_arena *arena, const struct hamidp_edits *edits,
			struct dp_container_response *ret)
{
	size_t n = hamidp_edits_n_device_nodes(edits);
	struct dp_device_node *devices = make_table(arena, n, sizeof(*devices));
	int r = devices ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && r == 0; i++) {
		struct hamidp_device_node node = { .size = sizeof(node) };

		r = hamidp_edits_device_node(edits, i, &node);
		devices[i] = (struct dp_device_node){ .container_path = node.container_path,
						      .host_path = node.host_path,
						      .permissions = node.permissions };
	}
	if (r < 0)
		return r;
	ret->devices = devices;
	ret->n_devices = n;
	return 0;
}

static int fill_annotations(struct dp_arena *arena, const struct hamidp_edits *edits,
			    struct dp_container_response *ret)
{
	size_t n = hamidp_edits_n_annotations(edits);
	struct dp_pair *annotations = make_table(arena, n, sizeof(*annotations));
	int r = annotations ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && r == 0; i++)
		r = hamidp_edits_annotation(edits, i, &annotations[i].key, &annotations[i].value);
	if (r < 0)
		return r;
	ret->annotations = annotations;
	ret->n_annotations = n;
	return 0;
}

static int fill_cdi(struct dp_arena *arena, const struct hamidp_edits *edits,
		    struct dp_container_response *ret)
{
	size_t n = hamidp_edits_n_cdi(edits);
	const char **names = make_table(arena, n, sizeof(*names));
	int r = names ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && r == 0; i++)
		r = hamidp_edits_cdi(edits, i, &names[i]);
	if (r < 0)
		return r;
	ret->cdi_devices = names;
	ret->n_cdi_devices = n;
	return 0;
}

int dp_service_answer(const struct dp_service *service, struct dp_arena *arena, size_t n,
		      struct dp_allocate_response *ret)
{
	struct dp_container_response *containers;

	containers = dp_arena_calloc(arena, n, sizeof(*containers));
	if (!containers)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct hamidp_edits *edits = hamidp_grant_edits(service->grants[i]);

		if (fill_envs(arena, edits, &containers[i]) < 0 ||
		    fill_mounts(arena, edits, &containers[i]) < 0 ||
		    fill_devices(arena, edits, &containers[i]) < 0 ||
		    fill_annotations(arena, edits, &containers[i]) < 0 ||
		    fill_cdi(arena, edits, &containers[i]) < 0)
			return -ENOMEM;
	}
	ret->containers = containers;
	ret->n_containers = n;
	return 0;
}
