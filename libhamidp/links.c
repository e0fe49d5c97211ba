/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Links between devices. The order of the statements must not matter: what several of them say
 * about a pair becomes the smaller value, and two kinds of direct link become none. The larger
 * values are kept as long as it takes to tell where statements contradict each other.
 */

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "buffer.h"
#include "links.h"
#include "reason.h"

#define CONFLICT UINT8_MAX /* link type while merging: NVLink and XGMI were both stated */
#define NAMED_MAX 3U	   /* pairs that a note names; the others are counted */

/* Which of two values of which 0 means unknown. */
typedef uint32_t (*pick_fn)(uint32_t a, uint32_t b);

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

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static void merge(struct hdp_link *link, const struct hdp_link_info *said, pick_fn pick)
{
	struct hdp_link other = {
		.type = (uint8_t)said->type,
		.pcie = (uint8_t)said->pcie,
		.lanes = said->lanes > UINT16_MAX ? UINT16_MAX : (uint16_t)said->lanes,
		.gbps = said->gbps,
	};

	link->pcie = (uint8_t)pick(link->pcie, other.pcie);
	if (other.type == HAMIDP_LINK_NONE)
		other.lanes = 0; /* lanes are counted for direct links only */

	if (link->type == other.type) {
		link->lanes = (uint16_t)pick(link->lanes, other.lanes);
		link->gbps = pick(link->gbps, other.gbps);
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

static int merge_all(const struct hdp_link_info *links, size_t n_links,
		     const struct hdp_uuid_pos *by_uuid, size_t n, struct hdp_link *least,
		     struct hdp_link *most, struct hamidp_reason *reason)
{
	for (size_t i = 0; i < n_links; i++) {
		size_t a = 0, b = 0;
		int r = check_link(&links[i], by_uuid, n, &a, &b, reason);

		if (r < 0)
			return r;
		merge(&least[a * n + b], &links[i], smaller);
		merge(&most[a * n + b], &links[i], larger);
		least[b * n + a] = least[a * n + b];
		most[b * n + a] = most[a * n + b];
	}
	return 0;
}

static bool are_contradictory(const struct hdp_link *least, const struct hdp_link *most)
{
	return least->type == CONFLICT || least->lanes != most->lanes ||
	       least->gbps != most->gbps || least->pcie != most->pcie;
}

static void put_values(struct hdp_buffer *note, const char *sep, const char *least,
		       const char *most, const char *unit)
{
	hdp_buffer_put(note, sep);
	hdp_buffer_put(note, least);
	hdp_buffer_put(note, " or ");
	hdp_buffer_put(note, most);
	hdp_buffer_put(note, unit);
}

static void put_numbers(struct hdp_buffer *note, const char *sep, uint32_t least, uint32_t most,
			const char *unit)
{
	hdp_buffer_put(note, sep);
	hdp_buffer_number(note, least);
	hdp_buffer_put(note, " or ");
	hdp_buffer_number(note, most);
	hdp_buffer_put(note, unit);
}

/* Of one pair: each value that was stated in two ways. */
static void put_pair(struct hdp_buffer *note, const struct hdp_link *least,
		     const struct hdp_link *most)
{
	const char *sep = ": ";

	if (least->type == CONFLICT) {
		put_values(note, sep, hamidp_link_type_to_string(HAMIDP_LINK_NVLINK),
			   hamidp_link_type_to_string(HAMIDP_LINK_XGMI), "");
		sep = ", ";
	} else if (least->lanes != most->lanes) {
		put_numbers(note, sep, least->lanes, most->lanes, " lanes");
		sep = ", ";
	}
	if (least->type != CONFLICT && least->gbps != most->gbps) {
		put_numbers(note, sep, least->gbps, most->gbps, " GB/s");
		sep = ", ";
	}
	if (least->pcie != most->pcie)
		put_values(note, sep,
			   hamidp_pcie_level_to_string((enum hamidp_pcie_level)least->pcie),
			   hamidp_pcie_level_to_string((enum hamidp_pcie_level)most->pcie), "");
}

/* One line about all contradictions, in order of UUIDs; NULL: there are none. 0 or -ENOMEM. */
static int make_note(const struct hdp_link *least, const struct hdp_link *most,
		     const struct hdp_uuid_pos *by_uuid, size_t n, char **ret)
{
	struct hdp_buffer note = { 0 };
	size_t n_pairs = 0, len;

	for (size_t a = 0; a < n; a++)
		for (size_t b = a + 1; b < n; b++) {
			size_t x = by_uuid[a].pos * n + by_uuid[b].pos;

			if (!are_contradictory(&least[x], &most[x]) || ++n_pairs > NAMED_MAX)
				continue;
			hdp_buffer_put(&note, n_pairs == 1 ? "" : "; ");
			hdp_buffer_put(&note, by_uuid[a].uuid);
			hdp_buffer_put(&note, " and ");
			hdp_buffer_put(&note, by_uuid[b].uuid);
			put_pair(&note, &least[x], &most[x]);
		}
	if (n_pairs > NAMED_MAX) {
		hdp_buffer_put(&note, "; and ");
		hdp_buffer_number(&note, n_pairs - NAMED_MAX);
		hdp_buffer_put(&note, " more pairs");
	}
	*ret = NULL;
	if (n_pairs == 0)
		return 0;
	*ret = hdp_buffer_take(&note, &len);
	return *ret ? 0 : -ENOMEM;
}

int hdp_links_build(const struct hdp_link_info *links, size_t n_links,
		    const struct hdp_uuid_pos *by_uuid, size_t n, struct hdp_link **ret,
		    char **ret_note, struct hamidp_reason *reason)
{
	hdp_cleanup_free struct hdp_link *least = NULL;
	hdp_cleanup_free struct hdp_link *most = NULL;
	int r;

	if (n_links == 0) {
		*ret = NULL;
		*ret_note = NULL;
		return 0;
	}
	least = calloc(n ? n * n : 1, sizeof(*least));
	most = calloc(n ? n * n : 1, sizeof(*most));
	if (!least || !most)
		return hdp_oom(reason);

	r = merge_all(links, n_links, by_uuid, n, least, most, reason);
	if (r < 0)
		return r;
	if (make_note(least, most, by_uuid, n, ret_note) < 0)
		return hdp_oom(reason);
	for (size_t i = 0; i < n * n; i++)
		if (least[i].type == CONFLICT)
			least[i] = (struct hdp_link){ .pcie = least[i].pcie };
	*ret = take_ptr(least);
	return 0;
}
