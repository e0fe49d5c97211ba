/* SPDX-License-Identifier: Apache-2.0 */

/* Edits: six lists of what a container gets, checked where they are added. */

#include <errno.h>
#include <string.h>

#include "edits.h"
#include "grow.h"
#include "strv.h"

static void edit_done(struct hdp_edit *edit)
{
	free(edit->key);
	free(edit->value);
	hdp_strv_free(edit->args, hdp_strv_len((const char *const *)edit->args));
}

HAMIDP_EXPORT int hamidp_edits_new(struct hamidp_edits **ret)
{
	struct hamidp_edits *edits = calloc(1, sizeof(*edits));

	if (!edits)
		return -ENOMEM;
	*ret = edits;
	return 0;
}

HAMIDP_EXPORT struct hamidp_edits *hamidp_edits_free(struct hamidp_edits *edits)
{
	if (!edits)
		return NULL;
	for (size_t kind = 0; kind < HDP_EDIT_N_KINDS; kind++) {
		struct hdp_edit_list *list = &edits->lists[kind];

		for (size_t i = 0; i < list->n; i++)
			edit_done(&list->items[i]);
		free(list->items);
	}
	free(edits);
	return NULL;
}
DEFINE_CLEANUP(struct hamidp_edits *, hamidp_edits_free)

/* A copy of @src with strings of its own. */
static int edit_copy(const struct hdp_edit *src, struct hdp_edit *ret)
{
	const char *const *args = (const char *const *)src->args;
	struct hdp_edit copy = *src;

	copy.args = NULL;
	copy.key = strdup(src->key);
	copy.value = src->value ? strdup(src->value) : NULL;
	if (!copy.key || (src->value && !copy.value) ||
	    (args && hdp_strv_dup(args, hdp_strv_len(args), &copy.args) < 0)) {
		edit_done(&copy);
		return -ENOMEM;
	}
	*ret = copy;
	return 0;
}

static int list_grow(struct hdp_edit_list *list, size_t need)
{
	return hdp_grow(&list->items, &list->cap, need, sizeof(*list->items));
}

static int list_append(struct hdp_edit_list *list, const struct hdp_edit *edit)
{
	int r;

	if (list->n >= HDP_EDITS_MAX)
		return -EINVAL;
	r = list_grow(list, list->n + 1);
	if (r < 0)
		return r;
	r = edit_copy(edit, &list->items[list->n]);
	if (r < 0)
		return r;
	list->n++;
	return 0;
}

/* Replace the entry with the same key where it stands, or append. */
static int list_put(struct hdp_edit_list *list, const struct hdp_edit *edit)
{
	struct hdp_edit copy;
	int r;

	for (size_t i = 0; i < list->n; i++) {
		if (strcmp(list->items[i].key, edit->key) != 0)
			continue;
		r = edit_copy(edit, &copy);
		if (r < 0)
			return r;
		edit_done(&list->items[i]);
		list->items[i] = copy;
		return 0;
	}
	return list_append(list, edit);
}

int hdp_edits_copy(const struct hamidp_edits *src, struct hamidp_edits **ret)
{
	hdp_cleanup(hamidp_edits_freep) struct hamidp_edits *copy = NULL;
	int r;

	r = hamidp_edits_new(&copy);
	if (r < 0)
		return r;
	for (size_t kind = 0; kind < HDP_EDIT_N_KINDS; kind++) {
		r = list_grow(&copy->lists[kind], src->lists[kind].n);
		if (r < 0)
			return r;
		for (size_t i = 0; i < src->lists[kind].n; i++) {
			r = list_append(&copy->lists[kind], &src->lists[kind].items[i]);
			if (r < 0)
				return r;
		}
	}
	*ret = take_ptr(copy);
	return 0;
}

HAMIDP_EXPORT int hamidp_edits_add_env(struct hamidp_edits *edits, const char *name,
				       const char *value)
{
	struct hdp_edit edit = { .key = (char *)name, .value = (char *)value };

	if (!hdp_edit_text_is_good(name) || !name[0] || strchr(name, '=') ||
	    !hdp_edit_text_fits(value, HDP_EDIT_ENV_MAX - strlen(name)))
		return -EINVAL;
	return list_put(&edits->lists[HDP_EDIT_ENV], &edit);
}

/* A subset of "rwm" in this order, not empty. */
static bool permissions_are_good(const char *permissions)
{
	const char *next = "rwm";

	if (!permissions || !permissions[0])
		return false;
	for (; *permissions; permissions++) {
		next = strchr(next, *permissions);
		if (!next)
			return false;
		next++;
	}
	return true;
}

HAMIDP_EXPORT int hamidp_edits_add_device_node(struct hamidp_edits *edits,
					       const struct hamidp_device_node *node)
{
	struct hdp_edit edit = { 0 };

	if (node->size < sizeof(*node) || !hdp_edit_path_is_good(node->container_path) ||
	    !hdp_edit_path_is_good(node->host_path) || !permissions_are_good(node->permissions))
		return -EINVAL;
	edit.key = (char *)node->container_path;
	edit.value = (char *)node->host_path;
	memcpy(edit.permissions, node->permissions, strlen(node->permissions));
	if (node->type == HAMIDP_NODE_TYPE_CHAR || node->type == HAMIDP_NODE_TYPE_BLOCK) {
		edit.type = node->type;
		edit.major = node->major;
		edit.minor = node->minor;
	} else if (node->type != HAMIDP_NODE_TYPE_UNKNOWN) {
		return -EINVAL;
	}
	return list_put(&edits->lists[HDP_EDIT_NODE], &edit);
}

HAMIDP_EXPORT int hamidp_edits_add_mount(struct hamidp_edits *edits, const char *container_path,
					 const char *host_path, int read_only)
{
	struct hdp_edit edit = { .key = (char *)container_path,
				 .value = (char *)host_path,
				 .read_only = read_only == 1 };

	if (!hdp_edit_path_is_good(container_path) || !hdp_edit_path_is_good(host_path) ||
	    (read_only != 0 && read_only != 1))
		return -EINVAL;
	return list_put(&edits->lists[HDP_EDIT_MOUNT], &edit);
}

HAMIDP_EXPORT int hamidp_edits_add_cdi(struct hamidp_edits *edits, const char *name)
{
	struct hdp_edit edit = { .key = (char *)name };

	if (!hdp_cdi_name_is_good(name))
		return -EINVAL;
	return list_put(&edits->lists[HDP_EDIT_CDI], &edit);
}

HAMIDP_EXPORT int hamidp_edits_add_annotation(struct hamidp_edits *edits, const char *key,
					      const char *value)
{
	struct hdp_edit edit = { .key = (char *)key, .value = (char *)value };

	if (!hdp_edit_text_is_good(key) || !key[0] || !hdp_edit_text_is_good(value))
		return -EINVAL;
	return list_put(&edits->lists[HDP_EDIT_ANNOTATION], &edit);
}

static bool args_are_good(const char *const *args)
{
	size_t n = 0;

	if (!args)
		return true;
	for (; args[n]; n++)
		if (n >= HDP_EDIT_ARGS_MAX || !hdp_edit_text_is_good(args[n]))
			return false;
	return n > 0;
}

HAMIDP_EXPORT int hamidp_edits_add_hook(struct hamidp_edits *edits, const char *name,
					const char *path, const char *const *args,
					uint32_t timeout_s)
{
	struct hdp_edit edit = { .key = (char *)name,
				 .value = (char *)path,
				 .args = (char **)args,
				 .timeout_s = timeout_s };

	if (!hdp_hook_name_is_good(name) || !hdp_edit_path_is_good(path) || !args_are_good(args) ||
	    timeout_s > INT32_MAX)
		return -EINVAL;
	return list_append(&edits->lists[HDP_EDIT_HOOK], &edit);
}

static const struct hdp_edit *list_get(const struct hamidp_edits *edits, enum hdp_edit_kind kind,
				       size_t i)
{
	return i < edits->lists[kind].n ? &edits->lists[kind].items[i] : NULL;
}

HAMIDP_EXPORT size_t hamidp_edits_n_env(const struct hamidp_edits *edits)
{
	return edits->lists[HDP_EDIT_ENV].n;
}

HAMIDP_EXPORT int hamidp_edits_env(const struct hamidp_edits *edits, size_t i,
				   const char **ret_name, const char **ret_value)
{
	const struct hdp_edit *edit = list_get(edits, HDP_EDIT_ENV, i);

	if (!edit)
		return -ENOENT;
	*ret_name = edit->key;
	*ret_value = edit->value;
	return 0;
}

HAMIDP_EXPORT size_t hamidp_edits_n_device_nodes(const struct hamidp_edits *edits)
{
	return edits->lists[HDP_EDIT_NODE].n;
}

HAMIDP_EXPORT int hamidp_edits_device_node(const struct hamidp_edits *edits, size_t i,
					   struct hamidp_device_node *ret)
{
	const struct hdp_edit *edit = list_get(edits, HDP_EDIT_NODE, i);
	size_t size = ret->size;

	if (size < sizeof(*ret))
		return -EINVAL;
	if (!edit)
		return -ENOENT;
	/* A caller built against a later version finds zeroes in what is not known here. */
	memset(ret, 0, size);
	*ret = (struct hamidp_device_node){ .size = size,
					    .container_path = edit->key,
					    .host_path = edit->value,
					    .permissions = edit->permissions,
					    .type = edit->type,
					    .major = edit->major,
					    .minor = edit->minor };
	return 0;
}

HAMIDP_EXPORT size_t hamidp_edits_n_mounts(const struct hamidp_edits *edits)
{
	return edits->lists[HDP_EDIT_MOUNT].n;
}

HAMIDP_EXPORT int hamidp_edits_mount(const struct hamidp_edits *edits, size_t i,
				     const char **ret_container_path, const char **ret_host_path,
				     int *ret_read_only)
{
	const struct hdp_edit *edit = list_get(edits, HDP_EDIT_MOUNT, i);

	if (!edit)
		return -ENOENT;
	*ret_container_path = edit->key;
	*ret_host_path = edit->value;
	*ret_read_only = edit->read_only;
	return 0;
}

HAMIDP_EXPORT size_t hamidp_edits_n_cdi(const struct hamidp_edits *edits)
{
	return edits->lists[HDP_EDIT_CDI].n;
}

HAMIDP_EXPORT int hamidp_edits_cdi(const struct hamidp_edits *edits, size_t i,
				   const char **ret_name)
{
	const struct hdp_edit *edit = list_get(edits, HDP_EDIT_CDI, i);

	if (!edit)
		return -ENOENT;
	*ret_name = edit->key;
	return 0;
}

HAMIDP_EXPORT size_t hamidp_edits_n_annotations(const struct hamidp_edits *edits)
{
	return edits->lists[HDP_EDIT_ANNOTATION].n;
}

HAMIDP_EXPORT int hamidp_edits_annotation(const struct hamidp_edits *edits, size_t i,
					  const char **ret_key, const char **ret_value)
{
	const struct hdp_edit *edit = list_get(edits, HDP_EDIT_ANNOTATION, i);

	if (!edit)
		return -ENOENT;
	*ret_key = edit->key;
	*ret_value = edit->value;
	return 0;
}
