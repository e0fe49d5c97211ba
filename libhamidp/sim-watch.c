/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Owns one inotify watch on the directory of a file. While that directory is missing the nearest
 * one above it that exists is watched for the next step down.
 */

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "sim-watch.h"

#define WATCH_MASK                                                                               \
	(IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE | IN_DELETE_SELF | \
	 IN_MOVE_SELF | IN_ATTRIB | IN_ONLYDIR)

struct hdp_watch {
	int fd;
	int wd;	    /* -1: nothing is watched */
	char *path; /* the file */
	char *next; /* name below the watched directory that leads to the file */
	bool final; /* the file's own directory is watched */
};

/*
 * Cut the last component off @path, in place: "a/b" is "a" and "b", "/b" is "/" and "b", "b" is "."
 * and "b". The directory is @path itself or a literal.
 */
static const char *cut(char *path, const char **ret_name)
{
	char *slash = strrchr(path, '/');

	*ret_name = slash ? slash + 1 : path;
	if (!slash)
		return ".";
	while (slash > path && slash[-1] == '/')
		slash--;
	if (slash == path)
		return "/";
	*slash = '\0';
	return path;
}

/* Watch the nearest directory that is there. */
static int aim_once(struct hdp_watch *watch)
{
	hdp_cleanup_free char *path = strdup(watch->path);
	const char *dir;
	const char *name;
	char *next;

	if (!path)
		return -ENOMEM;
	watch->final = true;
	for (;;) {
		dir = cut(path, &name);
		watch->wd = inotify_add_watch(watch->fd, dir, WATCH_MASK);
		if (watch->wd >= 0)
			break;
		if ((errno != ENOENT && errno != ENOTDIR) || dir != path)
			return errno == ENOMEM ? -ENOMEM : -EIO;
		watch->final = false;
	}
	next = strdup(name);
	if (!next)
		return -ENOMEM;
	free(watch->next);
	watch->next = next;
	return 0;
}

/* A directory may have come between the look at it and the watch: aim until nothing changes. */
static int aim(struct hdp_watch *watch)
{
	int last = watch->wd;
	int r;

	for (;;) {
		r = aim_once(watch);
		if (last >= 0 && last != watch->wd)
			(void)inotify_rm_watch(watch->fd, last);
		if (r < 0 || watch->final || last == watch->wd)
			return r;
		last = watch->wd;
	}
}

void hdp_watch_free(struct hdp_watch *watch)
{
	if (!watch)
		return;
	if (watch->fd >= 0)
		close(watch->fd);
	free(watch->path);
	free(watch->next);
	free(watch);
}

int hdp_watch_new(const char *path, struct hdp_watch **ret)
{
	hdp_cleanup(hdp_watch_freep) struct hdp_watch *watch = calloc(1, sizeof(*watch));
	int r;

	if (!watch)
		return -ENOMEM;
	watch->wd = -1;
	watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	watch->path = strdup(path);
	if (!watch->path)
		return -ENOMEM;
	if (watch->fd < 0)
		return -EIO;
	r = aim(watch);
	if (r < 0)
		return r;
	*ret = take_ptr(watch);
	return 0;
}

int hdp_watch_fd(const struct hdp_watch *watch)
{
	return watch->fd;
}

/*
 * A file that is only being made is not looked at before it is closed. A link is complete as soon
 * as it is there. A new mode only wakes the node, to try again what it could not read. "..data" is
 * how a ConfigMap's files change all at once.
 */
static bool means_change(const struct hdp_watch *watch, const struct inotify_event *event)
{
	struct stat st;

	if (event->len == 0 || (event->mask & IN_ATTRIB))
		return false;
	if (strcmp(event->name, "..data") == 0)
		return watch->final;
	if (strcmp(event->name, watch->next) != 0)
		return false;
	if (!watch->final || !(event->mask & IN_CREATE))
		return true;
	return lstat(watch->path, &st) == 0 && (S_ISLNK(st.st_mode) || st.st_nlink > 1);
}

bool hdp_watch_changed(struct hdp_watch *watch)
{
	char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool changed = false;
	bool lost = watch->wd < 0;
	ssize_t n;

	while ((n = read(watch->fd, buffer, sizeof(buffer))) > 0) {
		for (const char *at = buffer; at < buffer + n;) {
			const struct inotify_event *event = (const void *)at;

			at += sizeof(*event) + event->len;
			if (event->mask & IN_Q_OVERFLOW)
				lost = true;
			if (event->wd != watch->wd)
				continue;
			if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED))
				lost = true;
			else if (means_change(watch, event))
				changed = true;
		}
	}
	if (lost || (changed && !watch->final)) {
		(void)aim(watch); /* tried again at the next look if it fails */
		changed = true;
	}
	return changed;
}
