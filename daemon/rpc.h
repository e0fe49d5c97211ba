/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

/*
 * gRPC for the daemon, without gRPC's types. Bytes of encoded messages go in and out.
 *
 * Every function belongs to the thread that runs the sd_event loop, and every callback comes on
 * it. One helper thread waits for gRPC; it touches nothing but a list of finished tags.
 *
 * Lifetime: rpc > rpc_server > rpc_call, rpc > rpc_client. To end: close the listening sockets,
 * rpc_stop() (bounded), then free the servers and the rpc. Do not free a server or the rpc from
 * a callback.
 */
struct rpc;
struct rpc_server;
struct rpc_client;

/* The codes of gRPC; the numbers are on the wire. */
enum rpc_status {
	RPC_OK = 0,
	RPC_CANCELLED = 1,
	RPC_UNKNOWN = 2,
	RPC_INVALID_ARGUMENT = 3,
	RPC_DEADLINE_EXCEEDED = 4,
	RPC_NOT_FOUND = 5,
	RPC_PERMISSION_DENIED = 7,
	RPC_RESOURCE_EXHAUSTED = 8,
	RPC_FAILED_PRECONDITION = 9,
	RPC_ABORTED = 10,
	RPC_UNIMPLEMENTED = 12,
	RPC_INTERNAL = 13,
	RPC_UNAVAILABLE = 14,
};

#define RPC_MESSAGE_MAX ((size_t)4 * 1024 * 1024)  /* each way; the kubelet refuses larger ones */
#define RPC_QUOTA_BYTES ((size_t)16 * 1024 * 1024) /* for what all connections have sent */
#define RPC_CONNECTIONS_MAX 64U			   /* per server */
#define RPC_STREAMS_MAX 128			   /* concurrent calls per connection */
#define RPC_NO_DEADLINE UINT64_MAX
#define RPC_STOP_MAX_US UINT64_C(3000000) /* rpc_stop() and rpc_server_free() end within this */

/*
 * A unary call that waits for its answer. The handler answers exactly once, at once or later, by
 * rpc_call_reply() or rpc_call_fail(), whatever happens meanwhile: an answer to a client that has
 * gone, or after the server was freed, is dropped. A test makes its own by setting @finish.
 */
struct rpc_call {
	void (*finish)(struct rpc_call *call, enum rpc_status status, const void *bytes, size_t len,
		       const char *text);
};

static inline void rpc_call_reply(struct rpc_call *call, const void *bytes, size_t len)
{
	call->finish(call, RPC_OK, bytes, len, "");
}

/* @text: what went wrong, for a person; cut at 1 KiB. */
static inline void rpc_call_fail(struct rpc_call *call, enum rpc_status status, const char *text)
{
	call->finish(call, status, NULL, 0, text);
}

/* Valid until the handler returns. */
struct rpc_request {
	int method;	  /* index in rpc_server_ops.methods, or -1 where that is NULL */
	const char *path; /* "/package.Service/Method", cut at 255 bytes where methods is NULL */
	const uint8_t *bytes;
	size_t len;
	uint64_t deadline_us; /* CLOCK_MONOTONIC, or RPC_NO_DEADLINE: the client set none */
};

/* The table and what it points to must outlive the server. */
struct rpc_server_ops {
	/* Paths of the unary methods, NULL-terminated; others are UNIMPLEMENTED. NULL: all. */
	const char *const *methods;
	/* Path of the method that streams the published message, or NULL. */
	const char *stream_method;
	void (*unary)(struct rpc_call *call, const struct rpc_request *request, void *userdata);
	/* Optional. Streams that rpc_server_end_streams() ended are not reported as closed. */
	void (*stream_opened)(uint64_t stream_id, unsigned n_open, void *userdata);
	void (*stream_closed)(uint64_t stream_id, unsigned n_open, void *userdata);
};

/*
 * Return: 0, -ENOMEM, -EAGAIN (this process may not have the threads that gRPC starts: 8 to 38,
 * by the number of processors), or what sd-event or eventfd says.
 */
int rpc_new(sd_event *event, struct rpc **ret);

/*
 * Stop everything at once: streams end with UNAVAILABLE, calls that wait for their answer get
 * UNAVAILABLE, client calls are cancelled. Blocks, at most RPC_STOP_MAX_US whatever the peers do;
 * no callback comes any more. Idempotent.
 *
 * Return: 0, or -ETIMEDOUT: gRPC still holds something; freeing then leaks it, so _exit() soon.
 */
int rpc_stop(struct rpc *rpc);
struct rpc *rpc_free(struct rpc *rpc);

/*
 * gRPC does not work in this process, for want of threads: from now on rpc_stop() and the frees
 * leave what gRPC has alone, since its shutdown would wait for ever for threads that never were.
 */
void rpc_set_broken(struct rpc *rpc);

/* Calls that a handler has and has not answered yet, over all servers. */
unsigned rpc_n_unanswered(const struct rpc *rpc);

/* Return: 0, -ENOMEM or -EAGAIN. */
int rpc_server_new(struct rpc *rpc, const struct rpc_server_ops *ops, void *userdata,
		   struct rpc_server **ret);
struct rpc_server *rpc_server_free(struct rpc_server *server);

/*
 * Serve a connected stream socket.
 *
 * Return: 0 and the server owns @fd; or the caller still does: -EUSERS (RPC_CONNECTIONS_MAX
 * reached), -ESHUTDOWN, -EMFILE, -ENFILE, -ENOMEM.
 */
int rpc_server_add_connection(struct rpc_server *server, int fd);
unsigned rpc_server_n_connections(const struct rpc_server *server);
/* Cut every connection now. */
void rpc_server_drop_connections(struct rpc_server *server);

/*
 * The message every stream gets: at once when it opens, and again when it changes. Each stream
 * has at most one send outstanding; a slow reader skips to the newest.
 *
 * Return: 0, -EMSGSIZE (over RPC_MESSAGE_MAX) or -ENOMEM.
 */
int rpc_server_publish(struct rpc_server *server, const void *bytes, size_t len);
void rpc_server_end_streams(struct rpc_server *server, enum rpc_status status, const char *text);
unsigned rpc_server_n_streams(const struct rpc_server *server);

struct rpc_server_stats {
	uint64_t calls;	    /* accepted so far */
	uint64_t sends;	    /* stream messages handed to gRPC */
	uint64_t coalesced; /* stream messages skipped because a send was outstanding */
	unsigned n_calls;   /* calls and streams alive */
	unsigned n_armed;   /* requests waiting for a call */
};
void rpc_server_get_stats(const struct rpc_server *server, struct rpc_server_stats *ret);

/* @text and @bytes are valid until the callback returns. */
typedef void (*rpc_client_fn)(enum rpc_status status, const char *text, const uint8_t *bytes,
			      size_t len, void *userdata);

/*
 * One unary call to the server behind the UNIX socket @path, on a connection of its own, with
 * the authority "localhost".
 *
 * Return: 0, and @fn comes exactly once, unless rpc_client_cancel() or rpc_stop() came before; or
 * why there is no connection: -ENOENT, -ECONNREFUSED, -EAGAIN (its backlog is full), -EACCES,
 * -ENAMETOOLONG, -ENOTSOCK, -EMFILE, -ENFILE, -ENOMEM.
 */
int rpc_client_call(struct rpc *rpc, const char *path, const char *method, const void *bytes,
		    size_t len, uint64_t timeout_us, rpc_client_fn fn, void *userdata,
		    struct rpc_client **ret);
/* Forget the call; its callback does not come. Not after the callback came. Takes NULL. */
struct rpc_client *rpc_client_cancel(struct rpc_client *client);
