/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Simulated driver: owns a machine that a bundled text or a watched file describes, and the faults
 * that the file's script tells it to have. The file is read on the node's thread only; calls that
 * hang wait for the next text, or for cancel().
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "driver-sim.h"

static bool hangs(const struct hdp_sim *sim, const char *uuid)
{
	if (sim->rc == -ENODEV)
		return false;
	if (sim->script.state == HDP_SIM_HANG)
		return true;
	for (size_t i = 0; uuid && i < sim->script.n_hang; i++)
		if (strcmp(sim->script.hang[i], uuid) == 0)
			return true;
	return false;
}

int hdp_sim_wait_answer(struct hdp_sim *sim, const char *uuid, struct hamidp_reason *reason)
{
	if (hangs(sim, uuid) && !sim->env->watch) /* nothing would ever end the wait */
		return hdp_fail(reason, -ETIMEDOUT, HAMIDP_REASON_DRIVER_FAILED,
				"simulated machine '%s' does not answer", sim->env->argument);
	while (hangs(sim, uuid) && !sim->cancelled)
		pthread_cond_wait(&sim->woken, &sim->lock);
	if (sim->cancelled)
		return hdp_fail(reason, -EIO, HAMIDP_REASON_DRIVER_FAILED,
				"simulated driver is being closed");
	return 0;
}

static int read_all(int fd, char **ret, size_t *ret_len)
{
	hdp_cleanup_free char *text = NULL;
	size_t cap = 0, len = 0;

	for (;;) {
		ssize_t n;

		if (len == cap) {
			char *grown;

			cap = cap ? cap * 2 : 16384;
			grown = realloc(text, cap);
			if (!grown)
				return -ENOMEM;
			text = grown;
		}
		n = read(fd, text + len, cap - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -EIO;
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > HDP_JSON_MAX)
			return -EFBIG;
	}
	*ret = take_ptr(text);
	*ret_len = len;
	return 0;
}

static int read_machine(const char *path, char **ret, size_t *ret_len, struct hamidp_reason *reason)
{
	/* Not blocking: the path may be a FIFO. */
	hdp_cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int r;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return hdp_fail(reason, -ENODEV, HAMIDP_REASON_NO_DRIVER,
				"driver not loaded: no simulated machine at '%s'", path);
	if (fd < 0)
		return hdp_fail(reason, -EIO,
				errno == EACCES ? HAMIDP_REASON_DENIED
						: HAMIDP_REASON_DRIVER_FAILED,
				"cannot open simulated machine '%s': %m", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return hdp_fail(reason, -EPROTO, HAMIDP_REASON_BAD_INPUT,
				"simulated machine '%s' is no regular file", path);
	r = read_all(fd, ret, ret_len);
	if (r == -EFBIG)
		return hdp_fail(reason, -EPROTO, HAMIDP_REASON_BAD_INPUT,
				"simulated machine '%s' is larger than the %u bytes accepted", path,
				HDP_JSON_MAX);
	if (r == -ENOMEM)
		return hdp_oom(reason);
	if (r < 0)
		return hdp_fail(reason, r, HAMIDP_REASON_DRIVER_FAILED,
				"cannot read simulated machine '%s'", path);
	return 0;
}

static int by_seq(const void *a, const void *b)
{
	const struct hdp_sim_event *x = a, *y = b;

	return (x->seq > y->seq) - (x->seq < y->seq);
}

static void events_done(struct hdp_sim *sim)
{
	for (size_t i = 0; i < sim->n_events; i++)
		free(sim->events[i].uuid);
	free(sim->events);
	sim->events = NULL;
	sim->n_events = 0;
	sim->next_event = 0;
}

/* Events of @script that did not fire yet, behind those that wait. Takes their strings over. */
static int queue_events(struct hdp_sim *sim, struct hdp_sim_script *script)
{
	size_t waiting = sim->n_events - sim->next_event;
	struct hdp_sim_event *events = calloc(waiting + script->n_events + 1, sizeof(*events));
	uint64_t last_seq = sim->last_seq;
	size_t n = 0;

	if (!events)
		return -ENOMEM;
	for (; n < waiting; n++) {
		events[n] = sim->events[sim->next_event + n];
		sim->events[sim->next_event + n].uuid = NULL;
	}
	if (script->n_events)
		qsort(script->events, script->n_events, sizeof(*script->events), by_seq);
	for (size_t i = 0; i < script->n_events; i++) {
		if (script->events[i].seq <= sim->last_seq)
			continue;
		last_seq = script->events[i].seq;
		events[n++] = script->events[i];
		script->events[i].uuid = NULL;
	}
	events_done(sim);
	sim->events = events;
	sim->n_events = n;
	sim->last_seq = last_seq;
	return 0;
}

/* With the lock held: a text that parsed takes the place of the last one. */
static int install(struct hdp_sim *sim, char *text, size_t len, struct hamidp_reason *reason)
{
	struct hdp_machine machine = { 0 };
	struct hdp_sim_script script = { 0 };
	struct hamidp_reason why = { 0 };
	int r;

	r = hdp_machine_parse(text, len, &machine, &script, &why);
	if (r == -ENOMEM)
		return hdp_oom(reason);
	if (r < 0)
		return hdp_fail(reason, -EPROTO, HAMIDP_REASON_BAD_INPUT,
				"simulated machine '%s': %s", sim->env->argument, why.text);
	r = queue_events(sim, &script);
	if (r < 0) {
		hdp_machine_done(&machine);
		hdp_sim_script_done(&script);
		return hdp_oom(reason);
	}
	hdp_machine_done(&sim->machine);
	hdp_sim_script_done(&sim->script);
	free(sim->text);
	sim->text = text;
	sim->len = len;
	sim->machine = machine;
	sim->script = script;
	if (script.state == HDP_SIM_HANG || script.n_hang)
		sim->may_block = true;
	return 0;
}

/* A link whose target is not: the watch sees nothing of that one. */
static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* Look at the file. Its trouble is not returned: enumerate() tells it. */
static void load(struct hdp_sim *sim)
{
	hdp_cleanup_free char *text = NULL;
	struct hamidp_reason why = { 0 };
	size_t len = 0;
	int r;

	r = read_machine(sim->path, &text, &len, &why);
	pthread_mutex_lock(&sim->lock);
	if (r == 0 && sim->rc == 0 && sim->text && len == sim->len &&
	    memcmp(text, sim->text, len) == 0) {
		pthread_mutex_unlock(&sim->lock);
		return;
	}
	if (r == 0) {
		r = install(sim, text, len, &why);
		if (r == 0)
			text = NULL;
	}
	if (r == 0 || r == -ENOMEM || r != sim->rc || strcmp(why.text, sim->why.text) != 0)
		sim->changed = true;
	sim->rc = r;
	sim->why = why;
	sim->reload = r == -ENOMEM || r == -EIO || (r == -ENODEV && is_there(sim->path));
	pthread_cond_broadcast(&sim->woken);
	pthread_mutex_unlock(&sim->lock);
}

static bool is_file(const char *argument)
{
	size_t len = strlen(argument);

	return strchr(argument, '/') || (len > 5 && strcmp(argument + len - 5, ".json") == 0);
}

static int load_bundled(struct hdp_sim *sim, const char *name, struct hamidp_reason *reason)
{
	size_t len = 0;
	const char *text = hdp_bundled_text(name, &len);
	char *copy;
	int r;

	if (!text)
		return hdp_fail(reason, -ENOENT, HAMIDP_REASON_BAD_ARGUMENT,
				"no simulated machine '%s' is bundled (a file's name has a '/' or "
				"ends in .json)",
				name);
	copy = malloc(len + 1);
	if (!copy)
		return hdp_oom(reason);
	memcpy(copy, text, len);
	r = install(sim, copy, len, reason);
	if (r < 0)
		free(copy);
	return r;
}

static int load_file(struct hdp_sim *sim, const char *path, struct hamidp_reason *reason)
{
	int r;

	sim->path = strdup(path);
	if (!sim->path)
		return hdp_oom(reason);
	if (sim->env->watch) { /* before the first look, so that no change is missed */
		r = hdp_watch_new(path, &sim->watch);
		if (r == -ENOMEM)
			return hdp_oom(reason);
		if (r < 0)
			return hdp_fail(reason, r, HAMIDP_REASON_DRIVER_FAILED,
					"cannot watch simulated machine '%s'", path);
	}
	load(sim);
	sim->changed = false; /* the first look needs no announcement */
	return 0;
}

static void sim_close(void *priv)
{
	struct hdp_sim *sim = priv;

	hdp_sim_grants_done(sim);
	events_done(sim);
	hdp_watch_free(sim->watch);
	hdp_machine_done(&sim->machine);
	hdp_sim_script_done(&sim->script);
	pthread_cond_destroy(&sim->woken);
	pthread_mutex_destroy(&sim->lock);
	free(sim->text);
	free(sim->path);
	free(sim);
}

static int sim_open(const struct hdp_driver_env *env, void **ret_priv, struct hamidp_reason *reason)
{
	struct hdp_sim *sim;
	int r;

	if (!env->argument || !env->argument[0])
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"driver 'sim' names no machine, expected sim:NAME or sim:FILE");
	sim = calloc(1, sizeof(*sim));
	if (!sim)
		return hdp_oom(reason);
	sim->env = env;
	pthread_mutex_init(&sim->lock, NULL);
	pthread_cond_init(&sim->woken, NULL);
	r = is_file(env->argument) ? load_file(sim, env->argument, reason)
				   : load_bundled(sim, env->argument, reason);
	if (r < 0) {
		sim_close(sim);
		return r;
	}
	*ret_priv = sim;
	return 0;
}

static bool sim_may_block(void *priv)
{
	struct hdp_sim *sim = priv;
	bool may_block;

	pthread_mutex_lock(&sim->lock);
	may_block = sim->may_block;
	pthread_mutex_unlock(&sim->lock);
	return may_block;
}

static void sim_cancel(void *priv)
{
	struct hdp_sim *sim = priv;

	pthread_mutex_lock(&sim->lock);
	sim->cancelled = true;
	pthread_cond_broadcast(&sim->woken);
	pthread_mutex_unlock(&sim->lock);
}

static int sim_event_fd(void *priv)
{
	const struct hdp_sim *sim = priv;

	return sim->watch ? hdp_watch_fd(sim->watch) : -1;
}

static int sim_next_event(void *priv, struct hdp_driver_event *ret)
{
	struct hdp_sim *sim = priv;
	const struct hdp_sim_event *event;

	if (sim->watch && (hdp_watch_changed(sim->watch) || sim->reload))
		load(sim);
	if (sim->changed) { /* first, so that errors find their device */
		sim->changed = false;
		*ret = (struct hdp_driver_event){ .type = HDP_DRIVER_CHANGED };
		return 0;
	}
	if (sim->next_event == sim->n_events)
		return -EAGAIN;
	event = &sim->events[sim->next_event++];
	*ret = (struct hdp_driver_event){
		.type = HDP_DRIVER_ERROR,
		.scope = event->uuid && event->uuid[0] ? HDP_SCOPE_DEVICE : HDP_SCOPE_DRIVER,
		.code = event->code,
	};
	if (event->uuid)
		(void)strncat(ret->uuid, event->uuid, sizeof(ret->uuid) - 1);
	return 0;
}

/* Grants of the text are somebody else's: a live node's are those of its store. */
static void drop_grants(struct hdp_machine *machine)
{
	for (size_t i = 0; i < machine->n_grants; i++) {
		free(machine->grants[i].id);
		free(machine->grants[i].resource);
		hdp_strv_free(machine->grants[i].slots, machine->grants[i].n_slots);
	}
	free(machine->grants);
	machine->grants = NULL;
	machine->n_grants = 0;
	machine->cap_grants = 0;
}

static int check_loaded(const struct hdp_sim *sim, struct hamidp_reason *reason)
{
	if (sim->rc < 0) {
		hdp_reason_copy(reason, &sim->why);
		return sim->rc;
	}
	if (sim->script.state == HDP_SIM_NOT_LOADED)
		return hdp_fail(reason, -ENODEV, HAMIDP_REASON_NO_DRIVER,
				"driver not loaded: simulated machine '%s' says so",
				sim->env->argument);
	return 0;
}

static int enumerate_locked(struct hdp_sim *sim, struct hdp_machine *ret,
			    struct hamidp_reason *reason)
{
	int r = hdp_sim_wait_answer(sim, NULL, reason);

	if (r == 0)
		r = check_loaded(sim, reason);
	if (r < 0)
		return r;
	r = hdp_machine_parse(sim->text, sim->len, ret, NULL, reason);
	if (r == 0)
		drop_grants(ret);
	return r;
}

static int sim_enumerate(void *priv, uint64_t deadline_us, struct hdp_machine *ret,
			 struct hamidp_reason *reason)
{
	struct hdp_sim *sim = priv;
	int r;

	pthread_mutex_lock(&sim->lock);
	r = enumerate_locked(sim, ret, reason);
	pthread_mutex_unlock(&sim->lock);
	return r;
}

/* The file's links come with its devices. */
static int sim_topology(void *priv, uint64_t deadline_us, struct hdp_machine *machine,
			struct hamidp_reason *reason)
{
	return 0;
}

static int probe_locked(struct hdp_sim *sim, const char *uuid, struct hamidp_reason *reason)
{
	int r = hdp_sim_wait_answer(sim, uuid, reason);

	if (r == 0 && sim->rc != -EPROTO) /* a broken edit says nothing of the devices */
		r = check_loaded(sim, reason);
	if (r < 0)
		return r;
	for (size_t i = 0; i < sim->machine.n_devices; i++) {
		const struct hdp_device_info *device = &sim->machine.devices[i];

		if (strcmp(device->uuid, uuid) != 0)
			continue;
		if (device->health == HAMIDP_HEALTH_UNHEALTHY)
			return hdp_fail(reason, -EIO, HAMIDP_REASON_NOT_HEALTHY, "%s",
					device->health_cause ? device->health_cause
							     : "the machine says so");
		return 0;
	}
	return hdp_fail(reason, -ENODEV, HAMIDP_REASON_NO_DEVICE, "no such device");
}

static int sim_probe(void *priv, const char *uuid, uint64_t deadline_us,
		     struct hamidp_reason *reason)
{
	struct hdp_sim *sim = priv;
	int r;

	pthread_mutex_lock(&sim->lock);
	r = probe_locked(sim, uuid, reason);
	pthread_mutex_unlock(&sim->lock);
	return r;
}

/* A simulated card has no catalogue of errors: each takes it out until it was quiet for long. */
static enum hdp_fault_class sim_classify(void *priv, uint64_t code)
{
	return HDP_FAULT_RECOVER;
}

const struct hdp_driver hdp_driver_sim = {
	.name = "sim",
	.open = sim_open,
	.close = sim_close,
	.may_block = sim_may_block,
	.cancel = sim_cancel,
	.event_fd = sim_event_fd,
	.next_event = sim_next_event,
	.enumerate = sim_enumerate,
	.topology = sim_topology,
	.probe = sim_probe,
	.classify = sim_classify,
	.prepare = hdp_sim_prepare,
	.unprepare = hdp_sim_unprepare,
	.list = hdp_sim_list,
	.bind = hdp_sim_bind,
	.unbind = hdp_sim_unbind,
	.update = hdp_sim_update,
	.usage = hdp_sim_usage,
};
