/* SPDX-License-Identifier: Apache-2.0 */

/* Reading hami.inventory/1: what is accepted, what a refusal says, and the bundled machines. */

#include <errno.h>

#include <hami/hamidp.h>

#include "describe.h"
#include "sim-json.h"
#include "suite.h"

#define HEAD "{\"schema\":\"hami.inventory/1\","
#define DEVICE(more) HEAD "\"devices\":[{\"uuid\":\"a\",\"memory_mib\":40960" more "}]}"
#define LINK(more)                                             \
	HEAD "\"devices\":[{\"uuid\":\"a\",\"memory_mib\":1}," \
	     "{\"uuid\":\"b\",\"memory_mib\":1}],\"links\":[{" more "}]}"

static int parse(const char *text, struct hdp_machine *m, struct hdp_sim_script *script,
		 struct hamidp_reason *reason)
{
	hdp_reason_clear(reason);
	return hdp_machine_parse(text, strlen(text), m, script, reason);
}

static const char everything[] =
	"{\"schema\": \"hami.inventory/1\",\n"
	" \"driver\": {\"name\": \"sim\", \"version\": \"1\", \"max_slots\": 128,"
	" \"contiguous\": true},\n"
	" \"devices\": [{\"uuid\": \"GPU-1\", \"index\": 3, \"minor\": 4,"
	" \"model\": \"NVIDIA A100\", \"pci\": \"00000000:3B:00.0\","
	" \"memory_mib\": 40960, \"sms\": 108, \"sm_mhz\": 1410,"
	" \"compute_capability\": \"8.0\", \"tflops_fp32\": 19.5, \"numa_node\": 1,"
	" \"cpus\": \"0-3\", \"health\": \"unhealthy\", \"health_cause\": \"code 79\","
	" \"device_nodes\": [{\"host\": \"/dev/x\", \"container\": \"/dev/y\","
	" \"permissions\": \"rwm\"}, {\"container\": \"/dev/z\"}]},\n"
	" {\"uuid\": \"GPU-2\", \"memory_mib\": 1}],\n"
	" \"links\": [{\"a\": \"GPU-1\", \"b\": \"GPU-2\", \"type\": \"xgmi\","
	" \"lanes\": 2, \"gbps\": 128, \"pcie\": \"PHB\"}],\n"
	" \"mounts\": [{\"host\": \"/a\", \"container\": \"/b\"}, {\"host\": \"/c\"}],\n"
	" \"grants\": [{\"id\": \"g1\", \"resource\": \"hami.com/vgpu\","
	" \"slots\": [\"GPU-1::0\", \"GPU-1::1\"], \"memory_mib\": 10240,"
	" \"share_ppm\": 250000}],\n"
	" \"sim\": {\"state\": \"hang\", \"events\": [{\"seq\": 1, \"uuid\": \"GPU-2\","
	" \"code\": 79}], \"hang\": [\"GPU-1\"]}}\n \t\r\n";

static void check_device(const struct hdp_device_info *info)
{
	ck_assert_int_eq(info->index, 3);
	ck_assert_int_eq(info->minor, 4);
	ck_assert_str_eq(info->model, "NVIDIA A100");
	ck_assert_uint_eq(info->memory_mib, 40960);
	ck_assert_uint_eq(info->sms, 108);
	ck_assert_uint_eq(info->sm_mhz, 1410);
	ck_assert_str_eq(info->compute_capability, "8.0");
	ck_assert_uint_eq(info->gflops_fp32, 19500);
	ck_assert_int_eq(info->numa_node, 1);
	ck_assert_str_eq(info->cpus, "0-3");
	ck_assert_int_eq(info->health, HAMIDP_HEALTH_UNHEALTHY);
	ck_assert_str_eq(info->health_cause, "code 79");
	ck_assert_uint_eq(info->n_nodes, 2);
	ck_assert_str_eq(info->nodes[0].host, "/dev/x");
	ck_assert_str_eq(info->nodes[0].container, "/dev/y");
	ck_assert_str_eq(info->nodes[0].permissions, "rwm");
	ck_assert_str_eq(info->nodes[1].host, "/dev/null");
	ck_assert_str_eq(info->nodes[1].permissions, "rw");
}

static void check_script(const struct hdp_sim_script *script)
{
	ck_assert_int_eq(script->state, HDP_SIM_HANG);
	ck_assert_uint_eq(script->n_events, 1);
	ck_assert_uint_eq(script->events[0].seq, 1);
	ck_assert_str_eq(script->events[0].uuid, "GPU-2");
	ck_assert_uint_eq(script->events[0].code, 79);
	ck_assert_uint_eq(script->n_hang, 1);
	ck_assert_str_eq(script->hang[0], "GPU-1");
}

START_TEST(everything_the_schema_has_is_read)
{
	hdp_cleanup(hdp_machine_done) struct hdp_machine m = { 0 };
	struct hdp_sim_script script = { 0 };
	struct hamidp_reason reason;
	int r = parse(everything, &m, &script, &reason);

	ck_assert_msg(r == 0, "%s", reason.text);
	ck_assert_str_eq(m.driver_name, "sim");
	ck_assert_str_eq(m.driver_version, "1");
	ck_assert_uint_eq(m.max_slots, 128);
	ck_assert(m.contiguous);
	ck_assert_uint_eq(m.n_devices, 2);
	check_device(&m.devices[0]);
	ck_assert_int_eq(m.links[0].type, HAMIDP_LINK_XGMI);
	ck_assert_uint_eq(m.links[0].lanes, 2);
	ck_assert_uint_eq(m.links[0].gbps, 128);
	ck_assert_int_eq(m.links[0].pcie, HAMIDP_PCIE_PHB);
	ck_assert_str_eq(m.mounts[0].container, "/b");
	ck_assert_str_eq(m.mounts[1].container, "/c");
	ck_assert_uint_eq(m.grants[0].n_slots, 2);
	ck_assert_str_eq(m.grants[0].slots[1], "GPU-1::1");
	ck_assert_uint_eq(m.grants[0].memory_mib, 10240);
	ck_assert_uint_eq(m.grants[0].share_ppm, 250000);
	check_script(&script);
	hdp_sim_script_done(&script);
	ck_assert_uint_eq(script.n_events, 0);
}
END_TEST

START_TEST(what_is_missing_is_unknown)
{
	hdp_cleanup(hdp_machine_done) struct hdp_machine m = { 0 };
	struct hdp_sim_script script = { 0 };
	struct hamidp_reason reason;

	ck_assert_int_eq(parse(DEVICE(""), &m, &script, &reason), 0);
	ck_assert_int_eq(m.devices[0].health, HAMIDP_HEALTH_UNKNOWN);
	ck_assert_int_eq(m.devices[0].index, -1);
	ck_assert_int_eq(m.devices[0].minor, -1);
	ck_assert_int_eq(m.devices[0].numa_node, -1);
	ck_assert_ptr_null(m.devices[0].model);
	ck_assert_ptr_null(m.driver_name);
	ck_assert_int_eq(script.state, HDP_SIM_OK);
	hdp_machine_done(&m);

	ck_assert_int_eq(parse("{\"schema\":\"hami.inventory/1\"}", &m, NULL, &reason), 0);
	ck_assert_uint_eq(m.n_devices, 0);
	ck_assert_int_eq(parse(DEVICE(",\"numa_node\":-1"), &m, NULL, &reason), 0);
	ck_assert_int_eq(m.devices[0].numa_node, -1);
}
END_TEST

static const struct {
	const char *more;
	uint64_t gflops;
} speeds[] = {
	{ ",\"tflops_fp32\":19.4918", 19492 },
	{ ",\"tflops_fp32\":20", 20000 },
	{ ",\"tflops_fp32\":0.001", 1 },
	{ ",\"sms\":108,\"sm_mhz\":1410,\"compute_capability\":\"8.0\"", 19492 },
	{ ",\"sms\":108,\"sm_mhz\":1410,\"compute_capability\":\"8.0\",\"tflops_fp32\":1", 1000 },
	{ ",\"sms\":108,\"sm_mhz\":1410", 0 },
	{ "", 0 },
};

START_TEST(compute_speed_is_stated_or_computed)
{
	hdp_cleanup(hdp_machine_done) struct hdp_machine m = { 0 };
	struct hamidp_reason reason;
	char text[256];

	snprintf(text, sizeof(text), DEVICE("%s"), speeds[_i].more);
	ck_assert_int_eq(parse(text, &m, NULL, &reason), 0);
	ck_assert_uint_eq(m.devices[0].gflops_fp32, speeds[_i].gflops);
}
END_TEST

/* Each text, and what the sentence must have: place, value, accepted range. */
static const struct {
	const char *text;
	const char *says[3];
} refused[] = {
	{ "", { "line 1" } },
	{ "{\n  \"schema\": \"hami.inventory/1\",\n}", { "line 3, column 1" } },
	{ HEAD "\"devices\":[]} x", { "line 1", "end of file expected" } },
	{ HEAD "\"devices\":[]}{}", { "line 1", "end of file expected" } },
	{ HEAD "\"devices\":[],\"devices\":[]}", { "line 1", "duplicate", "devices" } },
	{ "[]", { "the text", "an array of 0", "an object" } },
	{ "{}", { "schema", "missing" } },
	{ "{\"schema\":\"hami.inventory/2\"}",
	  { "schema: 'hami.inventory/2'", "'hami.inventory/1'" } },
	{ HEAD "\"device\":[]}", { "device: unknown key" } },
	{ HEAD "\"devices\":{}}", { "devices: an object", "array" } },
	{ HEAD "\"devices\":[7]}", { "devices[0]: 7", "an object" } },
	{ HEAD "\"devices\":[{\"memory_mib\":1}]}", { "devices[0].uuid", "missing" } },
	{ HEAD "\"devices\":[{\"uuid\":\"a\"}]}", { "devices[0].memory_mib", "missing" } },
	{ HEAD "\"devices\":[{\"uuid\":\"a\",\"memory_mib\":0}]}",
	  { "devices[0].memory_mib: 0 ", "from 1 to 4294967296" } },
	{ HEAD
	  "\"devices\":[{\"uuid\":\"a\",\"memory_mib\":1},{\"uuid\":\"b\",\"memory_mib\":-5}]}",
	  { "devices[1].memory_mib: -5 ", "from 1 to 4294967296" } },
	{ HEAD "\"devices\":[{\"uuid\":\"a\",\"memory_mib\":1.5}]}",
	  { "memory_mib: 1.5 ", "integer" } },
	{ HEAD "\"devices\":[{\"uuid\":\"a\",\"memory_mib\":4294967297}]}", { ": 4294967297 " } },
	{ HEAD "\"devices\":[{\"uuid\":\"a\",\"memory_mib\":99999999999999999999}]}",
	  { "line 1", "too big integer" } },
	{ HEAD "\"devices\":[{\"uuid\":\"a\",\"memory_mib\":\"40960\"}]}",
	  { "'40960'", "integer" } },
	{ HEAD "\"devices\":[{\"uuid\":\"a b\",\"memory_mib\":1}]}", { "devices[0].uuid: 'a b'" } },
	{ HEAD "\"devices\":[{\"uuid\":\"\",\"memory_mib\":1}]}", { "devices[0].uuid: ''" } },
	{ DEVICE(",\"model\":\"x\\ny\""), { "devices[0].model: 'x?y'", "control" } },
	{ DEVICE(",\"model\":\"\\u0000\""), { "line 1" } },
	{ DEVICE(",\"model\":\"\xff\""), { "line 1", "0xff" } },
	{ DEVICE(",\"index\":-1"), { "devices[0].index: -1" } },
	{ DEVICE(",\"index\":1.0"), { "devices[0].index: 1.0 ", "integer" } },
	{ DEVICE(",\"sms\":0"), { "devices[0].sms: 0" } },
	{ DEVICE(",\"pci\":\"3b:00.0\""), { "devices[0].pci: '3b:00.0'", "0000:3b:00.0" } },
	{ DEVICE(",\"compute_capability\":8.0"), { "devices[0].compute_capability: 8" } },
	{ DEVICE(",\"tflops_fp32\":0"), { "devices[0].tflops_fp32: 0", "0.001" } },
	{ DEVICE(",\"tflops_fp32\":-1.5"), { "devices[0].tflops_fp32: -1.5" } },
	{ DEVICE(",\"tflops_fp32\":\"19\""), { "devices[0].tflops_fp32: '19'" } },
	{ DEVICE(",\"numa_node\":-2"), { "devices[0].numa_node: -2", "-1 to 65535" } },
	{ DEVICE(",\"cpus\":\"3-1\""), { "devices[0].cpus: '3-1'", "cpulist" } },
	{ DEVICE(",\"health\":\"fine\""), { "devices[0].health: 'fine'", "healthy suspect" } },
	{ DEVICE(",\"health\":null"), { "devices[0].health: null" } },
	{ DEVICE(",\"device_nodes\":[{\"host\":\"/dev/x\"}]"),
	  { "devices[0].device_nodes[0].container", "missing" } },
	{ DEVICE(",\"device_nodes\":[{\"container\":\"dev/x\"}]"),
	  { "devices[0].device_nodes[0].container: 'dev/x'", "absolute" } },
	{ DEVICE(",\"device_nodes\":[{\"container\":\"/x\",\"permissions\":\"rr\"}]"),
	  { "permissions: 'rr'", "rwm" } },
	{ LINK("\"a\":\"a\""), { "links[0].b", "missing" } },
	{ LINK("\"a\":\"a\",\"b\":\"b\",\"type\":\"pcie\",\"lanes\":16"),
	  { "links[0].lanes: 16", "nvlink or xgmi" } },
	{ LINK("\"a\":\"a\",\"b\":\"b\",\"type\":\"nvlink\",\"lanes\":65536"),
	  { "links[0].lanes: 65536" } },
	{ LINK("\"a\":\"a\",\"b\":\"b\",\"pcie\":\"pix\""), { "links[0].pcie: 'pix'", "PIX PXB" } },
	{ HEAD "\"mounts\":[{\"container\":\"/x\"}]}", { "mounts[0].host", "missing" } },
	{ HEAD "\"grants\":[{\"slots\":[]}]}", { "grants[0].id", "missing" } },
	{ HEAD "\"grants\":[{\"id\":\"g\",\"slots\":[1]}]}", { "grants[0].slots[0]: 1" } },
	{ HEAD "\"driver\":{\"contiguous\":1}}", { "driver.contiguous: 1", "true or false" } },
	{ HEAD "\"sim\":{\"state\":\"up\"}}", { "sim.state: 'up'", "ok not-loaded hang" } },
	{ HEAD "\"sim\":{\"events\":[{\"seq\":0,\"uuid\":\"a\",\"code\":1}]}}",
	  { "sim.events[0].seq: 0" } },
	{ HEAD "\"sim\":{\"hang\":[\"a,b\"]}}", { "sim.hang[0]: 'a,b'" } },
};

START_TEST(refusals_name_place_value_and_range)
{
	struct hdp_sim_script script = { 0 };
	struct hdp_machine m = { 0 };
	struct hamidp_reason reason;

	ck_assert_int_eq(parse(refused[_i].text, &m, &script, &reason), -EINVAL);
	ck_assert_int_eq(reason.code, HAMIDP_REASON_BAD_INPUT);
	for (size_t i = 0; i < 3 && refused[_i].says[i]; i++)
		ck_assert_msg(strstr(reason.text, refused[_i].says[i]) != NULL, "%s: %s lacks '%s'",
			      refused[_i].text, reason.text, refused[_i].says[i]);
	ck_assert_ptr_null(m.devices);
	ck_assert_ptr_null(script.events);
	ck_assert_int_eq(parse(refused[_i].text, &m, NULL, NULL), -EINVAL);
}
END_TEST

START_TEST(devices_are_unique_and_links_meet_devices)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ LINK("\"a\":\"a\",\"b\":\"z\""), "'z'" },
		{ LINK("\"a\":\"a\",\"b\":\"a\""), "linked to itself" },
		{ HEAD "\"devices\":[{\"uuid\":\"a\",\"memory_mib\":1},"
		       "{\"uuid\":\"a\",\"memory_mib\":1}]}",
		  "two devices have the UUID 'a'" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct hamidp_inventory *inv = NULL;
		struct hamidp_reason reason;

		ck_assert_int_eq(hamidp_inventory_from_json(cases[i].text, strlen(cases[i].text),
							    &inv, &reason),
				 -EINVAL);
		ck_assert_msg(strstr(reason.text, cases[i].says) != NULL, "%s", reason.text);
		ck_assert_ptr_null(inv);
	}
}
END_TEST

START_TEST(texts_and_arrays_have_limits)
{
	size_t len = HDP_JSON_MAX + 1;
	char *text = malloc(len);
	struct hamidp_reason reason;
	struct hdp_machine m = { 0 };
	size_t used;

	ck_assert_ptr_nonnull(text);
	memset(text, ' ', len);
	memcpy(text, HEAD "\"devices\":[]}", strlen(HEAD "\"devices\":[]}"));
	ck_assert_int_eq(hdp_machine_parse(text, len, &m, NULL, &reason), -EINVAL);
	ck_assert_ptr_nonnull(strstr(reason.text, "16777217"));
	ck_assert_int_eq(hdp_machine_parse(text, len - 1, &m, NULL, &reason), 0);

	used = (size_t)sprintf(text, HEAD "\"sim\":{\"hang\":[\"a\"");
	for (unsigned i = 0; i < HDP_DEVICES_MAX; i++)
		used += (size_t)sprintf(text + used, ",\"a\"");
	sprintf(text + used, "]}}");
	ck_assert_int_eq(parse(text, &m, NULL, &reason), -EINVAL);
	ck_assert_ptr_nonnull(strstr(reason.text, "sim.hang: an array of 513"));
	free(text);
}
END_TEST

/* Every bundled machine is well formed, whole, and in PCI order, so that index is position. */
START_TEST(bundled_machines_are_whole)
{
	const char *name = hamidp_bundled_machine((size_t)_i);
	struct hamidp_inventory *inv = NULL;
	struct hamidp_reason reason;
	const char *text;
	size_t len = 0;
	int r;

	if (!name) {
		ck_assert_int_ge(_i, 12);
		return;
	}
	text = hdp_bundled_text(name, &len);
	ck_assert_ptr_nonnull(text);
	ck_assert_uint_eq(len, strlen(text));
	r = hamidp_inventory_from_json(text, len, &inv, &reason);
	ck_assert_msg(r == 0, "%s: %s", name, reason.text);
	ck_assert_uint_ge(hamidp_inventory_n_devices(inv), 4);
	for (size_t i = 0; i < hamidp_inventory_n_devices(inv); i++) {
		const struct hamidp_device *dev = hamidp_inventory_device(inv, i);

		ck_assert_int_eq(hamidp_device_index(dev), (int64_t)i);
		ck_assert_int_eq(hamidp_device_health(dev), HAMIDP_HEALTH_HEALTHY);
		ck_assert_int_ge(hamidp_device_numa_node(dev), 0);
		ck_assert_uint_gt(hamidp_device_gflops_fp32(dev), 0);
		ck_assert_uint_eq(dev->info.n_nodes, 1);
		ck_assert_uint_le(strlen(hamidp_device_uuid(dev)), 63 - strlen("::1023"));
	}
	hamidp_inventory_unref(inv);
}
END_TEST

START_TEST(bundled_machines_are_found_by_name)
{
	size_t len = 1;

	ck_assert_str_eq(hamidp_bundled_machine(0), "article");
	ck_assert_ptr_null(hamidp_bundled_machine(SIZE_MAX));
	ck_assert_ptr_null(hdp_bundled_text("articl", &len));
	ck_assert_ptr_null(hdp_bundled_text("", &len));
	ck_assert_uint_eq(len, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sim-json");
	TCase *t = tcase_create("sim-json");

	tcase_add_test(t, everything_the_schema_has_is_read);
	tcase_add_test(t, what_is_missing_is_unknown);
	tcase_add_loop_test(t, compute_speed_is_stated_or_computed, 0, ARRAY_SIZE(speeds));
	tcase_add_loop_test(t, refusals_name_place_value_and_range, 0, ARRAY_SIZE(refused));
	tcase_add_test(t, devices_are_unique_and_links_meet_devices);
	tcase_add_test(t, texts_and_arrays_have_limits);
	tcase_add_loop_test(t, bundled_machines_are_whole, 0, 16);
	tcase_add_test(t, bundled_machines_are_found_by_name);
	suite_add_tcase(suite, t);
	return suite_run(suite);
}
