/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listening socket and its file. gRPC's own listener dies of EMFILE, takes the path of a live
 * server, removes its successor's file and cannot listen again; so this one exists.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "listener.h"
#include "log.h"
#include "macro.h"

#define BACKLOG 64
#define ACCEPT_BATCH 16 /* then the rest of the loop has its turn */
#define PAUSE_US UINT64_C(100000)
#define PAUSE_ACCURACY_US UINT64_C(20000)
#define TEMP_NAME_LEN 10 /* ".xxxxxxxx", NUL */

struct listener {
	sd_event *event;
	char *path;
	size_t dir_len; /* of the path, with its last slash */
	listener_accept_fn fn;
	void *userdata;
	int fd;	    /* -1: not listening */
	int pin_fd; /* O_PATH: while it is open, nobody else gets the inode number */
	dev_t dev;
	ino_t ino;
	sd_event_source *io, *pause;
	char reason[256];
};

static int fill_addr(const char *path, struct sockaddr_un *ret)
{
	size_t len = strlen(path);

	if (len >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	memcpy(ret->sun_path, path, len);
	return 0;
}

static int on_pause_over(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct listener *l = userdata;

	if (l->io)
		(void)sd_event_source_set_enabled(l->io, SD_EVENT_ON);
	return 0;
}

int listener_new(sd_event *event, const char *path, listener_accept_fn fn, void *userdata,
		 struct listener **ret)
{
	const char *slash = strrchr(path, '/');
	struct sockaddr_un addr;
	struct listener *l;
	size_t dir_len;
	int r;

	if (!slash || !slash[1])
		return -EINVAL;
	dir_len = (size_t)(slash - path) + 1;
	if (fill_addr(path, &addr) < 0 || dir_len + TEMP_NAME_LEN > sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->path = strdup(path);
	if (!l->path) {
		free(l);
		return -ENOMEM;
	}
	l->event = sd_event_ref(event);
	l->dir_len = dir_len;
	l->fn = fn;
	l->userdata = userdata;
	l->fd = l->pin_fd = -1;
	/* Now, for its timerfd: when it is needed there are no fds. */
	r = sd_event_add_time_relative(event, &l->pause, CLOCK_MONOTONIC, PAUSE_US,
				       PAUSE_ACCURACY_US, on_pause_over, l);
	if (r >= 0)
		r = sd_event_source_set_enabled(l->pause, SD_EVENT_OFF);
	if (r < 0) {
		(void)listener_free(l);
		return r;
	}
	*ret = l;
	return 0;
}

const char *listener_path(const struct listener *l)
{
	return l->path;
}

const char *listener_reason(struct listener *l, int error)
{
	const char *why;

	if (error == -EADDRINUSE)
		why = "another process answers on this socket";
	else if (error == -ENOTSOCK)
		why = "the path exists and is not a socket";
	else if (error == -ENAMETOOLONG)
		why = "the path is too long (at most 107 bytes)";
	else if (error == -ENOENT)
		why = "the directory does not exist";
	else
		why = strerror(-error);
	(void)snprintf(l->reason, sizeof(l->reason), "%s: cannot listen: %s", l->path, why);
	return l->reason;
}

bool listener_is_current(const struct listener *l)
{
	struct stat st;

	return l->fd >= 0 && lstat(l->path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       st.st_dev == l->dev && st.st_ino == l->ino;
}

/* 0: the path is free, or a dead server's socket. */
static int check_path_free(const char *path)
{
	dp_cleanup(dp_closep) int fd = -1;
	struct sockaddr_un addr;
	struct stat st;
	int r;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	r = fill_addr(path, &addr);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* EAGAIN: its backlog is full; EPROTOTYPE: a datagram socket. Both are alive. */
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 || errno == EAGAIN ||
	    errno == EPROTOTYPE)
		return -EADDRINUSE;
	return errno == ECONNREFUSED || errno == ENOENT ? 0 : -errno;
}

static void pause_accept(struct listener *l);

static void log_peer(const struct listener *l, int fd)
{
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);

	if (log_level_enabled(4) && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0)
		log_debug("%s: connection from pid %d, uid %u", l->path, (int)cred.pid, cred.uid);
}

static bool is_shortage(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -ENOBUFS;
}

static int on_connection(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct listener *l = userdata;

	for (int i = 0; i < ACCEPT_BATCH; i++) {
		int conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		int r = conn < 0 ? -errno : 0;

		if (r == -EAGAIN)
			return 0;
		if (r == -EINTR || r == -ECONNABORTED)
			continue;
		if (r >= 0) {
			log_peer(l, conn);
			r = l->fn(conn, l->userdata);
			if (r >= 0)
				continue;
			(void)dp_close(conn);
			if (!is_shortage(r))
				continue;
		}
		/* The socket stays readable: without a pause this loop would eat the CPU. */
		log_debug("%s: cannot accept: %s", l->path, strerror(-r));
		pause_accept(l);
		return 0;
	}
	return 0;
}

static void pause_accept(struct listener *l)
{
	if (sd_event_source_set_time_relative(l->pause, PAUSE_US) < 0 ||
	    sd_event_source_set_enabled(l->pause, SD_EVENT_ONESHOT) < 0)
		return;
	(void)sd_event_source_set_enabled(l->io, SD_EVENT_OFF);
}

static void stop_listening(struct listener *l)
{
	(void)sd_event_source_set_enabled(l->pause, SD_EVENT_OFF);
	l->io = sd_event_source_disable_unref(l->io);
	l->fd = dp_close(l->fd);
	l->pin_fd = dp_close(l->pin_fd);
}

/* A name in the same directory; the dot keeps the kubelet's plugin watcher off it. */
static int temp_path(const struct listener *l, char *buf, size_t size)
{
	uint32_t random;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	(void)snprintf(buf, size, "%.*s.%08x", (int)l->dir_len, l->path, random);
	return 0;
}

static int bind_at(int fd, const char *path)
{
	struct sockaddr_un addr;
	int r;

	r = fill_addr(path, &addr);
	if (r < 0)
		return r;
	/* Before bind(), so that the file has this mode from the start, whatever the umask. */
	if (fchmod(fd, 0600) < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return -errno;
	return 0;
}

/* From the bound temporary name to the final one, with all that names it as ours. */
static int put_in_place(struct listener *l, int fd, const char *temp)
{
	dp_cleanup(dp_closep) int pin_fd = -1;
	sd_event_source *io;
	struct stat st;
	int r;

	pin_fd = open(temp, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (pin_fd < 0 || fstat(pin_fd, &st) < 0)
		return -errno;
	if (listen(fd, BACKLOG) < 0)
		return -errno;
	r = sd_event_add_io(l->event, &io, fd, EPOLLIN, on_connection, l);
	if (r < 0)
		return r;
	if (rename(temp, l->path) < 0) {
		r = -errno;
		sd_event_source_disable_unref(io);
		return r;
	}
	stop_listening(l);
	l->io = io;
	l->fd = fd;
	l->pin_fd = take_fd(pin_fd);
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	return 0;
}

int listener_open(struct listener *l)
{
	char temp[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	int fd, r;

	if (listener_is_current(l))
		return 0;
	r = check_path_free(l->path);
	if (r < 0)
		return r;
	r = temp_path(l, temp, sizeof(temp));
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	r = bind_at(fd, temp);
	if (r >= 0) {
		r = put_in_place(l, fd, temp);
		if (r < 0)
			(void)unlink(temp);
	}
	if (r < 0)
		(void)dp_close(fd);
	return r;
}

void listener_close(struct listener *l)
{
	if (listener_is_current(l))
		(void)unlink(l->path);
	stop_listening(l);
}

struct listener *listener_free(struct listener *l)
{
	if (!l)
		return NULL;
	listener_close(l);
	sd_event_source_disable_unref(l->pause);
	sd_event_unref(l->event);
	free(l->path);
	free(l);
	return NULL;
}
