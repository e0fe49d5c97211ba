/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Links between devices. The order of the statements must not matter: what several of them say
 * about a pair becomes the smaller value, and two kinds of direct link become none.
 */

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "links.h"
#include "reason.h"

#define CONFLICT UINT8_MAX /* link type while merging: NVLink and XGMI were both stated */

static int compare_uuid(const void *key, const void *item)
{
	return strcmp(key, ((const struct hdp_uuid_pos *)item)->uuid);
}

static int find(const struct hdp_uuid_pos *by_uuid, size_t n, const char *uuid, size_t *ret)
{
	const struct hdp_uuid_pos *found = NULL;

	if (uuid && n > 0)
		found = bsearch(uuid, by_uuid, n, sizeof(*by_uuid), compare_uuid);
	if (!found)
		return -ENOENT;
	*ret = found->pos;
	return 0;
}

/* The smaller of two values of which 0 means unknown. */
static uint32_t smaller(uint32_t a, uint32_t b)
{
	if (a == 0 || b == 0)
		return a + b;
	return a < b ? a : b;
}

static void merge(struct hdp_link *link, const struct hdp_link_info *said)
{
	struct hdp_link other = {
		.type = (uint8_t)said->type,
		.pcie = (uint8_t)said->pcie,
		.lanes = said->lanes > UINT16_MAX ? UINT16_MAX : (uint16_t)said->lanes,
		.gbps = said->gbps,
	};

	link->pcie = (uint8_t)smaller(link->pcie, other.pcie);
	if (other.type == HAMIDP_LINK_NONE)
		other.lanes = 0; /* lanes are counted for direct links only */

	if (link->type == other.type) {
		link->lanes = (uint16_t)smaller(link->lanes, other.lanes);
		link->gbps = smaller(link->gbps, other.gbps);
	} else if (link->type == HAMIDP_LINK_NONE) {
		/* The speed of the direct link counts, not that of the bus beside it. */
		link->type = other.type;
		link->lanes = other.lanes;
		link->gbps = other.gbps;
	} else if (other.type != HAMIDP_LINK_NONE) {
		link->type = CONFLICT;
	}
}

static int check_link(const struct hdp_link_info *said, const struct hdp_uuid_pos *by_uuid,
		      size_t n, size_t *ret_a, size_t *ret_b, struct hamidp_reason *reason)
{
	const char *missing = NULL;
	size_t a = 0, b = 0;

	if (find(by_uuid, n, said->a, &a) < 0)
		missing = said->a ? said->a : "";
	else if (find(by_uuid, n, said->b, &b) < 0)
		missing = said->b ? said->b : "";
	if (missing)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_INPUT,
				"a link names the device '%.160s', which is not there", missing);
	if (a == b)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_INPUT,
				"device '%s' is linked to itself", said->a);
	*ret_a = a;
	*ret_b = b;
	return 0;
}

int hdp_links_build(const struct hdp_link_info *links, size_t n_links,
		    const struct hdp_uuid_pos *by_uuid, size_t n, struct hdp_link **ret,
		    struct hamidp_reason *reason)
{
	hdp_cleanup_free struct hdp_link *matrix = NULL;

	if (n_links == 0) {
		*ret = NULL;
		return 0;
	}
	matrix = calloc(n ? n * n : 1, sizeof(*matrix));
	if (!matrix)
		return hdp_oom(reason);

	for (size_t i = 0; i < n_links; i++) {
		size_t a = 0, b = 0;
		int r = check_link(&links[i], by_uuid, n, &a, &b, reason);

		if (r < 0)
			return r;
		merge(&matrix[a * n + b], &links[i]);
		matrix[b * n + a] = matrix[a * n + b];
	}
	for (size_t i = 0; i < n * n; i++)
		if (matrix[i].type == CONFLICT)
			matrix[i] = (struct hdp_link){ .pcie = matrix[i].pcie };
	*ret = take_ptr(matrix);
	return 0;
}
