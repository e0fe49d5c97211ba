/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The one reader of "hami.inventory/1": a machine, and the script of a simulated one. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine.h"

enum hdp_sim_state {
	HDP_SIM_OK = 0,
	HDP_SIM_NOT_LOADED = 1, /* the driver is not there */
	HDP_SIM_HANG = 2,	/* no call of the driver returns */
};

struct hdp_sim_event {
	uint64_t seq;
	char *uuid;
	uint64_t code;
};

struct hdp_sim_script {
	enum hdp_sim_state state;
	struct hdp_sim_event *events;
	size_t n_events;
	char **hang; /* UUIDs of devices that do not answer */
	size_t n_hang;
};

void hdp_sim_script_done(struct hdp_sim_script *script);

/*
 * Parse @len bytes of JSON. @ret_script may be NULL. Unknown keys, values out of range and anything
 * past the end are -EINVAL with line, column and key in @reason; else 0 or -ENOMEM. Outputs are
 * zeroed structs on entry and filled on success only.
 */
int hdp_machine_parse(const char *text, size_t len, struct hdp_machine *ret_machine,
		      struct hdp_sim_script *ret_script, struct hamidp_reason *reason)
	hdp_must_check;

/* Text of a bundled machine by name, or NULL; static. */
const char *hdp_bundled_text(const char *name, size_t *ret_len);
