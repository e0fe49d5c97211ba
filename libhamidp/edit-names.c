/* SPDX-License-Identifier: Apache-2.0 */

/* What the strings of edits may look like. Pure. */

#include <string.h>

#include "edits.h"
#include "text.h"

bool hdp_edit_text_fits(const char *text, size_t max)
{
	size_t len = text ? strnlen(text, max + 1) : 0;

	return text && len <= max && hdp_text_valid(text, len);
}

bool hdp_edit_text_is_good(const char *text)
{
	return hdp_edit_text_fits(text, HDP_EDIT_STRING_MAX);
}

bool hdp_edit_path_is_good(const char *path)
{
	return hdp_edit_text_is_good(path) && path[0] == '/';
}

bool hdp_hook_name_is_good(const char *name)
{
	static const char *const names[] = { "createRuntime", "createContainer", "startContainer",
					     "poststart", "poststop" };

	for (size_t i = 0; name && i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Begins and ends with a letter or digit; in between also @others. */
static bool word_is_good(const char *word, size_t len, const char *others)
{
	if (len == 0 || !is_alnum(word[0]) || !is_alnum(word[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_alnum(word[i]) && !strchr(others, word[i]))
			return false;
	return true;
}

static bool kind_is_good(const char *kind, size_t len)
{
	const char *slash = memchr(kind, '/', len);
	size_t vendor_len = slash ? (size_t)(slash - kind) : 0;

	return slash && word_is_good(kind, vendor_len, "_.-") &&
	       word_is_good(slash + 1, len - vendor_len - 1, "_.-");
}

bool hdp_cdi_kind_is_good(const char *kind)
{
	return hdp_edit_text_is_good(kind) && kind_is_good(kind, strlen(kind));
}

bool hdp_cdi_device_is_good(const char *name)
{
	return hdp_edit_text_is_good(name) && word_is_good(name, strlen(name), "_.:-");
}

bool hdp_cdi_name_is_good(const char *name)
{
	const char *equals;

	if (!hdp_edit_text_is_good(name))
		return false;
	equals = strchr(name, '=');
	return equals && kind_is_good(name, (size_t)(equals - name)) &&
	       hdp_cdi_device_is_good(equals + 1);
}
