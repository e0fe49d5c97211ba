/* SPDX-License-Identifier: Apache-2.0 */
/* Collects option values from their three sources, weakest last. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "complaint.h"
#include "config.h"
#include "macro.h"
#include "options.h"

/* Values of getopt_long(3) above the options' own numbers. */
enum { FLAG_CONFIG = OPTION_N, FLAG_HELP, FLAG_VERSION, FLAG_PRINT_CONFIG, FLAG_DRY_RUN, FLAG_N };
#define FLAG_BASE 256 /* no character has this value */

static const struct option plain_flags[] = {
	{ "config", required_argument, NULL, FLAG_BASE + FLAG_CONFIG },
	{ "help", no_argument, NULL, FLAG_BASE + FLAG_HELP },
	{ "version", no_argument, NULL, FLAG_BASE + FLAG_VERSION },
	{ "print-config", no_argument, NULL, FLAG_BASE + FLAG_PRINT_CONFIG },
	{ "dry-run", no_argument, NULL, FLAG_BASE + FLAG_DRY_RUN },
};

static int out_of_memory(struct complaint *complaint)
{
	return complain(complaint, -ENOMEM, "out of memory");
}

/* Set a value unless a stronger source already has; @text was not checked yet. */
static int set_value(struct options *opts, enum option_id id, enum options_origin origin,
		     const char *where, const char *text, struct complaint *complaint)
{
	struct options_value *value = &opts->values[id];
	dp_cleanup_free char *new_where = NULL;
	dp_cleanup_free char *new_text = NULL;
	uint64_t number = 0;
	int r;

	r = option_check(option_spec(id), where, text, &number, complaint);
	if (r < 0)
		return r;
	if (value->text && value->origin > origin)
		return 0;
	new_text = strdup(text);
	new_where = strdup(where);
	if (!new_text || !new_where)
		return out_of_memory(complaint);
	free(value->text);
	free(value->where);
	value->text = take_ptr(new_text);
	value->where = take_ptr(new_where);
	value->number = number;
	value->origin = origin;
	return 0;
}

static int replace_text(char **text, const char *with, struct complaint *complaint)
{
	char *copy = strdup(with);

	if (!copy)
		return out_of_memory(complaint);
	free(*text);
	*text = copy;
	return 0;
}

static int set_config(struct options *opts, const char *where, const char *path,
		      struct complaint *complaint)
{
	if (!path[0])
		return complain(complaint, -EINVAL, "%s: '': accepted: the path of a file", where);
	return replace_text(&opts->config_path, path, complaint);
}

static void fill_flags(struct option flags[static FLAG_N + 1])
{
	memset(flags, 0, (FLAG_N + 1) * sizeof(*flags));
	for (int i = 0; i < OPTION_N; i++) {
		const struct option_spec *spec = option_spec((enum option_id)i);

		flags[i].name = spec->flag;
		flags[i].has_arg =
			spec->type == OPTION_TYPE_BOOL ? optional_argument : required_argument;
		flags[i].val = FLAG_BASE + i;
	}
	memcpy(&flags[OPTION_N], plain_flags, sizeof(plain_flags));
}

/* The first of --help and --version wins over everything; of the others the last. */
static void set_action(struct options *opts, enum options_action action)
{
	if (opts->action != OPTIONS_HELP && opts->action != OPTIONS_VERSION)
		opts->action = action;
}

static int take_flag(struct options *opts, int flag, struct complaint *complaint)
{
	const struct option_spec *spec;
	char where[OPTION_NAME_MAX + 2] = "--";

	switch (flag) {
	case FLAG_CONFIG:
		return set_config(opts, "--config", optarg, complaint);
	case FLAG_HELP:
		set_action(opts, OPTIONS_HELP);
		return 0;
	case FLAG_VERSION:
		set_action(opts, OPTIONS_VERSION);
		return 0;
	case FLAG_PRINT_CONFIG:
		set_action(opts, OPTIONS_PRINT_CONFIG);
		return 0;
	case FLAG_DRY_RUN:
		set_action(opts, OPTIONS_DRY_RUN);
		return 0;
	default:
		break;
	}
	spec = option_spec((enum option_id)flag);
	strncat(where, spec->flag, OPTION_NAME_MAX - 1);
	return set_value(opts, (enum option_id)flag, OPTIONS_FROM_FLAG, where,
			 optarg ? optarg : "true", complaint);
}

/* getopt_long(3) takes any unambiguous beginning of a name; a manifest must not rest on that. */
static bool is_whole_name(const char *arg, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(arg, "--", 2) && !strncmp(arg + 2, name, n) &&
	       (arg[2 + n] == '\0' || arg[2 + n] == '=');
}

static int refuse_flag(int c, const char *arg, struct complaint *complaint)
{
	if (c == ':')
		return complain(complaint, -EINVAL, "%.80s: a value is missing", arg);
	return complain(complaint, -EINVAL,
			"%.80s: no such flag, or one without a value; see --help", arg);
}

static int read_flags(struct options *opts, int argc, char **argv, struct complaint *complaint)
{
	struct option flags[FLAG_N + 1];
	int c, r;

	fill_flags(flags);
	opterr = 0;
	optind = 0; /* start anew: glibc */
	for (;;) {
		int at = optind ? optind : 1;
		int index = -1;

		c = getopt_long(argc, argv, "+:h", flags, &index);
		if (c == -1)
			break;
		if (c == 'h') {
			set_action(opts, OPTIONS_HELP);
			continue;
		}
		if (c == '?' || c == ':' || !is_whole_name(argv[at], flags[index].name))
			return refuse_flag(c, argv[at], complaint);
		r = take_flag(opts, c - FLAG_BASE, complaint);
		if (r < 0)
			return r;
	}
	if (optind < argc)
		return complain(complaint, -EINVAL, "'%.80s': unexpected argument; see --help",
				argv[optind]);
	return 0;
}

static const char *env_get(char *const *envp, const char *name)
{
	size_t n = strlen(name);

	for (; *envp; envp++)
		if (!strncmp(*envp, name, n) && (*envp)[n] == '=')
			return *envp + n + 1;
	return NULL;
}

/* Two names for one value: the same twice is fine, a contradiction is not ours to settle. */
static int read_env(struct options *opts, char *const *envp, struct complaint *complaint)
{
	int r;

	for (int i = 0; i < OPTION_N; i++) {
		const struct option_spec *spec = option_spec((enum option_id)i);
		const char *text, *other;
		char name[OPTION_NAME_MAX];

		option_env_name(spec, name);
		text = env_get(envp, name);
		other = spec->alias ? env_get(envp, spec->alias) : NULL;
		if (text && other && strcmp(text, other) != 0)
			return complain(
				complaint, -EINVAL,
				"%s: '%.80s' and %s: '%.80s': set one of them, or both alike",
				spec->alias, other, name, text);
		r = 0;
		if (other)
			r = set_value(opts, (enum option_id)i, OPTIONS_FROM_ENV, spec->alias, other,
				      complaint);
		else if (text)
			r = set_value(opts, (enum option_id)i, OPTIONS_FROM_ENV, name, text,
				      complaint);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A file that was named must be there; the default one may be missing. */
static int load_file(struct options *opts, bool is_named, struct complaint *complaint)
{
	int r;

	r = config_read(opts->config_path, opts->node_name, &opts->config, complaint);
	return r == -ENOENT && !is_named ? 0 : r;
}

static int read_file(struct options *opts, struct complaint *complaint)
{
	int r;

	for (int i = 0; opts->config && i < OPTION_N; i++) {
		const struct config_setting *setting = &opts->config->settings[i];
		char key[OPTION_NAME_MAX];
		dp_cleanup_free char *where = NULL;

		if (!setting->text)
			continue;
		option_key_name(option_spec((enum option_id)i), key);
		if (asprintf(&where, "%s:%u: %s", opts->config->file, setting->line, key) < 0) {
			where = NULL;
			return out_of_memory(complaint);
		}
		r = set_value(opts, (enum option_id)i, OPTIONS_FROM_FILE, where, setting->text,
			      complaint);
		if (r < 0)
			return r;
	}
	return 0;
}

static int fill_defaults(struct options *opts, struct complaint *complaint)
{
	for (int i = 0; i < OPTION_N; i++) {
		const struct option_spec *spec = option_spec((enum option_id)i);
		struct options_value *value = &opts->values[i];
		int r;

		if (value->text || !spec->fallback)
			continue;
		r = option_check(spec, spec->flag, spec->fallback, &value->number, complaint);
		if (r < 0)
			return r;
		value->text = strdup(spec->fallback);
		if (!value->text)
			return out_of_memory(complaint);
	}
	return 0;
}

/* "resources" says all of it; another source that names the one resource contradicts it. */
static int check_resources(const struct options *opts, struct complaint *complaint)
{
	const struct options_value *name = &opts->values[OPTION_RESOURCE_NAME];

	if (!opts->config || !opts->config->n_resources || name->origin == OPTIONS_FROM_DEFAULT)
		return 0;
	return complain(complaint, -EINVAL,
			"%s: '%.80s': 'resources' in %s:%u names the resources; keep one of both",
			name->where, name->text, opts->config->file,
			opts->config->resources[0].line);
}

static int load(struct options *opts, int argc, char **argv, char *const *envp,
		struct complaint *complaint)
{
	const char *config = env_get(envp, "HAMI_CONFIG");
	const char *node = env_get(envp, "NODE_NAME");
	bool is_named;
	int r;

	r = read_flags(opts, argc, argv, complaint);
	if (r < 0 || opts->action == OPTIONS_HELP || opts->action == OPTIONS_VERSION)
		return r;
	is_named = opts->config_path || config;
	if (!opts->config_path)
		r = set_config(opts, "HAMI_CONFIG", config ? config : OPTIONS_CONFIG_DEFAULT,
			       complaint);
	if (r == 0)
		r = replace_text(&opts->node_name, node ? node : "", complaint);
	if (r == 0)
		r = read_env(opts, envp, complaint);
	if (r == 0)
		r = load_file(opts, is_named, complaint);
	if (r == 0)
		r = read_file(opts, complaint);
	if (r == 0)
		r = fill_defaults(opts, complaint);
	return r < 0 ? r : check_resources(opts, complaint);
}

struct options *options_free(struct options *opts)
{
	if (!opts)
		return NULL;
	for (int i = 0; i < OPTION_N; i++) {
		free(opts->values[i].text);
		free(opts->values[i].where);
	}
	config_free(opts->config);
	free(opts->config_path);
	free(opts->node_name);
	free(opts);
	return NULL;
}

int options_load(int argc, char **argv, char *const *envp, struct options **ret,
		 struct complaint *complaint)
{
	struct options *opts = calloc(1, sizeof(*opts));
	int r;

	if (!opts)
		return out_of_memory(complaint);
	r = load(opts, argc, argv, envp, complaint);
	if (r < 0) {
		options_free(opts);
		return r;
	}
	*ret = opts;
	return 0;
}

const char *options_text(const struct options *opts, enum option_id id)
{
	return opts->values[id].text;
}

uint64_t options_number(const struct options *opts, enum option_id id)
{
	return opts->values[id].number;
}

bool options_bool(const struct options *opts, enum option_id id)
{
	return opts->values[id].number != 0;
}

bool options_is_set(const struct options *opts, enum option_id id)
{
	return opts->values[id].text && opts->values[id].origin != OPTIONS_FROM_DEFAULT;
}

int options_verbosity(const struct options *opts)
{
	static const int of_level[] = { 0, 1, 2, 4 }; /* ERROR WARN INFO DEBUG */
	const struct options_value *level = &opts->values[OPTION_LOG_LEVEL];
	const struct options_value *v = &opts->values[OPTION_V];

	if (level->text && level->origin > v->origin)
		return of_level[level->number];
	return (int)v->number;
}
