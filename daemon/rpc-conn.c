/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections of a server. gRPC gets the socket; we keep a dup, to count the live ones and to
 * cut one that gRPC cannot end.
 */
#include <errno.h>
#include <fcntl.h>
#include <grpc/grpc.h>
#include <grpc/grpc_posix.h>
#include <grpc/grpc_security.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "log.h"
#include "macro.h"
#include "rpc-internal.h"

static void conn_free(struct rpc_conn *conn)
{
	struct rpc_server *server = conn->server;

	LIST_REMOVE(conn, list);
	server->n_conns--;
	if (server->n_conns < RPC_CONNECTIONS_MAX / 2)
		server->conns_full_logged = false;
	sd_event_source_disable_unref(conn->source);
	(void)dp_close(conn->fd);
	free(conn);
}

/* gRPC shuts the socket down when it is done with it, so this comes for either side's end. */
static int on_hangup(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	if (revents & (EPOLLHUP | EPOLLERR))
		conn_free(userdata);
	return 0;
}

static int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || (!(flags & O_NONBLOCK) && fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0))
		return -errno;
	return 0;
}

static int conn_new(struct rpc_server *server, int fd)
{
	struct rpc_conn *conn = calloc(1, sizeof(*conn));
	int r;

	if (!conn)
		return -ENOMEM;
	conn->server = server;
	conn->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (conn->fd < 0) {
		r = -errno;
		free(conn);
		return r;
	}
	/* Only HUP, which needs no asking for; edge-triggered, since it stays. */
	r = sd_event_add_io(server->rpc->event, &conn->source, conn->fd, EPOLLET, on_hangup, conn);
	if (r < 0) {
		(void)dp_close(conn->fd);
		free(conn);
		return r;
	}
	LIST_INSERT_HEAD(&server->conns, conn, list);
	server->n_conns++;
	return 0;
}

int rpc_server_add_connection(struct rpc_server *server, int fd)
{
	grpc_server_credentials *creds;
	int r;

	if (server->stopping)
		return -ESHUTDOWN;
	/* gRPC's handshake timeout does not watch these: a silent peer stays for ever. */
	if (server->n_conns >= RPC_CONNECTIONS_MAX) {
		if (!server->conns_full_logged)
			log_warning("%u connections are open, refusing more", server->n_conns);
		server->conns_full_logged = true;
		return -EUSERS;
	}
	r = set_nonblocking(fd);
	if (r < 0)
		return r;
	r = conn_new(server, fd);
	if (r < 0)
		return r;
	creds = grpc_insecure_server_credentials_create();
	grpc_server_add_channel_from_fd(server->grpc, fd, creds);
	grpc_server_credentials_release(creds);
	return 0;
}

unsigned rpc_server_n_connections(const struct rpc_server *server)
{
	return server->n_conns;
}

void rpc_server_drop_connections(struct rpc_server *server)
{
	struct rpc_conn *conn;

	LIST_FOREACH (conn, &server->conns, list)
		(void)shutdown(conn->fd, SHUT_RDWR);
}

void rpc_server_free_connections(struct rpc_server *server)
{
	while (!LIST_EMPTY(&server->conns))
		conn_free(LIST_FIRST(&server->conns));
}
