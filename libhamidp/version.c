/* SPDX-License-Identifier: Apache-2.0 */

/* The version that was built, for callers that want to know what they run with. */

#include <hami/version.h>

#include "macro.h"

HAMIDP_EXPORT const char *hamidp_version(void)
{
	return HAMIDP_VERSION;
}
