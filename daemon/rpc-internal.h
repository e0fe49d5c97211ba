/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shared by rpc-*.c, which include <grpc/grpc.h> before this. */

#include <pthread.h>
#include <sys/queue.h>

#include "rpc.h"

/*
 * What a gRPC completion points to. The pump thread sets @ok and links it; the main thread calls
 * @fn. Whoever embeds it must not go before @fn was called.
 */
struct rpc_tag {
	struct rpc_tag *next;
	void (*fn)(void *self, bool ok);
	void *self;
	bool ok;
};

struct rpc_tag_list {
	struct rpc_tag *first, **last;
};

struct rpc {
	sd_event *event;
	sd_event_source *source;
	grpc_completion_queue *cq;
	pthread_t pump;
	int event_fd;
	pthread_mutex_t lock; /* guards @finished */
	struct rpc_tag_list finished;
	struct rpc_tag_list ready; /* of the main thread */
	LIST_HEAD(, rpc_server) servers;
	LIST_HEAD(, rpc_client) clients;
	bool stuck; /* a stop timed out, or gRPC is broken: it may still write to what we allocated
		     */
};

struct srv_call;

struct rpc_conn {
	LIST_ENTRY(rpc_conn) list;
	struct rpc_server *server;
	sd_event_source *source;
	int fd; /* a dup; gRPC has the original */
};

struct rpc_server {
	LIST_ENTRY(rpc_server) list;
	struct rpc *rpc;
	const struct rpc_server_ops *ops;
	void *userdata;
	grpc_server *grpc;
	LIST_HEAD(, srv_call) calls; /* armed, live, and those whose last tag is still to come */
	LIST_HEAD(, rpc_conn) conns;
	unsigned n_conns;
	bool conns_full_logged;
	unsigned n_armed, n_live, n_unanswered, n_streams, high_water;
	uint64_t last_stream_id;
	bool has_list;
	grpc_slice list_slice;
	uint64_t n_calls_total, n_sends, n_coalesced;
	bool stopping, stopped, cancelled;
	struct rpc_tag on_stopped;
};

/* pump: rpc-pump.c */
void rpc_tag_init(struct rpc_tag *tag, void (*fn)(void *self, bool ok), void *self);
/* Call right before handing @tag to gRPC. */
void rpc_tag_give(struct rpc_tag *tag);
/* Run all finished tags, waiting up to @timeout_ms for one. */
void rpc_run_tags(struct rpc *rpc, int timeout_ms);
uint64_t rpc_now_us(void);

/* threads: rpc-threads.c. Return: 0, or -EAGAIN where gRPC's threads could not start. */
int rpc_check_threads(void);

/* calls: rpc-call.c */
void rpc_server_arm(struct rpc_server *server);
void rpc_server_send_list(struct rpc_server *server);
void rpc_server_fail_unanswered(struct rpc_server *server, const char *text);
void rpc_server_orphan_calls(struct rpc_server *server);
/* Whether a call still waits for a tag of gRPC's. */
bool rpc_server_has_pending(const struct rpc_server *server);

/* connections: rpc-conn.c */
void rpc_server_free_connections(struct rpc_server *server);

/* servers: rpc-server.c */
void rpc_server_stop_begin(struct rpc_server *server);
void rpc_server_stop_cancel(struct rpc_server *server);
bool rpc_server_is_quiet(const struct rpc_server *server);

/* clients: rpc-kubelet.c */
void rpc_clients_stop_begin(struct rpc *rpc);
void rpc_clients_stop_force(struct rpc *rpc);

/* Stop @only, or everything where it is NULL. Return: 0 or -ETIMEDOUT. */
int rpc_stop_some(struct rpc *rpc, struct rpc_server *only);
