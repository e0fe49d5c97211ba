/* SPDX-License-Identifier: Apache-2.0 */

/* The store in memory does what every store has to do. */

#include "store-suite.h"
#include "suite.h"

static struct hdp_store *make_mem(void)
{
	struct hdp_store *made = NULL;

	ck_assert_int_eq(hdp_store_mem_new(&made), 0);
	return made;
}

int main(void)
{
	static const struct store_maker maker = { .make = make_mem };

	return suite_run(store_suite("store-mem", &maker));
}
