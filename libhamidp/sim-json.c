/* SPDX-License-Identifier: Apache-2.0 */

/* The schema "hami.inventory/1" (docs/inventory.md), read into a machine and a sim script. */

#include <errno.h>
#include <string.h>

#include "form.h"
#include "sim-json-parts.h"
#include "sim-json.h"
#include "strv.h"

#define MOUNTS_MAX 256U	 /* of a machine */
#define SLOTS_MAX 65536U /* of one grant */
#define EVENTS_MAX 4096U /* of a script */
#define LINKS_MAX ((size_t)HDP_DEVICES_MAX * HDP_DEVICES_MAX)

struct reading { /* the whole text */
	struct hdp_machine machine;
	struct hdp_sim_script script;
};

static void reading_done(struct reading *reading)
{
	hdp_machine_done(&reading->machine);
	hdp_sim_script_done(&reading->script);
}

void hdp_sim_script_done(struct hdp_sim_script *script)
{
	for (size_t i = 0; i < script->n_events; i++)
		free(script->events[i].uuid);
	free(script->events);
	hdp_strv_free(script->hang, script->n_hang);
	*script = (struct hdp_sim_script){ 0 };
}

static bool is_name(const char *text)
{
	return strlen(text) <= 128;
}

/* An array of at most @max strings into *@ret, which the caller frees whatever happens. */
struct strings {
	char **items;
	size_t n;
	bool (*check)(const char *text);
	const char *rule;
};

static int read_string(const json_t *value, const struct hdp_json_at *at, void *out,
		       struct hamidp_reason *reason)
{
	struct strings *strings = out;
	int r = hdp_json_string(value, at, strings->check, strings->rule,
				&strings->items[strings->n], reason);

	if (r == 0)
		strings->n++;
	return r;
}

static int read_strings(const json_t *value, const struct hdp_json_at *at, size_t max,
			struct strings *strings, struct hamidp_reason *reason)
{
	size_t n = json_array_size(value);

	strings->items = calloc(n ? n : 1, sizeof(*strings->items));
	if (!strings->items)
		return hdp_oom(reason);
	return hdp_json_array(value, at, max, read_string, strings, reason);
}

static int read_schema(const json_t *value, const struct hdp_json_at *at, void *out,
		       struct hamidp_reason *reason)
{
	const char *text = json_string_value(value);

	if (text && strcmp(text, "hami.inventory/1") == 0)
		return 0;
	return hdp_json_refuse(value, at, "'hami.inventory/1'", reason);
}

#define MACHINE struct hdp_machine
static const struct hdp_json_field driver_fields[] = {
	{ .key = "name", .kind = HDP_JSON_STRING, .offset = offsetof(MACHINE, driver_name) },
	{ .key = "version", .kind = HDP_JSON_STRING, .offset = offsetof(MACHINE, driver_version) },
	HDP_JSON_NUMBER(MACHINE, max_slots, HDP_JSON_UINT32, 1, INT32_MAX),
	{ .key = "contiguous", .kind = HDP_JSON_BOOL, .offset = offsetof(MACHINE, contiguous) },
};

static int read_driver(const json_t *value, const struct hdp_json_at *at, void *out,
		       struct hamidp_reason *reason)
{
	return hdp_json_object(value, at, driver_fields, ARRAY_SIZE(driver_fields),
			       &((struct reading *)out)->machine, reason);
}

static const struct hdp_json_field mount_fields[] = {
	{ .key = "host",
	  .kind = HDP_JSON_STRING,
	  .required = true,
	  .offset = offsetof(struct hdp_path, host),
	  .check = hdp_json_is_path,
	  .rule = HDP_JSON_PATH_RULE },
	HDP_JSON_TEXT(struct hdp_path, container, hdp_json_is_path, HDP_JSON_PATH_RULE),
};

static int read_mount(const json_t *value, const struct hdp_json_at *at, void *out,
		      struct hamidp_reason *reason)
{
	hdp_cleanup(hdp_path_done) struct hdp_path mount = { 0 };
	int r = hdp_json_object(value, at, mount_fields, ARRAY_SIZE(mount_fields), &mount, reason);

	if (r < 0)
		return r;
	if (!mount.container)
		mount.container = strdup(mount.host);
	if (!mount.container || hdp_machine_add_mount(out, &mount) < 0)
		return hdp_oom(reason);
	return 0;
}

static int read_slots(const json_t *value, const struct hdp_json_at *at, void *out,
		      struct hamidp_reason *reason)
{
	struct hdp_stated_grant *grant = out;
	struct strings slots = { 0 };
	int r = read_strings(value, at, SLOTS_MAX, &slots, reason);

	grant->slots = slots.items;
	grant->n_slots = slots.n;
	return r;
}

#define GRANT struct hdp_stated_grant
#define NAME_RULE "a string of 1 to 128 bytes"
static const struct hdp_json_field grant_fields[] = {
	{ .key = "id",
	  .kind = HDP_JSON_STRING,
	  .required = true,
	  .offset = offsetof(GRANT, id),
	  .check = is_name,
	  .rule = NAME_RULE },
	HDP_JSON_TEXT(GRANT, resource, NULL, NULL),
	{ .key = "slots", .kind = HDP_JSON_FN, .required = true, .fn = read_slots },
	HDP_JSON_NUMBER(GRANT, memory_mib, HDP_JSON_UINT64, 1, INT64_MAX),
	HDP_JSON_NUMBER(GRANT, share_ppm, HDP_JSON_UINT32, 1, UINT32_MAX),
};

static int read_grant(const json_t *value, const struct hdp_json_at *at, void *out,
		      struct hamidp_reason *reason)
{
	hdp_cleanup(hdp_stated_grant_done) struct hdp_stated_grant grant = { 0 };
	int r = hdp_json_object(value, at, grant_fields, ARRAY_SIZE(grant_fields), &grant, reason);

	if (r < 0)
		return r;
	return hdp_machine_add_grant(out, &grant) < 0 ? hdp_oom(reason) : 0;
}

#define EVENT struct hdp_sim_event
static const struct hdp_json_field event_fields[] = {
	{ .key = "seq",
	  .kind = HDP_JSON_UINT64,
	  .required = true,
	  .offset = offsetof(EVENT, seq),
	  .min = 1,
	  .max = INT64_MAX },
	{ .key = "uuid",
	  .kind = HDP_JSON_STRING,
	  .required = true,
	  .offset = offsetof(EVENT, uuid),
	  .check = hdp_uuid_valid,
	  .rule = HDP_UUID_RULE },
	{ .key = "code",
	  .kind = HDP_JSON_UINT64,
	  .required = true,
	  .offset = offsetof(EVENT, code),
	  .min = 0,
	  .max = INT64_MAX },
};

static int read_event(const json_t *value, const struct hdp_json_at *at, void *out,
		      struct hamidp_reason *reason)
{
	struct hdp_sim_script *script = out;
	struct hdp_sim_event event = { 0 };
	int r = hdp_json_object(value, at, event_fields, ARRAY_SIZE(event_fields), &event, reason);

	if (r < 0) {
		free(event.uuid);
		return r;
	}
	script->events[script->n_events++] = event;
	return 0;
}

static int read_events(const json_t *value, const struct hdp_json_at *at, void *out,
		       struct hamidp_reason *reason)
{
	struct hdp_sim_script *script = out;
	size_t n = json_array_size(value);

	script->events = calloc(n ? n : 1, sizeof(*script->events));
	if (!script->events)
		return hdp_oom(reason);
	return hdp_json_array(value, at, EVENTS_MAX, read_event, script, reason);
}

static int read_hang(const json_t *value, const struct hdp_json_at *at, void *out,
		     struct hamidp_reason *reason)
{
	struct hdp_sim_script *script = out;
	struct strings uuids = { .check = hdp_uuid_valid, .rule = HDP_UUID_RULE };
	int r = read_strings(value, at, HDP_DEVICES_MAX, &uuids, reason);

	script->hang = uuids.items;
	script->n_hang = uuids.n;
	return r;
}

static const struct hdp_json_word state_words[] = {
	{ "ok", HDP_SIM_OK },
	{ "not-loaded", HDP_SIM_NOT_LOADED },
	{ "hang", HDP_SIM_HANG },
	{ 0 },
};

static const struct hdp_json_field sim_fields[] = {
	{ .key = "state",
	  .kind = HDP_JSON_WORD,
	  .offset = offsetof(struct hdp_sim_script, state),
	  .words = state_words },
	{ .key = "events", .kind = HDP_JSON_FN, .fn = read_events },
	{ .key = "hang", .kind = HDP_JSON_FN, .fn = read_hang },
};

static int read_sim(const json_t *value, const struct hdp_json_at *at, void *out,
		    struct hamidp_reason *reason)
{
	return hdp_json_object(value, at, sim_fields, ARRAY_SIZE(sim_fields),
			       &((struct reading *)out)->script, reason);
}

/* The top level's arrays: one function each, so that the table below stays a table. */
#define READ_ARRAY(name, max, element)                                                            \
	static int name(const json_t *value, const struct hdp_json_at *at, void *out,             \
			struct hamidp_reason *reason)                                             \
	{                                                                                         \
		return hdp_json_array(value, at, max, element, &((struct reading *)out)->machine, \
				      reason);                                                    \
	}
READ_ARRAY(read_devices, HDP_DEVICES_MAX, hdp_json_read_device)
READ_ARRAY(read_links, LINKS_MAX, hdp_json_read_link)
READ_ARRAY(read_mounts, MOUNTS_MAX, read_mount)
READ_ARRAY(read_grants, HDP_GRANTS_MAX, read_grant)

static const struct hdp_json_field top_fields[] = {
	{ .key = "schema", .kind = HDP_JSON_FN, .required = true, .fn = read_schema },
	{ .key = "driver", .kind = HDP_JSON_FN, .fn = read_driver },
	{ .key = "devices", .kind = HDP_JSON_FN, .fn = read_devices },
	{ .key = "links", .kind = HDP_JSON_FN, .fn = read_links },
	{ .key = "mounts", .kind = HDP_JSON_FN, .fn = read_mounts },
	{ .key = "grants", .kind = HDP_JSON_FN, .fn = read_grants },
	{ .key = "sim", .kind = HDP_JSON_FN, .fn = read_sim },
};

static int syntax_error(const json_error_t *error, struct hamidp_reason *reason)
{
	if (json_error_code(error) == json_error_out_of_memory)
		return hdp_oom(reason);
	return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_INPUT, "line %d, column %d: %s",
			error->line, error->column, error->text);
}

int hdp_machine_parse(const char *text, size_t len, struct hdp_machine *ret_machine,
		      struct hdp_sim_script *ret_script, struct hamidp_reason *reason)
{
	hdp_cleanup(json_decrefp) json_t *root = NULL;
	hdp_cleanup(reading_done) struct reading reading = { 0 };
	json_error_t error;
	int r;

	if (len > HDP_JSON_MAX)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_INPUT,
				"%zu bytes of JSON, at most %u are accepted", len, HDP_JSON_MAX);

	root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		return syntax_error(&error, reason);
	r = hdp_json_object(root, NULL, top_fields, ARRAY_SIZE(top_fields), &reading, reason);
	if (r < 0)
		return r;

	*ret_machine = reading.machine;
	reading.machine = (struct hdp_machine){ 0 };
	if (ret_script) {
		*ret_script = reading.script;
		reading.script = (struct hdp_sim_script){ 0 };
	}
	return 0;
}
