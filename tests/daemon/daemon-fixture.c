/* SPDX-License-Identifier: Apache-2.0 */
/* Puts machine, kubelet and daemon together for tests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon-fixture.h"
#include "deviceplugin.pb-c.h"

const struct fixture_card daemon_four_cards[4] = {
	{ "GPU-a", "0000:0a:00.0", 40960, 0, "healthy" },
	{ "GPU-b", "0000:0b:00.0", 40960, 0, "healthy" },
	{ "GPU-c", "0000:0c:00.0", 40960, 1, "healthy" },
	{ "GPU-d", "0000:0d:00.0", 40960, 1, "healthy" },
};

void daemon_setup(struct daemon_fixture *fix)
{
	const char *dir;

	*fix = (struct daemon_fixture){ 0 };
	fixture_init(&fix->node);
	dir = fix->node.dir;
	fix->plugin_dir = test_path(dir, "device-plugins");
	fix->run_dir = test_path(dir, "run");
	ck_assert_int_eq(mkdir(fix->plugin_dir, 0700), 0);
	(void)snprintf(fix->flag_dir, sizeof(fix->flag_dir), "--device-plugin-dir=%s",
		       fix->plugin_dir);
	(void)snprintf(fix->flag_run, sizeof(fix->flag_run), "--run-dir=%s", fix->run_dir);
	(void)snprintf(fix->flag_state, sizeof(fix->flag_state), "--state-dir=%s/state", dir);
	(void)snprintf(fix->flag_root, sizeof(fix->flag_root), "--kubelet-root-dir=%s", dir);
	(void)snprintf(fix->flag_driver, sizeof(fix->flag_driver), "--driver=sim:%s",
		       fix->node.machine);
	(void)snprintf(fix->env_config, sizeof(fix->env_config), "HAMI_CONFIG=%s",
		       fix->node.config);
	fixture_write_machine(&fix->node, daemon_four_cards, 4);
	ck_assert_int_ge(sd_event_new(&fix->event), 0);
	ck_assert_int_eq(rpc_new(fix->event, &fix->rpc), 0);
	client_begin();
	fake_begin(fix->rpc, fix->event, fix->plugin_dir);
}

void daemon_teardown(struct daemon_fixture *fix)
{
	process_done(&fix->first);
	process_done(&fix->second);
	fake_end();
	client_end();
	ck_assert_int_eq(rpc_stop(fix->rpc), 0);
	rpc_free(fix->rpc);
	sd_event_unref(fix->event);
	test_temp_remove(fix->node.dir);
	ck_assert_int_eq(mkdir(fix->node.dir, 0700), 0); /* fixture_done() removes an empty one */
	fixture_done(&fix->node);
	free(fix->plugin_dir);
	free(fix->run_dir);
}

void daemon_start(struct daemon_fixture *fix, struct process *process, const char *one,
		  const char *two)
{
	const char *const flags[] = { fix->flag_dir,
				      fix->flag_run,
				      fix->flag_state,
				      fix->flag_root,
				      fix->flag_driver,
				      "--cores-per-device=8",
				      one ? one : "--v=2",
				      two,
				      NULL };
	const char *const env[] = { fix->env_config, NULL };

	process_start(process, fix->node.dir, flags, env);
}

struct expected {
	size_t n_slots;
	size_t n_healthy;
};

static bool has_list(void *userdata)
{
	const struct expected *want = userdata;
	V1beta1__ListAndWatchResponse *list;
	size_t n_healthy = 0;
	bool ok;

	if (!fake.watch || !fake.watch->n_messages)
		return false;
	list = v1beta1__list_and_watch_response__unpack(NULL, fake.watch->message_len,
							fake.watch->message);
	if (!list)
		return false;
	for (size_t i = 0; i < list->n_devices; i++)
		n_healthy += !strcmp(list->devices[i]->health, "Healthy");
	ok = list->n_devices == want->n_slots && n_healthy == want->n_healthy;
	v1beta1__list_and_watch_response__free_unpacked(list, NULL);
	return ok;
}

void daemon_wait_for_list(struct daemon_fixture *fix, size_t n_slots, size_t n_healthy)
{
	struct expected want = { n_slots, n_healthy };

	ck_assert_msg(test_run_until(fix->event, has_list, &want, WAIT_MS),
		      "no list of %zu slots, %zu healthy; %u registrations; output: %s", n_slots,
		      n_healthy, fake.n_registers, process_output(&fix->first));
}

void daemon_wait_for_end(struct daemon_fixture *fix, struct process *process, int status)
{
	ck_assert_msg(test_run_until(fix->event, process_has_ended, process, WAIT_MS),
		      "still runs: %s", process_output(process));
	ck_assert_msg(process->status == status, "ended with %d: %s", process->status,
		      process_output(process));
}

struct words {
	struct process *process;
	const char *text;
};

static bool has_words(void *userdata)
{
	const struct words *words = userdata;

	return strstr(process_output(words->process), words->text) != NULL;
}

void daemon_wait_for_words(struct daemon_fixture *fix, const char *words)
{
	struct words want = { &fix->first, words };

	ck_assert_msg(test_run_until(fix->event, has_words, &want, WAIT_MS), "no '%s' in: %s",
		      words, process_output(&fix->first));
}

static bool both_exist(void *userdata)
{
	const char *const *paths = userdata;

	return access(paths[0], F_OK) == 0 && access(paths[1], F_OK) == 0;
}

void daemon_wait_for_files(struct daemon_fixture *fix, const char *one, const char *two)
{
	const char *paths[] = { one, two };

	ck_assert_msg(test_run_until(fix->event, both_exist, paths, WAIT_MS), "no %s or no %s: %s",
		      one, two, process_output(&fix->first));
}
