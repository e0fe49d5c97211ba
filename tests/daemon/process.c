/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and watches the daemon for tests. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helper.h"
#include "process.h"

#define ARGS_MAX 24

void process_start(struct process *process, const char *dir, const char *const *flags,
		   const char *const *env)
{
	static char name[] = "hami-dp";
	const char *program = getenv("HAMI_DP");
	char *argv[ARGS_MAX + 2] = { name };
	char *envp[ARGS_MAX + 1] = { NULL };
	posix_spawn_file_actions_t actions;
	size_t n = 1, n_env = 0;

	ck_assert_msg(program != NULL, "HAMI_DP names the program");
	*process = (struct process){ 0 };
	(void)snprintf(process->output, sizeof(process->output), "%s/output-%u", dir,
		       test_n_entries(dir));
	for (size_t i = 0; flags[i] && n < ARGS_MAX; i++)
		argv[n++] = (char *)(uintptr_t)flags[i]; /* posix_spawn() writes to none of them */
	for (size_t i = 0; env && env[i] && n_env < ARGS_MAX; i++)
		envp[n_env++] = (char *)(uintptr_t)env[i];
	for (char **e = environ; *e && n_env < ARGS_MAX; e++)
		if (strstr(*e, "SAN_OPTIONS=")) /* the sanitizers' settings are for all of us */
			envp[n_env++] = *e;
	ck_assert_int_eq(posix_spawn_file_actions_init(&actions), 0);
	ck_assert_int_eq(posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, process->output,
							  O_WRONLY | O_CREAT | O_APPEND, 0600),
			 0);
	ck_assert_int_eq(posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO),
			 0);
	ck_assert_int_eq(posix_spawn(&process->pid, program, &actions, NULL, argv, envp), 0);
	(void)posix_spawn_file_actions_destroy(&actions);
}

bool process_has_ended(void *userdata)
{
	struct process *process = userdata;
	int status;

	if (!process->ended && waitpid(process->pid, &status, WNOHANG) == process->pid) {
		process->ended = true;
		process->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return process->ended;
}

void process_signal(struct process *process, int signal)
{
	if (!process->ended)
		ck_assert_int_eq(kill(process->pid, signal), 0);
}

const char *process_output(struct process *process)
{
	size_t len;
	char *text;

	free(process->text);
	process->text = NULL;
	text = (char *)test_read_file(process->output, &len);
	ck_assert_ptr_nonnull(text);
	process->text = strndup(text, len);
	ck_assert_ptr_nonnull(process->text);
	free(text);
	return process->text;
}

size_t process_count_lines(struct process *process)
{
	size_t n = 0;

	for (const char *p = process_output(process); (p = strchr(p, '\n')); p++)
		n++;
	return n;
}

void process_done(struct process *process)
{
	if (process->pid > 0 && !process_has_ended(process)) {
		(void)kill(process->pid, SIGKILL);
		(void)waitpid(process->pid, NULL, 0);
	}
	free(process->text);
	*process = (struct process){ 0 };
}
