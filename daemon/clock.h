/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The daemon's clock room. CLOCK_BOOTTIME for all that is measured or due, since it goes on while
 * the machine sleeps and never goes back.
 */

#include <stdint.h>
#include <time.h>

#define CLOCK_ROOM_ID CLOCK_BOOTTIME

uint64_t clock_now_us(void);
/* The same as a hamidp_now_fn; @userdata is not used. */
uint64_t clock_now_fn(void *userdata);
