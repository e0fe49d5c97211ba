/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The main() of a check program: one suite, results as TAP on standard output (see meson.build). */

#include <check.h>
#include <stdlib.h>

static inline int suite_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
