/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator sees of the calls: one line a grant, and with --v=6 requests and answers in
 * full, one line for each thing, since there can be hundreds.
 */
#include <stdio.h>
#include <stdlib.h>

#include <hami/hamidp.h>

#include "dp-service-internal.h"
#include "log.h"
#include "macro.h"

#define IDS_SHOWN 32 /* in the one line of a grant */
#define IDS_A_LINE 256

static void log_some_ids(const char *resource, size_t i, const char *what, const struct dp_ids *ids,
			 size_t first)
{
	dp_cleanup_free char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return;
	for (size_t k = first; k < ids->n_ids && k < first + IDS_A_LINE; k++)
		(void)fprintf(out, "%s%s", k > first ? "," : "", ids->ids[k]);
	if (fclose(out) == 0)
		log_debug("%s: container %zu: %s (%zu%s): %s", resource, i, what, ids->n_ids,
			  first ? ", more" : "", text);
}

/* In full, over as many lines as it takes: one of all would be cut. */
static void log_ids(const char *resource, size_t i, const char *what, const struct dp_ids *ids)
{
	size_t first = 0;

	do {
		log_some_ids(resource, i, what, ids, first);
		first += IDS_A_LINE;
	} while (first < ids->n_ids);
}

void dp_service_log_allocate(const struct dp_service *service,
			     const struct dp_allocate_request *request)
{
	log_debug("%s: Allocate for %zu container(s)", service->resource, request->n_containers);
	if (!log_level_enabled(6))
		return;
	for (size_t i = 0; i < request->n_containers; i++)
		log_ids(service->resource, i, "Allocate request: devices_ids",
			&request->containers[i]);
}

static void log_container(const char *resource, size_t i, const struct dp_container_response *c)
{
	for (size_t k = 0; k < c->n_envs; k++)
		log_debug("%s: container %zu: Allocate response: env %s=%s", resource, i,
			  c->envs[k].key, c->envs[k].value);
	for (size_t k = 0; k < c->n_mounts; k++)
		log_debug("%s: container %zu: Allocate response: mount %s at %s (%s)", resource, i,
			  c->mounts[k].host_path, c->mounts[k].container_path,
			  c->mounts[k].read_only ? "read-only" : "read-write");
	for (size_t k = 0; k < c->n_devices; k++)
		log_debug("%s: container %zu: Allocate response: device %s at %s (%s)", resource, i,
			  c->devices[k].host_path, c->devices[k].container_path,
			  c->devices[k].permissions);
	for (size_t k = 0; k < c->n_annotations; k++)
		log_debug("%s: container %zu: Allocate response: annotation %s=%s", resource, i,
			  c->annotations[k].key, c->annotations[k].value);
	for (size_t k = 0; k < c->n_cdi_devices; k++)
		log_debug("%s: container %zu: Allocate response: CDI device %s", resource, i,
			  c->cdi_devices[k]);
}

/* "grant ID: 2 slots on 1 card: GPU-a (GPU-a::0,GPU-a::1)" */
static void log_grant(const char *resource, const struct hamidp_grant *grant)
{
	dp_cleanup_free char *text = NULL;
	size_t n_slots = hamidp_grant_n_slots(grant);
	size_t n_cards = hamidp_grant_n_slices(grant);
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return;
	(void)fprintf(out, "%zu slot(s) on %zu card(s): ", n_slots, n_cards);
	for (size_t i = 0; i < n_cards; i++)
		(void)fprintf(out, "%s%s", i ? "," : "", hamidp_grant_slice_device(grant, i));
	(void)fputs(" (", out);
	for (size_t i = 0; i < n_slots && i < IDS_SHOWN; i++)
		(void)fprintf(out, "%s%s", i ? "," : "", hamidp_grant_slot_id(grant, i));
	if (n_slots > IDS_SHOWN)
		(void)fprintf(out, " and %zu more", n_slots - IDS_SHOWN);
	(void)fputc(')', out);
	if (fclose(out) == 0)
		log_info("%s: grant %s: %s", resource, hamidp_grant_id(grant), text);
}

void dp_service_log_granted(const struct dp_service *service,
			    const struct dp_allocate_response *response)
{
	for (size_t i = 0; i < response->n_containers; i++) {
		if (log_level_enabled(2))
			log_grant(service->resource, service->grants[i]);
		if (log_level_enabled(6))
			log_container(service->resource, i, &response->containers[i]);
	}
}

void dp_service_log_preferred(const struct dp_service *service,
			      const struct dp_preferred_request *request,
			      const struct dp_preferred_response *response)
{
	for (size_t i = 0; i < response->n_containers; i++) {
		const struct dp_preferred_container *asked = &request->containers[i];

		log_debug("%s: GetPreferredAllocation: %d of %zu available, %zu must be included, "
			  "%zu answered",
			  service->resource, asked->size, asked->available.n_ids,
			  asked->must_include.n_ids, response->containers[i].n_ids);
		if (!log_level_enabled(6))
			continue;
		log_ids(service->resource, i, "GetPreferredAllocation request: available",
			&asked->available);
		log_ids(service->resource, i, "GetPreferredAllocation request: must include",
			&asked->must_include);
		log_ids(service->resource, i, "GetPreferredAllocation response",
			&response->containers[i]);
	}
}
