/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HAMI_LOG_H
#define HAMI_LOG_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * typedef hamidp_log_fn - receives one finished log message
 * @userdata: pointer given beside the function
 * @priority: LOG_ERR ... LOG_DEBUG of <syslog.h>
 * @func: name of the reporting function
 * @message: valid UTF-8 without a trailing newline; valid during the call only
 *
 * Runs on the thread that called into the library. It must not call back into the same object.
 * errno is kept over the call.
 *
 * Since: 0.1
 */
typedef void (*hamidp_log_fn)(void *userdata, int priority, const char *func, const char *message);

#ifdef __cplusplus
}
#endif
#endif
