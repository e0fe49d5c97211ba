/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "dp-codec.h"
#include "macro.h"
#include "rpc.h"

/*
 * One resource, served to the kubelet of this node: the socket, the DevicePlugin service on it,
 * and the registration, for ever. What is allocated is the owner's business, through
 * endpoint_ops.
 *
 * To end: endpoint_stop() each, rpc_stop(), then endpoint_free() each and rpc_free().
 */
struct endpoint;

/*
 * A call that waits for the owner's answer. Answer exactly once, by one of endpoint_reply_*() or
 * endpoint_call_fail(), at once or later; later than endpoint_config.call_timeout_us, or after
 * the endpoint was freed, the answer is dropped.
 */
struct endpoint_call;

enum endpoint_state {
	ENDPOINT_WAITING,    /* no kubelet has our list; registering, or waiting for a kubelet */
	ENDPOINT_REGISTERED, /* the kubelet holds ListAndWatch */
	ENDPOINT_FAILED,     /* our own server does not answer us: for good */
};

/* Requests are valid until the function returns. */
struct endpoint_ops {
	void (*preferred)(struct endpoint_call *call, const struct dp_preferred_request *request,
			  void *userdata);
	void (*allocate)(struct endpoint_call *call, const struct dp_allocate_request *request,
			 void *userdata);
	/* May be NULL: answered with success. */
	void (*pre_start)(struct endpoint_call *call, const struct dp_ids *request, void *userdata);
	/* May be NULL. @why: one line, for the log or sd_notify. Do not free anything in it. */
	void (*state)(enum endpoint_state state, const char *why, void *userdata);
};

enum endpoint_registration {
	ENDPOINT_REGISTER_RPC = 0,     /* call Register on kubelet.sock */
	ENDPOINT_REGISTER_WATCHER = 1, /* a socket in plugins_registry */
};

/* Zero or NULL takes the default. */
struct endpoint_config {
	const char *resource_name;  /* "hami.com/vgpu" */
	const char *plugin_dir;	    /* where our socket goes; default DP_PLUGIN_DIR */
	const char *socket_name;    /* default: the resource's name with "/" as "_", and ".sock" */
	const char *kubelet_socket; /* default: kubelet.sock in @plugin_dir */
	const char *registry_dir;   /* default DP_REGISTRY_DIR; ENDPOINT_REGISTER_WATCHER only */
	enum endpoint_registration registration;
	struct dp_options options;
	uint64_t call_timeout_us;     /* for the owner's answer, default 10 s: the kubelet sets
				       * none, and admits no other pod meanwhile */
	uint64_t probe_timeout_us;    /* default 2 s */
	uint64_t register_timeout_us; /* default 15 s; the kubelet's dial-back may take 10 s */
};

#define DP_PLUGIN_DIR "/var/lib/kubelet/device-plugins"
#define DP_REGISTRY_DIR "/var/lib/kubelet/plugins_registry"

/* Copies @config; @ops must outlive it. Return: 0, -EINVAL, -ENAMETOOLONG, -ENOMEM, -EAGAIN. */
int endpoint_new(struct rpc *rpc, sd_event *event, const struct endpoint_config *config,
		 const struct endpoint_ops *ops, void *userdata, struct endpoint **ret);

/*
 * Listen, then probe, register and keep registered from the event loop. Publish a list first.
 *
 * Return: 0, or what listener_open() says, with a line in the log: -EADDRINUSE (another instance
 * answers), -ENOTSOCK. A directory that does not exist yet is waited for.
 */
int endpoint_start(struct endpoint *e);

/*
 * The list that every ListAndWatch stream gets, now and when it opens.
 *
 * Return: 0, or -EMSGSIZE (over DP_MESSAGE_MAX; dp_list_size() tells by how much), -EINVAL,
 * -EILSEQ, -ENOMEM; the old list stays.
 */
int endpoint_publish(struct endpoint *e, const struct dp_list *list);

enum endpoint_state endpoint_get_state(const struct endpoint *e);
const char *endpoint_socket_path(const struct endpoint *e);
/* Registrations tried so far, and the server underneath, for metrics and tests. */
uint64_t endpoint_n_attempts(const struct endpoint *e);
struct rpc_server *endpoint_server(struct endpoint *e);

/* No new connections and no registration any more; streams end, the socket file goes. */
void endpoint_stop(struct endpoint *e);
struct endpoint *endpoint_free(struct endpoint *e);

void endpoint_reply_preferred(struct endpoint_call *call,
			      const struct dp_preferred_response *response);
void endpoint_reply_allocate(struct endpoint_call *call,
			     const struct dp_allocate_response *response);
void endpoint_reply_pre_start(struct endpoint_call *call);
void endpoint_call_fail(struct endpoint_call *call, enum rpc_status status, const char *fmt, ...)
	dp_printf(3, 4);
