/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a resource's publication and its hold-down. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hami/hamidp.h>

#include "checkpoint.h"
#include "clock.h"
#include "log.h"
#include "options.h"
#include "publisher.h"

#define ACCURACY_US 1000

struct publisher {
	char *resource;
	struct hamidp_node *node;
	hamidp_now_fn now_fn;
	publisher_fn fn;
	void *userdata;
	enum hamidp_publish_mode mode;
	bool is_known; /* what pods hold; else free slots may be held, and are left alone */
	size_t number; /* as of the last refresh */
	struct hamidp_publication *publication;
	struct hamidp_holddown *holddown;
	sd_event_source *timer;
};

static int on_time(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct publisher *p = userdata;

	p->fn(p->userdata);
	return 0;
}

/* In one place for all that moves the deadline; without a hold there is no timer. */
static void set_timer(struct publisher *p)
{
	uint64_t deadline_us = hamidp_holddown_deadline_us(p->holddown);
	int r = sd_event_source_set_enabled(p->timer, SD_EVENT_OFF);

	if (deadline_us != UINT64_MAX)
		r = sd_event_source_set_time(p->timer, deadline_us);
	if (r >= 0 && deadline_us != UINT64_MAX)
		r = sd_event_source_set_enabled(p->timer, SD_EVENT_ONESHOT);
	if (r < 0)
		log_err("%s: cannot set the hold-down's timer: %s", p->resource, strerror(-r));
}

static void tell_unknown(const struct publisher *p)
{
	if (!p->is_known)
		log_info("%s: pods from before this start hold slots, and which ones is not known: "
			 "all free slots are published, no hold-down",
			 p->resource);
}

int publisher_new(const char *resource, const struct options *opts, struct hamidp_node *node,
		  sd_event *event, hamidp_now_fn now_fn, publisher_fn fn, void *userdata,
		  struct publisher **ret)
{
	struct publisher *p = calloc(1, sizeof(*p));
	int r = -ENOMEM;

	if (!p)
		return -ENOMEM;
	p->node = node;
	p->now_fn = now_fn;
	p->fn = fn;
	p->userdata = userdata;
	p->mode = options_number(opts, OPTION_PUBLISH) == OPTION_PUBLISH_PLACEABLE
			  ? HAMIDP_PUBLISH_PLACEABLE
			  : HAMIDP_PUBLISH_ALL;
	p->is_known =
		checkpoint_shows_no_holder(options_text(opts, OPTION_DEVICE_PLUGIN_DIR), resource);
	p->resource = strdup(resource);
	if (p->resource && hamidp_publication_new(&p->publication) == 0 &&
	    hamidp_holddown_new(&p->holddown) == 0)
		r = sd_event_add_time(event, &p->timer, CLOCK_ROOM_ID, UINT64_MAX, ACCURACY_US,
				      on_time, p);
	if (r >= 0)
		r = sd_event_source_set_enabled(p->timer, SD_EVENT_OFF);
	if (r < 0) {
		publisher_free(p);
		return r;
	}
	tell_unknown(p);
	*ret = p;
	return 0;
}

struct publisher *publisher_free(struct publisher *p)
{
	if (!p)
		return NULL;
	sd_event_source_disable_unref(p->timer);
	hamidp_holddown_free(p->holddown);
	hamidp_publication_free(p->publication);
	free(p->resource);
	free(p);
	return NULL;
}

int publisher_refresh(struct publisher *p, size_t number)
{
	const struct hamidp_occupancy *occ = hamidp_node_occupancy(p->node);
	const struct hamidp_layout *layout = hamidp_node_layout(p->node);
	struct hamidp_publish_options opts = { .size = sizeof(opts) };

	p->number = number;
	if (hamidp_holddown_review(p->holddown, layout, occ, p->now_fn(NULL)) > 0 &&
	    hamidp_holddown_limit(p->holddown, number) == 0)
		log_info("%s: hold-down over", p->resource);
	set_timer(p);
	if (p->is_known) {
		opts.mode = p->mode;
		opts.limit = hamidp_holddown_limit(p->holddown, number);
	}
	return hamidp_publish(layout, occ, number, &opts, p->publication, NULL);
}

const struct hamidp_publication *publisher_publication(const struct publisher *p)
{
	return p->publication;
}

bool publisher_follows_occupancy(const struct publisher *p)
{
	return p->is_known &&
	       (p->mode != HAMIDP_PUBLISH_ALL || hamidp_holddown_limit(p->holddown, p->number) > 0);
}

void publisher_refused(struct publisher *p, uint32_t units)
{
	const struct hamidp_occupancy *occ = hamidp_node_occupancy(p->node);
	const struct hamidp_layout *layout = hamidp_node_layout(p->node);
	uint64_t now_us = p->now_fn(NULL);

	if (!p->is_known || hamidp_holddown_refused(p->holddown, p->number, units, now_us) < 0)
		return;
	/* Where the size does fit, and the kubelet has chosen otherwise, nothing is held. */
	(void)hamidp_holddown_review(p->holddown, layout, occ, now_us);
	set_timer(p);
	if (hamidp_holddown_limit(p->holddown, p->number) > 0)
		log_info("%s: hold-down: at most %u free slots are published for a while",
			 p->resource, hamidp_holddown_limit(p->holddown, p->number));
}
