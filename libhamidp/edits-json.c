/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Edits as JSON: a CDI 0.5.0 specification, and a fragment of an OCI configuration. Keys are
 * written in the order of the code, entries in the order of adding, so equal edits give equal text.
 */

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "edits.h"
#include "reason.h"

/*
 * Errors are collected, not returned: a value that could not be made (NULL) makes the set or append
 * fail, and the flag says so at the end.
 */
struct writer {
	bool failed;
};

static json_t *made(struct writer *w, json_t *value)
{
	w->failed |= !value;
	return value;
}

static json_t *new_object(struct writer *w)
{
	return made(w, json_object());
}

static json_t *new_array(struct writer *w)
{
	return made(w, json_array());
}

static void set(struct writer *w, json_t *object, const char *key, json_t *value)
{
	w->failed |= json_object_set_new(object, key, value) < 0;
}

static void set_string(struct writer *w, json_t *object, const char *key, const char *value)
{
	set(w, object, key, json_string(value));
}

static void set_number(struct writer *w, json_t *object, const char *key, uint32_t value)
{
	set(w, object, key, json_integer(value));
}

static void append(struct writer *w, json_t *array, json_t *value)
{
	w->failed |= json_array_append_new(array, value) < 0;
}

/* Arrays and objects with nothing in them are left out. */
static void set_unless_empty(struct writer *w, json_t *object, const char *key, json_t *value)
{
	if (value && json_array_size(value) == 0 && json_object_size(value) == 0)
		json_decref(value);
	else
		set(w, object, key, value);
}

static json_t *env_array(struct writer *w, const struct hamidp_edits *edits)
{
	const struct hdp_edit_list *list = &edits->lists[HDP_EDIT_ENV];
	json_t *array = new_array(w);

	for (size_t i = 0; i < list->n; i++)
		append(w, array, json_sprintf("%s=%s", list->items[i].key, list->items[i].value));
	return array;
}

static json_t *args_array(struct writer *w, char *const *args)
{
	json_t *array = new_array(w);

	for (; *args; args++)
		append(w, array, json_string(*args));
	return array;
}

/* A file of /dev would be of no use below a nodev mount. */
static json_t *mount_options(struct writer *w, const struct hdp_edit *edit)
{
	bool is_device = strcmp(edit->value, "/dev") == 0 || strncmp(edit->value, "/dev/", 5) == 0;
	json_t *array = new_array(w);

	append(w, array, json_string(edit->read_only ? "ro" : "rw"));
	append(w, array, json_string("nosuid"));
	if (!is_device)
		append(w, array, json_string("nodev"));
	append(w, array, json_string("bind"));
	return array;
}

static const char *node_type(const struct hdp_edit *edit)
{
	return edit->type == HAMIDP_NODE_TYPE_BLOCK ? "b" : "c";
}

static void set_numbers(struct writer *w, json_t *object, const struct hdp_edit *edit)
{
	set_string(w, object, "type", node_type(edit));
	set_number(w, object, "major", edit->major);
	set_number(w, object, "minor", edit->minor);
}

static json_t *cdi_nodes(struct writer *w, const struct hamidp_edits *edits)
{
	const struct hdp_edit_list *list = &edits->lists[HDP_EDIT_NODE];
	json_t *array = new_array(w);

	for (size_t i = 0; i < list->n; i++) {
		json_t *node = new_object(w);

		set_string(w, node, "path", list->items[i].key);
		set_string(w, node, "hostPath", list->items[i].value);
		if (list->items[i].type != HAMIDP_NODE_TYPE_UNKNOWN)
			set_numbers(w, node, &list->items[i]);
		set_string(w, node, "permissions", list->items[i].permissions);
		append(w, array, node);
	}
	return array;
}

static json_t *cdi_mounts(struct writer *w, const struct hamidp_edits *edits)
{
	const struct hdp_edit_list *list = &edits->lists[HDP_EDIT_MOUNT];
	json_t *array = new_array(w);

	for (size_t i = 0; i < list->n; i++) {
		json_t *mount = new_object(w);

		set_string(w, mount, "hostPath", list->items[i].value);
		set_string(w, mount, "containerPath", list->items[i].key);
		set(w, mount, "options", mount_options(w, &list->items[i]));
		append(w, array, mount);
	}
	return array;
}

/* Path, arguments and timeout: the same in both formats. */
static void set_hook(struct writer *w, json_t *hook, const struct hdp_edit *edit)
{
	set_string(w, hook, "path", edit->value);
	if (edit->args)
		set(w, hook, "args", args_array(w, edit->args));
	if (edit->timeout_s > 0)
		set_number(w, hook, "timeout", edit->timeout_s);
}

static json_t *cdi_hooks(struct writer *w, const struct hamidp_edits *edits)
{
	const struct hdp_edit_list *list = &edits->lists[HDP_EDIT_HOOK];
	json_t *array = new_array(w);

	for (size_t i = 0; i < list->n; i++) {
		json_t *hook = new_object(w);

		set_string(w, hook, "hookName", list->items[i].key);
		set_hook(w, hook, &list->items[i]);
		append(w, array, hook);
	}
	return array;
}

static json_t *cdi_spec(struct writer *w, const struct hamidp_edits *edits, const char *kind,
			const char *name)
{
	json_t *spec = new_object(w), *devices = new_array(w), *device = new_object(w);
	json_t *container_edits = new_object(w);

	set_unless_empty(w, container_edits, "env", env_array(w, edits));
	set_unless_empty(w, container_edits, "deviceNodes", cdi_nodes(w, edits));
	set_unless_empty(w, container_edits, "mounts", cdi_mounts(w, edits));
	set_unless_empty(w, container_edits, "hooks", cdi_hooks(w, edits));
	set_string(w, device, "name", name);
	set(w, device, "containerEdits", container_edits);
	append(w, devices, device);

	set_string(w, spec, "cdiVersion", "0.5.0");
	set_string(w, spec, "kind", kind);
	set(w, spec, "devices", devices);
	return spec;
}

static json_t *oci_nodes(struct writer *w, const struct hamidp_edits *edits)
{
	const struct hdp_edit_list *list = &edits->lists[HDP_EDIT_NODE];
	json_t *array = new_array(w);

	for (size_t i = 0; i < list->n; i++) {
		json_t *node = new_object(w);

		set_string(w, node, "path", list->items[i].key);
		set_numbers(w, node, &list->items[i]);
		append(w, array, node);
	}
	return array;
}

static json_t *oci_rules(struct writer *w, const struct hamidp_edits *edits)
{
	const struct hdp_edit_list *list = &edits->lists[HDP_EDIT_NODE];
	json_t *array = new_array(w);

	for (size_t i = 0; i < list->n; i++) {
		json_t *rule = new_object(w);

		set(w, rule, "allow", json_true());
		set_numbers(w, rule, &list->items[i]);
		set_string(w, rule, "access", list->items[i].permissions);
		append(w, array, rule);
	}
	return array;
}

static json_t *oci_mounts(struct writer *w, const struct hamidp_edits *edits)
{
	const struct hdp_edit_list *list = &edits->lists[HDP_EDIT_MOUNT];
	json_t *array = new_array(w);

	for (size_t i = 0; i < list->n; i++) {
		json_t *mount = new_object(w);

		set_string(w, mount, "destination", list->items[i].key);
		set_string(w, mount, "type", "bind");
		set_string(w, mount, "source", list->items[i].value);
		set(w, mount, "options", mount_options(w, &list->items[i]));
		append(w, array, mount);
	}
	return array;
}

/* An array for each moment that has hooks, in the order in which the first one was added. */
static json_t *oci_hooks(struct writer *w, const struct hamidp_edits *edits)
{
	const struct hdp_edit_list *list = &edits->lists[HDP_EDIT_HOOK];
	json_t *hooks = new_object(w);

	for (size_t i = 0; i < list->n; i++) {
		json_t *hook = new_object(w), *array;

		set_hook(w, hook, &list->items[i]);
		array = json_object_get(hooks, list->items[i].key);
		if (!array) {
			set(w, hooks, list->items[i].key, new_array(w));
			array = json_object_get(hooks, list->items[i].key);
		}
		append(w, array, hook);
	}
	return hooks;
}

static json_t *oci_annotations(struct writer *w, const struct hamidp_edits *edits)
{
	const struct hdp_edit_list *list = &edits->lists[HDP_EDIT_ANNOTATION];
	json_t *object = new_object(w);

	for (size_t i = 0; i < list->n; i++)
		set_string(w, object, list->items[i].key, list->items[i].value);
	return object;
}

static json_t *oci_fragment(struct writer *w, const struct hamidp_edits *edits)
{
	json_t *fragment = new_object(w), *process = new_object(w), *linux_part = new_object(w);
	json_t *resources = new_object(w);

	set_unless_empty(w, process, "env", env_array(w, edits));
	set_unless_empty(w, resources, "devices", oci_rules(w, edits));
	set_unless_empty(w, linux_part, "devices", oci_nodes(w, edits));
	set_unless_empty(w, linux_part, "resources", resources);

	set_unless_empty(w, fragment, "process", process);
	set_unless_empty(w, fragment, "mounts", oci_mounts(w, edits));
	set_unless_empty(w, fragment, "hooks", oci_hooks(w, edits));
	set_unless_empty(w, fragment, "annotations", oci_annotations(w, edits));
	set_unless_empty(w, fragment, "linux", linux_part);
	return fragment;
}

/* The text is in memory of malloc(), whatever allocator the program has given to jansson. */
static int dump(struct writer *w, json_t *root, char **ret_text, struct hamidp_reason *reason)
{
	const size_t flags = JSON_INDENT(2) | JSON_PRESERVE_ORDER;
	size_t len = w->failed ? 0 : json_dumpb(root, NULL, 0, flags);
	char *text = len > 0 ? malloc(len + 1) : NULL;

	if (text && json_dumpb(root, text, len, flags) != len) {
		free(text);
		text = NULL;
	}
	json_decref(root);
	if (!text)
		return hdp_oom(reason);
	text[len] = '\0';
	hdp_reason_clear(reason);
	*ret_text = text;
	return 0;
}

HAMIDP_EXPORT int hamidp_edits_to_cdi(const struct hamidp_edits *edits, const char *kind,
				      const char *name, char **ret_text,
				      struct hamidp_reason *reason)
{
	struct writer w = { 0 };

	if (!hdp_cdi_kind_is_good(kind))
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"CDI kind '%.128s' is not of the form vendor.com/class",
				kind ? kind : "");
	if (!hdp_cdi_device_is_good(name))
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"CDI device name '%.128s': letters, digits and '_.:-' are "
				"accepted, letters and digits at both ends",
				name ? name : "");
	if (edits->lists[HDP_EDIT_ENV].n + edits->lists[HDP_EDIT_NODE].n +
		    edits->lists[HDP_EDIT_MOUNT].n + edits->lists[HDP_EDIT_HOOK].n ==
	    0)
		return hdp_fail(reason, -EINVAL, HAMIDP_REASON_BAD_ARGUMENT,
				"CDI device '%.128s' has no edits, at least 1 is needed", name);
	return dump(&w, cdi_spec(&w, edits, kind, name), ret_text, reason);
}

HAMIDP_EXPORT int hamidp_edits_to_oci(const struct hamidp_edits *edits, char **ret_text,
				      struct hamidp_reason *reason)
{
	const struct hdp_edit_list *nodes = &edits->lists[HDP_EDIT_NODE];
	struct writer w = { 0 };

	for (size_t i = 0; i < nodes->n; i++)
		if (nodes->items[i].type == HAMIDP_NODE_TYPE_UNKNOWN)
			return hdp_fail(reason, -EOPNOTSUPP, HAMIDP_REASON_NOT_SUPPORTED,
					"device node '%.128s': its type is not known",
					nodes->items[i].key);
	return dump(&w, oci_fragment(&w, edits), ret_text, reason);
}
