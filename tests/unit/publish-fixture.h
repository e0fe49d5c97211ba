/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Publications of drawn machines (fixture.h), shown with one character a slot:
 *
 *   .  free and published      x  held       !  its card is not healthy
 *   w  free and withheld       h  free and held down
 */

#include <hami/publish.h>

#include "fixture.h"

static inline void publish(const struct fixture *f, enum hamidp_publish_mode mode, uint32_t limit,
			   struct hamidp_publication *publication)
{
	struct hamidp_publish_options opts = { .size = sizeof(opts), .mode = mode, .limit = limit };
	int r = hamidp_publish(f->layout, f->occ, 0, &opts, publication, f->reason);

	ck_assert_msg(r == 0, "%s", hamidp_reason_text(f->reason));
}

static inline char publish_char(const struct fixture *f, enum hamidp_cause cause, size_t slot)
{
	switch (cause) {
	case HAMIDP_CAUSE_NONE:
		return hamidp_occupancy_holder(f->occ, slot) ? 'x' : '.';
	case HAMIDP_CAUSE_UNHEALTHY:
		return '!';
	case HAMIDP_CAUSE_WITHHELD:
		return 'w';
	case HAMIDP_CAUSE_HOLD_DOWN:
		return 'h';
	case _HAMIDP_CAUSE_PAD:
		break;
	}
	return '?';
}

static inline void publish_show(const struct fixture *f,
				const struct hamidp_publication *publication, char *ret,
				size_t size)
{
	size_t n = hamidp_layout_n_slots(f->layout), at = 0;

	for (size_t slot = 0; slot < n; slot++) {
		if (slot > 0 && hamidp_layout_slot_device(f->layout, slot) !=
					hamidp_layout_slot_device(f->layout, slot - 1))
			ret[at++] = ' ';
		ck_assert_uint_lt(at + 2, size);
		ret[at++] = publish_char(f, hamidp_publication_cause(publication, slot), slot);
	}
	ret[at] = '\0';
}
