/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "deviceplugin.pb-c.h"
#include "endpoint-call.h"
#include "fake-kubelet.h"
#include "helper.h"
#include "listener.h"

struct fake_kubelet fake;

static struct rpc_server *server;
static struct listener *listener;
static const char *plugin_dir;
static struct client_call *dying[64];
static unsigned n_dying;

static const char *const methods[] = { "/v1beta1.Registration/Register", NULL };

static void bury(struct client_call *call)
{
	if (!call)
		return;
	if (!call->done)
		client_cancel(call);
	ck_assert_uint_lt(n_dying, ARRAY_SIZE(dying));
	dying[n_dying++] = call;
}

void fake_drop_stream(void)
{
	bury(fake.options);
	bury(fake.watch);
	fake.options = fake.watch = NULL;
	if (fake.client)
		client_free(fake.client);
	fake.client = NULL;
}

static void dial(void)
{
	char *path = test_path(plugin_dir, fake.endpoint);
	int fd = test_connect(path);

	free(path);
	if (fd < 0) {
		if (fake.pending)
			rpc_call_fail(fake.pending, RPC_UNKNOWN, "failed to dial device plugin");
		fake.pending = NULL;
		return;
	}
	fake.client = client_new(fd);
	if (fake.style == FAKE_1_20)
		fake.watch = client_call(fake.client, ENDPOINT_LIST_AND_WATCH, "", 0, 0, true);
	else
		fake.options = client_call(fake.client, endpoint_methods[ENDPOINT_GET_OPTIONS], "",
					   0, 10000, false);
}

static void read_request(const struct rpc_request *req)
{
	V1beta1__RegisterRequest *msg =
		v1beta1__register_request__unpack(NULL, req->len, req->bytes);

	ck_assert_ptr_nonnull(msg);
	ck_assert_str_eq(msg->version, "v1beta1");
	ck_assert_ptr_nonnull(msg->options);
	(void)snprintf(fake.resource_name, sizeof(fake.resource_name), "%s", msg->resource_name);
	(void)snprintf(fake.endpoint, sizeof(fake.endpoint), "%s", msg->endpoint);
	fake.pre_start = msg->options->pre_start_required;
	fake.preferred = msg->options->get_preferred_allocation_available;
	v1beta1__register_request__free_unpacked(msg, NULL);
}

static void on_register(struct rpc_call *call, const struct rpc_request *req, void *userdata)
{
	fake.n_registers++;
	fake.overlapped |= fake.watch && !fake.watch->done;
	read_request(req);
	if (fake.style == FAKE_REFUSE) {
		rpc_call_fail(call, RPC_UNKNOWN, "the ResourceName \"x\" is invalid");
		return;
	}
	if (fake.style == FAKE_MUTE) {
		ck_assert_ptr_null(fake.pending);
		fake.pending = call;
		return;
	}
	if (fake.pending)
		rpc_call_fail(fake.pending, RPC_UNKNOWN, "superseded");
	fake.pending = NULL;
	fake_drop_stream();
	if (fake.style == FAKE_NORMAL)
		fake.pending = call;
	else
		rpc_call_reply(call, NULL, 0);
	if (fake.style != FAKE_NO_STREAM)
		dial();
}

static const struct rpc_server_ops ops = { .methods = methods, .unary = on_register };

static int on_accept(int fd, void *userdata)
{
	return rpc_server_add_connection(server, fd);
}

void fake_poll(void)
{
	client_poll();
	if (fake.options && fake.options->done && fake.pending) {
		if (fake.options->status == RPC_OK) {
			fake.watch =
				client_call(fake.client, ENDPOINT_LIST_AND_WATCH, "", 0, 0, true);
			fake.n_streams_seen++;
			rpc_call_reply(fake.pending, NULL, 0);
		} else {
			rpc_call_fail(fake.pending, RPC_UNKNOWN, fake.options->text);
		}
		fake.pending = NULL;
	}
	for (unsigned i = 0; i < n_dying;)
		if (dying[i]->done) {
			client_call_free(dying[i]);
			dying[i] = dying[--n_dying];
		} else {
			i++;
		}
}

void fake_begin(struct rpc *rpc, sd_event *event, const char *dir)
{
	char *path = test_path(dir, "kubelet.sock");

	memset(&fake, 0, sizeof(fake));
	n_dying = 0;
	plugin_dir = dir;
	ck_assert_int_eq(rpc_server_new(rpc, &ops, NULL, &server), 0);
	ck_assert_int_eq(listener_new(event, path, on_accept, NULL, &listener), 0);
	free(path);
	test_set_poll(fake_poll);
}

void fake_up(void)
{
	ck_assert_int_eq(listener_open(listener), 0);
}

void fake_down(void)
{
	listener_close(listener);
	rpc_server_drop_connections(server);
	if (fake.pending)
		rpc_call_fail(fake.pending, RPC_UNAVAILABLE, "down");
	fake.pending = NULL;
	fake_drop_stream();
}

void fake_wipe(void)
{
	DIR *d = opendir(plugin_dir);
	struct stat st;

	if (!d)
		return;
	for (struct dirent *entry = readdir(d); entry; entry = readdir(d)) {
		char *path = test_path(plugin_dir, entry->d_name);

		if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
			(void)unlink(path);
		free(path);
	}
	(void)closedir(d);
}

void fake_end(void)
{
	fake_down();
	while (n_dying) {
		struct client_call *call = dying[--n_dying];

		while (!call->done)
			client_poll();
		client_call_free(call);
	}
	listener = listener_free(listener);
	server = rpc_server_free(server);
}
