/* SPDX-License-Identifier: Apache-2.0 */
/* hami-dp as a process: from flags to a kubelet that has its list, through faults, to its end. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "client.h"
#include "deviceplugin.pb-c.h"
#include "endpoint-call.h"
#include "fake-kubelet.h"
#include "fixture.h"
#include "helper.h"
#include "process.h"

#define WAIT_MS 10000

static struct fixture fix; /* its directory and machine only */
static sd_event *event;
static struct rpc *rpc;
static char *dir, *run_dir;
static char flag_dir[160], flag_run[160], flag_state[160], flag_root[160], flag_driver[160];
static char env_config[160];
static struct process daemon_, second;

static const struct fixture_card four[] = {
	{ "GPU-a", "0000:0a:00.0", 40960, 0, "healthy" },
	{ "GPU-b", "0000:0b:00.0", 40960, 0, "healthy" },
	{ "GPU-c", "0000:0c:00.0", 40960, 1, "healthy" },
	{ "GPU-d", "0000:0d:00.0", 40960, 1, "healthy" },
};

static void setup(void)
{
	fixture_init(&fix);
	dir = test_path(fix.dir, "device-plugins");
	run_dir = test_path(fix.dir, "run");
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	(void)snprintf(flag_dir, sizeof(flag_dir), "--device-plugin-dir=%s", dir);
	(void)snprintf(flag_run, sizeof(flag_run), "--run-dir=%s", run_dir);
	(void)snprintf(flag_state, sizeof(flag_state), "--state-dir=%s/state", fix.dir);
	(void)snprintf(flag_root, sizeof(flag_root), "--kubelet-root-dir=%s", fix.dir);
	(void)snprintf(flag_driver, sizeof(flag_driver), "--driver=sim:%s", fix.machine);
	(void)snprintf(env_config, sizeof(env_config), "HAMI_CONFIG=%s", fix.config);
	fixture_write_machine(&fix, four, 4);
	ck_assert_int_ge(sd_event_new(&event), 0);
	ck_assert_int_eq(rpc_new(event, &rpc), 0);
	client_begin();
	fake_begin(rpc, event, dir);
	daemon_ = second = (struct process){ 0 };
}

static void teardown(void)
{
	process_done(&daemon_);
	process_done(&second);
	fake_end();
	client_end();
	ck_assert_int_eq(rpc_stop(rpc), 0);
	rpc_free(rpc);
	sd_event_unref(event);
	test_temp_remove(fix.dir);
	ck_assert_int_eq(mkdir(fix.dir, 0700), 0); /* fixture_done() removes an empty one */
	fixture_done(&fix);
	free(dir);
	free(run_dir);
}

static void start(struct process *process, const char *one, const char *two)
{
	const char *const flags[] = { flag_dir,
				      flag_run,
				      flag_state,
				      flag_root,
				      flag_driver,
				      "--cores-per-device=8",
				      one ? one : "--v=2",
				      two,
				      NULL };
	const char *const env[] = { env_config, NULL };

	process_start(process, fix.dir, flags, env);
}

static V1beta1__ListAndWatchResponse *last_list(void)
{
	if (!fake.watch || !fake.watch->message)
		return NULL;
	return v1beta1__list_and_watch_response__unpack(NULL, fake.watch->message_len,
							fake.watch->message);
}

struct expected {
	size_t n_slots;
	size_t n_healthy;
	unsigned n_frames; /* at least */
};

static bool has_list(void *userdata)
{
	const struct expected *want = userdata;
	V1beta1__ListAndWatchResponse *list = last_list();
	size_t n_healthy = 0;
	bool ok;

	if (!list)
		return want->n_slots == 0 && fake.watch &&
		       fake.watch->n_messages >= want->n_frames && want->n_frames;
	for (size_t i = 0; i < list->n_devices; i++)
		n_healthy += !strcmp(list->devices[i]->health, "Healthy");
	ok = list->n_devices == want->n_slots && n_healthy == want->n_healthy &&
	     fake.watch->n_messages >= want->n_frames;
	v1beta1__list_and_watch_response__free_unpacked(list, NULL);
	return ok;
}

static void wait_for_list(size_t n_slots, size_t n_healthy)
{
	struct expected want = { n_slots, n_healthy, 1 };

	ck_assert_msg(test_run_until(event, has_list, &want, WAIT_MS),
		      "no list of %zu slots, %zu healthy; %u registrations; output: %s", n_slots,
		      n_healthy, fake.n_registers, process_output(&daemon_));
}

static void wait_for_end(struct process *process, int status)
{
	ck_assert_msg(test_run_until(event, process_has_ended, process, WAIT_MS), "still runs: %s",
		      process_output(process));
	ck_assert_msg(process->status == status, "ended with %d: %s", process->status,
		      process_output(process));
}

START_TEST(kubelet_gets_the_list)
{
	fake_up();
	start(&daemon_, NULL, NULL);
	wait_for_list(32, 32);
	ck_assert_str_eq(fake.resource_name, "hami.com/vgpu");
	ck_assert_str_eq(fake.endpoint, "hami.com_vgpu.sock");
	ck_assert(fake.preferred);
	ck_assert(!fake.pre_start);
	ck_assert_uint_eq(fake.n_registers, 1);
}
END_TEST

/* All slots of a card in one frame: there is no list between 32 and 24. */
START_TEST(failing_card_is_one_frame)
{
	struct fixture_card cards[4];
	unsigned n_before;

	memcpy(cards, four, sizeof(cards));
	fake_up();
	start(&daemon_, NULL, NULL);
	wait_for_list(32, 32);
	n_before = fake.watch->n_messages;
	cards[1].health = "unhealthy";
	fixture_write_machine(&fix, cards, 4);
	wait_for_list(32, 24);
	ck_assert_uint_eq(fake.watch->n_messages, n_before + 1);
	cards[1].health = "healthy";
	fixture_write_machine(&fix, cards, 4);
	wait_for_list(32, 32);
	ck_assert_uint_eq(fake.watch->n_messages, n_before + 2);
	ck_assert_uint_eq(fake.n_registers, 1);
}
END_TEST

START_TEST(new_cards_appear)
{
	fixture_write_machine(&fix, four, 2);
	fake_up();
	start(&daemon_, NULL, NULL);
	wait_for_list(16, 16);
	fixture_write_machine(&fix, four, 4);
	wait_for_list(32, 32);
	ck_assert_uint_eq(fake.n_registers, 1);
}
END_TEST

START_TEST(kubelet_restart_is_survived)
{
	fake_up();
	start(&daemon_, NULL, NULL);
	wait_for_list(32, 32);
	fake_down();
	fake_wipe();
	fake_up();
	wait_for_list(32, 32);
	ck_assert_uint_eq(fake.n_registers, 2);
	ck_assert(!fake.overlapped);
}
END_TEST

static struct client_call *allocate(const char *const *ids, size_t n_ids)
{
	V1beta1__ContainerAllocateRequest container = V1BETA1__CONTAINER_ALLOCATE_REQUEST__INIT;
	V1beta1__ContainerAllocateRequest *containers[] = { &container };
	V1beta1__AllocateRequest request = V1BETA1__ALLOCATE_REQUEST__INIT;
	struct client_call *call;
	uint8_t bytes[512];

	container.devices_ids = (char **)(uintptr_t)ids; /* packed, not written to */
	container.n_devices_ids = n_ids;
	request.container_requests = containers;
	request.n_container_requests = 1;
	ck_assert_uint_le(v1beta1__allocate_request__get_packed_size(&request), sizeof(bytes));
	call = client_call(fake.client, endpoint_methods[ENDPOINT_ALLOCATE], bytes,
			   v1beta1__allocate_request__pack(&request, bytes), 0, false);
	ck_assert(test_run_until(event, client_is_done, call, WAIT_MS));
	return call;
}

START_TEST(container_gets_its_slices)
{
	const char *const ids[] = { "GPU-b::2", "GPU-b::1" };
	V1beta1__AllocateResponse *response;
	struct client_call *call;
	const char *uuid = NULL;

	fake_up();
	start(&daemon_, "--v=6", NULL);
	wait_for_list(32, 32);
	call = allocate(ids, 2);
	ck_assert_int_eq(call->status, RPC_OK);
	response = v1beta1__allocate_response__unpack(NULL, call->message_len, call->message);
	ck_assert_ptr_nonnull(response);
	ck_assert_uint_eq(response->n_container_responses, 1);
	for (size_t i = 0; i < response->container_responses[0]->n_envs; i++)
		if (!strcmp(response->container_responses[0]->envs[i]->key, "HAMI_VGPU_UUID"))
			uuid = response->container_responses[0]->envs[i]->value;
	ck_assert_pstr_eq(uuid, "GPU-b::1,GPU-b::2");
	v1beta1__allocate_response__free_unpacked(response, NULL);
	client_call_free(call);
	ck_assert_ptr_nonnull(strstr(process_output(&daemon_), "env HAMI_VGPU_UUID=GPU-b::1,"));
}
END_TEST

START_TEST(refusal_reaches_the_pod)
{
	const char *const ids[] = { "GPU-z::0" };
	struct client_call *call;

	fake_up();
	start(&daemon_, NULL, NULL);
	wait_for_list(32, 32);
	call = allocate(ids, 1);
	ck_assert_int_eq(call->status, RPC_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(call->text, "GPU-z::0"));
	client_call_free(call);
}
END_TEST

START_TEST(signals_end_it_cleanly)
{
	char *sock = test_path(dir, "hami.com_vgpu.sock");
	uint64_t begin_us;

	fake_up();
	start(&daemon_, NULL, NULL);
	wait_for_list(32, 32);
	process_signal(&daemon_, SIGHUP);
	process_signal(&daemon_, _i ? SIGINT : SIGTERM);
	begin_us = test_now_us();
	wait_for_end(&daemon_, 0);
	ck_assert_uint_lt(test_now_us() - begin_us, 4000000);
	ck_assert_int_lt(access(sock, F_OK), 0);
	ck_assert_ptr_nonnull(strstr(process_output(&daemon_), "signal HUP, ignoring"));
	free(sock);
}
END_TEST

START_TEST(second_instance_is_refused)
{
	char want[256];

	fake_up();
	start(&daemon_, NULL, NULL);
	wait_for_list(32, 32);
	start(&second, NULL, NULL);
	wait_for_end(&second, 1);
	(void)snprintf(want, sizeof(want),
		       "hami.com/vgpu: another hami-dp serves it: pid %d has the lock on "
		       "%s/hami.com_vgpu.lock\n",
		       (int)daemon_.pid, run_dir);
	ck_assert_str_eq(process_output(&second), want);
	wait_for_list(32, 32);
	ck_assert_uint_eq(fake.n_registers, 1);
}
END_TEST

/* One line that operators search for, and nothing else. */
START_TEST(init_error_is_one_line)
{
	static const struct {
		const char *flag;
		bool no_cards;
		int status;
		const char *words;
	} cases[] = {
		{ "--driver=hamivgpu", false, 1, "failed to open HAMI driver library" },
		{ "--driver=auto", false, 1, "failed to open HAMI driver library" },
		{ "--v=2", true, 1, "no HAMI GPU found" },
		{ "--driver=sim:no-such", false, 2, "no-such" },
		{ "--cores-per-device=0", false, 2,
		  "--cores-per-device: '0': accepted: a whole number from 1 to 1024" },
		{ "--resource-name=vgpu", false, 2, "--resource-name: " },
	};

	if (cases[_i].no_cards)
		fixture_write_machine(&fix, four, 0);
	start(&daemon_, cases[_i].flag, "--fail-on-init-error=true");
	wait_for_end(&daemon_, cases[_i].status);
	ck_assert_msg(strstr(process_output(&daemon_), cases[_i].words) != NULL, "%s",
		      daemon_.text);
	ck_assert_msg(process_count_lines(&daemon_) == 1, "%s", daemon_.text);
}
END_TEST

static bool both_exist(void *userdata)
{
	char **paths = userdata;

	return access(paths[0], F_OK) == 0 && access(paths[1], F_OK) == 0;
}

START_TEST(list_that_is_too_long_is_a_configuration_error)
{
	static char uuids[80][128];
	struct fixture_card cards[80];

	for (size_t i = 0; i < ARRAY_SIZE(cards); i++) {
		memset(uuids[i], 'x', 100);
		(void)snprintf(uuids[i] + 100, 20, "-%zu", i);
		cards[i] = (struct fixture_card){ uuids[i], NULL, 81920, 0, NULL };
	}
	fixture_write_machine(&fix, cards, ARRAY_SIZE(cards));
	start(&daemon_, "--cores-per-device=1024", "--v=1");
	wait_for_end(&daemon_, 2);
	ck_assert_ptr_nonnull(strstr(process_output(&daemon_), "accepted: at most 4194304"));
	ck_assert_uint_eq(process_count_lines(&daemon_), 1);
	ck_assert_uint_eq(test_n_entries(dir), 0);
}
END_TEST

START_TEST(watcher_announces_itself)
{
	char *registry = test_path(fix.dir, "plugins_registry");
	char *paths[2] = { test_path(dir, "hami.com_vgpu.sock"),
			   test_path(registry, "hami.com_vgpu.sock") };

	ck_assert_int_eq(mkdir(registry, 0700), 0);
	fake_up();
	start(&daemon_, "--registration=watcher", NULL);
	ck_assert(test_run_until(event, both_exist, paths, WAIT_MS));
	process_signal(&daemon_, SIGTERM);
	wait_for_end(&daemon_, 0);
	ck_assert_uint_eq(test_n_entries(registry), 0);
	ck_assert_uint_eq(fake.n_registers, 0); /* never both ways */
	free(paths[0]);
	free(paths[1]);
	free(registry);
}
END_TEST

static bool has_words(void *userdata)
{
	return strstr(process_output(&daemon_), userdata) != NULL;
}

START_TEST(without_a_card_it_stays_and_serves_later)
{
	char words[] = "no HAMI GPU found";

	fixture_write_machine(&fix, four, 0);
	fake_up();
	start(&daemon_, "--fail-on-init-error=false", NULL);
	ck_assert(test_run_until(event, has_words, words, WAIT_MS));
	ck_assert_uint_eq(fake.n_registers, 0);
	fixture_write_machine(&fix, four, 4);
	wait_for_list(32, 32);
	ck_assert_uint_eq(fake.n_registers, 1);
}
END_TEST

/* The article's mounts: no run directory, no state directory, nothing but the plugin directory. */
START_TEST(three_mounts_are_enough)
{
	fake_up();
	start(&daemon_, "--run-dir=/proc/none/run", "--state-dir=/proc/none/state");
	wait_for_list(32, 32);
	ck_assert_ptr_nonnull(strstr(process_output(&daemon_), "/proc/none/run: cannot"));
	ck_assert_uint_eq(test_n_entries(dir), 2); /* kubelet.sock and ours: no lock, no state */
}
END_TEST

START_TEST(resources_have_a_socket_each)
{
	char *paths[2] = { test_path(dir, "hami.com_vgpu.sock"), test_path(dir, "a.b_whole.sock") };

	fixture_write_config(&fix, "version: 1\nresources:\n  - name: hami.com/vgpu\n"
				   "  - {name: a.b/whole, cores_per_device: 1, devices: [{uuid: "
				   "GPU-d}]}\n");
	start(&daemon_, NULL, NULL);
	ck_assert(test_run_until(event, both_exist, paths, WAIT_MS));
	process_signal(&daemon_, SIGTERM);
	wait_for_end(&daemon_, 0);
	ck_assert_uint_eq(test_n_entries(dir), 0);
	free(paths[0]);
	free(paths[1]);
}
END_TEST

static bool has_datagram(void *userdata)
{
	char **text = userdata;
	char buf[512];
	ssize_t n;
	int fd = atoi(text[0]);

	while ((n = recv(fd, buf, sizeof(buf) - 1, MSG_DONTWAIT)) > 0) {
		buf[n] = '\0';
		if (strstr(buf, text[1]))
			return true;
	}
	return false;
}

/* Ready once somebody could connect; told when it ends. */
START_TEST(service_manager_is_told)
{
	char *path = test_path(fix.dir, "notify"), env[160], number[16];
	char ready[] = "READY=1", registered[] = "1 of 1 resources registered",
	     stopping[] = "STOPPING=1";
	const char *const flags[] = { flag_dir, flag_run, flag_state, flag_driver, NULL };
	const char *const envs[] = { env_config, env, NULL };
	char *want[2] = { number, ready };
	int fd = test_bind(path, SOCK_DGRAM, false);

	ck_assert_int_ge(fd, 0);
	(void)snprintf(env, sizeof(env), "NOTIFY_SOCKET=%s", path);
	(void)snprintf(number, sizeof(number), "%d", fd);
	fake_up();
	process_start(&daemon_, fix.dir, flags, envs);
	ck_assert(test_run_until(event, has_datagram, want, WAIT_MS));
	want[1] = registered;
	ck_assert(test_run_until(event, has_datagram, want, WAIT_MS));
	process_signal(&daemon_, SIGTERM);
	want[1] = stopping;
	ck_assert(test_run_until(event, has_datagram, want, WAIT_MS));
	wait_for_end(&daemon_, 0);
	close(fd);
	free(path);
}
END_TEST

START_TEST(dry_run_prints_and_ends)
{
	start(&daemon_, "--dry-run", NULL);
	wait_for_end(&daemon_, 0);
	ck_assert_ptr_nonnull(strstr(process_output(&daemon_), "hami.com/vgpu: 32\n"));
	ck_assert_ptr_nonnull(strstr(daemon_.text, "\nGPU-d::7 "));
	ck_assert_uint_eq(test_n_entries(dir), 0);
	ck_assert_int_lt(access(run_dir, F_OK), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon");
	TCase *tcase = tcase_create("daemon");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, kubelet_gets_the_list);
	tcase_add_test(tcase, failing_card_is_one_frame);
	tcase_add_test(tcase, new_cards_appear);
	tcase_add_test(tcase, kubelet_restart_is_survived);
	tcase_add_test(tcase, container_gets_its_slices);
	tcase_add_test(tcase, refusal_reaches_the_pod);
	tcase_add_loop_test(tcase, signals_end_it_cleanly, 0, 2);
	tcase_add_test(tcase, second_instance_is_refused);
	tcase_add_loop_test(tcase, init_error_is_one_line, 0, 6);
	tcase_add_test(tcase, without_a_card_it_stays_and_serves_later);
	tcase_add_test(tcase, list_that_is_too_long_is_a_configuration_error);
	tcase_add_test(tcase, watcher_announces_itself);
	tcase_add_test(tcase, three_mounts_are_enough);
	tcase_add_test(tcase, resources_have_a_socket_each);
	tcase_add_test(tcase, service_manager_is_told);
	tcase_add_test(tcase, dry_run_prints_and_ends);
	suite_add_tcase(suite, tcase);
	return test_main(suite);
}
