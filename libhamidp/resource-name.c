/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The rule that a kubelet applies to extended resource names when a plugin registers, so that a
 * name is refused here, with a sentence, and not there.
 */

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "macro.h"
#include "resource-name.h"

#define QUOTA_PREFIX "requests." /* must still be a valid domain with this in front */
#define DOMAIN_MAX (253 - (sizeof(QUOTA_PREFIX) - 1))
#define NAME_MAX_LEN 63

/* ctype.h follows the locale; names do not. */
static bool is_lower_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alphanumeric(char c)
{
	return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z');
}

/* Labels of lower-case letters, digits and inner '-', joined by '.'. */
static bool is_subdomain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool first = i == 0 || text[i - 1] == '.';
		bool last = i + 1 == len || text[i + 1] == '.';

		if (is_lower_or_digit(text[i]))
			continue;
		if (first || last || (text[i] != '-' && text[i] != '.'))
			return false;
	}
	return len > 0;
}

static bool is_name_part(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if (!is_alphanumeric(text[i]) && !strchr("-_.", text[i]))
			return false;
	return len > 0 && is_alphanumeric(text[0]) && is_alphanumeric(text[len - 1]);
}

const char *hdp_resource_name_wrong(const char *name)
{
	const char *slash = strchr(name, '/');
	size_t domain_len;

	if (!slash || strchr(slash + 1, '/'))
		return "it needs the form domain/name, with one '/'";
	if (strstr(name, "kubernetes.io/"))
		return "kubernetes.io/ is reserved";
	if (strncmp(name, QUOTA_PREFIX, strlen(QUOTA_PREFIX)) == 0)
		return "it must not start with 'requests.'";
	domain_len = (size_t)(slash - name);
	if (domain_len > DOMAIN_MAX)
		return "the domain is longer than 244 characters";
	if (!is_subdomain(name, domain_len))
		return "the domain must be lower-case letters, digits, '-' and '.', as hami.com";
	if (strlen(slash + 1) > NAME_MAX_LEN)
		return "the name part is longer than 63 characters";
	if (!is_name_part(slash + 1))
		return "the name part must be letters, digits, '-', '_' and '.', with a letter or "
		       "digit at both ends";
	return NULL;
}

char *hdp_resource_prefix(const char *name)
{
	static const char start[] = "HAMI_";
	const char *part = strchr(name, '/') + 1;
	size_t len = strlen(part);
	char *prefix = malloc(sizeof(start) + len);

	if (!prefix)
		return NULL;
	memcpy(prefix, start, sizeof(start));
	for (size_t i = 0; i <= len; i++) {
		char c = part[i];

		if (c >= 'a' && c <= 'z')
			c = (char)(c - 'a' + 'A');
		else if (c != '\0' && !is_alphanumeric(c))
			c = '_';
		prefix[sizeof(start) - 1 + i] = c;
	}
	return prefix;
}
