/* SPDX-License-Identifier: Apache-2.0 */

/* The closed set of public error codes, in words. */

#include <errno.h>
#include <stddef.h>

#include <hami/error.h>

#include "macro.h"

static const struct {
	int err;
	const char *text;
} error_texts[] = {
	{ 0, "success" },
	{ -EINVAL, "invalid argument or input" },
	{ -ENOMEM, "out of memory" },
	{ -ENODEV, "no driver or no device" },
	{ -ENOENT, "no such device, slot, resource, grant or file" },
	{ -ENOSPC, "no placement satisfies the request" },
	{ -EBUSY, "held by someone else" },
	{ -ESTALE, "the node changed since the decision was taken" },
	{ -EAGAIN, "cannot be done now" },
	{ -ETIMEDOUT, "the driver did not answer in time" },
	{ -EACCES, "permission denied" },
	{ -EPROTO, "unexpected answer from a library or file" },
	{ -EOPNOTSUPP, "not supported by this driver, device or build" },
	{ -EIO, "internal error; see the log" },
};

HAMIDP_EXPORT const char *hamidp_strerror(int err)
{
	for (size_t i = 0; i < ARRAY_SIZE(error_texts); i++)
		if (error_texts[i].err == err)
			return error_texts[i].text;
	return "unknown error";
}
