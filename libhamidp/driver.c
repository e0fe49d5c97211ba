/* SPDX-License-Identifier: Apache-2.0 */

/* Owns the table of drivers and the choice among them. Knows nothing of what they do. */

#include <errno.h>
#include <string.h>

#include "driver-host.h"

const struct hdp_driver *const hdp_drivers[] = { &hdp_driver_hamivgpu, &hdp_driver_sim, NULL };

static const struct hdp_driver *find_driver(const struct hdp_driver *const *table, const char *spec)
{
	size_t len = strcspn(spec, ":");

	for (; *table; table++)
		if (strlen((*table)->name) == len && strncmp((*table)->name, spec, len) == 0)
			return *table;
	return NULL;
}

static bool is_auto(const char *spec)
{
	return strcmp(spec, "auto") == 0;
}

static int check_spec(const struct hdp_driver *const *table, const char *spec,
		      struct hamidp_reason *reason)
{
	char names[256] = "auto";
	size_t used = strlen(names);

	if (strlen(spec) > HDP_STRING_MAX)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"driver: %zu bytes, at most %u are accepted", strlen(spec),
				HDP_STRING_MAX);
	if (is_auto(spec) || find_driver(table, spec))
		return 0;
	for (; *table && used + strlen((*table)->name) + 3 < sizeof(names); table++) {
		memcpy(names + used, ", ", 2);
		memcpy(names + used + 2, (*table)->name, strlen((*table)->name) + 1);
		used += 2 + strlen((*table)->name);
	}
	return hdp_fail(reason, -ENOENT, HAMIDP_REASON_BAD_ARGUMENT,
			"driver '%s' is not known, accepted: %s", spec, names);
}

/* Absolute, without trailing '/'; "" is the root itself. */
static int dup_root(const char *what, const char *path, char **ret, struct hamidp_reason *reason)
{
	size_t len = strlen(path);
	char *copy;

	if (path[0] != '/' || len > HDP_STRING_MAX)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"%s '%.256s' must be an absolute path of at most %u bytes", what,
				path, HDP_STRING_MAX);
	while (len > 0 && path[len - 1] == '/')
		len--;
	copy = strndup(path, len);
	if (!copy)
		return hdp_oom(reason);
	*ret = copy;
	return 0;
}

static int host_fill(struct hdp_driver_host *host, const struct hamidp_node_options *opts,
		     struct hamidp_reason *reason)
{
	const char *colon;
	int r;

	host->spec = strdup(opts->driver ? opts->driver : "auto");
	if (!host->spec)
		return hdp_oom(reason);
	r = check_spec(host->table, host->spec, reason);
	if (r < 0)
		return r;
	r = dup_root("sysroot", opts->sysroot ? opts->sysroot : "/", &host->sysroot, reason);
	if (r < 0)
		return r;
	if (opts->driver_root) {
		r = dup_root("driver root", opts->driver_root, &host->driver_root, reason);
		if (r < 0)
			return r;
	}
	colon = strchr(host->spec, ':');
	host->log = (struct hdp_log){ opts->log_fn, opts->log_userdata, opts->log_priority };
	host->env = (struct hdp_driver_env){
		.log = &host->log,
		.sysroot = host->sysroot,
		.driver_root = host->driver_root,
		.argument = colon ? colon + 1 : NULL,
		.named = !is_auto(host->spec),
		.watch = !(opts->flags & HAMIDP_NODE_NO_EVENTS),
	};
	return 0;
}

int hdp_driver_host_new(const struct hamidp_node_options *opts,
			const struct hdp_driver *const *table, struct hdp_driver_host **ret,
			struct hamidp_reason *reason)
{
	struct hdp_driver_host *host = calloc(1, sizeof(*host));
	int r;

	if (!host)
		return hdp_oom(reason);
	host->table = table;
	r = host_fill(host, opts, reason);
	if (r < 0) {
		hdp_driver_host_free(host);
		return r;
	}
	*ret = host;
	return 0;
}

static int open_one(struct hdp_driver_host *host, const struct hdp_driver *driver,
		    struct hamidp_reason *reason)
{
	int r = driver->open(&host->env, &host->priv, reason);

	if (r == 0)
		host->driver = driver;
	return r;
}

/* What "auto" passed over is worth a line if it was there and could not be used. */
static int open_auto(struct hdp_driver_host *host, struct hamidp_reason *reason)
{
	struct hamidp_reason first = { 0 };
	struct hamidp_reason why = { 0 };
	bool passed_over = false;
	int r;

	hdp_fail(&first, -ENODEV, HAMIDP_REASON_NO_DRIVER, "no driver is built in");
	for (size_t i = 0, n = 0; host->table[i]; i++) {
		if (!(host->table[i]->flags & HDP_DRIVER_AUTO))
			continue;
		r = open_one(host, host->table[i], &why);
		if (r == -ENOMEM)
			return hdp_oom(reason);
		if (r == 0) {
			if (passed_over)
				log_warning(&host->log, "%s, going on with driver '%s'", first.text,
					    host->driver->name);
			return 0;
		}
		/* The first one's words are what operators look for. */
		if (n++ == 0) {
			hdp_reason_copy(&first, &why);
			passed_over = r == -EOPNOTSUPP;
		}
	}
	hdp_reason_copy(reason, &first);
	return -ENODEV;
}

int hdp_driver_host_open(struct hdp_driver_host *host, struct hamidp_reason *reason)
{
	const struct hdp_driver *named;

	if (is_auto(host->spec))
		return open_auto(host, reason);
	named = find_driver(host->table, host->spec);
	if (!named)
		return hdp_fail(reason, -ENODEV, HAMIDP_REASON_NO_DRIVER,
				"driver '%.80s': not built in", host->spec);
	return open_one(host, named, reason);
}

void hdp_driver_host_free(void *arg)
{
	struct hdp_driver_host *host = arg;

	if (!host)
		return;
	if (host->driver)
		host->driver->close(host->priv);
	free(host->spec);
	free(host->sysroot);
	free(host->driver_root);
	free(host);
}
