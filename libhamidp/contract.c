/* SPDX-License-Identifier: Apache-2.0 */

/* Owns names and values of the contract's variables. Values in, values out. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "contract.h"
#include "reason.h"

#define PLAIN_PREFIX "HAMI_VGPU"

struct values { /* texts, comma separated */
	char *slots;
	char *devices;
	char *memory;
	char *cores;
};

void hdp_format_percent(uint32_t ppm, char ret[HDP_PERCENT_MAX])
{
	char text[HDP_PERCENT_MAX];
	size_t len;

	(void)snprintf(text, sizeof(text), "%" PRIu32 ".%04" PRIu32, ppm / 10000, ppm % 10000);
	len = strlen(text);
	while (text[len - 1] == '0')
		len--;
	if (text[len - 1] == '.')
		len--;
	text[len] = '\0';
	memcpy(ret, text, len + 1);
}

static void values_done(struct values *v)
{
	free(v->slots);
	free(v->devices);
	free(v->memory);
	free(v->cores);
}

/* Append "item" or ",item"; the caller made room. */
static char *append(char *at, const char *item, bool first)
{
	if (!first)
		*at++ = ',';
	return stpcpy(at, item);
}

static int make_values(const struct hamidp_grant *grant, struct values *v)
{
	size_t slots_len = 1, devices_len = 1;
	char *slots, *devices, *memory, *cores;

	for (size_t i = 0; i < grant->n_slots; i++)
		slots_len += strlen(grant->slots[i]) + 1;
	for (size_t i = 0; i < grant->n_slices; i++)
		devices_len += strlen(grant->slices[i].uuid) + 1;
	slots = v->slots = malloc(slots_len);
	devices = v->devices = malloc(devices_len);
	memory = v->memory = malloc(grant->n_slices * 24 + 1);
	cores = v->cores = malloc(grant->n_slices * (HDP_PERCENT_MAX + 1) + 1);
	if (!slots || !devices || !memory || !cores)
		return -ENOMEM;
	for (size_t i = 0; i < grant->n_slots; i++)
		slots = append(slots, grant->slots[i], i == 0);
	for (size_t i = 0; i < grant->n_slices; i++) {
		const struct hdp_grant_slice *slice = &grant->slices[i];
		char number[24];
		char percent[HDP_PERCENT_MAX];

		(void)snprintf(number, sizeof(number), "%" PRIu64, slice->memory_mib);
		hdp_format_percent(slice->share_ppm, percent);
		devices = append(devices, slice->uuid, i == 0);
		memory = append(memory, number, i == 0);
		cores = append(cores, percent, i == 0);
	}
	return 0;
}

static int add(struct hamidp_edits *edits, const char *prefix, const char *suffix,
	       const char *value, struct hamidp_reason *reason)
{
	hdp_cleanup_free char *name = NULL;
	int r;

	if (asprintf(&name, "%s%s", prefix, suffix) < 0) {
		name = NULL; /* asprintf() leaves it undefined */
		return hdp_oom(reason);
	}
	r = hamidp_edits_add_env(edits, name, value);
	if (r == -ENOMEM)
		return hdp_oom(reason);
	if (r < 0)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_TOO_LARGE,
				"%s: %zu bytes are more than an environment variable can carry",
				name, strlen(value));
	return 0;
}

static int add_set(struct hamidp_edits *edits, const char *prefix, const struct values *v,
		   const char *id, struct hamidp_reason *reason)
{
	const struct {
		const char *suffix;
		const char *value;
	} vars[] = {
		{ "_UUID", v->slots },	{ "_DEVICES", v->devices }, { "_MEMORY_MB", v->memory },
		{ "_CORES", v->cores }, { "_GRANT", id },
	};

	for (size_t i = 0; i < ARRAY_SIZE(vars); i++) {
		int r = add(edits, prefix, vars[i].suffix, vars[i].value, reason);

		if (r < 0)
			return r;
	}
	return 0;
}

int hdp_contract_env(const struct hdp_layout_resource *resource, const struct hamidp_grant *grant,
		     struct hamidp_edits *edits, struct hamidp_reason *reason)
{
	struct values v = { 0 };
	int r;

	r = make_values(grant, &v);
	if (r < 0)
		(void)hdp_oom(reason);
	else
		r = add_set(edits, resource->prefix, &v, grant->id, reason);
	if (r == 0 && resource->plain && strcmp(resource->prefix, PLAIN_PREFIX) != 0)
		r = add_set(edits, PLAIN_PREFIX, &v, grant->id, reason);
	values_done(&v);
	return r;
}
