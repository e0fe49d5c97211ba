/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Names of extended resources, and the environment prefix that follows from one. */

#include <stdbool.h>

/* What is wrong with @name as an extended resource's name, or NULL. */
const char *hdp_resource_name_wrong(const char *name);

/* "HAMI_VGPU" for "hami.com/vgpu"; to be freed. NULL: out of memory. @name is right. */
char *hdp_resource_prefix(const char *name);
