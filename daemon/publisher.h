/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which slots of one resource the kubelet is shown as Healthy: --publish, and the hold-down after a
 * refusal with its timer. All policy is the library's.
 */

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include <hami/node.h>

struct hamidp_publication;
struct options;
struct publisher;

/* A hold-down's time is over: look again. */
typedef void (*publisher_fn)(void *userdata);

/*
 * @opts, @node and @event are borrowed and must outlive it. @now_fn reads the clock of clock.h.
 * Looks once whether it is known what pods hold, and says so if not.
 *
 * Return: 0 with *@ret owned by the caller (publisher_free()), or a negative errno of sd-event.
 */
int publisher_new(const char *resource, const struct options *opts, struct hamidp_node *node,
		  sd_event *event, hamidp_now_fn now_fn, publisher_fn fn, void *userdata,
		  struct publisher **ret);
struct publisher *publisher_free(struct publisher *p);

/* Bring the publication in line with the node. @number: of the resource in the node's layout. 0, or
 * a negative errno. */
int publisher_refresh(struct publisher *p, size_t number);
/* The same object for the publisher's whole life; empty before publisher_refresh(). */
const struct hamidp_publication *publisher_publication(const struct publisher *p);
/* May a change of who holds what change the publication? */
bool publisher_follows_occupancy(const struct publisher *p);
/* A request of so many slots was refused because of its spread. */
void publisher_refused(struct publisher *p, uint32_t units);
