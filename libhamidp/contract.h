/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The container contract: the variables that every container of a grant gets. They inform. */

#include "grant.h"

/* 0; -EINVAL (more than an environment can carry, with a reason) or -ENOMEM. */
int hdp_contract_env(const struct hdp_layout_resource *resource, const struct hamidp_grant *grant,
		     struct hamidp_edits *edits, struct hamidp_reason *reason) hdp_must_check;

#define HDP_PERCENT_MAX 16U
/* 125000 ppm is "12.5": without trailing zeros. */
void hdp_format_percent(uint32_t ppm, char ret[HDP_PERCENT_MAX]);
