/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Arrays of strings that own their strings. */

#include <stddef.h>

#include "macro.h"

/* Strings before the NULL that ends @strv; 0 for NULL. */
size_t hdp_strv_len(const char *const *strv);

/* A copy of @n strings, ended by NULL, to be released with hdp_strv_free(). 0 or -ENOMEM. */
hdp_must_check int hdp_strv_dup(const char *const *src, size_t n, char ***ret);

/* Takes NULL. */
void hdp_strv_free(char **strv, size_t n);
