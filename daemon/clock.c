/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the clock. */
#include "clock.h"

uint64_t clock_now_us(void)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_ROOM_ID, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t clock_now_fn(void *userdata)
{
	(void)userdata;
	return clock_now_us();
}
