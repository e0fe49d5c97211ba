/* SPDX-License-Identifier: Apache-2.0 */
/* Formats complaints. Knows nothing of what is complained about. */
#include <stdio.h>

#include "complaint.h"

int complain(struct complaint *complaint, int rc, const char *format, ...)
{
	va_list args;

	if (!complaint)
		return rc;
	va_start(args, format);
	if (vsnprintf(complaint->text, sizeof(complaint->text), format, args) < 0)
		complaint->text[0] = '\0';
	va_end(args);
	for (char *p = complaint->text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	return rc;
}
