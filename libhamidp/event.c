/* SPDX-License-Identifier: Apache-2.0 */

/* Owns events and their queue. Knows nothing of what they are about. */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <hami/grant.h>

#include "event.h"

#define EVENT_TEXT_MAX 512U

struct hamidp_event {
	enum hamidp_event_type type;
	enum hamidp_health health;
	uint64_t time_us;
	uint64_t code;
	char device[HDP_UUID_MAX + 1];
	char grant[HAMIDP_GRANT_ID_LEN + 1];
	char text[]; /* at least as large as lost_text */
};

static const char lost_text[] = "events were dropped, look at everything again";

static void set_lost(struct hamidp_event *event, uint64_t time_us)
{
	event->type = HAMIDP_EVENT_LOST;
	event->health = HAMIDP_HEALTH_UNKNOWN;
	event->time_us = time_us;
	event->code = 0;
	event->device[0] = '\0';
	event->grant[0] = '\0';
	memcpy(event->text, lost_text, sizeof(lost_text));
}

static struct hamidp_event *event_new(size_t text_len)
{
	size_t size = text_len + 1 > sizeof(lost_text) ? text_len + 1 : sizeof(lost_text);

	return calloc(1, sizeof(struct hamidp_event) + size);
}

static void append(struct hdp_event_queue *queue, struct hamidp_event *event)
{
	queue->events[(queue->first + queue->n++) % HDP_EVENTS_MAX] = event;
}

/* An event had to go: the oldest one left becomes the notice. */
static void mark_lost(struct hdp_event_queue *queue, uint64_t time_us)
{
	if (queue->n)
		set_lost(queue->events[queue->first], time_us);
	else
		queue->lost = true;
}

static void make_room(struct hdp_event_queue *queue, uint64_t time_us)
{
	if (queue->n < HDP_EVENTS_MAX)
		return;
	hamidp_event_free(hdp_event_pop(queue));
	mark_lost(queue, time_us);
}

void hdp_event_push(struct hdp_event_queue *queue, const struct hdp_event_info *info,
		    const char *format, ...)
{
	struct hamidp_event *event;
	char text[EVENT_TEXT_MAX];
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	event = event_new(strlen(text));
	if (!event) {
		mark_lost(queue, info->time_us);
		return;
	}
	if (queue->lost) { /* nothing was queued then: this one may as well say both */
		queue->lost = false;
		set_lost(event, info->time_us);
	} else {
		event->type = info->type;
		event->health = info->health;
		event->time_us = info->time_us;
		event->code = info->code;
		(void)snprintf(event->device, sizeof(event->device), "%s",
			       info->device ? info->device : "");
		(void)snprintf(event->grant, sizeof(event->grant), "%s",
			       info->grant ? info->grant : "");
		memcpy(event->text, text, strlen(text) + 1);
	}
	make_room(queue, info->time_us);
	append(queue, event);
}

struct hamidp_event *hdp_event_pop(struct hdp_event_queue *queue)
{
	struct hamidp_event *event;

	if (queue->n == 0)
		return NULL;
	event = queue->events[queue->first];
	queue->first = (queue->first + 1) % HDP_EVENTS_MAX;
	queue->n--;
	return event;
}

void hdp_event_queue_done(struct hdp_event_queue *queue)
{
	while (queue->n)
		hamidp_event_free(hdp_event_pop(queue));
}

HAMIDP_EXPORT struct hamidp_event *hamidp_event_free(struct hamidp_event *event)
{
	free(event);
	return NULL;
}

HAMIDP_EXPORT enum hamidp_event_type hamidp_event_type(const struct hamidp_event *event)
{
	return event->type;
}

HAMIDP_EXPORT const char *hamidp_event_type_to_string(enum hamidp_event_type type)
{
	static const char *const names[] = {
		[HAMIDP_EVENT_DRIVER] = "driver",     [HAMIDP_EVENT_LAYOUT] = "layout",
		[HAMIDP_EVENT_HEALTH] = "health",     [HAMIDP_EVENT_ERROR] = "error",
		[HAMIDP_EVENT_GRANTED] = "granted",   [HAMIDP_EVENT_SUPERSEDED] = "superseded",
		[HAMIDP_EVENT_RELEASED] = "released", [HAMIDP_EVENT_LOST] = "lost",
	};

	if ((size_t)type >= ARRAY_SIZE(names) || !names[type])
		return "unknown";
	return names[type];
}

HAMIDP_EXPORT uint64_t hamidp_event_time_us(const struct hamidp_event *event)
{
	return event->time_us;
}

HAMIDP_EXPORT const char *hamidp_event_device(const struct hamidp_event *event)
{
	return event->device;
}

HAMIDP_EXPORT const char *hamidp_event_grant(const struct hamidp_event *event)
{
	return event->grant;
}

HAMIDP_EXPORT enum hamidp_health hamidp_event_health(const struct hamidp_event *event)
{
	return event->health;
}

HAMIDP_EXPORT uint64_t hamidp_event_code(const struct hamidp_event *event)
{
	return event->code;
}

HAMIDP_EXPORT const char *hamidp_event_text(const struct hamidp_event *event)
{
	return event->text;
}
