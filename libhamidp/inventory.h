/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The insides of an inventory, for the library's own rooms. Immutable after sealing. */

#include <hami/inventory.h>

#include "machine.h"
#include "topology.h"

struct hamidp_device {
	struct hdp_device_info info; /* strings that are unknown are "" here, never NULL */
};

struct hdp_link { /* symmetric */
	uint8_t type;
	uint8_t pcie;
	uint16_t lanes;
	uint32_t gbps;
};

struct hamidp_inventory {
	unsigned refs; /* atomic */
	char *driver_name;
	char *driver_version;
	uint32_t max_slots;
	bool contiguous;
	struct hamidp_device *devices;
	size_t n_devices;
	size_t *by_uuid;	/* positions, sorted by UUID */
	struct hdp_link *links; /* n x n, NULL if nothing is known */
	char *link_note;	/* what was stated in different ways, NULL: nothing, or derived */
	struct hdp_topology *topology;
	struct hdp_path *mounts;
	size_t n_mounts;
	struct hdp_stated_grant *grants;
	size_t n_grants;
};

/* Health that somebody else knows, laid over what the driver said. */
struct hdp_health_overlay {
	const char *uuid;
	enum hamidp_health health;
	const char *cause;
};

/*
 * A copy of @inv with other healths, plus devices that the driver no longer names (positions sorted
 * as ever). Unknown UUIDs in @overlay are passed over. 0 or -ENOMEM.
 */
int hdp_inventory_derive(const struct hamidp_inventory *inv,
			 const struct hdp_health_overlay *overlay, size_t n_overlay,
			 const struct hdp_device_info *gone, size_t n_gone,
			 struct hamidp_inventory **ret) hdp_must_check;

/* True if both describe the same machine, healths and causes included. */
bool hdp_inventory_equal(const struct hamidp_inventory *a, const struct hamidp_inventory *b);

/* @inv as JSON with other grants than its own. 0 or -ENOMEM. */
int hdp_inventory_write(const struct hamidp_inventory *inv, const struct hdp_stated_grant *grants,
			size_t n_grants, char **ret_text, size_t *ret_len) hdp_must_check;
