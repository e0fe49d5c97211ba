/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inotify on the directory of a socket, and on the nearest parent that exists, for the day the
 * directory itself goes. The socket is pinned by an O_PATH fd: ext4 gives its inode number to the
 * next one at once, and two within a clock tick have the same ctime.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "kubelet-watch.h"
#include "log.h"
#include "macro.h"

#define GONE_MASK (IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
#define DIR_MASK (GONE_MASK | IN_CREATE | IN_MOVED_TO)
#define POLL_US UINT64_C(1000000)
#define SETTLE_MAX 8 /* rounds until the watched directories are the existing ones */

/* A watched directory. */
struct dir_watch {
	sd_event_source *source;
	uint32_t mask;
	dev_t dev;
	ino_t ino;
};

struct kubelet_watch {
	sd_event *event;
	char *path;
	char *dir;
	const char *name; /* in @path */
	kubelet_watch_fn fn;
	void *userdata;
	struct dir_watch own, parent;
	sd_event_source *poll; /* while inotify does not work */
	struct kubelet_identity identity;
	uint64_t last_generation;
	int pin_fd;
};

static int on_event(sd_event_source *source, const struct inotify_event *event, void *userdata);

static void dir_watch_drop(struct dir_watch *d)
{
	d->source = sd_event_source_disable_unref(d->source);
}

/* Watch @path unless that is what is watched. Return: 1 changed, 0 as it was, or an error. */
static int dir_watch_set(struct kubelet_watch *w, struct dir_watch *d, const char *path,
			 uint32_t mask)
{
	struct stat st;
	int r;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)) {
		r = d->source ? 1 : 0;
		dir_watch_drop(d);
		return r;
	}
	if (d->source && d->mask == mask && d->dev == st.st_dev && d->ino == st.st_ino)
		return 0;
	dir_watch_drop(d);
	r = sd_event_add_inotify(w->event, &d->source, path, mask, on_event, w);
	if (r == -ENOENT || r == -ENOTDIR)
		return 1; /* gone meanwhile: look again */
	if (r < 0)
		return r;
	d->mask = mask;
	d->dev = st.st_dev;
	d->ino = st.st_ino;
	return 1;
}

/* The nearest parent of @dir that is a directory, into a buffer as large as @dir and one more. */
static void find_parent(const char *dir, char *ret)
{
	struct stat st;
	char *slash;

	memcpy(ret, dir, strlen(dir) + 1);
	while ((slash = strrchr(ret, '/'))) {
		slash[slash == ret] = '\0';
		if (stat(ret, &st) == 0 && S_ISDIR(st.st_mode))
			return;
		if (slash == ret)
			return;
	}
}

static int watch_dirs(struct kubelet_watch *w)
{
	dp_cleanup_free char *parent = malloc(strlen(w->dir) + 2);

	if (!parent)
		return -ENOMEM;
	for (int i = 0; i < SETTLE_MAX; i++) {
		int r, r2;

		r = dir_watch_set(w, &w->own, w->dir, DIR_MASK);
		if (r < 0)
			return r;
		find_parent(w->dir, parent);
		/*
		 * While the directory exists, only for its end: the directory itself tells of that
		 * too, but not while somebody has it open.
		 */
		r2 = dir_watch_set(w, &w->parent, parent, w->own.source ? GONE_MASK : DIR_MASK);
		if (r2 < 0)
			return r2;
		if (!r && !r2)
			return 0;
	}
	return 0;
}

static uint64_t ctime_of(const struct stat *st)
{
	return (uint64_t)st->st_ctim.tv_sec * 1000000000 + (uint64_t)st->st_ctim.tv_nsec;
}

static bool is_same(const struct kubelet_watch *w, const struct stat *st)
{
	const struct kubelet_identity *id = &w->identity;

	return id->present && id->dev == st->st_dev && id->ino == st->st_ino &&
	       (w->pin_fd >= 0 || id->ctime_ns == ctime_of(st));
}

/* Look at the path. Return: whether it names another socket than before. */
static bool look(struct kubelet_watch *w)
{
	struct stat st, pinned;

	if (lstat(w->path, &st) < 0 || !S_ISSOCK(st.st_mode)) {
		if (!w->identity.present)
			return false;
		w->pin_fd = dp_close(w->pin_fd);
		w->identity = (struct kubelet_identity){ 0 };
		return true;
	}
	if (is_same(w, &st))
		return false;
	w->pin_fd = dp_close(w->pin_fd);
	w->pin_fd = open(w->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (w->pin_fd >= 0 && fstat(w->pin_fd, &pinned) == 0)
		st = pinned;
	w->identity = (struct kubelet_identity){
		.present = true,
		.generation = ++w->last_generation,
		.dev = st.st_dev,
		.ino = st.st_ino,
		.ctime_ns = ctime_of(&st),
	};
	return true;
}

static int on_poll(sd_event_source *source, uint64_t usec, void *userdata);

static void watch_or_poll(struct kubelet_watch *w)
{
	int r = watch_dirs(w);

	if (r >= 0) {
		w->poll = sd_event_source_disable_unref(w->poll);
		return;
	}
	if (w->poll) {
		(void)sd_event_source_set_time_relative(w->poll, POLL_US);
		(void)sd_event_source_set_enabled(w->poll, SD_EVENT_ONESHOT);
		return;
	}
	log_warning("%s: cannot watch: %s, looking every second", w->dir, strerror(-r));
	r = sd_event_add_time_relative(w->event, &w->poll, CLOCK_MONOTONIC, POLL_US, 0, on_poll, w);
	if (r < 0)
		log_err("%s: cannot look every second either: %s", w->dir, strerror(-r));
}

static void review(struct kubelet_watch *w)
{
	watch_or_poll(w);
	if (look(w))
		w->fn(&w->identity, w->userdata);
}

static int on_poll(sd_event_source *source, uint64_t usec, void *userdata)
{
	review(userdata);
	return 0;
}

/* Without our directory, any new one may lead to it. */
static bool concerns(const struct kubelet_watch *w, const struct dir_watch *d, const char *name)
{
	const char *slash = strrchr(w->dir, '/');

	if (d == &w->own)
		return strcmp(name, w->name) == 0;
	return !w->own.source || strcmp(name, slash + 1) == 0;
}

static int on_event(sd_event_source *source, const struct inotify_event *event, void *userdata)
{
	struct kubelet_watch *w = userdata;
	struct dir_watch *d = source == w->own.source ? &w->own : &w->parent;

	if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT))
		dir_watch_drop(d);
	else if (event->len && !concerns(w, d, event->name))
		return 0;
	review(w);
	return 0;
}

int kubelet_watch_new(sd_event *event, const char *path, kubelet_watch_fn fn, void *userdata,
		      struct kubelet_watch **ret)
{
	const char *slash = strrchr(path, '/');
	struct kubelet_watch *w;

	if (path[0] != '/' || !slash[1])
		return -EINVAL;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->pin_fd = -1;
	w->path = strdup(path);
	w->dir = strndup(path, slash == path ? 1 : (size_t)(slash - path));
	if (!w->path || !w->dir) {
		(void)kubelet_watch_free(w);
		return -ENOMEM;
	}
	w->event = sd_event_ref(event);
	w->name = w->path + (slash - path) + 1;
	w->fn = fn;
	w->userdata = userdata;
	watch_or_poll(w);
	(void)look(w);
	*ret = w;
	return 0;
}

const struct kubelet_identity *kubelet_watch_get(const struct kubelet_watch *w)
{
	return &w->identity;
}

void kubelet_watch_look(struct kubelet_watch *w)
{
	(void)look(w);
}

struct kubelet_watch *kubelet_watch_free(struct kubelet_watch *w)
{
	if (!w)
		return NULL;
	dir_watch_drop(&w->own);
	dir_watch_drop(&w->parent);
	sd_event_source_disable_unref(w->poll);
	(void)dp_close(w->pin_fd);
	sd_event_unref(w->event);
	free(w->dir);
	free(w->path);
	free(w);
	return NULL;
}
