/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the service manager is told. Nothing happens where there is none. */

#include <systemd/sd-event.h>

/* Answer the manager's watchdog from the loop, if it set one. 0 or a negative errno. */
int notify_watchdog(sd_event *event);
void notify_ready(void);
void notify_stopping(void);
/* One line for "systemctl status". */
void notify_status(const char *format, ...) __attribute__((format(printf, 1, 2)));
