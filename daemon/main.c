/* SPDX-License-Identifier: Apache-2.0 */
/* hami-dp: from arguments to an exit status. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <hami/hamidp.h>

#include "complaint.h"
#include "daemon.h"
#include "log.h"
#include "options-print.h"
#include "options.h"

static enum daemon_exit flush(void)
{
	return fflush(stdout) == 0 && !ferror(stdout) ? DAEMON_OK : DAEMON_FAILED;
}

static void set_up_log(const struct options *opts)
{
	log_set_verbosity(options_verbosity(opts));
	if (options_number(opts, OPTION_LOG_FORMAT) == OPTION_LOG_FORMAT_JSON)
		log_set_format(LOG_FORMAT_JSON);
}

static enum daemon_exit act(const struct options *opts)
{
	switch (opts->action) {
	case OPTIONS_HELP:
		options_print_help(stdout);
		return flush();
	case OPTIONS_VERSION:
		(void)printf("hami-dp %s, libhamidp %s\n", HAMIDP_VERSION, hamidp_version());
		return flush();
	case OPTIONS_PRINT_CONFIG:
		options_print_config(opts, stdout);
		return flush();
	case OPTIONS_DRY_RUN:
		set_up_log(opts);
		return daemon_dry_run(opts);
	case OPTIONS_RUN:
		set_up_log(opts);
		return daemon_run(opts);
	}
	return DAEMON_FAILED;
}

/*
 * Where one of 0 to 2 is closed, a socket or a lock would get its number, and log lines would go
 * there. Libraries open files before main(), so this comes before them.
 */
static void open_standard_fds(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			_exit(DAEMON_FAILED);
}

__attribute__((section(".preinit_array"),
	       used)) static void (*const preinit)(void) = open_standard_fds;

int main(int argc, char **argv)
{
	struct complaint complaint = { "" };
	struct options *opts = NULL;
	enum daemon_exit exit_status;
	int r;

	r = options_load(argc, argv, environ, &opts, &complaint);
	if (r < 0) {
		log_err("%s", complaint.text);
		return r == -ENOMEM ? DAEMON_FAILED : DAEMON_USAGE;
	}
	exit_status = act(opts);
	options_free(opts);
	return exit_status;
}
