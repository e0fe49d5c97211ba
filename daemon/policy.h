/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Options to the library's policy: the only place where configuration becomes slicing. */

struct complaint;
struct hamidp_policy;
struct options;

/*
 * Return: 0 with *@ret owned by the caller (hamidp_policy_free()), -EINVAL (with where the value
 * was set) or -ENOMEM.
 */
int policy_from_options(const struct options *opts, struct hamidp_policy **ret,
			struct complaint *complaint);
