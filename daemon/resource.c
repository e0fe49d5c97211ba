/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the service, the list and the endpoint of one resource. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/hamidp.h>

#include "complaint.h"
#include "device-list.h"
#include "dp-service.h"
#include "log.h"
#include "options.h"
#include "resource.h"

#define ARENA_BUDGET ((size_t)16 * 1024 * 1024) /* tables of one answer */

struct resource {
	char *name;
	const struct options *opts;
	struct hamidp_node *node;
	struct rpc *rpc;
	sd_event *event;
	resource_state_fn fn;
	void *userdata;
	struct dp_service *service;
	struct endpoint *endpoint; /* NULL: there was never a slot */
	bool started;
	struct device_list list; /* as published */
	struct dp_arena arena;
};

static void on_allocate(struct endpoint_call *call, const struct dp_allocate_request *request,
			void *userdata)
{
	struct resource *resource = userdata;
	struct dp_allocate_response response;
	char text[DP_SERVICE_TEXT_MAX];
	enum rpc_status status;

	status = dp_service_allocate(resource->service, &resource->arena, request, &response, text);
	if (status == RPC_OK)
		endpoint_reply_allocate(call, &response);
	else
		endpoint_call_fail(call, status, "%s", text);
	dp_arena_reset(&resource->arena);
}

static void on_preferred(struct endpoint_call *call, const struct dp_preferred_request *request,
			 void *userdata)
{
	struct resource *resource = userdata;
	struct dp_preferred_response response;
	char text[DP_SERVICE_TEXT_MAX];
	enum rpc_status status;

	status =
		dp_service_preferred(resource->service, &resource->arena, request, &response, text);
	if (status == RPC_OK)
		endpoint_reply_preferred(call, &response);
	else
		endpoint_call_fail(call, status, "%s", text);
	dp_arena_reset(&resource->arena);
}

static void on_pre_start(struct endpoint_call *call, const struct dp_ids *request, void *userdata)
{
	struct resource *resource = userdata;
	char text[DP_SERVICE_TEXT_MAX];
	enum rpc_status status;

	status = dp_service_pre_start(resource->service, request, text);
	if (status == RPC_OK)
		endpoint_reply_pre_start(call);
	else
		endpoint_call_fail(call, status, "%s", text);
}

static void on_state(enum endpoint_state state, const char *why, void *userdata)
{
	struct resource *resource = userdata;

	(void)why; /* the endpoint has logged it */
	resource->fn(state, resource->userdata);
}

static const struct endpoint_ops ops = {
	.preferred = on_preferred,
	.allocate = on_allocate,
	.pre_start = on_pre_start,
	.state = on_state,
};

int resource_new(const char *name, const struct options *opts, struct hamidp_node *node,
		 struct rpc *rpc, sd_event *event, resource_state_fn fn, void *userdata,
		 struct resource **ret)
{
	struct resource *resource = calloc(1, sizeof(*resource));

	if (!resource)
		return -ENOMEM;
	dp_arena_init(&resource->arena, ARENA_BUDGET);
	resource->opts = opts;
	resource->node = node;
	resource->rpc = rpc;
	resource->event = event;
	resource->fn = fn;
	resource->userdata = userdata;
	resource->name = strdup(name);
	if (!resource->name || dp_service_new(node, name, &resource->service) < 0) {
		resource_free(resource);
		return -ENOMEM;
	}
	*ret = resource;
	return 0;
}

static int start_endpoint(struct resource *resource, const struct dp_list *list,
			  struct complaint *complaint)
{
	const struct options *opts = resource->opts;
	dp_cleanup_free char *registry = NULL;
	struct endpoint_config config = {
		.resource_name = resource->name,
		.plugin_dir = options_text(opts, OPTION_DEVICE_PLUGIN_DIR),
		.options.preferred_allocation = true,
	};
	int r;

	if (asprintf(&registry, "%s/plugins_registry",
		     options_text(opts, OPTION_KUBELET_ROOT_DIR)) < 0) {
		registry = NULL;
		return complain(complaint, -ENOMEM, "out of memory");
	}
	config.registry_dir = registry;
	if (options_number(opts, OPTION_REGISTRATION) == OPTION_REGISTRATION_WATCHER)
		config.registration = ENDPOINT_REGISTER_WATCHER;
	r = endpoint_new(resource->rpc, resource->event, &config, &ops, resource,
			 &resource->endpoint);
	if (r == 0)
		r = endpoint_publish(resource->endpoint, list);
	if (r < 0)
		return complain(complaint, r, "%s: cannot be served in %s: %s", resource->name,
				config.plugin_dir, strerror(-r));
	complaint->text[0] = '\0';
	r = endpoint_start(resource->endpoint);
	resource->started = r == 0;
	return r;
}

int resource_update(struct resource *resource, struct complaint *complaint)
{
	struct hamidp_layout *layout = hamidp_node_layout(resource->node);
	struct device_list list;
	size_t number;
	int r;

	if (hamidp_layout_find_resource(layout, resource->name, &number) < 0)
		return 0;
	r = device_list_build(layout, number, options_bool(resource->opts, OPTION_ENABLE_TOPOLOGY),
			      &list, complaint);
	if (r < 0)
		return r;
	if (resource->endpoint && !device_list_equal(&list, &resource->list)) {
		r = endpoint_publish(resource->endpoint, &list.list);
		if (r < 0)
			(void)complain(complaint, r, "%s: the list cannot be published: %s",
				       resource->name, strerror(-r));
		else
			log_info("%s: %zu slots, %zu healthy", resource->name, list.list.n_devices,
				 list.n_healthy);
	} else if (!resource->endpoint && list.list.n_devices) {
		r = start_endpoint(resource, &list.list, complaint);
	}
	if (r == 0) {
		device_list_done(&resource->list);
		resource->list = list;
	} else {
		device_list_done(&list);
	}
	return r;
}

const char *resource_name(const struct resource *resource)
{
	return resource->name;
}

bool resource_is_started(const struct resource *resource)
{
	return resource->started;
}

size_t resource_n_slots(const struct resource *resource)
{
	return resource->list.list.n_devices;
}

size_t resource_n_healthy(const struct resource *resource)
{
	return resource->list.n_healthy;
}

bool resource_is_registered(const struct resource *resource)
{
	return resource->endpoint && endpoint_get_state(resource->endpoint) == ENDPOINT_REGISTERED;
}

void resource_stop(struct resource *resource)
{
	if (resource->endpoint)
		endpoint_stop(resource->endpoint);
}

struct resource *resource_free(struct resource *resource)
{
	if (!resource)
		return NULL;
	if (resource->endpoint)
		endpoint_free(resource->endpoint);
	dp_service_free(resource->service);
	device_list_done(&resource->list);
	dp_arena_done(&resource->arena);
	free(resource->name);
	free(resource);
	return NULL;
}
