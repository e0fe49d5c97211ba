/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Hold-downs: which sizes were refused, and for how long each limits what is published. Times come
 * from the caller.
 */

#include <errno.h>
#include <string.h>

#include <hami/publish.h>

#include "room.h"

#define HOLDS_MAX 64
#define FIRST_US UINT64_C(30000000)
#define LONGEST_US UINT64_C(480000000)
#define BURST_US UINT64_C(10000000) /* a kubelet tells its node's status every 10 s */

struct hold {
	size_t resource;
	uint32_t units;
	bool holds;	     /* else it is only remembered, for the next length */
	uint64_t started_us; /* the first refusal of the last burst */
	uint64_t length_us;
	uint64_t until_us; /* end of the hold, also once it is over */
};

struct hamidp_holddown {
	struct hold holds[HOLDS_MAX];
	size_t n;
};

HAMIDP_EXPORT int hamidp_holddown_new(struct hamidp_holddown **ret)
{
	struct hamidp_holddown *holddown = calloc(1, sizeof(*holddown));

	if (!holddown)
		return -ENOMEM;
	*ret = holddown;
	return 0;
}

HAMIDP_EXPORT struct hamidp_holddown *hamidp_holddown_free(struct hamidp_holddown *holddown)
{
	free(holddown);
	return NULL;
}

static uint64_t later(uint64_t now_us, uint64_t by_us)
{
	return now_us > UINT64_MAX - by_us ? UINT64_MAX : now_us + by_us;
}

static struct hold *find(struct hamidp_holddown *holddown, size_t resource, uint32_t units)
{
	for (size_t i = 0; i < holddown->n; i++)
		if (holddown->holds[i].resource == resource && holddown->holds[i].units == units)
			return &holddown->holds[i];
	return NULL;
}

static void forget(struct hamidp_holddown *holddown, struct hold *hold)
{
	*hold = holddown->holds[--holddown->n];
}

/* Matters less: what is only remembered, then the larger size, whose limit is the milder one. */
static bool matters_less(const struct hold *a, const struct hold *b)
{
	if (a->holds != b->holds)
		return !a->holds;
	if (!a->holds)
		return a->until_us < b->until_us;
	return a->units > b->units;
}

/* Room for one more; NULL if all that is there matters more. */
static struct hold *add(struct hamidp_holddown *holddown, const struct hold *hold)
{
	struct hold *least = &holddown->holds[0];

	if (holddown->n < HOLDS_MAX) {
		least = &holddown->holds[holddown->n++];
	} else {
		for (size_t i = 1; i < holddown->n; i++)
			if (matters_less(&holddown->holds[i], least))
				least = &holddown->holds[i];
		if (matters_less(hold, least))
			return NULL;
	}
	*least = *hold;
	return least;
}

HAMIDP_EXPORT int hamidp_holddown_refused(struct hamidp_holddown *holddown, size_t resource,
					  uint32_t units, uint64_t now_us)
{
	struct hold fresh = { .resource = resource,
			      .units = units,
			      .holds = true,
			      .started_us = now_us,
			      .length_us = FIRST_US };
	struct hold *hold = find(holddown, resource, units);

	if (units < 2)
		return -EINVAL;
	if (!hold) {
		hold = add(holddown, &fresh);
		if (!hold)
			return 0;
	} else if (now_us >= later(hold->started_us, BURST_US)) {
		hold->started_us = now_us;
		hold->length_us *= 2;
		if (hold->length_us > LONGEST_US)
			hold->length_us = LONGEST_US;
	}
	hold->holds = true;
	hold->until_us = later(now_us, hold->length_us);
	return 0;
}

HAMIDP_EXPORT int hamidp_holddown_review(struct hamidp_holddown *holddown,
					 const struct hamidp_layout *layout,
					 const struct hamidp_occupancy *occ, uint64_t now_us)
{
	bool ended = false;

	if (occ->layout != layout)
		return -EINVAL;
	for (size_t i = holddown->n; i-- > 0;) {
		struct hold *hold = &holddown->holds[i];

		if (hold->resource < layout->n_resources &&
		    hdp_room_fits(occ, hold->resource, hold->units)) {
			ended = ended || hold->holds;
			forget(holddown, hold);
		} else if (hold->holds && now_us >= hold->until_us) {
			ended = true;
			hold->holds = false;
		} else if (now_us >= later(hold->until_us, LONGEST_US)) {
			forget(holddown, hold);
		}
	}
	return ended;
}

HAMIDP_EXPORT uint32_t hamidp_holddown_limit(const struct hamidp_holddown *holddown,
					     size_t resource)
{
	uint32_t limit = 0;

	for (size_t i = 0; i < holddown->n; i++) {
		const struct hold *hold = &holddown->holds[i];

		if (hold->holds && hold->resource == resource &&
		    (limit == 0 || hold->units - 1 < limit))
			limit = hold->units - 1;
	}
	return limit;
}

HAMIDP_EXPORT uint64_t hamidp_holddown_deadline_us(const struct hamidp_holddown *holddown)
{
	uint64_t deadline_us = UINT64_MAX;

	for (size_t i = 0; i < holddown->n; i++)
		if (holddown->holds[i].holds && holddown->holds[i].until_us < deadline_us)
			deadline_us = holddown->holds[i].until_us;
	return deadline_us;
}
