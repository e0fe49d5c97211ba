/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The caller's log sink. The level is compared before anything is formatted. */

#include <syslog.h>

#include <hami/log.h>

#include "macro.h"

struct hdp_log {
	hamidp_log_fn fn; /* NULL: silent */
	void *userdata;
	int max_priority;
};

void hdp_log_write(const struct hdp_log *log, int priority, const char *func, const char *format,
		   ...) hdp_printf(4, 5);

#define hdp_log_cond(log, prio, ...)                                         \
	do {                                                                 \
		if ((log)->fn && (prio) <= (log)->max_priority)              \
			hdp_log_write((log), (prio), __func__, __VA_ARGS__); \
	} while (0)
#define log_err(log, ...) hdp_log_cond(log, LOG_ERR, __VA_ARGS__)
#define log_warning(log, ...) hdp_log_cond(log, LOG_WARNING, __VA_ARGS__)
#define log_notice(log, ...) hdp_log_cond(log, LOG_NOTICE, __VA_ARGS__)
#define log_info(log, ...) hdp_log_cond(log, LOG_INFO, __VA_ARGS__)
#define log_dbg(log, ...) hdp_log_cond(log, LOG_DEBUG, __VA_ARGS__)
