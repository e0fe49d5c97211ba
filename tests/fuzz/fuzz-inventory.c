/* SPDX-License-Identifier: Apache-2.0 */

/* Any text at the inventory reader; what it accepts must be written and read back the same. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inventory.h"
#include "reason.h"
#include "sim-json.h"
#include "text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_reason(const struct hamidp_reason *reason)
{
	if (reason->code == HAMIDP_REASON_NONE || !*reason->text ||
	    !hdp_text_valid(reason->text, strlen(reason->text)))
		abort();
}

static void check_round_trip(const struct hamidp_inventory *inv)
{
	struct hamidp_inventory *again = NULL;
	size_t len = 0;
	char *text;

	if (hamidp_inventory_to_json(inv, &text, &len) < 0)
		abort();
	if (hamidp_inventory_from_json(text, len, &again, NULL) < 0 ||
	    !hdp_inventory_equal(inv, again))
		abort();
	hamidp_inventory_unref(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hdp_sim_script script = { 0 };
	struct hamidp_inventory *inv = NULL;
	struct hamidp_reason reason;
	struct hdp_machine m = { 0 };
	int r;

	hdp_reason_clear(&reason);
	r = hdp_machine_parse((const char *)data, size, &m, &script, &reason);
	if (r == 0)
		r = hdp_machine_seal(&m, &inv, &reason);
	if (r < 0)
		check_reason(&reason);
	else
		check_round_trip(inv);
	hamidp_inventory_unref(inv);
	hdp_machine_done(&m);
	hdp_sim_script_done(&script);
	return 0;
}
