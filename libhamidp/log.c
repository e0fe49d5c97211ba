/* SPDX-License-Identifier: Apache-2.0 */

/* Finishes a log message and hands it to the caller's sink. */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "text.h"

void hdp_log_write(const struct hdp_log *log, int priority, const char *func, const char *format,
		   ...)
{
	hdp_cleanup_free char *message = NULL;
	int saved = errno;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&message, format, ap) < 0)
		message = NULL; /* vasprintf() leaves it undefined */
	va_end(ap);

	if (message) {
		size_t len = strlen(message);

		while (len > 0 && message[len - 1] == '\n')
			message[--len] = '\0';
		hdp_text_clean(message);
	}
	log->fn(log->userdata, priority, func, message ? message : "(out of memory)");
	errno = saved;
}
