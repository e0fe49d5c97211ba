/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

/*
 * A listening UNIX socket file of our own: mode 0600, put in place atomically, never over a live
 * instance's, removed only while it is still ours.
 */
struct listener;

/*
 * A connection came. Return 0 to take @fd (non-blocking, close-on-exec); on a negative errno it
 * is closed, and on -EMFILE, -ENFILE, -ENOMEM or -ENOBUFS accepting pauses for 100 ms.
 */
typedef int (*listener_accept_fn)(int fd, void *userdata);

/* Does not listen yet. Return: 0, -ENAMETOOLONG (over 107 bytes), -EINVAL (no "/"), -ENOMEM. */
int listener_new(sd_event *event, const char *path, listener_accept_fn fn, void *userdata,
		 struct listener **ret);

/*
 * Listen, or listen again where the file is no longer ours; what is connected stays. 0 at once
 * while it is.
 *
 * Return: 0; -EADDRINUSE: another process answers there; -ENOTSOCK: something that is not a
 * socket is in the way; -ENOENT: no directory; or what socket(), bind(), rename() say.
 * listener_reason() has it as text.
 */
int listener_open(struct listener *l);
/* Of the last listener_new() or listener_open() that failed with @error; with the path. */
const char *listener_reason(struct listener *l, int error);

/* Whether the path names the socket that we listen on. */
bool listener_is_current(const struct listener *l);
const char *listener_path(const struct listener *l);

/* Stop listening, and remove the file if it is ours. */
void listener_close(struct listener *l);
struct listener *listener_free(struct listener *l);
