/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "rpc.h"

/*
 * The other way to register: a socket of ours in the kubelet's plugins_registry, on which it asks
 * who we are and tells what came of it. A file that appears there is what makes it ask.
 */
struct rpc_registry;

struct rpc_registry_config {
	const char *path;     /* of the socket in plugins_registry */
	const char *type;     /* "DevicePlugin" */
	const char *name;     /* the resource */
	const char *endpoint; /* absolute path of the socket that serves it */
};

struct rpc_registry_ops {
	/* What the kubelet told us. @error is "" where there is none. */
	void (*notified)(bool registered, const char *error, void *userdata);
	/* Somebody removed our file: for the kubelet that means we are gone. */
	void (*vanished)(void *userdata);
};

/* Copies @config. Return: 0, -ENAMETOOLONG, -EINVAL, -ENOMEM, -EAGAIN, -EILSEQ. */
int rpc_registry_new(struct rpc *rpc, sd_event *event, const struct rpc_registry_config *config,
		     const struct rpc_registry_ops *ops, void *userdata, struct rpc_registry **ret);
/* Make the file, anew if it exists. Return: as listener_open(). */
int rpc_registry_announce(struct rpc_registry *r);
const char *rpc_registry_reason(struct rpc_registry *r, int error);
/* Remove the file: the kubelet deregisters. */
void rpc_registry_withdraw(struct rpc_registry *r);
struct rpc_registry *rpc_registry_free(struct rpc_registry *r);
