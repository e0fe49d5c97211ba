/* SPDX-License-Identifier: Apache-2.0 */

/* The form of single values of a machine; see form.h. */

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "form.h"
#include "machine.h"

bool hdp_uuid_valid(const char *uuid)
{
	size_t len = strnlen(uuid, HDP_UUID_MAX + 1);

	if (len == 0 || len > HDP_UUID_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (uuid[i] <= ' ' || uuid[i] > '~' || uuid[i] == ',')
			return false;
	/* A slot id splits at its first "::". */
	return !strstr(uuid, "::") && uuid[len - 1] != ':';
}

/* @min to @max hex digits at *@text, which moves past them. */
static bool read_hex(const char **text, size_t min, size_t max, uint64_t *ret)
{
	uint64_t value = 0;
	size_t n = 0;

	while (n < max && isxdigit((unsigned char)(*text)[n])) {
		int c = tolower((unsigned char)(*text)[n]);

		value = value << 4 | (uint64_t)(c >= 'a' ? c - 'a' + 10 : c - '0');
		n++;
	}
	*text += n;
	*ret = value;
	return n >= min;
}

static bool read_char(const char **text, char c)
{
	if (**text != c)
		return false;
	(*text)++;
	return true;
}

bool hdp_pci_parse(const char *text, char ret_text[HDP_PCI_SIZE], uint64_t *ret_key)
{
	uint64_t domain, bus, device, function;

	if (!read_hex(&text, 4, 8, &domain) || !read_char(&text, ':') ||
	    !read_hex(&text, 2, 2, &bus) || !read_char(&text, ':') ||
	    !read_hex(&text, 2, 2, &device) || !read_char(&text, '.') ||
	    !read_hex(&text, 1, 1, &function) || *text != '\0')
		return false;
	if (device > 0x1f || function > 7)
		return false;

	(void)snprintf(ret_text, HDP_PCI_SIZE, "%04x:%02x:%02x.%x", (unsigned)domain, (unsigned)bus,
		       (unsigned)device, (unsigned)function);
	*ret_key = domain << 16 | bus << 8 | device << 3 | function;
	return true;
}

/* A number of at most seven digits at *@text, which moves past it. */
static bool read_cpu(const char **text, uint32_t *ret)
{
	uint32_t value = 0;
	size_t n = 0;

	for (; isdigit((unsigned char)(*text)[n]); n++) {
		if (n == 7)
			return false;
		value = value * 10 + (uint32_t)((*text)[n] - '0');
	}
	*text += n;
	*ret = value;
	return n > 0;
}

bool hdp_cpulist_valid(const char *text)
{
	for (;;) {
		uint32_t first, last;

		if (!read_cpu(&text, &first))
			return false;
		if (read_char(&text, '-') && (!read_cpu(&text, &last) || last < first))
			return false;
		if (*text == '\0')
			return true;
		if (!read_char(&text, ','))
			return false;
	}
}

bool hdp_capability_valid(const char *text)
{
	size_t major = strspn(text, "0123456789");
	size_t minor;

	if (major < 1 || major > 2 || text[major] != '.')
		return false;
	minor = strspn(text + major + 1, "0123456789");
	return minor >= 1 && minor <= 2 && text[major + 1 + minor] == '\0';
}

uint64_t hdp_gflops_fp32(const char *capability, uint32_t sms, uint32_t sm_mhz)
{
	/* FP32 lanes of one multiprocessor: NVIDIA's CUDA programming guide, arithmetic throughput.
	 */
	static const struct {
		const char *capability; /* one that ends in '.' stands for the whole generation */
		unsigned lanes;
	} table[] = {
		{ "3.", 192 },	{ "5.", 128 },	{ "6.0", 64 },	{ "6.1", 128 }, { "6.2", 128 },
		{ "7.", 64 },	{ "8.0", 64 },	{ "8.6", 128 }, { "8.7", 128 }, { "8.9", 128 },
		{ "9.0", 128 }, { "10.", 128 }, { "12.", 128 },
	};

	if (!capability)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		size_t len = strlen(table[i].capability);
		bool whole = table[i].capability[len - 1] != '.';

		if (strncmp(capability, table[i].capability, len) != 0)
			continue;
		if (whole && capability[len] != '\0')
			continue;
		/* lanes x multiply-add x MHz gives MFLOPS */
		return (uint64_t)(((unsigned __int128)table[i].lanes * 2 * sms * sm_mhz + 500) /
				  1000);
	}
	return 0;
}
