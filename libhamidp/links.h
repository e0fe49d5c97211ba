/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Statements about pairs of devices become one symmetric matrix. */

#include "inventory.h"

struct hdp_uuid_pos {
	const char *uuid;
	size_t pos;
};

/*
 * Merge @links into a matrix of @n x @n. @by_uuid has the devices, sorted by UUID. No statement
 * gives NULL. @ret_note: one line that names the first pairs of which different things were stated,
 * and what; NULL if there are none. -EINVAL with a reason (a device that is not there, or linked to
 * itself), or -ENOMEM.
 */
int hdp_links_build(const struct hdp_link_info *links, size_t n_links,
		    const struct hdp_uuid_pos *by_uuid, size_t n, struct hdp_link **ret,
		    char **ret_note, struct hamidp_reason *reason) hdp_must_check;
