/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The table that --dry-run prints: cards, how they are cut, and every slot. */

#include <stdio.h>

struct hamidp_layout;

void dry_run_print(const struct hamidp_layout *layout, FILE *out);
