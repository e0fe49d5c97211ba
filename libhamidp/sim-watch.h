/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Watches one path that may come, change, be replaced and go, with the directories above it. */

#include <stdbool.h>

#include "macro.h"

struct hdp_watch;

/* 0, -ENOMEM, or -EIO (no inotify to be had). */
int hdp_watch_new(const char *path, struct hdp_watch **ret) hdp_must_check;
void hdp_watch_free(struct hdp_watch *watch);
DEFINE_CLEANUP(struct hdp_watch *, hdp_watch_free)

int hdp_watch_fd(const struct hdp_watch *watch); /* readable when there is something to look at */

/* Take what is queued: true if the file may be another one now. */
bool hdp_watch_changed(struct hdp_watch *watch);
