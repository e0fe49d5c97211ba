/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Attributes and scope-bound cleanup. Knows nothing of the library's objects. */

#include <stdlib.h>
#include <unistd.h>

#define HAMIDP_EXPORT __attribute__((visibility("default")))
#define hdp_printf(f, a) __attribute__((format(printf, f, a)))
#define hdp_must_check __attribute__((warn_unused_result))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define hdp_cleanup(fn) __attribute__((__cleanup__(fn)))
#define DEFINE_CLEANUP(type, fn)          \
	static inline void fn##p(type *p) \
	{                                 \
		if (*p)                   \
			fn(*p);           \
	}

static inline void hdp_freep(void *p)
{
	free(*(void **)p);
}
#define hdp_cleanup_free hdp_cleanup(hdp_freep)

static inline void hdp_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
#define hdp_cleanup_close hdp_cleanup(hdp_closep)

/* Hand ownership out of a cleanup variable. */
#define take_ptr(p)                         \
	({                                  \
		__typeof__(p) _taken = (p); \
		(p) = NULL;                 \
		_taken;                     \
	})
