/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries out what reg-state.c decides, for one resource: events from the listener, the watch,
 * the server and the kubelet go in; listening, probing and registering come out.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "endpoint-internal.h"
#include "log.h"

#define TICK_ACCURACY_US UINT64_C(5000)

static uint64_t now_us(const struct endpoint *e)
{
	struct timespec ts;

	(void)e;
	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void set_state(struct endpoint *e, enum endpoint_state state, const char *why)
{
	if (e->state == state)
		return;
	e->state = state;
	if (e->calls.ops->state)
		e->calls.ops->state(state, why, e->calls.userdata);
}

static int on_accept(int fd, void *userdata)
{
	struct endpoint *e = userdata;

	return rpc_server_add_connection(e->server, fd);
}

static void on_own_file(const struct kubelet_identity *now, void *userdata)
{
	struct endpoint *e = userdata;

	if (e->reg.listening && !listener_is_current(e->listener)) {
		log_info("%s: %s has gone, listening again", e->resource_name, e->socket_path);
		endpoint_post(e, REG_SOCKET_GONE, 0);
	}
}

/* Carrying out */

static void carry_out(struct endpoint *e, unsigned todo)
{
	if (todo & REG_DO_LISTEN)
		endpoint_do_listen(e);
	if (todo & REG_DO_PROBE)
		endpoint_do_probe(e);
	if (todo & REG_DO_CANCEL)
		e->registering = rpc_client_cancel(e->registering);
	if (todo & REG_DO_END_STREAMS)
		rpc_server_end_streams(e->server, RPC_UNAVAILABLE, "the kubelet is another one");
	if (todo & REG_DO_REGISTER)
		endpoint_do_register(e);
}

static void report(struct endpoint *e, unsigned todo)
{
	if (todo & REG_DO_GIVE_UP) {
		rpc_set_broken(e->rpc);
		set_state(e, ENDPOINT_FAILED, "our own gRPC server does not answer");
	} else if (reg_state_is_registered(&e->reg)) {
		set_state(e, ENDPOINT_REGISTERED, "the kubelet watches our list");
	} else if (e->state == ENDPOINT_REGISTERED) {
		set_state(e, ENDPOINT_WAITING, "the kubelet no longer watches our list");
	}
}

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata)
{
	endpoint_post(userdata, REG_TICK, 0);
	return 0;
}

static void set_tick(struct endpoint *e)
{
	uint64_t at_us = reg_state_deadline(&e->reg);
	int r;

	if (at_us == REG_NEVER) {
		if (e->tick)
			(void)sd_event_source_set_enabled(e->tick, SD_EVENT_OFF);
		return;
	}
	if (!e->tick) {
		r = sd_event_add_time(e->event, &e->tick, CLOCK_MONOTONIC, at_us, TICK_ACCURACY_US,
				      on_tick, e);
	} else {
		r = sd_event_source_set_time(e->tick, at_us);
		if (r >= 0)
			r = sd_event_source_set_enabled(e->tick, SD_EVENT_ONESHOT);
	}
	if (r < 0)
		log_err("%s: cannot set a timer: %s", e->resource_name, strerror(-r));
}

void endpoint_post(struct endpoint *e, enum reg_event event, uint64_t arg)
{
	if (!e->started)
		return;
	if (e->n_queued == EVENTS_MAX) {
		log_err("%s: too many events at once, dropping one", e->resource_name);
		return;
	}
	e->queue[e->n_queued].event = event;
	e->queue[e->n_queued++].arg = arg;
	if (e->handling)
		return;
	e->handling = true;
	for (unsigned i = 0; i < e->n_queued; i++) {
		unsigned todo =
			reg_state_handle(&e->reg, e->queue[i].event, e->queue[i].arg, now_us(e));

		carry_out(e, todo);
		report(e, todo);
	}
	e->n_queued = 0;
	e->handling = false;
	set_tick(e);
}

/* The server */

static void on_unary(struct rpc_call *call, const struct rpc_request *request, void *userdata)
{
	struct endpoint *e = userdata;

	endpoint_calls_handle(&e->calls, call, request);
}

static void on_stream_opened(uint64_t stream_id, unsigned n_open, void *userdata)
{
	struct endpoint *e = userdata;

	log_info("%s: ListAndWatch opened", e->resource_name);
	endpoint_post(e, REG_STREAM_OPENED, stream_id);
}

static void on_stream_closed(uint64_t stream_id, unsigned n_open, void *userdata)
{
	struct endpoint *e = userdata;

	log_info("%s: ListAndWatch closed", e->resource_name);
	endpoint_post(e, REG_STREAM_CLOSED, stream_id);
}

static const struct rpc_server_ops server_ops = {
	.methods = endpoint_methods,
	.stream_method = ENDPOINT_LIST_AND_WATCH,
	.unary = on_unary,
	.stream_opened = on_stream_opened,
	.stream_closed = on_stream_closed,
};

static void on_kubelet_socket(const struct kubelet_identity *now, void *userdata)
{
	struct endpoint *e = userdata;

	log_info("%s: %s %s", e->resource_name, e->kubelet_socket,
		 now->present ? "is a new socket" : "has gone");
	endpoint_post(e, REG_KUBELET, now->generation);
}

static char *join(const char *dir, const char *name, const char *suffix)
{
	char *path;

	return asprintf(&path, "%s/%s%s", dir, name, suffix) < 0 ? NULL : path;
}

static int copy_config(struct endpoint *e, const struct endpoint_config *config)
{
	const char *dir = config->plugin_dir ? config->plugin_dir : DP_PLUGIN_DIR;
	const char *registry = config->registry_dir ? config->registry_dir : DP_REGISTRY_DIR;

	if (!config->resource_name || !config->resource_name[0] || dir[0] != '/' ||
	    registry[0] != '/')
		return -EINVAL;
	e->resource_name = strdup(config->resource_name);
	if (!e->resource_name)
		return -ENOMEM;
	if (config->socket_name)
		e->socket_name = strdup(config->socket_name);
	else if (asprintf(&e->socket_name, "%s.sock", config->resource_name) < 0)
		e->socket_name = NULL;
	if (!e->socket_name)
		return -ENOMEM;
	for (char *p = e->socket_name; *p; p++)
		if (*p == '/')
			*p = '_';
	e->socket_path = join(dir, e->socket_name, "");
	e->kubelet_socket = config->kubelet_socket ? strdup(config->kubelet_socket)
						   : join(dir, "kubelet.sock", "");
	e->registry_path = join(registry, e->socket_name, "");
	if (!e->socket_path || !e->kubelet_socket || !e->registry_path)
		return -ENOMEM;
	e->probe_timeout_us = config->probe_timeout_us ? config->probe_timeout_us : 2000000;
	e->register_timeout_us =
		config->register_timeout_us ? config->register_timeout_us : 15000000;
	return 0;
}

static int make_parts(struct endpoint *e, const struct endpoint_config *config)
{
	bool watcher = config->registration == ENDPOINT_REGISTER_WATCHER;
	uint64_t seed = 1;
	int r;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
		seed = now_us(e);
	reg_state_init(&e->reg, watcher ? &reg_config_announce : &reg_config_rpc, seed);
	r = listener_new(e->event, e->socket_path, on_accept, e, &e->listener);
	if (r >= 0)
		r = rpc_server_new(e->rpc, &server_ops, e, &e->server);
	if (r >= 0)
		r = kubelet_watch_new(e->event, e->socket_path, on_own_file, e, &e->own_watch);
	if (r >= 0 && watcher)
		r = endpoint_make_registry(e);
	else if (r >= 0)
		r = kubelet_watch_new(e->event, e->kubelet_socket, on_kubelet_socket, e,
				      &e->kubelet_watch);
	return r;
}

int endpoint_new(struct rpc *rpc, sd_event *event, const struct endpoint_config *config,
		 const struct endpoint_ops *ops, void *userdata, struct endpoint **ret)
{
	struct endpoint *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	e->rpc = rpc;
	e->event = sd_event_ref(event);
	endpoint_calls_init(&e->calls, event, ops, userdata, &config->options,
			    config->call_timeout_us ? config->call_timeout_us : 10000000);
	r = copy_config(e, config);
	if (r >= 0)
		r = make_parts(e, config);
	if (r < 0) {
		(void)endpoint_free(e);
		return r;
	}
	*ret = e;
	return 0;
}

int endpoint_start(struct endpoint *e)
{
	int r = listener_open(e->listener);

	if (r < 0 && r != -ENOENT) {
		log_err("%s: %s", e->resource_name, listener_reason(e->listener, r));
		return r;
	}
	e->started = true;
	if (e->kubelet_watch)
		endpoint_post(e, REG_KUBELET, kubelet_watch_get(e->kubelet_watch)->generation);
	endpoint_post(e, REG_START, 0);
	return 0;
}

int endpoint_publish(struct endpoint *e, const struct dp_list *list)
{
	dp_cleanup_free uint8_t *buf = NULL;
	size_t size;
	int r;

	r = dp_list_size(list, &size);
	if (r < 0)
		return r;
	if (size > DP_MESSAGE_MAX)
		return -EMSGSIZE;
	buf = malloc(size + 1); /* an empty list is an empty message */
	if (!buf)
		return -ENOMEM;
	r = dp_encode_list(list, buf, size);
	if (r < 0)
		return r;
	return rpc_server_publish(e->server, buf, size);
}

enum endpoint_state endpoint_get_state(const struct endpoint *e)
{
	return e->state;
}

const char *endpoint_socket_path(const struct endpoint *e)
{
	return e->socket_path;
}

uint64_t endpoint_n_attempts(const struct endpoint *e)
{
	return e->reg.n_attempts;
}

struct rpc_server *endpoint_server(struct endpoint *e)
{
	return e->server;
}

void endpoint_stop(struct endpoint *e)
{
	e->started = false;
	e->tick = sd_event_source_disable_unref(e->tick);
	e->probe_timer = sd_event_source_disable_unref(e->probe_timer);
	e->own_watch = kubelet_watch_free(e->own_watch);
	e->kubelet_watch = kubelet_watch_free(e->kubelet_watch);
	if (e->registry)
		rpc_registry_withdraw(e->registry);
	if (e->listener)
		listener_close(e->listener);
	e->probe = rpc_client_cancel(e->probe);
	e->registering = rpc_client_cancel(e->registering);
	if (e->server)
		rpc_server_end_streams(e->server, RPC_UNAVAILABLE, "shutting down");
}

struct endpoint *endpoint_free(struct endpoint *e)
{
	if (!e)
		return NULL;
	endpoint_stop(e);
	e->registry = rpc_registry_free(e->registry);
	endpoint_calls_done(&e->calls);
	e->server = rpc_server_free(e->server);
	e->listener = listener_free(e->listener);
	sd_event_unref(e->event);
	free(e->resource_name);
	free(e->socket_name);
	free(e->socket_path);
	free(e->kubelet_socket);
	free(e->registry_path);
	free(e);
	return NULL;
}
