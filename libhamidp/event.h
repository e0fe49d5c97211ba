/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Event queue: bounded; what does not fit makes the oldest events give way to one that says so. */

#include <stdbool.h>

#include <hami/node.h>

#include "machine.h"
#include "macro.h"

#define HDP_EVENTS_MAX 1024U

struct hdp_event_queue {
	struct hamidp_event *events[HDP_EVENTS_MAX]; /* a ring */
	size_t first;
	size_t n;
	bool lost; /* an event had no memory and no place to say so */
};

struct hdp_event_info { /* NULL is "" */
	enum hamidp_event_type type;
	uint64_t time_us;
	const char *device;
	const char *grant;
	enum hamidp_health health;
	uint64_t code;
};

/* Never fails: what cannot be kept is replaced by HAMIDP_EVENT_LOST. */
void hdp_event_push(struct hdp_event_queue *queue, const struct hdp_event_info *info,
		    const char *format, ...) hdp_printf(3, 4);
struct hamidp_event *hdp_event_pop(struct hdp_event_queue *queue); /* NULL: empty */
void hdp_event_queue_done(struct hdp_event_queue *queue);
