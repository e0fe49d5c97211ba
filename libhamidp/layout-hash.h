/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* From a slot's id to its number. */

#include "layout.h"

/* Build the table of a layout whose slots are made. 0 or -ENOMEM. */
int hdp_layout_hash(struct hamidp_layout *layout) hdp_must_check;
