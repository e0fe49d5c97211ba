/* SPDX-License-Identifier: Apache-2.0 */

/* Sealing: a described machine is checked, sorted and becomes an immutable inventory. */

#include <errno.h>
#include <string.h>

#include "form.h"
#include "inventory.h"
#include "links.h"
#include "reason.h"
#include "text.h"

/* What a device is sorted by: those with a PCI address first. */
struct sort_key {
	uint64_t pci; /* UINT64_MAX: none */
	const char *uuid;
	size_t from;
};

static int compare_keys(const void *a, const void *b)
{
	const struct sort_key *x = a, *y = b;

	if (x->pci != y->pci)
		return x->pci < y->pci ? -1 : 1;
	return strcmp(x->uuid, y->uuid);
}

static int bad(struct hamidp_reason *reason, const char *uuid, const char *what, const char *value,
	       const char *rule)
{
	return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_INPUT,
			"device '%s': %s '%.128s' is not accepted, expected %s", uuid, what, value,
			rule);
}

static int check_text(struct hamidp_reason *reason, const char *uuid, const char *what,
		      const char *text)
{
	size_t len = text ? strnlen(text, HDP_STRING_MAX + 1) : 0;

	if (len <= HDP_STRING_MAX && (len == 0 || hdp_text_valid(text, len)))
		return 0;
	return bad(reason, uuid, what, text,
		   "at most 4096 bytes of UTF-8 without control characters");
}

static int check_path(struct hamidp_reason *reason, const char *uuid, const struct hdp_path *path)
{
	int r = check_text(reason, uuid, "host path", path->host);

	if (r == 0)
		r = check_text(reason, uuid, "container path", path->container);
	if (r == 0)
		r = check_text(reason, uuid, "permissions", path->permissions);
	return r;
}

static int check_numbers(struct hamidp_reason *reason, const struct hdp_device_info *info)
{
	if (info->memory_mib > HDP_MEMORY_MIB_MAX)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_INPUT,
				"device '%s': memory of %llu MiB is not accepted, at most %llu",
				info->uuid, (unsigned long long)info->memory_mib,
				HDP_MEMORY_MIB_MAX);
	if ((unsigned)info->health > HAMIDP_HEALTH_GONE)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_INPUT,
				"device '%s': health %u is not one of the known states", info->uuid,
				(unsigned)info->health);
	return 0;
}

static int check_strings(struct hamidp_reason *reason, const struct hdp_device_info *info)
{
	const struct {
		const char *what, *text;
	} texts[] = {
		{ "model", info->model },
		{ "health cause", info->health_cause },
	};
	int r;

	if (info->compute_capability && *info->compute_capability &&
	    !hdp_capability_valid(info->compute_capability))
		return bad(reason, info->uuid, "compute capability", info->compute_capability,
			   "major.minor, as 8.0");
	if (info->cpus && *info->cpus && !hdp_cpulist_valid(info->cpus))
		return bad(reason, info->uuid, "cpus", info->cpus, "a cpulist, as 0-15,32-47");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		r = check_text(reason, info->uuid, texts[i].what, texts[i].text);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < info->n_nodes; i++) {
		r = check_path(reason, info->uuid, &info->nodes[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Check @info, bring its PCI address to its normal form and make its sort key. */
static int check_device(struct hamidp_reason *reason, struct hdp_device_info *info, size_t i,
			struct sort_key *ret_key)
{
	struct sort_key key = { .pci = UINT64_MAX, .uuid = info->uuid, .from = i };
	char pci[HDP_PCI_SIZE];
	char *copy;
	int r;

	if (!info->uuid || !hdp_uuid_valid(info->uuid))
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_INPUT,
				"device %zu: UUID '%.160s' is not accepted, expected %s", i,
				info->uuid ? info->uuid : "", HDP_UUID_RULE);
	r = check_numbers(reason, info);
	if (r == 0)
		r = check_strings(reason, info);
	if (r < 0)
		return r;

	if (info->pci && *info->pci) {
		if (!hdp_pci_parse(info->pci, pci, &key.pci))
			return bad(reason, info->uuid, "PCI address", info->pci, HDP_PCI_RULE);
		copy = strdup(pci);
		if (!copy)
			return hdp_oom(reason);
		free(info->pci);
		info->pci = copy;
	}
	*ret_key = key;
	return 0;
}

static int check_machine(struct hdp_machine *m, struct sort_key *keys, struct hamidp_reason *reason)
{
	int r = check_text(reason, "", "driver name", m->driver_name);

	if (r == 0)
		r = check_text(reason, "", "driver version", m->driver_version);
	for (size_t i = 0; r == 0 && i < m->n_mounts; i++)
		r = check_path(reason, "", &m->mounts[i]);
	for (size_t i = 0; r == 0 && i < m->n_devices; i++)
		r = check_device(reason, &m->devices[i], i, &keys[i]);
	return r;
}

/* Unknown strings read as "", so that getters need not look. */
static int settle(char **text)
{
	if (!*text)
		*text = strdup("");
	return *text ? 0 : -ENOMEM;
}

static int settle_strings(struct hdp_machine *m)
{
	if (settle(&m->driver_name) < 0 || settle(&m->driver_version) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_devices; i++) {
		struct hdp_device_info *info = &m->devices[i];

		if (settle(&info->model) < 0 || settle(&info->pci) < 0 ||
		    settle(&info->compute_capability) < 0 || settle(&info->cpus) < 0 ||
		    settle(&info->health_cause) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int compare_uuids(const void *a, const void *b)
{
	const struct hdp_uuid_pos *x = a, *y = b;

	return strcmp(x->uuid, y->uuid);
}

/* Sort @keys into device order, and fill @by_uuid with their positions. */
static int sort_devices(struct sort_key *keys, size_t n, struct hdp_uuid_pos *by_uuid,
			struct hamidp_reason *reason)
{
	qsort(keys, n, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < n; i++)
		by_uuid[i] = (struct hdp_uuid_pos){ .uuid = keys[i].uuid, .pos = i };
	qsort(by_uuid, n, sizeof(*by_uuid), compare_uuids);
	for (size_t i = 1; i < n; i++)
		if (strcmp(by_uuid[i - 1].uuid, by_uuid[i].uuid) == 0)
			return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_INPUT,
					"two devices have the UUID '%s'", by_uuid[i].uuid);
	return 0;
}

/* From here on nothing fails. */
static void move_contents(struct hdp_machine *m, const struct sort_key *keys,
			  struct hamidp_inventory *inv)
{
	for (size_t i = 0; i < m->n_devices; i++) {
		inv->devices[i].info = m->devices[keys[i].from];
		m->devices[keys[i].from] = (struct hdp_device_info){ 0 };
	}
	inv->n_devices = m->n_devices;
	inv->driver_name = take_ptr(m->driver_name);
	inv->driver_version = take_ptr(m->driver_version);
	inv->max_slots = m->max_slots;
	inv->contiguous = m->contiguous;
	inv->mounts = take_ptr(m->mounts);
	inv->n_mounts = m->n_mounts;
	inv->grants = take_ptr(m->grants);
	inv->n_grants = m->n_grants;
	m->n_mounts = m->n_grants = 0;
	hdp_machine_done(m);
}

DEFINE_CLEANUP(struct hamidp_inventory *, hamidp_inventory_unref)

static struct hamidp_inventory *new_inventory(size_t n_devices)
{
	hdp_cleanup(hamidp_inventory_unrefp) struct hamidp_inventory *inv = calloc(1, sizeof(*inv));
	size_t room = n_devices ? n_devices : 1;

	if (!inv)
		return NULL;
	inv->refs = 1;
	inv->devices = calloc(room, sizeof(*inv->devices));
	inv->by_uuid = calloc(room, sizeof(*inv->by_uuid));
	return inv->devices && inv->by_uuid ? take_ptr(inv) : NULL;
}

int hdp_machine_seal(struct hdp_machine *m, struct hamidp_inventory **ret,
		     struct hamidp_reason *reason)
{
	hdp_cleanup(hamidp_inventory_unrefp) struct hamidp_inventory *inv = NULL;
	hdp_cleanup_free struct hdp_uuid_pos *by_uuid = NULL;
	hdp_cleanup_free struct sort_key *keys = NULL;
	size_t n = m->n_devices;
	int r;

	if (n > HDP_DEVICES_MAX)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_INPUT,
				"%zu devices, at most %u are accepted", n, HDP_DEVICES_MAX);

	keys = calloc(n ? n : 1, sizeof(*keys));
	by_uuid = calloc(n ? n : 1, sizeof(*by_uuid));
	inv = new_inventory(n);
	if (!keys || !by_uuid || !inv)
		return hdp_oom(reason);

	r = check_machine(m, keys, reason);
	if (r == 0)
		r = sort_devices(keys, n, by_uuid, reason);
	if (r == 0)
		r = hdp_links_build(m->links, m->n_links, by_uuid, n, &inv->links, &inv->link_note,
				    reason);
	if (r < 0)
		return r;
	if (settle_strings(m) < 0)
		return hdp_oom(reason);

	for (size_t i = 0; i < n; i++)
		inv->by_uuid[i] = by_uuid[i].pos;
	move_contents(m, keys, inv);
	if (hdp_topology_new(inv, &inv->topology) < 0)
		return hdp_oom(reason);
	*ret = take_ptr(inv);
	return 0;
}
