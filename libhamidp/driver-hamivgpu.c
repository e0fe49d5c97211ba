/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Owns the search for libhamivgpu.so. Until its management ABI is settled a library that opens is
 * refused with one line, so that the choice of a driver goes on.
 */

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"

#define LIBRARY_NAME "libhamivgpu.so"
#define DEFAULT_ROOT "/usr/local/hami/driver"

/* The error of the last dlopen() in words; some loaders have none to give. */
static const char *loader_error(void)
{
	const char *error = dlerror();

	return error ? error : "unknown error";
}

static int try_path(const char *path, struct hamidp_reason *reason)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return hdp_fail(reason, -ENODEV, HAMIDP_REASON_NO_DRIVER,
				"failed to open HAMI driver library '%s': %s", path,
				loader_error());
	dlclose(library);
	return hdp_fail(reason, -EOPNOTSUPP, HAMIDP_REASON_NO_DRIVER,
			"HAMI driver library '%s': no supported driver ABI", path);
}

/* The first path that has something settles it; if none has, the first one is told. */
static int search(const struct hdp_driver_env *env, const char *name, struct hamidp_reason *reason)
{
	static const char *const below[] = { "", "/lib", "/lib64" };
	const char *root = env->driver_root ? env->driver_root : DEFAULT_ROOT;
	hdp_cleanup_free char *first = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(below); i++) {
		hdp_cleanup_free char *path = NULL;

		if (asprintf(&path, "%s%s/%s", root, below[i], name) < 0) {
			path = NULL; /* asprintf() leaves it undefined */
			return hdp_oom(reason);
		}
		if (access(path, F_OK) == 0)
			return try_path(path, reason);
		if (!first)
			first = take_ptr(path);
	}
	return try_path(first, reason);
}

static int hamivgpu_open(const struct hdp_driver_env *env, void **ret_priv,
			 struct hamidp_reason *reason)
{
	const char *argument = env->argument;

	if (!argument)
		return search(env, LIBRARY_NAME, reason);
	if (argument[0] == '\0')
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"driver 'hamivgpu:' names no library");
	if (!strchr(argument, '/'))
		return search(env, argument, reason);
	return try_path(argument, reason);
}

/* Nothing is ever opened, so that there is nothing to call. */
const struct hdp_driver hdp_driver_hamivgpu = {
	.name = "hamivgpu",
	.flags = HDP_DRIVER_AUTO | HDP_DRIVER_HOST_NUMA,
	.open = hamivgpu_open,
};
