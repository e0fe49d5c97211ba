/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gRPC server without a listener: its limits, its published message, its end. What happens to
 * one call is rpc-call.c's.
 */
#include <errno.h>
#include <grpc/compression.h>
#include <grpc/grpc.h>
#include <pthread.h>
#include <signal.h>

#include "log.h"
#include "macro.h"
#include "rpc-internal.h"

static void on_stopped(void *self, bool ok)
{
	struct rpc_server *server = self;

	server->stopped = true;
}

static grpc_arg int_arg(const char *key, int value)
{
	return (grpc_arg){ .type = GRPC_ARG_INTEGER, .key = (char *)key, .value.integer = value };
}

/*
 * Every limit is set: the defaults are "unlimited", and an unlimited burst keeps its memory.
 * Compression is off because gRPC inflates before it checks the size. GRPC_ARG_MINIMAL_STACK
 * would drop the size checks.
 */
static grpc_server *create_grpc_server(void)
{
	grpc_arg args[] = {
		int_arg(GRPC_ARG_MAX_CONCURRENT_STREAMS, RPC_STREAMS_MAX),
		int_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, (int)RPC_MESSAGE_MAX),
		int_arg(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, (int)RPC_MESSAGE_MAX),
		int_arg(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET,
			1 << GRPC_COMPRESS_NONE),
	};
	grpc_channel_args list = { .num_args = ARRAY_SIZE(args), .args = args };
	grpc_server *grpc;
	sigset_t all, old;

	/* It may start threads. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	grpc = grpc_server_create(&list, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return grpc;
}

int rpc_server_new(struct rpc *rpc, const struct rpc_server_ops *ops, void *userdata,
		   struct rpc_server **ret)
{
	struct rpc_server *server = calloc(1, sizeof(*server));

	if (!server)
		return -ENOMEM;
	server->rpc = rpc;
	server->ops = ops;
	server->userdata = userdata;
	LIST_INIT(&server->calls);
	LIST_INIT(&server->conns);
	rpc_tag_init(&server->on_stopped, on_stopped, server);
	server->grpc = create_grpc_server();
	if (!server->grpc) {
		free(server);
		return -EAGAIN;
	}
	grpc_server_register_completion_queue(server->grpc, rpc->cq, NULL);
	grpc_server_start(server->grpc);
	LIST_INSERT_HEAD(&rpc->servers, server, list);
	rpc_server_arm(server);
	*ret = server;
	return 0;
}

int rpc_server_publish(struct rpc_server *server, const void *bytes, size_t len)
{
	if (len > RPC_MESSAGE_MAX)
		return -EMSGSIZE;
	if (server->has_list)
		grpc_slice_unref(server->list_slice);
	server->list_slice = grpc_slice_from_copied_buffer(bytes, len);
	server->has_list = true;
	rpc_server_send_list(server);
	return 0;
}

unsigned rpc_server_n_streams(const struct rpc_server *server)
{
	return server->n_streams;
}

void rpc_server_get_stats(const struct rpc_server *server, struct rpc_server_stats *ret)
{
	*ret = (struct rpc_server_stats){
		.calls = server->n_calls_total,
		.sends = server->n_sends,
		.coalesced = server->n_coalesced,
		.n_calls = server->n_live,
		.n_armed = server->n_armed,
	};
}

void rpc_server_stop_begin(struct rpc_server *server)
{
	if (server->stopping)
		return;
	server->stopping = true;
	rpc_tag_give(&server->on_stopped);
	grpc_server_shutdown_and_notify(server->grpc, server->rpc->cq, &server->on_stopped);
	rpc_server_fail_unanswered(server, "shutting down");
	rpc_server_end_streams(server, RPC_UNAVAILABLE, "shutting down");
}

void rpc_server_stop_cancel(struct rpc_server *server)
{
	if (server->cancelled)
		return;
	server->cancelled = true;
	grpc_server_cancel_all_calls(server->grpc);
}

bool rpc_server_is_quiet(const struct rpc_server *server)
{
	return server->stopped && !rpc_server_has_pending(server);
}

struct rpc_server *rpc_server_free(struct rpc_server *server)
{
	if (!server)
		return NULL;
	/* What gRPC does not let go of stays behind: it may write to it. */
	if (!rpc_server_is_quiet(server) && rpc_stop_some(server->rpc, server) < 0)
		return NULL;
	rpc_server_orphan_calls(server);
	rpc_server_free_connections(server);
	if (server->has_list)
		grpc_slice_unref(server->list_slice);
	LIST_REMOVE(server, list);
	grpc_server_destroy(server->grpc);
	free(server);
	return NULL;
}
