/* SPDX-License-Identifier: Apache-2.0 */
/* The guards against a second instance. Knows no kubelet. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "complaint.h"
#include "instance.h"
#include "log.h"
#include "macro.h"

struct instance {
	int lock_fd;
	int socket_fd;
};

static char *lock_path(const char *run_dir, const char *resource_name)
{
	char *path;

	if (asprintf(&path, "%s/%s.lock", run_dir, resource_name) < 0)
		return NULL;
	for (char *p = path + strlen(run_dir) + 1; *p; p++)
		if (*p == '/')
			*p = '_';
	return path;
}

/* The pid that the holder wrote, digits only; "unknown" where there is none. */
static void read_holder(int fd, char *buf, size_t size)
{
	ssize_t n = pread(fd, buf, size - 1, 0);
	size_t len = 0;

	while (n > 0 && len < (size_t)n && buf[len] >= '0' && buf[len] <= '9')
		len++;
	buf[len] = '\0';
	if (!len)
		(void)snprintf(buf, size, "unknown");
}

static int write_holder(int fd)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%jd\n", (intmax_t)getpid());

	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) != n)
		return -EIO;
	return 0;
}

/* The locked file into *@ret_fd, or -1 where there cannot be one. */
static int take_file(const char *run_dir, const char *resource_name, int *ret_fd,
		     struct complaint *complaint)
{
	dp_cleanup_free char *path = lock_path(run_dir, resource_name);
	dp_cleanup_close int fd = -1;
	char holder[24];

	*ret_fd = -1;
	if (!path)
		return complain(complaint, -ENOMEM, "out of memory");
	if (mkdir(run_dir, 0755) < 0 && errno != EEXIST) {
		log_warning("%s: cannot make the run directory: %m, going on without a lock file",
			    run_dir);
		return 0;
	}
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0) {
		log_warning("%s: cannot open the lock file: %m, going on without it", path);
		return 0;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK) {
			log_warning("%s: cannot lock: %m, going on without it", path);
			return 0;
		}
		read_holder(fd, holder, sizeof(holder));
		return complain(complaint, -EBUSY,
				"%s: another hami-dp serves it: pid %s has the lock on %s",
				resource_name, holder, path);
	}
	if (write_holder(fd) < 0)
		log_warning("%s: cannot write our pid: %m, ignoring", path);
	*ret_fd = take_fd(fd);
	return 0;
}

/* The name is a hash: the directory and the resource together may be longer than an address. */
static socklen_t guard_address(const char *plugin_dir, const char *resource_name,
			       struct sockaddr_un *ret)
{
	const char *const parts[] = { plugin_dir, "\n", resource_name };
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
	int n;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		for (const char *p = parts[i]; *p; p++)
			hash = (hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "hami-dp/%016" PRIx64, hash);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* Who listens there; anybody may take an abstract name, so only our own user's word counts. */
static int find_owner(const struct sockaddr_un *address, socklen_t len, struct ucred *ret)
{
	dp_cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t size = sizeof(*ret);

	if (fd < 0 || connect(fd, (const struct sockaddr *)address, len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &size) < 0)
		return -errno;
	return ret->uid == geteuid() ? 0 : -EPERM;
}

/* The listening guard into *@ret_fd, or -1 where it proves nothing. */
static int take_socket(const char *plugin_dir, const char *resource_name, int *ret_fd,
		       struct complaint *complaint)
{
	dp_cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	struct ucred owner = { 0 };
	socklen_t len = guard_address(plugin_dir, resource_name, &address);
	int r;

	*ret_fd = -1;
	if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, len) == 0 &&
	    listen(fd, 1) == 0) {
		*ret_fd = take_fd(fd);
		return 0;
	}
	if (errno != EADDRINUSE) {
		log_debug("%s: no guard socket: %m", resource_name);
		return 0;
	}
	r = find_owner(&address, len, &owner);
	if (r == 0 || r == -EAGAIN)
		return complain(complaint, -EBUSY, "%s: another hami-dp serves %s: pid %jd",
				resource_name, plugin_dir, (intmax_t)owner.pid);
	log_warning("%s: somebody else has the name of the guard socket @%s, ignoring",
		    resource_name, address.sun_path + 1);
	return 0;
}

int instance_new(const char *run_dir, const char *plugin_dir, const char *resource_name,
		 struct instance **ret, struct complaint *complaint)
{
	struct instance *instance = calloc(1, sizeof(*instance));
	int r;

	if (!instance)
		return complain(complaint, -ENOMEM, "out of memory");
	instance->socket_fd = -1;
	r = take_file(run_dir, resource_name, &instance->lock_fd, complaint);
	if (r == 0)
		r = take_socket(plugin_dir, resource_name, &instance->socket_fd, complaint);
	if (r < 0) {
		instance_free(instance);
		return r;
	}
	*ret = instance;
	return 0;
}

struct instance *instance_free(struct instance *instance)
{
	if (!instance)
		return NULL;
	if (instance->lock_fd >= 0 && ftruncate(instance->lock_fd, 0) < 0)
		log_debug("cannot empty a lock file: %m");
	dp_close(instance->lock_fd);
	dp_close(instance->socket_fd);
	free(instance);
	return NULL;
}
