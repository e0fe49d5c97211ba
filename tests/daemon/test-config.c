/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file: what it gives, and the exact words about what is wrong with it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../unit/suite.h"
#include "complaint.h"
#include "config.h"
#include "yaml-tree.h"

static int parse(const char *text, const char *node, struct config **ret, struct complaint *why)
{
	why->text[0] = '\0';
	return config_parse(text, strlen(text), "f.yaml", node, ret, why);
}

static struct config *must_parse(const char *text, const char *node)
{
	struct config *config = NULL;
	struct complaint why;
	int r;

	r = parse(text, node, &config, &why);
	ck_assert_msg(r == 0, "%s", why.text);
	return config;
}

static const struct {
	const char *text;
	const char *why;
} bad[] = {
	{ "driver: auto\n", "f.yaml:1: version is missing: accepted: version: 1" },
	{ "version: 2\n", "f.yaml:1: version: '2': accepted: 1" },
	{ "version: [1]\n", "f.yaml:1: version: '': accepted: 1" },
	{ "- version: 1\n", "f.yaml:1: keys and values expected" },
	{ "just text\n", "f.yaml:1: keys and values expected" },
	{ "version: 1\ncores: 8\n",
	  "f.yaml:2: unknown key 'cores': accepted: version, resources, overrides, nodes and every "
	  "option (see hami-dp --help)" },
	{ "version: 1\ncores-per-device: 8\n",
	  "f.yaml:2: unknown key 'cores-per-device': accepted: version, resources, overrides, nodes "
	  "and every option (see hami-dp --help)" },
	{ "version: 1\n\ncores_per_device: 0\n",
	  "f.yaml:3: cores_per_device: '0': accepted: a whole number from 1 to 1024" },
	{ "version: 1\ncores_per_device: 1025\n",
	  "f.yaml:2: cores_per_device: '1025': accepted: a whole number from 1 to 1024" },
	{ "version: 1\ncores_per_device: -8\n",
	  "f.yaml:2: cores_per_device: '-8': accepted: a whole number from 1 to 1024" },
	{ "version: 1\ncores_per_device: 8 cores\n",
	  "f.yaml:2: cores_per_device: '8 cores': accepted: a whole number from 1 to 1024" },
	{ "version: 1\ncores_per_device: 99999999999999999999\n",
	  "f.yaml:2: cores_per_device: '99999999999999999999': accepted: a whole number from 1 to "
	  "1024" },
	{ "version: 1\ncores_per_device:\n",
	  "f.yaml:2: cores_per_device: '': accepted: a whole number from 1 to 1024" },
	{ "version: 1\ncores_per_device: [8]\n", "f.yaml:2: cores_per_device: one value expected" },
	{ "version: 1\nmemory_mb_per_core: 5Gi\n",
	  "f.yaml:2: memory_mb_per_core: '5Gi': accepted: a whole number from 1 to 16777216" },
	{ "version: 1\nmemory_ratio: 0.9\n",
	  "f.yaml:2: memory_ratio: '0.9': accepted: a decimal from 1 to 100 with at most 6 decimals" },
	{ "version: 1\ncores_ratio: 100.000001\n",
	  "f.yaml:2: cores_ratio: '100.000001': accepted: a decimal from 1 to 100 with at most 6 "
	  "decimals" },
	{ "version: 1\nenable_topology: yes\n",
	  "f.yaml:2: enable_topology: 'yes': accepted: true|false|1|0" },
	{ "version: 1\nplacement: best\n",
	  "f.yaml:2: placement: 'best': accepted: pack|spread|topology|fit" },
	{ "version: 1\nsplit: no\n", "f.yaml:2: split: 'no': accepted: deny|allow" },
	{ "version: 1\npublish: some\n", "f.yaml:2: publish: 'some': accepted: all|placeable" },
	{ "version: 1\nmax_per_device: 1025\n",
	  "f.yaml:2: max_per_device: '1025': accepted: a whole number from 0 to 1024" },
	{ "version: 1\ndriver: nvml\n",
	  "f.yaml:2: driver: 'nvml' is not available in this version: accepted: "
	  "auto|sim:NAME|sim:FILE|hamivgpu[:LIBRARY]" },
	{ "version: 1\nrun_dir: run\n",
	  "f.yaml:2: run_dir: 'run': accepted: an absolute path of at most 1024 bytes" },
	{ "version: 1\nrun_dir: \"/run/a\\nb\"\n",
	  "f.yaml:2: run_dir: '/run/a?b': accepted: an absolute path of at most 1024 bytes" },
	{ "version: 1\nv: 11\n", "f.yaml:2: v: '11': accepted: a whole number from 0 to 10" },
	{ "version: 1\nv: 1\ndriver: auto\nv: 2\n", "f.yaml:4: v: given twice, first in line 2" },
	{ "version: 1\nresources: {}\n", "f.yaml:2: resources: a list expected" },
	{ "version: 1\nresources:\n  - hami.com/vgpu\n",
	  "f.yaml:3: an entry of keys and values expected" },
	{ "version: 1\nresources:\n  - cores_per_device: 8\n",
	  "f.yaml:3: a resource without a name" },
	{ "version: 1\nresources:\n  - name: a.b/c\n    colour: red\n",
	  "f.yaml:4: unknown key 'colour': accepted: name, devices, cores_per_device, "
	  "memory_mb_per_core, memory_ratio, cores_ratio" },
	{ "version: 1\nresources:\n  - name: a.b/c\n    devices: []\n",
	  "f.yaml:4: devices: empty; leave it out to take all other GPUs" },
	{ "version: 1\nresources:\n  - name: a.b/c\n    devices: [{}]\n",
	  "f.yaml:4: one of uuid, model and index expected" },
	{ "version: 1\nresources:\n  - name: a.b/c\n    devices: [{uuid: x, model: y}]\n",
	  "f.yaml:4: model: one of uuid, model and index, not two" },
	{ "version: 1\nresources:\n  - name: a.b/c\n    devices: [{index: x}]\n",
	  "f.yaml:4: index: 'x': accepted: a whole number from 0 to 2147483647" },
	{ "version: 1\nresources:\n  - name: a.b/c\n    devices: [{name: x}]\n",
	  "f.yaml:4: unknown key 'name': accepted: uuid, model, index" },
	{ "version: 1\nresources:\n  - name: a.b/c\n    cores_per_device: 0\n",
	  "f.yaml:4: cores_per_device: '0': accepted: a whole number from 1 to 1024" },
	{ "version: 1\noverrides:\n  - cores_per_device: 8\n",
	  "f.yaml:3: one of uuid, model and index expected" },
	{ "version: 1\noverrides:\n  - model: A100*\n    memory_fit: strict\n",
	  "f.yaml:4: unknown key 'memory_fit': accepted: uuid, model, index, cores_per_device, "
	  "memory_mb_per_core, memory_ratio, cores_ratio" },
	{ "version: 1\nnodes:\n  - cores_per_device: 8\n", "f.yaml:3: an entry without a name" },
	{ "version: 1\nnodes:\n  - name: other\n    cores_per_device: 0\n",
	  "f.yaml:4: cores_per_device: '0': accepted: a whole number from 1 to 1024" },
	{ "version: 1\nnodes:\n  - name: other\n    version: 1\n",
	  "f.yaml:4: unknown key 'version': accepted: name, resources, overrides and every option" },
	{ "version: 1\ndriver: &a auto\n", "f.yaml:2: anchors and tags are not accepted" },
	{ "version: 1\ndriver: !!str auto\n", "f.yaml:2: anchors and tags are not accepted" },
	{ "version: 1\nresources: &a []\noverrides: *a\n",
	  "f.yaml:2: anchors and tags are not accepted" },
	{ "version: 1\noverrides: *a\n", "f.yaml:2: aliases are not accepted" },
	{ "version: 1\n---\nversion: 1\n", "f.yaml:2: more than one document" },
	{ "version: 1\n? [a]\n: b\n", "f.yaml:2: a key must be plain text" },
	{ "version: 1\ndriver: \"a\\0b\"\n", "f.yaml:2: a value with a NUL character" },
	{ "version: 1\nresources: [[[[[[[[[[[]]]]]]]]]]]\n", "f.yaml:2: nested more than 8 deep" },
};

START_TEST(bad_input_is_named)
{
	struct config *config = NULL;
	struct complaint why;

	ck_assert_int_eq(parse(bad[_i].text, "n1", &config, &why), -EINVAL);
	ck_assert_str_eq(why.text, bad[_i].why);
	ck_assert_ptr_null(config);
}
END_TEST

/* libyaml's own words may change; the place and our part do not. */
START_TEST(broken_yaml_has_its_line)
{
	static const struct {
		const char *text;
		const char *start;
	} cases[] = {
		{ "version: 1\nresources: [\n", "f.yaml:3: no valid YAML: " },
		{ "version: 1\n\tdriver: auto\n", "f.yaml:2: no valid YAML: " },
		{ "version: 1\ndriver: 'auto\n", "f.yaml:3: no valid YAML: " },
		{ "version: 1\ndriver: \xff\xfe\n", "f.yaml:1: no valid YAML: " },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config *config = NULL;
		struct complaint why;

		ck_assert_int_eq(parse(cases[i].text, "", &config, &why), -EINVAL);
		ck_assert_msg(!strncmp(why.text, cases[i].start, strlen(cases[i].start)),
			      "'%s' does not start with '%s'", why.text, cases[i].start);
	}
}
END_TEST

START_TEST(empty_file_sets_nothing)
{
	struct config *config = must_parse("# all is commented out\n", "");

	for (size_t i = 0; i < OPTION_N; i++)
		ck_assert_ptr_null(config->settings[i].text);
	ck_assert_uint_eq(config->n_resources + config->n_overrides + config->n_nodes, 0);
	config_free(config);
}
END_TEST

START_TEST(everything_is_read)
{
	struct config *config = must_parse("version: 1\n"
					   "cores_per_device: 8\n"
					   "memory_ratio: 1.5\n"
					   "resources:\n"
					   "  - name: hami.com/vgpu\n"
					   "  - name: hami.com/whole\n"
					   "    cores_per_device: 1\n"
					   "    memory_mb_per_core: 40000\n"
					   "    devices:\n"
					   "      - model: 'NVIDIA H100*'\n"
					   "      - index: 3\n"
					   "overrides:\n"
					   "  - uuid: GPU-1\n"
					   "    cores_per_device: 2\n"
					   "    cores_ratio: 1.25\n",
					   "");
	const struct config_resource *whole = &config->resources[1];

	ck_assert_str_eq(config->settings[OPTION_CORES_PER_DEVICE].text, "8");
	ck_assert_uint_eq(config->settings[OPTION_CORES_PER_DEVICE].line, 2);
	ck_assert_str_eq(config->settings[OPTION_MEMORY_RATIO].text, "1.5");
	ck_assert_uint_eq(config->n_resources, 2);
	ck_assert_str_eq(config->resources[0].name, "hami.com/vgpu");
	ck_assert_uint_eq(config->resources[0].n_devices, 0);
	ck_assert_str_eq(whole->name, "hami.com/whole");
	ck_assert_uint_eq(whole->slicing.slots, 1);
	ck_assert_uint_eq(whole->slicing.memory_mib, 40000);
	ck_assert_uint_eq(whole->n_devices, 2);
	ck_assert_int_eq(whole->devices[0].by, HAMIDP_MATCH_MODEL);
	ck_assert_str_eq(whole->devices[0].value, "NVIDIA H100*");
	ck_assert_int_eq(whole->devices[1].by, HAMIDP_MATCH_INDEX);
	ck_assert_str_eq(whole->devices[1].value, "3");
	ck_assert_uint_eq(whole->devices[1].line, 11);
	ck_assert_uint_eq(config->n_overrides, 1);
	ck_assert_int_eq(config->overrides[0].match.by, HAMIDP_MATCH_UUID);
	ck_assert_uint_eq(config->overrides[0].slicing.slots, 2);
	ck_assert_uint_eq(config->overrides[0].slicing.cores_ratio_ppm, 1250000);
	ck_assert_uint_eq(config->overrides[0].slicing.memory_ratio_ppm, 0);
	config_free(config);
}
END_TEST

static const char nodes_text[] = "nodes:\n"
				 "  - name: 'gpu-a*'\n"
				 "    cores_per_device: 2\n"
				 "    resources: [{name: a.b/first}]\n"
				 "  - name: 'gpu-*'\n"
				 "    cores_per_device: 3\n"
				 "version: 1\n"
				 "cores_per_device: 8\n"
				 "v: 4\n"
				 "resources: [{name: a.b/top}, {name: a.b/second}]\n";

START_TEST(first_matching_node_wins)
{
	static const struct {
		const char *node;
		const char *cores;
		const char *pattern;
		const char *resource;
		size_t n_resources;
	} cases[] = {
		{ "gpu-a1", "2", "gpu-a*", "a.b/first", 1 },
		{ "gpu-b1", "3", "gpu-*", "a.b/top", 2 },
		{ "cpu-1", "8", NULL, "a.b/top", 2 },
		{ "", "8", NULL, "a.b/top", 2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config *config = must_parse(nodes_text, cases[i].node);

		ck_assert_str_eq(config->settings[OPTION_CORES_PER_DEVICE].text, cases[i].cores);
		ck_assert_str_eq(config->settings[OPTION_V].text, "4");
		ck_assert_pstr_eq(config->node_pattern, cases[i].pattern);
		ck_assert_uint_eq(config->n_resources, cases[i].n_resources);
		ck_assert_str_eq(config->resources[0].name, cases[i].resource);
		ck_assert_uint_eq(config->n_nodes, 2);
		config_free(config);
	}
}
END_TEST

/* @n entries of a list that may have fewer. */
static void too_many(const char *key, const char *entry, size_t n, const char *want)
{
	struct config *config = NULL;
	struct complaint why;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	ck_assert_ptr_nonnull(out);
	(void)fprintf(out, "version: 1\n%s:\n", key);
	for (size_t i = 0; i < n; i++)
		(void)fprintf(out, "  - %s\n", entry);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_int_eq(parse(text, "", &config, &why), -EINVAL);
	ck_assert_str_eq(why.text, want);
	free(text);
}

START_TEST(counts_are_limited)
{
	too_many("resources", "name: a.b/c", CONFIG_RESOURCES_MAX + 1,
		 "f.yaml:2: resources: 65 entries; accepted: at most 64");
	too_many("overrides", "uuid: x", CONFIG_OVERRIDES_MAX + 1,
		 "f.yaml:2: overrides: 257 entries; accepted: at most 256");
	too_many("nodes", "name: x", CONFIG_NODES_MAX + 1,
		 "f.yaml:2: nodes: 1025 entries; accepted: at most 1024");
}
END_TEST

START_TEST(sizes_are_limited)
{
	struct config *config = NULL;
	struct complaint why;
	char *text = malloc(YAML_TREE_BYTES_MAX + 2);

	ck_assert_ptr_nonnull(text);
	memset(text, '#', YAML_TREE_BYTES_MAX + 1);
	text[YAML_TREE_BYTES_MAX + 1] = '\0';
	ck_assert_int_eq(parse(text, "", &config, &why), -EINVAL);
	ck_assert_str_eq(why.text, "f.yaml: 262145 bytes; accepted: at most 262144");

	memset(text, 'a', YAML_TREE_BYTES_MAX);
	memcpy(text, "version: 1\ndriver: ", 19);
	text[19 + YAML_TREE_SCALAR_MAX + 1] = '\0';
	ck_assert_int_eq(parse(text, "", &config, &why), -EINVAL);
	ck_assert_str_eq(why.text, "f.yaml:2: a value of more than 1024 bytes");
	free(text);
}
END_TEST

START_TEST(unreadable_files_are_named)
{
	char dir[] = "/tmp/test-config-XXXXXX";
	struct config *config = NULL;
	struct complaint why;
	char want[128], path[64];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/none.yaml", dir);
	(void)snprintf(want, sizeof(want), "%s: No such file or directory", path);
	ck_assert_int_eq(config_read(path, "", &config, &why), -ENOENT);
	ck_assert_str_eq(why.text, want);
	(void)snprintf(want, sizeof(want), "%s: Is a directory", dir);
	ck_assert_int_eq(config_read(dir, "", &config, &why), -EIO);
	ck_assert_str_eq(why.text, want);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

/* The example that is installed says what the defaults are, so it must parse and set nothing. */
START_TEST(shipped_example_parses)
{
	const char *path = getenv("HAMI_DP_EXAMPLE");
	struct config *config = NULL;
	struct complaint why;

	ck_assert_msg(path != NULL, "HAMI_DP_EXAMPLE names the example");
	ck_assert_msg(config_read(path, "", &config, &why) == 0, "%s", why.text);
	for (size_t i = 0; i < OPTION_N; i++)
		ck_assert_ptr_null(config->settings[i].text);
	config_free(config);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config");
	TCase *tcase = tcase_create("config");

	tcase_add_loop_test(tcase, bad_input_is_named, 0, (int)(sizeof(bad) / sizeof(bad[0])));
	tcase_add_test(tcase, broken_yaml_has_its_line);
	tcase_add_test(tcase, empty_file_sets_nothing);
	tcase_add_test(tcase, everything_is_read);
	tcase_add_test(tcase, first_matching_node_wins);
	tcase_add_test(tcase, counts_are_limited);
	tcase_add_test(tcase, sizes_are_limited);
	tcase_add_test(tcase, unreadable_files_are_named);
	tcase_add_test(tcase, shipped_example_parses);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
