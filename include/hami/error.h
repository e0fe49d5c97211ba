/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HAMI_ERROR_H
#define HAMI_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: error codes
 *
 * Every failing call returns one of these, never another errno:
 *
 * -EINVAL      an argument or an input breaks the documented contract
 * -ENOMEM      out of memory; the call had no effect
 * -ENODEV      no driver, or no device that a driver can serve
 * -ENOENT      the named device, slot, resource, grant or file does not exist
 * -ENOSPC      no placement, or no plan, satisfies the request
 * -EBUSY       held or claimed by someone else
 * -ESTALE      the node moved on since the decision was taken; decide again
 * -EAGAIN      cannot be done now (a card is not healthy, nothing queued)
 * -ETIMEDOUT   the driver did not answer before the deadline
 * -EACCES      not permitted: a file, a device node or a policy says no
 * -EPROTO      a vendor library or a file spoke nonsense
 * -EOPNOTSUPP  this driver, device or build cannot do it
 * -EIO         anything else; details went to the log callback
 *
 * Functions that take a struct hamidp_reason also say why, in words.
 */

/**
 * hamidp_strerror() - describe a libhamidp error code
 * @err: value returned by a libhamidp call, 0 or negative
 *
 * Return: a static English string, never NULL; not to be freed. Does not block. Thread safe.
 *
 * Since: 0.1
 */
const char *hamidp_strerror(int err);

#ifdef __cplusplus
}
#endif
#endif
