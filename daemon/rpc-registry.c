/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin registration service on its own socket. When to announce is the caller's matter. */
#include <errno.h>
#include <string.h>

#include "dp-codec.h"
#include "kubelet-watch.h"
#include "listener.h"
#include "log.h"
#include "macro.h"
#include "rpc-registry.h"

struct rpc_registry {
	struct rpc_server *server;
	struct listener *listener;
	struct kubelet_watch *watch; /* of our own file */
	const struct rpc_registry_ops *ops;
	void *userdata;
	struct dp_arena info_arena, arena;
	struct dp_bytes info; /* the answer to GetInfo */
	bool announced;
};

enum method {
	GET_INFO,
	NOTIFY,
};

static const char *const methods[] = {
	[GET_INFO] = "/pluginregistration.Registration/GetInfo",
	[NOTIFY] = "/pluginregistration.Registration/NotifyRegistrationStatus",
	NULL,
};

static void handle_notify(struct rpc_registry *r, struct rpc_call *call,
			  const struct rpc_request *req)
{
	struct dp_registration_status status;
	int error;

	error = dp_decode_registration_status(&r->arena, req->bytes, req->len, &status);
	if (error < 0) {
		rpc_call_fail(call, RPC_INVALID_ARGUMENT, "malformed RegistrationStatus");
	} else {
		rpc_call_reply(call, NULL, 0);
		r->ops->notified(status.registered, status.error, r->userdata);
	}
	dp_arena_reset(&r->arena);
}

static void handle(struct rpc_call *call, const struct rpc_request *req, void *userdata)
{
	struct rpc_registry *r = userdata;

	if (req->method == GET_INFO)
		rpc_call_reply(call, r->info.bytes, r->info.len);
	else
		handle_notify(r, call, req);
}

static const struct rpc_server_ops server_ops = { .methods = methods, .unary = handle };

static int on_accept(int fd, void *userdata)
{
	struct rpc_registry *r = userdata;

	return rpc_server_add_connection(r->server, fd);
}

static void on_file_changed(const struct kubelet_identity *now, void *userdata)
{
	struct rpc_registry *r = userdata;

	if (!r->announced || listener_is_current(r->listener))
		return;
	r->announced = false;
	r->ops->vanished(r->userdata);
}

int rpc_registry_new(struct rpc *rpc, sd_event *event, const struct rpc_registry_config *config,
		     const struct rpc_registry_ops *ops, void *userdata, struct rpc_registry **ret)
{
	struct dp_plugin_info info = {
		.type = config->type,
		.name = config->name,
		.endpoint = config->endpoint,
	};
	struct rpc_registry *r = calloc(1, sizeof(*r));
	int error;

	if (!r)
		return -ENOMEM;
	r->ops = ops;
	r->userdata = userdata;
	dp_arena_init(&r->info_arena, DP_ARENA_BUDGET);
	dp_arena_init(&r->arena, DP_ARENA_BUDGET);
	error = dp_encode_plugin_info(&r->info_arena, &info, &r->info);
	if (error >= 0)
		error = listener_new(event, config->path, on_accept, r, &r->listener);
	if (error >= 0)
		error = rpc_server_new(rpc, &server_ops, r, &r->server);
	if (error >= 0)
		error = kubelet_watch_new(event, config->path, on_file_changed, r, &r->watch);
	if (error < 0) {
		(void)rpc_registry_free(r);
		return error;
	}
	*ret = r;
	return 0;
}

int rpc_registry_announce(struct rpc_registry *r)
{
	int error;

	r->announced = false;
	listener_close(r->listener);
	error = listener_open(r->listener);
	if (error < 0)
		return error;
	kubelet_watch_look(r->watch);
	/* Gone already: the watch has seen neither, so it will not tell. */
	r->announced = listener_is_current(r->listener);
	return r->announced ? 0 : -ENOENT;
}

const char *rpc_registry_reason(struct rpc_registry *r, int error)
{
	return listener_reason(r->listener, error);
}

void rpc_registry_withdraw(struct rpc_registry *r)
{
	r->announced = false;
	listener_close(r->listener);
}

struct rpc_registry *rpc_registry_free(struct rpc_registry *r)
{
	if (!r)
		return NULL;
	(void)kubelet_watch_free(r->watch);
	(void)listener_free(r->listener);
	(void)rpc_server_free(r->server);
	dp_arena_done(&r->info_arena);
	dp_arena_done(&r->arena);
	free(r);
	return NULL;
}
