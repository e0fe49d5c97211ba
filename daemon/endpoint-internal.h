/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shared by endpoint.c and endpoint-register.c. */

#include "endpoint-call.h"
#include "endpoint.h"
#include "kubelet-watch.h"
#include "listener.h"
#include "reg-state.h"
#include "rpc-registry.h"

#define EVENTS_MAX 32

struct endpoint {
	struct rpc *rpc;
	sd_event *event;
	char *resource_name, *socket_name, *socket_path, *kubelet_socket, *registry_path;
	uint64_t probe_timeout_us, register_timeout_us;
	struct endpoint_calls calls;
	struct rpc_server *server;
	struct listener *listener;
	struct kubelet_watch *own_watch, *kubelet_watch;
	struct rpc_registry *registry;
	struct reg_state reg;
	sd_event_source *tick, *probe_timer;
	struct rpc_client *probe, *registering;
	unsigned n_probes;
	bool started, handling;
	struct {
		enum reg_event event;
		uint64_t arg;
	} queue[EVENTS_MAX];
	unsigned n_queued;
	enum endpoint_state state;
	int listen_error; /* of the last try, to log a change once */
	char last_answer[256];
};

/* Actions make new events; those wait here until the first is through. */
void endpoint_post(struct endpoint *e, enum reg_event event, uint64_t arg);

void endpoint_do_listen(struct endpoint *e);
void endpoint_do_probe(struct endpoint *e);
void endpoint_do_register(struct endpoint *e);
int endpoint_make_registry(struct endpoint *e);
