/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdlib.h>
#include <unistd.h>

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#endif

#define dp_printf(f, a) __attribute__((format(printf, f, a)))
#define dp_cleanup(fn) __attribute__((__cleanup__(fn)))

static inline void dp_freep(void *p)
{
	free(*(void **)p);
}
#define dp_cleanup_free dp_cleanup(dp_freep)

static inline void dp_closep(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}
#define dp_cleanup_close dp_cleanup(dp_closep)

/* Close, and leave -1 behind. */
static inline int dp_close(int fd)
{
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

/* Hand ownership out of a cleanup variable. */
#define take_ptr(p)                         \
	({                                  \
		__typeof__(p) _taken = (p); \
		(p) = NULL;                 \
		_taken;                     \
	})
#define take_fd(fd)                   \
	({                            \
		int _taken_fd = (fd); \
		(fd) = -1;            \
		_taken_fd;            \
	})
