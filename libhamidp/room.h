/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How much room the devices of a resource have, as numbers. Pure, allocates nothing. */

#include "occupancy.h"

struct hdp_run { /* neighbouring slots, [first, end) */
	size_t first;
	size_t end;
};

/* The most slots that one request gets from one device; 0 if the resource has none. */
uint32_t hdp_room_per_card(const struct hamidp_layout *layout, size_t resource);

bool hdp_room_is_healthy(const struct hamidp_layout *layout, size_t pos);
/* Free slots of a device, whatever its health. */
uint32_t hdp_room_free(const struct hamidp_occupancy *occ, size_t pos);
/* The largest slice that a device can give: all that is free or, where the driver needs neighbours,
 * its longest run. */
uint32_t hdp_room_cap(const struct hamidp_occupancy *occ, size_t pos);
/* The shortest run of free slots that has @n of them, the first of equals; empty if there is none.
 */
struct hdp_run hdp_room_run(const struct hamidp_occupancy *occ, size_t pos, uint32_t n);

/* Do @units (at least 1) have their normal form among the free slots of healthy devices? */
bool hdp_room_fits(const struct hamidp_occupancy *occ, size_t resource, uint32_t units);
