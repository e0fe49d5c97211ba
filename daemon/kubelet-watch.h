/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

/*
 * Watches one socket file, kubelet.sock or our own, by its directory: what counts is which socket
 * the path names, not that something happened. The directory may come, go and come back.
 */
struct kubelet_watch;

struct kubelet_identity {
	uint64_t generation; /* another one for every other socket; never 0 while present */
	bool present;
	dev_t dev;
	ino_t ino;
	uint64_t ctime_ns;
};

/* The path names another socket, or none, or one again. */
typedef void (*kubelet_watch_fn)(const struct kubelet_identity *now, void *userdata);

/* Return: 0, -EINVAL (not an absolute path) or -ENOMEM. Without inotify it looks every second. */
int kubelet_watch_new(sd_event *event, const char *path, kubelet_watch_fn fn, void *userdata,
		      struct kubelet_watch **ret);
/* What was last found; fresh after kubelet_watch_new(). */
const struct kubelet_identity *kubelet_watch_get(const struct kubelet_watch *w);
/*
 * Look at once, without a callback. For who has just put the socket there: the next change counts
 * from it, even if it goes before the loop runs.
 */
void kubelet_watch_look(struct kubelet_watch *w);
struct kubelet_watch *kubelet_watch_free(struct kubelet_watch *w);
