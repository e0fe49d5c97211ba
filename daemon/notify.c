/* SPDX-License-Identifier: Apache-2.0 */
/* sd_notify(3) messages. */
#include <stdarg.h>
#include <stdio.h>

#include <systemd/sd-daemon.h>

#include "notify.h"

int notify_watchdog(sd_event *event)
{
	int r = sd_event_set_watchdog(event, 1);

	return r < 0 ? r : 0;
}

void notify_ready(void)
{
	(void)sd_notify(0, "READY=1");
}

void notify_stopping(void)
{
	(void)sd_notify(0, "STOPPING=1\nSTATUS=stopping");
}

void notify_status(const char *format, ...)
{
	char status[256];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(status, sizeof(status), format, args);
	va_end(args);
	(void)sd_notifyf(0, "STATUS=%s", status);
}
