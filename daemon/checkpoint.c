/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks into kubelet_internal_checkpoint. An entry of a container names its resource, in the
 * compact form that the kubelet writes; the lists of known ids do not, they have it as a key.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint.h"
#include "macro.h"

#define CHUNK ((size_t)64 * 1024)
#define FILE_MAX ((size_t)64 * 1024 * 1024)

/* Is @needle in the file? 1, 0, or a negative errno. */
static int file_contains(int fd, const char *needle)
{
	size_t len = strlen(needle), kept = 0, total = 0;
	dp_cleanup_free char *buf = malloc(CHUNK + len);

	if (!buf)
		return -ENOMEM;
	for (;;) {
		ssize_t n = read(fd, buf + kept, CHUNK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		total += (size_t)n;
		if (total > FILE_MAX)
			return -EFBIG;
		kept += (size_t)n;
		if (memmem(buf, kept, needle, len))
			return 1;
		if (kept >= len) { /* the end of this may be the needle's beginning */
			memmove(buf, buf + kept - (len - 1), len - 1);
			kept = len - 1;
		}
	}
}

bool checkpoint_shows_no_holder(const char *dir, const char *resource)
{
	dp_cleanup_free char *path = NULL, *needle = NULL;
	dp_cleanup_close int fd = -1;

	if (asprintf(&path, "%s/kubelet_internal_checkpoint", dir) < 0) {
		path = NULL;
		return false;
	}
	if (asprintf(&needle, "\"ResourceName\":\"%s\"", resource) < 0) {
		needle = NULL;
		return false;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT;
	return file_contains(fd, needle) == 0;
}
