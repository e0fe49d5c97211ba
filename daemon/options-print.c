/* SPDX-License-Identifier: Apache-2.0 */
/* Writes options for people. */
#include <inttypes.h>

#include "config.h"
#include "options-print.h"
#include "options.h"
#include "units.h"

/* What stands for the value; where the type is not all there is to say, the range follows. */
static const char *placeholder(const struct option_spec *spec)
{
	switch (spec->type) {
	case OPTION_TYPE_TEXT:
		return "NAME";
	case OPTION_TYPE_PATH:
		return "DIR";
	case OPTION_TYPE_NUMBER:
		return "N";
	case OPTION_TYPE_RATIO:
		return "RATIO";
	case OPTION_TYPE_DRIVER:
	case OPTION_TYPE_BOOL:
	case OPTION_TYPE_WORD:
		break;
	}
	return NULL;
}

static void print_flag(const struct option_spec *spec, FILE *out)
{
	bool has_range = spec->type == OPTION_TYPE_NUMBER || spec->type == OPTION_TYPE_RATIO;
	const char *value = placeholder(spec);
	char accepted[160], env[OPTION_NAME_MAX];

	option_accepted(spec, accepted, sizeof(accepted));
	option_env_name(spec, env);
	(void)fprintf(out, "  --%s=%s\n        %s", spec->flag, value ? value : accepted,
		      spec->help);
	if (has_range)
		(void)fprintf(out, "; %s", accepted);
	(void)fprintf(out, "\n        default: %s; environment: %s%s%s\n",
		      spec->fallback ? spec->fallback : spec->unset, env, spec->alias ? ", " : "",
		      spec->alias ? spec->alias : "");
}

void options_print_help(FILE *out)
{
	(void)fputs("Usage: hami-dp [FLAG]...\n\n"
		    "Serves the slices of this node's GPUs to the kubelet.\n\n",
		    out);
	for (int i = 0; i < OPTION_N; i++)
		print_flag(option_spec((enum option_id)i), out);
	(void)fputs(
		"  --config=FILE\n        configuration file\n"
		"        default: " OPTIONS_CONFIG_DEFAULT
		", which may be missing; environment: HAMI_CONFIG\n"
		"  --dry-run\n        print the GPUs and their slots, and exit\n"
		"  --print-config\n        print each value and where it comes from, and exit\n"
		"  -h, --help\n  --version\n\n"
		"A flag beats the environment, the environment the file, the file the default.\n"
		"Exit status: 0 ended as told, 1 failed, 2 wrong usage or configuration.\n",
		out);
}

/* YAML's single quotes: the only escape is the quote itself. */
static void print_quoted(const char *text, FILE *out)
{
	(void)fputc('\'', out);
	for (; *text; text++) {
		if (*text == '\'')
			(void)fputc('\'', out);
		(void)fputc(*text, out);
	}
	(void)fputc('\'', out);
}

static void print_value(const struct option_spec *spec, const struct options_value *value,
			FILE *out)
{
	char key[OPTION_NAME_MAX];

	option_key_name(spec, key);
	if (!value->text) {
		(void)fprintf(out, "# %s: unset, %s  # default\n", key, spec->unset);
		return;
	}
	(void)fprintf(out, "%s: ", key);
	if (spec->type == OPTION_TYPE_BOOL)
		(void)fputs(value->number ? "true" : "false", out);
	else if (spec->type == OPTION_TYPE_WORD)
		(void)fputs(spec->words[value->number], out);
	else if (spec->type == OPTION_TYPE_NUMBER || spec->type == OPTION_TYPE_RATIO)
		(void)fputs(value->text, out);
	else
		print_quoted(value->text, out);
	(void)fprintf(out, "  # %s\n", value->where ? value->where : "default");
}

static void print_slicing(const struct config_slicing *slicing, FILE *out)
{
	char ratio[32];

	if (slicing->slots)
		(void)fprintf(out, "    cores_per_device: %" PRIu32 "\n", slicing->slots);
	if (slicing->memory_mib)
		(void)fprintf(out, "    memory_mb_per_core: %" PRIu64 "\n", slicing->memory_mib);
	if (slicing->memory_ratio_ppm) {
		units_format_ratio(slicing->memory_ratio_ppm, ratio, sizeof(ratio));
		(void)fprintf(out, "    memory_ratio: %s\n", ratio);
	}
	if (slicing->cores_ratio_ppm) {
		units_format_ratio(slicing->cores_ratio_ppm, ratio, sizeof(ratio));
		(void)fprintf(out, "    cores_ratio: %s\n", ratio);
	}
}

static void print_match(const char *indent, const struct config *config,
			const struct config_match *match, FILE *out)
{
	static const char *const kinds[] = { [HAMIDP_MATCH_UUID] = "uuid",
					     [HAMIDP_MATCH_MODEL] = "model",
					     [HAMIDP_MATCH_INDEX] = "index" };

	(void)fprintf(out, "%s- %s: ", indent, kinds[match->by]);
	if (match->by == HAMIDP_MATCH_INDEX)
		(void)fputs(match->value, out);
	else
		print_quoted(match->value, out);
	(void)fprintf(out, "  # %s:%u\n", config->file, match->line);
}

static void print_lists(const struct config *config, FILE *out)
{
	if (config->n_resources)
		(void)fputs("resources:\n", out);
	for (size_t i = 0; i < config->n_resources; i++) {
		const struct config_resource *resource = &config->resources[i];

		(void)fputs("  - name: ", out);
		print_quoted(resource->name, out);
		(void)fprintf(out, "  # %s:%u\n", config->file, resource->line);
		print_slicing(&resource->slicing, out);
		if (resource->n_devices)
			(void)fputs("    devices:\n", out);
		for (size_t k = 0; k < resource->n_devices; k++)
			print_match("      ", config, &resource->devices[k], out);
	}
	if (config->n_overrides)
		(void)fputs("overrides:\n", out);
	for (size_t i = 0; i < config->n_overrides; i++) {
		print_match("  ", config, &config->overrides[i].match, out);
		print_slicing(&config->overrides[i].slicing, out);
	}
}

void options_print_config(const struct options *opts, FILE *out)
{
	const struct config *config = opts->config;

	(void)fprintf(out, "version: 1\n# file: %s%s\n", opts->config_path,
		      config ? "" : " (there is none)");
	if (config && config->n_nodes)
		(void)fprintf(out, "# nodes: NODE_NAME '%s' takes %s%s\n", opts->node_name,
			      config->node_pattern ? "the entry " : "no entry",
			      config->node_pattern ? config->node_pattern : "");
	for (int i = 0; i < OPTION_N; i++) {
		if (i == OPTION_RESOURCE_NAME && config && config->n_resources)
			continue; /* replaced by "resources" */
		print_value(option_spec((enum option_id)i), &opts->values[i], out);
	}
	if (config)
		print_lists(config, out);
}
