/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The host of a driver: chooses one from an ordered table, and owns what the core lends it for its
 * whole life, so that a call that never returns finds its surroundings in place.
 */

#include "driver.h"

struct hdp_driver_host {
	const struct hdp_driver *const *table;
	const struct hdp_driver *driver; /* NULL: none is open */
	void *priv;
	struct hdp_driver_env env;
	struct hdp_log log;
	char *spec; /* name, or name:argument */
	char *sysroot;
	char *driver_root;
};

/* In the order in which "auto" asks them; ends with NULL. */
extern const struct hdp_driver *const hdp_drivers[];

/*
 * Check the names and paths of @opts and keep them; nothing is opened yet. 0; -ENOENT (no such
 * driver), -EINVAL or -ENOMEM.
 */
int hdp_driver_host_new(const struct hamidp_node_options *opts,
			const struct hdp_driver *const *table, struct hdp_driver_host **ret,
			struct hamidp_reason *reason) hdp_must_check;

/* Open the named driver, or the first that "auto" finds. As hdp_driver.open. */
int hdp_driver_host_open(struct hdp_driver_host *host, struct hamidp_reason *reason) hdp_must_check;

/* Close the driver and release. As a plain function of void *, for the worker. */
void hdp_driver_host_free(void *host);

static inline bool hdp_driver_may_block(const struct hdp_driver_host *host)
{
	return host->driver && host->driver->may_block && host->driver->may_block(host->priv);
}
