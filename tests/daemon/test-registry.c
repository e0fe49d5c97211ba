/* SPDX-License-Identifier: Apache-2.0 */
/* Registration through plugins_registry: the test is the kubelet's plugin watcher. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client.h"
#include "endpoint-call.h"
#include "endpoint.h"
#include "helper.h"
#include "log.h"
#include "pluginregistration.pb-c.h"

static sd_event *event;
static struct rpc *rpc;
static struct endpoint *ep;
static char *base, *plugins, *registry, *reg_sock, *sock;
static enum endpoint_state last_state;
static struct client *to_plugin;
static struct client_call *watch;

static const struct dp_device devices[] = { { "s-0", true, NULL, 0 } };
static const struct dp_list list = { devices, 1 };

static void on_preferred(struct endpoint_call *call, const struct dp_preferred_request *request,
			 void *userdata)
{
	endpoint_call_fail(call, RPC_INTERNAL, "unexpected");
}

static void on_allocate(struct endpoint_call *call, const struct dp_allocate_request *request,
			void *userdata)
{
	endpoint_call_fail(call, RPC_INTERNAL, "unexpected");
}

static void on_state(enum endpoint_state state, const char *why, void *userdata)
{
	last_state = state;
}

static const struct endpoint_ops ops = {
	.preferred = on_preferred,
	.allocate = on_allocate,
	.state = on_state,
};

static void setup(void)
{
	struct endpoint_config config = {
		.resource_name = "hami.com/vgpu",
		.registration = ENDPOINT_REGISTER_WATCHER,
	};

	test_log_catch(false);
	last_state = ENDPOINT_WAITING;
	to_plugin = NULL;
	watch = NULL;
	ck_assert_int_ge(sd_event_new(&event), 0);
	base = test_temp_dir();
	plugins = test_path(base, "device-plugins");
	registry = test_path(base, "plugins_registry");
	ck_assert_int_eq(mkdir(plugins, 0700), 0);
	ck_assert_int_eq(mkdir(registry, 0700), 0);
	reg_sock = test_path(registry, "hami.com_vgpu.sock");
	sock = test_path(plugins, "hami.com_vgpu.sock");
	ck_assert_int_eq(rpc_new(event, &rpc), 0);
	client_begin();
	config.plugin_dir = plugins;
	config.registry_dir = registry;
	ck_assert_int_eq(endpoint_new(rpc, event, &config, &ops, NULL, &ep), 0);
	ck_assert_int_eq(endpoint_publish(ep, &list), 0);
	ck_assert_int_eq(endpoint_start(ep), 0);
}

static void drop_stream(void)
{
	if (watch) {
		client_cancel(watch);
		ck_assert(test_run_until(event, client_is_done, watch, 2000));
		client_call_free(watch);
		client_free(to_plugin);
	}
	watch = NULL;
}

static void teardown(void)
{
	drop_stream();
	endpoint_stop(ep);
	ck_assert_int_ne(access(reg_sock, F_OK), 0);
	client_end();
	ck_assert_int_eq(rpc_stop(rpc), 0);
	ep = endpoint_free(ep);
	rpc = rpc_free(rpc);
	event = sd_event_unref(event);
	test_temp_remove(base);
	free(sock);
	free(reg_sock);
	free(registry);
	free(plugins);
	free(base);
}

static bool file_is_there(void *userdata)
{
	return access(reg_sock, F_OK) == 0;
}

static void check_info(const struct client_call *call)
{
	Pluginregistration__PluginInfo *info =
		pluginregistration__plugin_info__unpack(NULL, call->message_len, call->message);

	ck_assert_ptr_nonnull(info);
	ck_assert_str_eq(info->type, "DevicePlugin");
	ck_assert_str_eq(info->name, "hami.com/vgpu");
	ck_assert_str_eq(info->endpoint, sock);
	ck_assert_uint_eq(info->n_supported_versions, 1);
	ck_assert_str_eq(info->supported_versions[0], "v1beta1");
	pluginregistration__plugin_info__free_unpacked(info, NULL);
}

/* GetInfo and NotifyRegistrationStatus, on a connection of their own. */
static void ask(const char *status, size_t status_len)
{
	struct client_call *call;
	struct client *c;
	int fd;

	ck_assert(test_run_until(event, file_is_there, NULL, 3000));
	fd = test_connect(reg_sock);
	ck_assert_int_ge(fd, 0);
	c = client_new(fd);
	call = client_call(c, "/pluginregistration.Registration/GetInfo", "", 0, 1000, false);
	ck_assert(test_run_until(event, client_is_done, call, 2000));
	ck_assert_int_eq(call->status, RPC_OK);
	check_info(call);
	client_call_free(call);
	call = client_call(c, "/pluginregistration.Registration/NotifyRegistrationStatus", status,
			   status_len, 5000, false);
	ck_assert(test_run_until(event, client_is_done, call, 2000));
	ck_assert_int_eq(call->status, RPC_OK);
	client_call_free(call);
	client_free(c);
}

static void accept_plugin(void)
{
	int fd;

	ask("\x08\x01", 2);
	fd = test_connect(sock);
	ck_assert_int_ge(fd, 0);
	to_plugin = client_new(fd);
	watch = client_call(to_plugin, ENDPOINT_LIST_AND_WATCH, "", 0, 0, true);
	ck_assert(test_run_until(event, client_has_message, watch, 2000));
}

struct file_id {
	ino_t ino;
	struct timespec ctime;
};

static struct file_id identify(void)
{
	struct stat st;

	ck_assert_int_eq(lstat(reg_sock, &st), 0);
	return (struct file_id){ st.st_ino, st.st_ctim };
}

static bool is_made_anew(void *userdata)
{
	const struct file_id *old = userdata;
	struct stat st;

	return lstat(reg_sock, &st) == 0 &&
	       (st.st_ino != old->ino || st.st_ctim.tv_sec != old->ctime.tv_sec ||
		st.st_ctim.tv_nsec != old->ctime.tv_nsec);
}

START_TEST(is_found_asked_and_watched)
{
	struct file_id first;

	accept_plugin();
	ck_assert_int_eq(last_state, ENDPOINT_REGISTERED);
	first = identify();
	test_run_for(event, 300);
	ck_assert(!is_made_anew(&first));
}
END_TEST

START_TEST(refusal_makes_the_file_anew)
{
	struct file_id first;

	ck_assert(test_run_until(event, file_is_there, NULL, 3000));
	first = identify();
	ask("\x12\x02no", 4);
	ck_assert_ptr_nonnull(strstr(test_log_last(LOG_WARNING), "not registered: no"));
	ck_assert(test_run_until(event, is_made_anew, &first, 3000));
	accept_plugin();
}
END_TEST

START_TEST(broken_stream_makes_the_file_anew)
{
	struct file_id first;

	accept_plugin();
	first = identify();
	drop_stream();
	ck_assert(test_run_until(event, is_made_anew, &first, 3000));
	ck_assert_int_eq(last_state, ENDPOINT_WAITING);
	accept_plugin();
	ck_assert_int_eq(last_state, ENDPOINT_REGISTERED);
}
END_TEST

START_TEST(removed_file_is_made_anew)
{
	ck_assert(test_run_until(event, file_is_there, NULL, 3000));
	ck_assert_int_eq(unlink(reg_sock), 0);
	ck_assert(test_run_until(event, file_is_there, NULL, 3000));
	accept_plugin();
}
END_TEST

START_TEST(malformed_status_is_refused_and_changes_nothing)
{
	struct client_call *call;
	struct file_id first;
	struct client *c;

	ck_assert(test_run_until(event, file_is_there, NULL, 3000));
	first = identify();
	c = client_new(test_connect(reg_sock));
	call = client_call(c, "/pluginregistration.Registration/NotifyRegistrationStatus", "\x12",
			   1, 5000, false);
	ck_assert(test_run_until(event, client_is_done, call, 2000));
	ck_assert_int_eq(call->status, RPC_INVALID_ARGUMENT);
	client_call_free(call);
	client_free(c);
	test_run_for(event, 100);
	ck_assert(!is_made_anew(&first));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("registry");
	TCase *t = tcase_create("watcher");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, is_found_asked_and_watched);
	tcase_add_test(t, refusal_makes_the_file_anew);
	tcase_add_test(t, broken_stream_makes_the_file_anew);
	tcase_add_test(t, removed_file_is_made_anew);
	tcase_add_test(t, malformed_status_is_refused_and_changes_nothing);
	suite_add_tcase(s, t);
	return test_main(s);
}
