/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a layout for people. */
#include <inttypes.h>
#include <string.h>

#include <hami/hamidp.h>

#include "dry-run.h"
#include "units.h"

/* Widths of the columns that hold names, at least those of their headings. */
struct widths {
	int uuid;
	int resource;
	int slot;
};

static void widen(int *width, const char *text)
{
	int len = (int)strlen(text);

	if (len > *width)
		*width = len;
}

static struct widths measure(const struct hamidp_layout *layout)
{
	const struct hamidp_inventory *inv = hamidp_layout_inventory(layout);
	struct widths w = { .uuid = 4, .resource = 8, .slot = 4 };

	for (size_t i = 0; i < hamidp_inventory_n_devices(inv); i++)
		widen(&w.uuid, hamidp_device_uuid(hamidp_inventory_device(inv, i)));
	for (size_t i = 0; i < hamidp_layout_n_resources(layout); i++)
		widen(&w.resource, hamidp_layout_resource_name(layout, i));
	for (size_t i = 0; i < hamidp_layout_n_slots(layout); i++)
		widen(&w.slot, hamidp_layout_slot_id(layout, i));
	return w;
}

static const char *resource_of(const struct hamidp_layout *layout, size_t pos)
{
	const char *name =
		hamidp_layout_resource_name(layout, hamidp_layout_device_resource(layout, pos));

	return name ? name : "-";
}

/* A share in percent without trailing zeros: 125000 ppm is "12.5". */
static void format_percent(uint32_t ppm, char *buf, size_t size)
{
	units_format_ratio((uint64_t)ppm * 100, buf, size);
}

static void format_numa(const struct hamidp_device *card, char *buf, size_t size)
{
	int32_t node = hamidp_device_numa_node(card);

	if (node < 0)
		(void)snprintf(buf, size, "-");
	else
		(void)snprintf(buf, size, "%" PRId32, node);
}

static void print_cards(const struct hamidp_layout *layout, const struct widths *w, FILE *out)
{
	const struct hamidp_inventory *inv = hamidp_layout_inventory(layout);

	(void)fprintf(out, "%-*s  %-12s  %4s  %7s  %5s  %-*s  %s\n", w->uuid, "UUID", "PCI", "NUMA",
		      "MIB", "SLOTS", w->resource, "RESOURCE", "STATE");
	for (size_t i = 0; i < hamidp_inventory_n_devices(inv); i++) {
		const struct hamidp_device *card = hamidp_inventory_device(inv, i);
		const char *notice = hamidp_layout_device_notice(layout, i);
		const char *pci = hamidp_device_pci(card);
		char numa[16];

		format_numa(card, numa, sizeof(numa));
		(void)fprintf(out, "%-*s  %-12s  %4s  %7" PRIu64 "  %5" PRIu32 "  %-*s  %s",
			      w->uuid, hamidp_device_uuid(card), pci[0] ? pci : "-", numa,
			      hamidp_device_memory_mib(card),
			      hamidp_layout_device_n_slots(layout, i), w->resource,
			      resource_of(layout, i),
			      hamidp_health_to_string(hamidp_device_health(card)));
		(void)fprintf(out, "%s%s\n", notice ? "; " : "", notice ? notice : "");
	}
}

static void print_slots(const struct hamidp_layout *layout, const struct widths *w, FILE *out)
{
	(void)fprintf(out, "\n%-*s  %7s  %7s  %s\n", w->slot, "SLOT", "MIB", "CORES %", "RESOURCE");
	for (size_t i = 0; i < hamidp_layout_n_slots(layout); i++) {
		size_t pos = hamidp_layout_slot_device(layout, i);
		char percent[32];

		format_percent(hamidp_layout_slice_share_ppm(layout, pos, 1), percent,
			       sizeof(percent));
		(void)fprintf(out, "%-*s  %7" PRIu64 "  %7s  %s\n", w->slot,
			      hamidp_layout_slot_id(layout, i),
			      hamidp_layout_slice_memory_mib(layout, pos, 1), percent,
			      resource_of(layout, pos));
	}
}

static void print_sums(const struct hamidp_layout *layout, FILE *out)
{
	const struct hamidp_inventory *inv = hamidp_layout_inventory(layout);

	(void)fprintf(out, "driver %s %s: %zu GPU(s)\n", hamidp_inventory_driver_name(inv),
		      hamidp_inventory_driver_version(inv), hamidp_inventory_n_devices(inv));
	for (size_t i = 0; i < hamidp_layout_n_resources(layout); i++)
		(void)fprintf(out, "%s: %zu\n", hamidp_layout_resource_name(layout, i),
			      hamidp_layout_resource_n_slots(layout, i));
	(void)fputc('\n', out);
}

void dry_run_print(const struct hamidp_layout *layout, FILE *out)
{
	const struct widths w = measure(layout);

	print_sums(layout, out);
	print_cards(layout, &w, out);
	print_slots(layout, &w, out);
}
