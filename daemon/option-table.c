/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options and the check of one value against its row. Pure. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <hami/layout.h>

#include "complaint.h"
#include "option-table.h"
#include "units.h"

static const char *const memory_fit_words[] = { "shrink", "strict", NULL };
static const char *const placement_words[] = { "pack", "spread", "topology", "fit", NULL };
static const char *const split_words[] = { "deny", "allow", NULL };
static const char *const publish_words[] = { "all", "placeable", NULL };
static const char *const registration_words[] = { "rpc", "watcher", NULL };
static const char *const level_words[] = { "ERROR", "WARN", "INFO", "DEBUG", NULL };
static const char *const format_words[] = { "text", "json", NULL };

static const struct option_spec table[OPTION_N] = {
	[OPTION_DRIVER] = { .flag = "driver",
			    .type = OPTION_TYPE_DRIVER,
			    .fallback = "auto",
			    .help = "driver that knows the GPUs; auto never picks sim" },
	[OPTION_DRIVER_ROOT] = { .flag = "driver-root",
				 .type = OPTION_TYPE_PATH,
				 .unset = "/usr/local/hami/driver for hamivgpu",
				 .help = "directory that the driver's libraries lie below" },
	[OPTION_RESOURCE_NAME] = { .flag = "resource-name",
				   .type = OPTION_TYPE_TEXT,
				   .fallback = "hami.com/vgpu",
				   .help = "extended resource that slots are offered under" },
	[OPTION_CORES_PER_DEVICE] = { .flag = "cores-per-device",
				      .type = OPTION_TYPE_NUMBER,
				      .alias = "HAMI_VGPU_CORES_PER_DEVICE",
				      .min = 1,
				      .max = HAMIDP_SLOTS_MAX,
				      .fallback = "4",
				      .help = "slots that a GPU is cut into" },
	[OPTION_MEMORY_MB_PER_CORE] = { .flag = "memory-mb-per-core",
					.type = OPTION_TYPE_NUMBER,
					.alias = "HAMI_VGPU_MEMORY_MB_PER_CORE",
					.min = 1,
					.max = OPTION_MEMORY_MB_MAX,
					.unset = "the GPU's memory / cores",
					.help = "memory of one slot in MiB" },
	[OPTION_MEMORY_RATIO] = { .flag = "memory-ratio",
				  .type = OPTION_TYPE_RATIO,
				  .min = HAMIDP_PPM,
				  .max = HAMIDP_RATIO_MAX_PPM,
				  .fallback = "1",
				  .help = "how often memory may be handed out" },
	[OPTION_CORES_RATIO] = { .flag = "cores-ratio",
				 .type = OPTION_TYPE_RATIO,
				 .min = HAMIDP_PPM,
				 .max = HAMIDP_RATIO_MAX_PPM,
				 .fallback = "1",
				 .help = "how often compute may be handed out" },
	[OPTION_MEMORY_FIT] = { .flag = "memory-fit",
				.type = OPTION_TYPE_WORD,
				.words = memory_fit_words,
				.fallback = "shrink",
				.help = "slots x memory up to 5 % above the GPU: shrink the slots, or refuse" },
	[OPTION_ENABLE_TOPOLOGY] = { .flag = "enable-topology",
				     .type = OPTION_TYPE_BOOL,
				     .fallback = "true",
				     .help = "tell the kubelet the NUMA node of each slot" },
	[OPTION_PLACEMENT] = { .flag = "placement",
			       .type = OPTION_TYPE_WORD,
			       .words = placement_words,
			       .fallback = "pack",
			       .help = "pack: keep room together; spread: many GPUs; topology: best links; fit: tightest" },
	[OPTION_SPLIT] = { .flag = "split",
			   .type = OPTION_TYPE_WORD,
			   .words = split_words,
			   .fallback = "deny",
			   .help = "a request that no GPU has in one piece: refuse it, or spread it" },
	[OPTION_MAX_PER_DEVICE] = { .flag = "max-per-device",
				    .type = OPTION_TYPE_NUMBER,
				    .max = HAMIDP_SLOTS_MAX,
				    .fallback = "0",
				    .help = "most slots of one GPU for one request; 0: all that it has" },
	[OPTION_PUBLISH] = { .flag = "publish",
			     .type = OPTION_TYPE_WORD,
			     .words = publish_words,
			     .fallback = "all",
			     .help = "free slots that the scheduler sees: all, or those that can be had in one piece" },
	[OPTION_DEVICE_PLUGIN_DIR] = { .flag = "device-plugin-dir",
				       .type = OPTION_TYPE_PATH,
				       .fallback = "/var/lib/kubelet/device-plugins",
				       .help = "where the kubelet's socket is and ours goes" },
	[OPTION_KUBELET_ROOT_DIR] = { .flag = "kubelet-root-dir",
				      .type = OPTION_TYPE_PATH,
				      .fallback = "/var/lib/kubelet",
				      .help = "the kubelet's --root-dir; plugins_registry is below it" },
	[OPTION_REGISTRATION] = { .flag = "registration",
				  .type = OPTION_TYPE_WORD,
				  .words = registration_words,
				  .fallback = "rpc",
				  .help = "call the kubelet, or be found in plugins_registry" },
	[OPTION_STATE_DIR] = { .flag = "state-dir",
			       .type = OPTION_TYPE_PATH,
			       .fallback = "/var/lib/hami-dp",
			       .help = "what must outlive a reboot; nothing in this version" },
	[OPTION_RUN_DIR] = { .flag = "run-dir",
			     .type = OPTION_TYPE_PATH,
			     .fallback = "/run/hami-dp",
			     .help = "locks: one instance per resource" },
	[OPTION_FAIL_ON_INIT_ERROR] = { .flag = "fail-on-init-error",
					.type = OPTION_TYPE_BOOL,
					.fallback = "true",
					.help = "exit without a driver or GPU; false: stay and keep looking" },
	[OPTION_V] = { .flag = "v",
		       .type = OPTION_TYPE_NUMBER,
		       .min = 0,
		       .max = 10,
		       .fallback = "2",
		       .help = "verbosity: 0 errors, 1 warnings, 2 info, 4 main steps, 6 every message" },
	[OPTION_LOG_LEVEL] = { .flag = "log-level",
			       .type = OPTION_TYPE_WORD,
			       .words = level_words,
			       .unset = "as --v says",
			       .help = "the same as --v=0, 1, 2 and 4" },
	[OPTION_LOG_FORMAT] = { .flag = "log-format",
				.type = OPTION_TYPE_WORD,
				.words = format_words,
				.fallback = "text",
				.help = "lines for people or for machines" },
	[OPTION_SYSROOT] = { .flag = "sysroot",
			     .type = OPTION_TYPE_PATH,
			     .fallback = "/",
			     .help = "prefix for /sys, /proc and /dev, for tests" },
};

const struct option_spec *option_spec(enum option_id id)
{
	return &table[id];
}

static void rename_flag(const char *flag, bool upper, const char *prefix, char *buf)
{
	size_t n = strlen(prefix);

	memcpy(buf, prefix, n);
	for (; *flag && n < OPTION_NAME_MAX - 1; flag++) {
		if (*flag == '-')
			buf[n++] = '_';
		else
			buf[n++] = upper ? (char)toupper((unsigned char)*flag) : *flag;
	}
	buf[n] = '\0';
}

void option_env_name(const struct option_spec *spec, char buf[static OPTION_NAME_MAX])
{
	rename_flag(spec->flag, true, "HAMI_", buf);
}

void option_key_name(const struct option_spec *spec, char buf[static OPTION_NAME_MAX])
{
	rename_flag(spec->flag, false, "", buf);
}

int option_find_key(const char *key, enum option_id *ret)
{
	char name[OPTION_NAME_MAX];

	for (size_t i = 0; i < OPTION_N; i++) {
		option_key_name(&table[i], name);
		if (!strcmp(name, key)) {
			*ret = (enum option_id)i;
			return 0;
		}
	}
	return -ENOENT;
}

static void join_words(const char *const *words, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; words[i]; i++) {
		int r = snprintf(buf + n, size - n, "%s%s", i ? "|" : "", words[i]);

		if (r < 0 || (size_t)r >= size - n)
			return;
		n += (size_t)r;
	}
}

void option_accepted(const struct option_spec *spec, char *buf, size_t size)
{
	char min[32], max[32];

	switch (spec->type) {
	case OPTION_TYPE_TEXT:
		(void)snprintf(buf, size, "1 to %d bytes of text", OPTION_TEXT_MAX);
		break;
	case OPTION_TYPE_PATH:
		(void)snprintf(buf, size, "an absolute path of at most %d bytes", OPTION_TEXT_MAX);
		break;
	case OPTION_TYPE_DRIVER:
		(void)snprintf(buf, size, "auto|sim:NAME|sim:FILE|hamivgpu[:LIBRARY]");
		break;
	case OPTION_TYPE_NUMBER:
		(void)snprintf(buf, size, "a whole number from %" PRIu64 " to %" PRIu64, spec->min,
			       spec->max);
		break;
	case OPTION_TYPE_RATIO:
		units_format_ratio(spec->min, min, sizeof(min));
		units_format_ratio(spec->max, max, sizeof(max));
		(void)snprintf(buf, size, "a decimal from %s to %s with at most %d decimals", min,
			       max, UNITS_RATIO_DECIMALS);
		break;
	case OPTION_TYPE_BOOL:
		(void)snprintf(buf, size, "true|false|1|0");
		break;
	case OPTION_TYPE_WORD:
		join_words(spec->words, buf, size);
		break;
	}
}

static bool is_plain(const char *text)
{
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return false;
	return true;
}

static int parse_driver(const char *text)
{
	if (!strcmp(text, "auto") || !strcmp(text, "hamivgpu"))
		return 0;
	if (!strncmp(text, "sim:", 4) && text[4])
		return 0;
	if (!strncmp(text, "hamivgpu:", 9) && text[9])
		return 0;
	return -EINVAL;
}

/* Something that a later version takes deserves another sentence than a typing error. */
static bool is_later(const struct option_spec *spec, const char *text)
{
	return spec->type == OPTION_TYPE_DRIVER &&
	       (!strcmp(text, "nvml") || !strncmp(text, "nvml:", 5));
}

static int parse_value(const struct option_spec *spec, const char *text, uint64_t *ret)
{
	uint64_t number = 0;
	bool yes = false;
	size_t word = 0;
	int r = 0;

	switch (spec->type) {
	case OPTION_TYPE_TEXT:
		break;
	case OPTION_TYPE_PATH:
		r = text[0] == '/' ? 0 : -EINVAL;
		break;
	case OPTION_TYPE_DRIVER:
		r = parse_driver(text);
		break;
	case OPTION_TYPE_NUMBER:
		r = units_parse_number(text, &number);
		break;
	case OPTION_TYPE_RATIO:
		r = units_parse_ratio(text, &number);
		break;
	case OPTION_TYPE_BOOL:
		r = units_parse_bool(text, &yes);
		number = yes;
		break;
	case OPTION_TYPE_WORD:
		r = units_parse_word(text, spec->words, &word);
		number = word;
		break;
	}
	if (r == 0 && spec->max && (number < spec->min || number > spec->max))
		r = -EINVAL;
	if (r == 0)
		*ret = number;
	return r;
}

int option_check(const struct option_spec *spec, const char *where, const char *text,
		 uint64_t *ret_number, struct complaint *complaint)
{
	char accepted[160];

	if (text[0] && strlen(text) <= OPTION_TEXT_MAX && is_plain(text) &&
	    parse_value(spec, text, ret_number) == 0)
		return 0;
	option_accepted(spec, accepted, sizeof(accepted));
	return complain(complaint, -EINVAL, "%s: '%.80s'%s: accepted: %s", where, text,
			is_later(spec, text) ? " is not available in this version" : "", accepted);
}
