/* SPDX-License-Identifier: Apache-2.0 */
/* An endpoint's listening, the probe of its own server, and one attempt to register. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "endpoint-internal.h"
#include "log.h"

#define PROBE_TRIES 2

void endpoint_do_listen(struct endpoint *e)
{
	int r = listener_open(e->listener);

	if (r < 0 && r != e->listen_error)
		log_warning("%s: %s, trying again", e->resource_name,
			    listener_reason(e->listener, r));
	e->listen_error = r;
	if (r < 0) {
		endpoint_post(e, REG_LISTEN_FAILED, 0);
		return;
	}
	log_debug("%s: listening on %s", e->resource_name, e->socket_path);
	endpoint_post(e, REG_LISTEN_OK, 0);
	/* Gone already: the watch has seen neither, so it will not tell. */
	kubelet_watch_look(e->own_watch);
	if (!listener_is_current(e->listener))
		endpoint_post(e, REG_SOCKET_GONE, 0);
}

/* Probing: if gRPC could not start its threads, nothing tells but a call that gets no answer. */

static void probe_ended(struct endpoint *e, const char *failure)
{
	e->probe_timer = sd_event_source_disable_unref(e->probe_timer);
	if (!failure) {
		endpoint_post(e, REG_PROBE_OK, 0);
	} else if (!listener_is_current(e->listener)) {
		endpoint_post(e, REG_SOCKET_GONE, 0);
		endpoint_post(e, REG_PROBE_AGAIN, 0);
	} else if (++e->n_probes < PROBE_TRIES) {
		endpoint_post(e, REG_PROBE_AGAIN, 0);
	} else {
		log_err("%s: our own gRPC server on %s does not answer: %s", e->resource_name,
			e->socket_path, failure);
		endpoint_post(e, REG_PROBE_FAILED, 0);
	}
}

static void on_probed(enum rpc_status status, const char *text, const uint8_t *bytes, size_t len,
		      void *userdata)
{
	struct endpoint *e = userdata;

	e->probe = NULL;
	probe_ended(e, status == RPC_OK ? NULL : text);
}

static int on_probe_timeout(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct endpoint *e = userdata;

	e->probe = rpc_client_cancel(e->probe);
	probe_ended(e, "no answer in time");
	return 0;
}

void endpoint_do_probe(struct endpoint *e)
{
	int r;

	/* gRPC's own deadline needs the very threads that we doubt. */
	r = sd_event_add_time_relative(e->event, &e->probe_timer, CLOCK_MONOTONIC,
				       e->probe_timeout_us, 0, on_probe_timeout, e);
	if (r >= 0)
		r = rpc_client_call(e->rpc, e->socket_path, endpoint_methods[ENDPOINT_GET_OPTIONS],
				    NULL, 0, 2 * e->probe_timeout_us, on_probed, e, &e->probe);
	if (r < 0)
		probe_ended(e, strerror(-r));
}

/* Registering */

/* The same answer again and again is worth one line. */
static void log_answer(struct endpoint *e, const char *text)
{
	if (strncmp(e->last_answer, text, sizeof(e->last_answer) - 1) == 0)
		log_debug("%s: not registered: %s, trying again", e->resource_name, text);
	else
		log_warning("%s: not registered: %s, trying again", e->resource_name, text);
	(void)snprintf(e->last_answer, sizeof(e->last_answer), "%s", text);
}

static void registration_ended(struct endpoint *e, bool ok, const char *text)
{
	if (ok)
		e->last_answer[0] = '\0';
	else
		log_answer(e, text);
	endpoint_post(e, ok ? REG_ANSWER_OK : REG_ANSWER_ERROR, 0);
}

static void on_registered(enum rpc_status status, const char *text, const uint8_t *bytes,
			  size_t len, void *userdata)
{
	struct endpoint *e = userdata;

	e->registering = NULL;
	registration_ended(e, status == RPC_OK, text[0] ? text : "the kubelet gave no reason");
}

static void on_notified(bool registered, const char *error, void *userdata)
{
	registration_ended(userdata, registered, error);
}

static void on_registry_vanished(void *userdata)
{
	registration_ended(userdata, false, "our file in plugins_registry has gone");
}

static const struct rpc_registry_ops registry_ops = {
	.notified = on_notified,
	.vanished = on_registry_vanished,
};

static int call_register(struct endpoint *e)
{
	struct dp_register_request request = {
		.endpoint = e->socket_name,
		.resource_name = e->resource_name,
		.options = e->calls.options,
	};
	struct dp_bytes bytes;
	int r;

	r = dp_encode_register(&e->calls.out, &request, &bytes);
	if (r >= 0)
		r = rpc_client_call(e->rpc, e->kubelet_socket, "/v1beta1.Registration/Register",
				    bytes.bytes, bytes.len, e->register_timeout_us, on_registered,
				    e, &e->registering);
	dp_arena_reset(&e->calls.out);
	return r;
}

void endpoint_do_register(struct endpoint *e)
{
	char text[320];
	int r;

	log_debug("%s: registering, attempt %ju", e->resource_name, (uintmax_t)e->reg.n_attempts);
	r = e->registry ? rpc_registry_announce(e->registry) : call_register(e);
	if (r >= 0)
		return;
	if (e->registry)
		(void)snprintf(text, sizeof(text), "%s", rpc_registry_reason(e->registry, r));
	else
		(void)snprintf(text, sizeof(text), "%s: %s", e->kubelet_socket, strerror(-r));
	log_answer(e, text);
	endpoint_post(e, REG_ANSWER_UNREACHED, 0);
}

int endpoint_make_registry(struct endpoint *e)
{
	struct rpc_registry_config config = {
		.path = e->registry_path,
		.type = "DevicePlugin",
		.name = e->resource_name,
		.endpoint = e->socket_path,
	};

	return rpc_registry_new(e->rpc, e->event, &config, &registry_ops, e, &e->registry);
}
