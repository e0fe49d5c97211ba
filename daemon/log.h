/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <syslog.h>

#include "macro.h"

/*
 * The daemon's log: one finished line a call, to stderr. Safe from any thread.
 *
 * Verbosity: 0 errors, 1 warnings, 2 info (the default), 3 and 4 main steps, 5 detail, 6 every
 * request and response in full. Debug lines need at least 4.
 */
#define LOG_VERBOSITY_MAX 6

enum log_format {
	LOG_FORMAT_TEXT = 0,
	LOG_FORMAT_JSON = 1,
};

void log_set_verbosity(int verbosity);
void log_set_format(enum log_format format);

/* Where lines go, instead of stderr; NULL puts stderr back. For tests. */
typedef void (*log_sink_fn)(int priority, const char *message, void *userdata);
void log_set_sink(log_sink_fn sink, void *userdata);

bool log_level_enabled(int verbosity);
bool log_priority_enabled(int priority);

void log_msg(int priority, const char *fmt, ...) dp_printf(2, 3);

#define log_at(prio, ...)                             \
	do {                                          \
		if (log_priority_enabled(prio))       \
			log_msg((prio), __VA_ARGS__); \
	} while (0)

#define log_err(...) log_at(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_at(LOG_WARNING, __VA_ARGS__)
#define log_notice(...) log_at(LOG_NOTICE, __VA_ARGS__)
#define log_info(...) log_at(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)
