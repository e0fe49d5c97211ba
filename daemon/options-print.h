/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* --help and --print-config, out of the option table. */

#include <stdio.h>

struct options;

void options_print_help(FILE *out);
/* The effective configuration as a file of the same form; a comment tells each value's origin. */
void options_print_config(const struct options *opts, FILE *out);
