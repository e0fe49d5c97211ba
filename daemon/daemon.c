/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wiring. Start: guards, node (driver, inventory, layout), first list, listen, register. End, by
 * signal: the same backwards, bounded by rpc_stop().
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <hami/hamidp.h>

#include "complaint.h"
#include "config.h"
#include "daemon.h"
#include "dry-run.h"
#include "instance.h"
#include "log.h"
#include "macro.h"
#include "node-loop.h"
#include "node-open.h"
#include "notify.h"
#include "options.h"
#include "resource.h"

struct daemon {
	const struct options *opts;
	sd_event *event;
	struct hamidp_node *node;
	struct node_loop *loop;
	struct rpc *rpc;
	struct hamidp_reason *reason;
	size_t n_resources;
	struct instance **instances;
	struct resource **resources;
};

static size_t n_names(const struct options *opts)
{
	return opts->config && opts->config->n_resources ? opts->config->n_resources : 1;
}

static const char *name_of(const struct options *opts, size_t i)
{
	if (opts->config && opts->config->n_resources)
		return opts->config->resources[i].name;
	return options_text(opts, OPTION_RESOURCE_NAME);
}

/* For "systemctl status". */
static void tell_status(const struct daemon *d)
{
	size_t n_slots = 0, n_healthy = 0, n_registered = 0;

	for (size_t i = 0; i < d->n_resources; i++) {
		n_slots += resource_n_slots(d->resources[i]);
		n_healthy += resource_n_healthy(d->resources[i]);
		n_registered += resource_is_registered(d->resources[i]);
	}
	if (hamidp_node_state(d->node, d->reason) < 0)
		notify_status("%s; looking again", hamidp_reason_text(d->reason));
	else
		notify_status("%zu slots, %zu healthy; %zu of %zu resources registered", n_slots,
			      n_healthy, n_registered, d->n_resources);
}

static void on_resource_state(enum endpoint_state state, void *userdata)
{
	struct daemon *d = userdata;

	if (state == ENDPOINT_FAILED)
		(void)sd_event_exit(d->event, DAEMON_FAILED);
	tell_status(d);
}

/*
 * A resource that is offered goes on with its old list where the new one cannot be sent; one that
 * cannot even start is a reason to end, and a list that is too long is the configuration's fault.
 */
static enum daemon_exit update_resources(struct daemon *d, enum node_change change)
{
	enum daemon_exit exit_status = DAEMON_OK;

	for (size_t i = 0; i < d->n_resources; i++) {
		struct complaint complaint = { "" };
		int r = resource_update(d->resources[i], change, &complaint);

		if (r < 0 && complaint.text[0])
			log_err("%s", complaint.text);
		if (r < 0 && !resource_is_started(d->resources[i]))
			exit_status = r == -EMSGSIZE ? DAEMON_USAGE : DAEMON_FAILED;
	}
	return exit_status;
}

static void on_change(enum node_change change, void *userdata)
{
	struct daemon *d = userdata;
	enum daemon_exit exit_status;

	if (change == NODE_CHANGE_LAYOUT)
		node_log_layout(hamidp_node_layout(d->node));
	exit_status = update_resources(d, change);
	if (exit_status != DAEMON_OK)
		(void)sd_event_exit(d->event, exit_status);
	if (change != NODE_CHANGE_GRANTS)
		tell_status(d);
}

static int on_end_signal(sd_event_source *source, const struct signalfd_siginfo *info,
			 void *userdata)
{
	struct daemon *d = userdata;

	log_info("signal %s, ending", sigabbrev_np((int)info->ssi_signo));
	return sd_event_exit(d->event, DAEMON_OK);
}

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	log_info("signal HUP, ignoring: restart to read the configuration anew");
	return 0;
}

/* Before any thread starts, so that all of them inherit the mask. */
static int block_signals(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigaction(SIGPIPE, &ignore, NULL) < 0 || sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	return 0;
}

static int open_loop(struct daemon *d)
{
	int r;

	r = sd_event_new(&d->event);
	if (r >= 0)
		r = sd_event_add_signal(d->event, NULL, SIGTERM, on_end_signal, d);
	if (r >= 0)
		r = sd_event_add_signal(d->event, NULL, SIGINT, on_end_signal, d);
	if (r >= 0)
		r = sd_event_add_signal(d->event, NULL, SIGHUP, on_hangup, d);
	if (r >= 0)
		r = notify_watchdog(d->event);
	if (r >= 0)
		r = node_loop_new(d->event, d->node, on_change, d, &d->loop);
	if (r < 0)
		log_err("cannot set up the event loop: %s", strerror(-r));
	return r < 0 ? r : 0;
}

static int open_rpc(struct daemon *d)
{
	int r;

	r = rpc_new(d->event, &d->rpc);
	if (r == -EAGAIN)
		log_err("cannot start gRPC: this process may not have enough threads (up to 38): "
			"raise its pids limit (TasksMax=, ulimit -u)");
	else if (r < 0)
		log_err("cannot start gRPC: %s", strerror(-r));
	return r;
}

static enum daemon_exit take_guards(struct daemon *d)
{
	struct complaint complaint = { "" };

	d->instances = calloc(d->n_resources, sizeof(struct instance *));
	d->resources = calloc(d->n_resources, sizeof(struct resource *));
	if (!d->instances || !d->resources || hamidp_reason_new(&d->reason) < 0) {
		log_err("out of memory");
		return DAEMON_FAILED;
	}
	for (size_t i = 0; i < d->n_resources; i++) {
		int r = instance_new(options_text(d->opts, OPTION_RUN_DIR),
				     options_text(d->opts, OPTION_DEVICE_PLUGIN_DIR),
				     name_of(d->opts, i), &d->instances[i], &complaint);

		if (r < 0) {
			log_err("%s", complaint.text);
			return DAEMON_FAILED;
		}
	}
	return DAEMON_OK;
}

/* A driver may fail in other words for this, and containers get nodes that we never opened. */
static void check_dev(const struct daemon *d)
{
	const char *sysroot = options_text(d->opts, OPTION_SYSROOT);
	dp_cleanup_free char *path = NULL;

	if (asprintf(&path, "%s/dev", strcmp(sysroot, "/") != 0 ? sysroot : "") < 0)
		path = NULL;
	else if (access(path, R_OK | X_OK) < 0)
		log_warning("%s: no access to device nodes: %m; run as root, with it mounted",
			    path);
}

/* Is there something to serve? Otherwise one line, and the end if so configured. */
static enum daemon_exit check_node(struct daemon *d)
{
	bool must = options_bool(d->opts, OPTION_FAIL_ON_INIT_ERROR);
	int r;

	r = hamidp_node_state(d->node, d->reason);
	if (r < 0 && must) {
		log_err("%s", hamidp_reason_text(d->reason));
		return r == -EINVAL ? DAEMON_USAGE : DAEMON_FAILED;
	}
	if (r < 0)
		log_warning("%s, looking again", hamidp_reason_text(d->reason));
	node_log_layout(hamidp_node_layout(d->node));
	if (r == 0 && must && !hamidp_layout_n_slots(hamidp_node_layout(d->node))) {
		log_err("no GPU can be cut as configured; see the warnings above");
		return DAEMON_FAILED;
	}
	return DAEMON_OK;
}

static enum daemon_exit open_resources(struct daemon *d)
{
	for (size_t i = 0; i < d->n_resources; i++) {
		int r = resource_new(name_of(d->opts, i), d->opts, d->node, d->rpc, d->event,
				     on_resource_state, d, &d->resources[i]);

		if (r < 0) {
			log_err("%s: cannot be set up: %s", name_of(d->opts, i), strerror(-r));
			return DAEMON_FAILED;
		}
	}
	return update_resources(d, NODE_CHANGE_LAYOUT);
}

static enum daemon_exit start(struct daemon *d)
{
	enum daemon_exit exit_status;

	exit_status = take_guards(d);
	if (exit_status == DAEMON_OK) {
		check_dev(d);
		exit_status = node_open(d->opts, &d->node);
	}
	if (exit_status == DAEMON_OK)
		exit_status = check_node(d);
	if (exit_status == DAEMON_OK && (open_loop(d) < 0 || open_rpc(d) < 0))
		exit_status = DAEMON_FAILED;
	if (exit_status == DAEMON_OK)
		exit_status = open_resources(d);
	return exit_status;
}

/* False: gRPC still holds something, and its threads would meet our exit handlers. */
static bool stop(struct daemon *d)
{
	bool clean = true;

	notify_stopping();
	for (size_t i = 0; d->resources && i < d->n_resources; i++)
		if (d->resources[i])
			resource_stop(d->resources[i]);
	if (d->rpc && rpc_stop(d->rpc) < 0) {
		log_warning("calls did not end in time, leaving them behind");
		clean = false;
	}
	for (size_t i = 0; d->resources && i < d->n_resources; i++)
		resource_free(d->resources[i]);
	rpc_free(d->rpc);
	node_loop_free(d->loop);
	hamidp_node_close(d->node);
	for (size_t i = 0; d->instances && i < d->n_resources; i++)
		instance_free(d->instances[i]);
	hamidp_reason_free(d->reason);
	free(d->resources);
	free(d->instances);
	sd_event_unref(d->event);
	return clean;
}

static void check_node_name(const struct options *opts)
{
	if (opts->config && opts->config->n_nodes && !opts->node_name[0])
		log_warning("%s: 'nodes' is set, but the variable NODE_NAME is not; only a pattern "
			    "that matches an empty name is taken",
			    opts->config->file);
}

/* Each does what it says; together they are hardly what anybody means. */
static void check_publish(const struct options *opts)
{
	if (options_number(opts, OPTION_PLACEMENT) != OPTION_PLACEMENT_SPREAD ||
	    options_number(opts, OPTION_PUBLISH) != OPTION_PUBLISH_PLACEABLE)
		return;
	log_warning("%s: 'spread' with %s: 'placeable': only the largest even spread over GPUs is "
		    "published, and what one GPU has room for is spread too; 'all' is meant for "
		    "'spread'",
		    opts->values[OPTION_PLACEMENT].where, opts->values[OPTION_PUBLISH].where);
}

enum daemon_exit daemon_run(const struct options *opts)
{
	struct daemon d = { .opts = opts, .n_resources = n_names(opts) };
	enum daemon_exit exit_status;
	int r;

	check_node_name(opts);
	check_publish(opts);
	r = block_signals();
	if (r < 0) {
		log_err("cannot block signals: %s", strerror(-r));
		return DAEMON_FAILED;
	}
	exit_status = start(&d);
	if (exit_status == DAEMON_OK) {
		notify_ready();
		tell_status(&d);
		r = sd_event_loop(d.event);
		if (r < 0)
			log_err("the event loop failed: %s", strerror(-r));
		exit_status = r < 0 ? DAEMON_FAILED : (enum daemon_exit)r;
	}
	if (!stop(&d))
		_exit((int)exit_status);
	return exit_status;
}

enum daemon_exit daemon_dry_run(const struct options *opts)
{
	struct hamidp_node *node = NULL;
	struct hamidp_reason *reason = NULL;
	enum daemon_exit exit_status;
	int r;

	check_publish(opts);
	exit_status = node_open(opts, &node);
	if (exit_status != DAEMON_OK)
		return exit_status;
	if (hamidp_reason_new(&reason) < 0) {
		hamidp_node_close(node);
		log_err("out of memory");
		return DAEMON_FAILED;
	}
	r = hamidp_node_state(node, reason);
	if (r < 0)
		log_err("%s", hamidp_reason_text(reason));
	else
		dry_run_print(hamidp_node_layout(node), stdout);
	hamidp_reason_free(reason);
	hamidp_node_close(node);
	if (r == -EINVAL)
		return DAEMON_USAGE;
	return r < 0 || fflush(stdout) != 0 ? DAEMON_FAILED : DAEMON_OK;
}
