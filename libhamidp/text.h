/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Text that came from outside: is it valid UTF-8, and how to make it fit for one line. */

#include <stdbool.h>
#include <stddef.h>

/* Valid UTF-8 without control characters (C0, DEL, C1). */
bool hdp_text_valid(const char *text, size_t len);

/* Replace control characters and invalid bytes by '?', in place. */
void hdp_text_clean(char *text);

/* Cut @text to fewer than @size bytes, at the start of a character. */
void hdp_text_cut(char *text, size_t size);
