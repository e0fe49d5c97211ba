/* SPDX-License-Identifier: Apache-2.0 */
/* hami-dp as a process: how it starts, what it says when it cannot, and how it ends. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon-fixture.h"

static struct daemon_fixture fix;

static void setup(void)
{
	daemon_setup(&fix);
}

static void teardown(void)
{
	daemon_teardown(&fix);
}

/* All slots of a card in one frame: there is no list between 32 and 24. */
START_TEST(signals_end_it_cleanly)
{
	char *sock = test_path(fix.plugin_dir, "hami.com_vgpu.sock");
	uint64_t begin_us;

	fake_up();
	daemon_start(&fix, &fix.first, NULL, NULL);
	daemon_wait_for_list(&fix, 32, 32);
	process_signal(&fix.first, SIGHUP);
	process_signal(&fix.first, _i ? SIGINT : SIGTERM);
	begin_us = test_now_us();
	daemon_wait_for_end(&fix, &fix.first, 0);
	ck_assert_uint_lt(test_now_us() - begin_us, 4000000);
	ck_assert_int_lt(access(sock, F_OK), 0);
	ck_assert_ptr_nonnull(strstr(process_output(&fix.first), "signal HUP, ignoring"));
	free(sock);
}
END_TEST

START_TEST(second_instance_is_refused)
{
	char want[256];

	fake_up();
	daemon_start(&fix, &fix.first, NULL, NULL);
	daemon_wait_for_list(&fix, 32, 32);
	daemon_start(&fix, &fix.second, NULL, NULL);
	daemon_wait_for_end(&fix, &fix.second, 1);
	(void)snprintf(want, sizeof(want),
		       "hami.com/vgpu: another hami-dp serves it: pid %d has the lock on "
		       "%s/hami.com_vgpu.lock\n",
		       (int)fix.first.pid, fix.run_dir);
	ck_assert_str_eq(process_output(&fix.second), want);
	daemon_wait_for_list(&fix, 32, 32);
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
		fixture_write_machine(&fix.node, daemon_four_cards, 0);
	daemon_start(&fix, &fix.first, cases[_i].flag, "--fail-on-init-error=true");
	daemon_wait_for_end(&fix, &fix.first, cases[_i].status);
	ck_assert_msg(strstr(process_output(&fix.first), cases[_i].words) != NULL, "%s",
		      fix.first.text);
	ck_assert_msg(process_count_lines(&fix.first) == 1, "%s", fix.first.text);
}
END_TEST

START_TEST(list_that_is_too_long_is_a_configuration_error)
{
	static char uuids[80][128];
	struct fixture_card cards[80];

	for (size_t i = 0; i < ARRAY_SIZE(cards); i++) {
		memset(uuids[i], 'x', 100);
		(void)snprintf(uuids[i] + 100, 20, "-%zu", i);
		cards[i] = (struct fixture_card){ uuids[i], NULL, 81920, 0, NULL };
	}
	fixture_write_machine(&fix.node, cards, ARRAY_SIZE(cards));
	daemon_start(&fix, &fix.first, "--cores-per-device=1024", "--v=1");
	daemon_wait_for_end(&fix, &fix.first, 2);
	ck_assert_ptr_nonnull(strstr(process_output(&fix.first), "accepted: at most 4194304"));
	ck_assert_uint_eq(process_count_lines(&fix.first), 1);
	ck_assert_uint_eq(test_n_entries(fix.plugin_dir), 0);
}
END_TEST

START_TEST(without_a_card_it_stays_and_serves_later)
{
	fixture_write_machine(&fix.node, daemon_four_cards, 0);
	fake_up();
	daemon_start(&fix, &fix.first, "--fail-on-init-error=false", NULL);
	daemon_wait_for_words(&fix, "no HAMI GPU found");
	ck_assert_uint_eq(fake.n_registers, 0);
	fixture_write_machine(&fix.node, daemon_four_cards, 4);
	daemon_wait_for_list(&fix, 32, 32);
	ck_assert_uint_eq(fake.n_registers, 1);
}
END_TEST

/* Allowed, but each without the other is not worth a word. */
START_TEST(spread_with_placeable_is_warned_of_once)
{
	static const struct {
		const char *placement, *publish;
		bool warns;
	} cases[] = {
		{ "--placement=spread", "--publish=placeable", true },
		{ "--placement=spread", "--publish=all", false },
		{ "--placement=pack", "--publish=placeable", false },
	};
	static const char words[] = "--placement: 'spread' with --publish: 'placeable': ";
	const char *found;

	fake_up();
	daemon_start(&fix, &fix.first, cases[_i].placement, cases[_i].publish);
	daemon_wait_for_list(&fix, 32, 32);
	found = strstr(process_output(&fix.first), words);
	ck_assert_msg((found != NULL) == cases[_i].warns, "%s", fix.first.text);
	if (found)
		ck_assert_msg(!strstr(found + 1, words), "%s", fix.first.text);
}
END_TEST

/* The article's mounts: no run directory, no state directory, nothing but the plugin directory. */
START_TEST(three_mounts_are_enough)
{
	fake_up();
	daemon_start(&fix, &fix.first, "--run-dir=/proc/none/run", "--state-dir=/proc/none/state");
	daemon_wait_for_list(&fix, 32, 32);
	ck_assert_ptr_nonnull(strstr(process_output(&fix.first), "/proc/none/run: cannot"));
	/* kubelet.sock and ours: no lock, no state */
	ck_assert_uint_eq(test_n_entries(fix.plugin_dir), 2);
}
END_TEST

struct datagram {
	int fd;
	const char *text;
};

static bool has_datagram(void *userdata)
{
	const struct datagram *want = userdata;
	char buf[512];
	ssize_t n;

	while ((n = recv(want->fd, buf, sizeof(buf) - 1, MSG_DONTWAIT)) > 0) {
		buf[n] = '\0';
		if (strstr(buf, want->text))
			return true;
	}
	return false;
}

static void wait_for_datagram(int fd, const char *text)
{
	struct datagram want = { fd, text };

	ck_assert_msg(test_run_until(fix.event, has_datagram, &want, WAIT_MS), "no %s", text);
}

/* Ready once somebody could connect, alive while it runs, stopping when it ends. */
START_TEST(service_manager_is_told)
{
	char *path = test_path(fix.node.dir, "notify"), env[160];
	const char *const flags[] = { fix.flag_dir, fix.flag_run, fix.flag_state, fix.flag_driver,
				      NULL };
	const char *const envs[] = { fix.env_config, env, "WATCHDOG_USEC=200000", NULL };
	int fd = test_bind(path, SOCK_DGRAM, false);

	ck_assert_int_ge(fd, 0);
	(void)snprintf(env, sizeof(env), "NOTIFY_SOCKET=%s", path);
	fake_up();
	process_start(&fix.first, fix.node.dir, flags, envs);
	wait_for_datagram(fd, "READY=1");
	wait_for_datagram(fd, "1 of 1 resources registered");
	wait_for_datagram(fd, "WATCHDOG=1");
	process_signal(&fix.first, SIGTERM);
	wait_for_datagram(fd, "STOPPING=1");
	daemon_wait_for_end(&fix, &fix.first, 0);
	close(fd);
	free(path);
}
END_TEST

START_TEST(dry_run_prints_and_ends)
{
	daemon_start(&fix, &fix.first, "--dry-run", NULL);
	daemon_wait_for_end(&fix, &fix.first, 0);
	ck_assert_ptr_nonnull(strstr(process_output(&fix.first), "hami.com/vgpu: 32\n"));
	ck_assert_ptr_nonnull(strstr(fix.first.text, "\nGPU-d::7 "));
	ck_assert_uint_eq(test_n_entries(fix.plugin_dir), 0);
	ck_assert_int_lt(access(fix.run_dir, F_OK), 0);
}
END_TEST

START_TEST(no_access_to_dev_is_said)
{
	char sysroot[160], want[160];

	(void)snprintf(sysroot, sizeof(sysroot), "--sysroot=%s", fix.node.dir);
	(void)snprintf(want, sizeof(want), "%s/dev: no access to device nodes: ", fix.node.dir);
	daemon_start(&fix, &fix.first, sysroot, NULL);
	daemon_wait_for_words(&fix, want);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("start");
	TCase *tcase = tcase_create("start");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, signals_end_it_cleanly, 0, 2);
	tcase_add_test(tcase, second_instance_is_refused);
	tcase_add_loop_test(tcase, init_error_is_one_line, 0, 6);
	tcase_add_test(tcase, list_that_is_too_long_is_a_configuration_error);
	tcase_add_test(tcase, without_a_card_it_stays_and_serves_later);
	tcase_add_loop_test(tcase, spread_with_placeable_is_warned_of_once, 0, 3);
	tcase_add_test(tcase, three_mounts_are_enough);
	tcase_add_test(tcase, service_manager_is_told);
	tcase_add_test(tcase, dry_run_prints_and_ends);
	tcase_add_test(tcase, no_access_to_dev_is_said);
	suite_add_tcase(suite, tcase);
	return test_main(suite);
}
