/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HAMI_PUBLISH_H
#define HAMI_PUBLISH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: publishing
 *
 * What a scheduler that only adds up free slots should be shown. It cannot see that four free slots
 * lie on two cards, so it sends a pod that must fail. A publication says of every slot of a
 * resource whether it is sent as Healthy and, if not, for what cause; hamidp_publish() makes one
 * from a layout, an occupancy and options, and from nothing else. A hold-down keeps the time: after
 * a request was refused it limits what is published for a while, so that the next try goes
 * elsewhere.
 *
 * Slots that are held are never withheld: only the health of their own card turns them Unhealthy.
 *
 * A publication or hold-down belongs to one thread at a time; layouts and occupancies may be shared
 * by readers. No call here blocks.
 */

/* Opaque. */
struct hamidp_publication;
struct hamidp_holddown;
struct hamidp_layout;
struct hamidp_occupancy;
struct hamidp_reason;

/**
 * enum hamidp_cause - why a slot is in capacity but not allocatable; Since: 0.1
 *
 * Numbers are never reused; those left out belong to later versions.
 */
enum hamidp_cause {
	HAMIDP_CAUSE_NONE = 0,	    /* allocatable: sent as Healthy */
	HAMIDP_CAUSE_UNHEALTHY = 1, /* its card is not healthy */
	/* 2: an operator has cordoned its card; 3: an operator holds it back */
	HAMIDP_CAUSE_WITHHELD = 4,  /* free, but no part of what one request can get */
	HAMIDP_CAUSE_HOLD_DOWN = 5, /* free, but a request was refused a short while ago */
	_HAMIDP_CAUSE_PAD = 0x7fffffff
};

/** hamidp_cause_to_string() - "none", "unhealthy", ...; static, never NULL ("unknown" past the
 * set); thread safe; Since: 0.1 */
const char *hamidp_cause_to_string(enum hamidp_cause cause);

/** enum hamidp_publish_mode - which free slots are published; Since: 0.1 */
enum hamidp_publish_mode {
	HAMIDP_PUBLISH_ALL = 0,	      /* all of them */
	HAMIDP_PUBLISH_PLACEABLE = 1, /* so many that every request up to their number has its
				       * best form within them, and no more */
	_HAMIDP_PUBLISH_PAD = 0x7fffffff
};

/**
 * struct hamidp_publish_options - how to publish
 * @size: sizeof(struct hamidp_publish_options) at the caller's build time
 * @mode: which free slots
 * @limit: at most so many free slots, those of the tightest cards, as hamidp_holddown_limit()
 *         says; 0: no limit
 *
 * Zero-initialize it and set @size. Fields may be added at the end; zero keeps the old behaviour.
 *
 * Since: 0.1
 */
struct hamidp_publish_options {
	size_t size;
	enum hamidp_publish_mode mode;
	uint32_t limit;
};

/**
 * hamidp_publication_new() - an empty publication
 * @ret: where to store it
 *
 * Return: 0 and *@ret owned by the caller (hamidp_publication_free()), or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_publication_new(struct hamidp_publication **ret);

/** hamidp_publication_free() - release (NULL is fine); returns NULL; Since: 0.1 */
struct hamidp_publication *hamidp_publication_free(struct hamidp_publication *publication);

/**
 * hamidp_publish() - say what to publish of a resource
 * @layout: layout
 * @occ: occupancy of @layout
 * @resource: resource number
 * @opts: options, or NULL: all, no limit
 * @publication: overwritten on success, unchanged otherwise; keeps a reference to @layout
 * @reason: what is wrong, or NULL
 *
 * HAMIDP_PUBLISH_PLACEABLE: as many free slots as can be. With m the most slots that one request
 * gets from one device, these are m of every device that has them, and if there is such a device,
 * m - 1 of one more; else all of the one device with the most. Under HAMIDP_PLACEMENT_SPREAD, where
 * every even spread is a normal form, they are the largest such spread. Ties go to the first
 * device in PCI order. Where the driver needs neighbours a device has as many as its longest run.
 *
 * With a limit, the largest request that can be had within it stays possible, and with
 * HAMIDP_PUBLISH_PLACEABLE every smaller one too; what is left of it goes to the tightest devices
 * (HAMIDP_PUBLISH_ALL).
 *
 * Return: 0; -EINVAL (resource, options, an occupancy of another layout), or -ENOMEM (only until
 * @publication has grown to size).
 *
 * Since: 0.1
 */
int hamidp_publish(const struct hamidp_layout *layout, const struct hamidp_occupancy *occ,
		   size_t resource, const struct hamidp_publish_options *opts,
		   struct hamidp_publication *publication, struct hamidp_reason *reason);

/** hamidp_publication_layout() - the layout it is about, borrowed; NULL while empty; Since: 0.1 */
struct hamidp_layout *hamidp_publication_layout(const struct hamidp_publication *publication);
/** hamidp_publication_resource() - resource number; Since: 0.1 */
size_t hamidp_publication_resource(const struct hamidp_publication *publication);
/** hamidp_publication_cause() - of a slot of the layout; HAMIDP_CAUSE_NONE past the end and for
 * slots of other resources; Since: 0.1 */
enum hamidp_cause hamidp_publication_cause(const struct hamidp_publication *publication,
					   size_t slot);
/** hamidp_publication_count() - slots of the resource with a cause: with HAMIDP_CAUSE_NONE its
 * allocatable, all others together its capacity - allocatable; Since: 0.1 */
size_t hamidp_publication_count(const struct hamidp_publication *publication,
				enum hamidp_cause cause);
/** hamidp_publication_n_free() - slots that are sent as Healthy and held by nobody; Since: 0.1 */
size_t hamidp_publication_n_free(const struct hamidp_publication *publication);

/**
 * hamidp_holddown_new() - a hold-down that holds nothing
 * @ret: where to store it
 *
 * Return: 0 and *@ret owned by the caller (hamidp_holddown_free()), or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_holddown_new(struct hamidp_holddown **ret);

/** hamidp_holddown_free() - release (NULL is fine); returns NULL; Since: 0.1 */
struct hamidp_holddown *hamidp_holddown_free(struct hamidp_holddown *holddown);

/**
 * hamidp_holddown_refused() - a request had to be refused because of its form
 * @holddown: hold-down
 * @resource: resource number
 * @units: slots asked for, at least 2
 * @now_us: time in microseconds on a clock that never goes back
 *
 * Holds for 30 s; twice as long as the last time, up to 8 min, if this size was refused before.
 * Refusals of one size within 10 s count as one: they were on their way before the first could be
 * seen. A size is forgotten once it fits, or 8 min after its hold ended. At most 64 sizes are
 * remembered, the smallest of those that hold.
 *
 * Return: 0, or -EINVAL (@units).
 *
 * Since: 0.1
 */
int hamidp_holddown_refused(struct hamidp_holddown *holddown, size_t resource, uint32_t units,
			    uint64_t now_us);

/**
 * hamidp_holddown_review() - end what is over
 * @holddown: hold-down
 * @layout: layout
 * @occ: occupancy of @layout
 * @now_us: time, as for hamidp_holddown_refused()
 *
 * A hold ends at its time, and at once when a request of its size has its best form among the free
 * slots of healthy devices. To be called when the occupancy or the layout has changed and when
 * hamidp_holddown_deadline_us() has passed.
 *
 * Return: 1 if a hold ended, 0 if not, or -EINVAL (an occupancy of another layout).
 *
 * Since: 0.1
 */
int hamidp_holddown_review(struct hamidp_holddown *holddown, const struct hamidp_layout *layout,
			   const struct hamidp_occupancy *occ, uint64_t now_us);

/** hamidp_holddown_limit() - how many free slots of a resource may be published: one less than the
 * smallest size that holds; 0: no limit; Since: 0.1 */
uint32_t hamidp_holddown_limit(const struct hamidp_holddown *holddown, size_t resource);
/** hamidp_holddown_deadline_us() - when to call hamidp_holddown_review() at the latest, UINT64_MAX
 * (HAMIDP_NO_DEADLINE) if nothing holds; Since: 0.1 */
uint64_t hamidp_holddown_deadline_us(const struct hamidp_holddown *holddown);

#ifdef __cplusplus
}
#endif
#endif
