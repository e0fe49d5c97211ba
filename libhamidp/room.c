/* SPDX-License-Identifier: Apache-2.0 */

/* How much room the devices of a resource have; see room.h. */

#include "room.h"
#include "choose.h"
#include "place.h"

uint32_t hdp_room_per_card(const struct hamidp_layout *layout, size_t resource)
{
	return hdp_layout_slots_per_device(layout, resource);
}

bool hdp_room_is_healthy(const struct hamidp_layout *layout, size_t pos)
{
	return layout->inv->devices[pos].info.health == HAMIDP_HEALTH_HEALTHY;
}

static struct hdp_run whole_device(const struct hamidp_occupancy *occ, size_t pos)
{
	const struct hdp_layout_device *dev = &occ->layout->devices[pos];

	return (struct hdp_run){ dev->first_slot, dev->first_slot + dev->n_slots };
}

uint32_t hdp_room_free(const struct hamidp_occupancy *occ, size_t pos)
{
	struct hdp_run dev = whole_device(occ, pos);
	uint32_t n = (uint32_t)(dev.end - dev.first);

	return occ->held ? n - hdp_bit_count(occ->held, dev.first, dev.end) : n;
}

/* The first run at or after @from; empty, at @end, if there is none. */
static struct hdp_run next_run(const struct hamidp_occupancy *occ, size_t from, size_t end)
{
	struct hdp_run run = { from, end };

	if (!occ->held || from >= end)
		return run;
	run.first = hdp_bit_next_clear(occ->held, from, end);
	run.end = hdp_bit_next_set(occ->held, run.first, end);
	return run;
}

uint32_t hdp_room_cap(const struct hamidp_occupancy *occ, size_t pos)
{
	struct hdp_run dev = whole_device(occ, pos), run;
	size_t most = 0;

	if (!occ->layout->inv->contiguous)
		return hdp_room_free(occ, pos);
	for (run = next_run(occ, dev.first, dev.end); run.first < run.end;
	     run = next_run(occ, run.end, dev.end))
		most = run.end - run.first > most ? run.end - run.first : most;
	return (uint32_t)most;
}

struct hdp_run hdp_room_run(const struct hamidp_occupancy *occ, size_t pos, uint32_t n)
{
	struct hdp_run dev = whole_device(occ, pos), run, best = { 0, 0 };

	for (run = next_run(occ, dev.first, dev.end); run.first < run.end;
	     run = next_run(occ, run.end, dev.end))
		if (run.end - run.first >= n &&
		    (best.first == best.end || run.end - run.first < best.end - best.first))
			best = run;
	return best;
}

bool hdp_room_fits(const struct hamidp_occupancy *occ, size_t resource, uint32_t units)
{
	const struct hamidp_layout *layout = occ->layout;
	uint32_t per_card = hdp_room_per_card(layout, resource);
	uint32_t n_base = 0, n_more = 0;
	struct hdp_form form;

	if (per_card == 0)
		return false;
	form = hdp_form_of_units(units, per_card);
	for (size_t pos = 0; pos < layout->inv->n_devices; pos++) {
		uint32_t cap;

		if (layout->devices[pos].resource != resource || !hdp_room_is_healthy(layout, pos))
			continue;
		cap = hdp_room_cap(occ, pos);
		n_base += cap >= form.base;
		n_more += cap > form.base;
	}
	return n_base >= form.n && n_more >= form.rem;
}
