/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The machines that are built in; the table is generated from the machines directory (embed.py). */

#include <stddef.h>

struct hdp_bundled {
	const char *name;
	const char *text;
	size_t len;
};

extern const struct hdp_bundled hdp_bundled[];
extern const size_t hdp_bundled_n;
