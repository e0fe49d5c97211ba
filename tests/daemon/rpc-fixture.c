/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/socket.h>

#include "log.h"
#include "rpc-fixture.h"

static const char *const methods[] = { "/t.S/Echo", "/t.S/Fail", "/t.S/Keep", NULL };

sd_event *event;
struct rpc *rpc;
struct rpc_server *server;
struct rpc_call *kept[KEEP_MAX];
unsigned n_kept, n_opened, n_closed;

static void on_unary(struct rpc_call *call, const struct rpc_request *req, void *userdata)
{
	if (req->method == 0)
		rpc_call_reply(call, req->bytes, req->len);
	else if (req->method == 1)
		rpc_call_fail(call, RPC_NOT_FOUND, "no slot 'sl\xc3\xbct-1'");
	else
		kept[n_kept++] = call;
}

static void on_opened(uint64_t id, unsigned n_open, void *userdata)
{
	n_opened++;
}

static void on_closed(uint64_t id, unsigned n_open, void *userdata)
{
	n_closed++;
}

static const struct rpc_server_ops ops = {
	.methods = methods,
	.stream_method = "/t.S/Watch",
	.unary = on_unary,
	.stream_opened = on_opened,
	.stream_closed = on_closed,
};

void fix_setup(void)
{
	test_log_catch(false);
	n_kept = n_opened = n_closed = 0;
	ck_assert_int_ge(sd_event_new(&event), 0);
	ck_assert_int_eq(rpc_new(event, &rpc), 0);
	client_begin();
	ck_assert_int_eq(rpc_server_new(rpc, &ops, NULL, &server), 0);
}

void fix_teardown(void)
{
	client_end();
	server = rpc_server_free(server);
	rpc = rpc_free(rpc);
	event = sd_event_unref(event);
}

int fix_connect_fd(void)
{
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds),
			 0);
	ck_assert_int_eq(rpc_server_add_connection(server, fds[0]), 0);
	return fds[1];
}

struct client *fix_connect(void)
{
	return client_new(fix_connect_fd());
}

void fix_finish(struct client_call *call)
{
	ck_assert(test_run_until(event, client_is_done, call, 10000));
}

/* One call; its status. */
int fix_call_once(struct client *c, const char *method, const void *bytes, size_t len)
{
	struct client_call *call = client_call(c, method, bytes, len, 10000, false);
	int status;

	fix_finish(call);
	status = call->status;
	client_call_free(call);
	return status;
}

bool fix_no_calls(void *userdata)
{
	struct rpc_server_stats stats;

	rpc_server_get_stats(server, &stats);
	return stats.n_calls == 0;
}

bool fix_no_connections(void *userdata)
{
	return rpc_server_n_connections(server) == 0;
}
