/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Every allocation of ours may fail: the call says so, has no effect and leaks nothing (the
 * sanitizer and valgrind runs look). Linked with --wrap, so the library needs no hooks.
 */

#include <string.h>

#include <hami/hamidp.h>

#include "inventory.h"
#include "layout.h"
#include "oom.h"
#include "sim-json.h"
#include "suite.h"

static const char machine[] =
	"{\"schema\":\"hami.inventory/1\",\"driver\":{\"name\":\"sim\",\"version\":\"1\"},"
	"\"devices\":[{\"uuid\":\"a\",\"memory_mib\":40536,\"pci\":\"0000:3b:00.0\","
	"\"model\":\"m\",\"cpus\":\"0\",\"health_cause\":\"c\",\"compute_capability\":\"8.0\","
	"\"device_nodes\":[{\"container\":\"/dev/x\"}]},{\"uuid\":\"b\",\"memory_mib\":1024}],"
	"\"links\":[{\"a\":\"a\",\"b\":\"b\",\"type\":\"nvlink\",\"lanes\":2},"
	"{\"a\":\"b\",\"b\":\"a\",\"type\":\"nvlink\",\"lanes\":3}],"
	"\"mounts\":[{\"host\":\"/x\"}],"
	"\"grants\":[{\"id\":\"g\",\"resource\":\"r/r\",\"slots\":[\"a::0\",\"a::1\"]}],"
	"\"sim\":{\"events\":[{\"seq\":1,\"uuid\":\"a\",\"code\":2}],\"hang\":[\"b\"]}}";

static int parse_step(void *arg, struct hamidp_reason *reason)
{
	struct hdp_sim_script script = { 0 };
	struct hdp_machine m = { 0 };
	int r = hdp_machine_parse(machine, strlen(machine), &m, &script, reason);

	EXPECT(r == 0 || (!m.devices && !m.driver_name && !script.events));
	EXPECT(r == 0 || hamidp_reason_code(reason) == HAMIDP_REASON_NO_MEMORY);
	hdp_machine_done(&m);
	hdp_sim_script_done(&script);
	return r;
}

START_TEST(parsing_survives)
{
	exhaust(parse_step, NULL, 20);
}
END_TEST

static int read_step(void *arg, struct hamidp_reason *reason)
{
	struct hamidp_inventory *inv = NULL;
	int r = hamidp_inventory_from_json(machine, strlen(machine), &inv, reason);

	EXPECT((r == 0) == (inv != NULL));
	EXPECT(r == 0 || hamidp_reason_code(reason) == HAMIDP_REASON_NO_MEMORY);
	hamidp_inventory_unref(inv);
	return r;
}

START_TEST(reading_an_inventory_survives)
{
	exhaust(read_step, NULL, 30);
}
END_TEST

static struct hamidp_inventory *inventory(void)
{
	struct hamidp_inventory *inv = NULL;

	ck_assert_int_eq(hamidp_inventory_from_json(machine, strlen(machine), &inv, NULL), 0);
	return inv;
}

static int write_step(void *arg, struct hamidp_reason *reason)
{
	char *text = NULL;
	int r = hamidp_inventory_to_json(arg, &text, NULL);

	EXPECT((r == 0) == (text != NULL));
	free(text);
	return r;
}

static int derive_step(void *arg, struct hamidp_reason *reason)
{
	static const struct hdp_health_overlay overlay = { "a", HAMIDP_HEALTH_UNHEALTHY, "x" };
	struct hdp_device_info gone = HDP_DEVICE_INFO_INIT;
	struct hamidp_inventory *derived = NULL;
	int r;

	gone.uuid = (char *)"z";
	r = hdp_inventory_derive(arg, &overlay, 1, &gone, 1, &derived);
	EXPECT((r == 0) == (derived != NULL));
	hamidp_inventory_unref(derived);
	return r;
}

START_TEST(writing_and_deriving_survive)
{
	struct hamidp_inventory *inv = inventory();

	exhaust(write_step, inv, 1);
	exhaust(derive_step, inv, 30);
	hamidp_inventory_unref(inv);
}
END_TEST

static int policy_step(void *arg, struct hamidp_reason *reason)
{
	struct hamidp_slicing slicing = { .size = sizeof(slicing), .slots = 8, .memory_mib = 5120 };
	struct hamidp_policy *policy = NULL, *copy = NULL;
	size_t n = 0;
	int r = hamidp_policy_new(&policy);

	if (r == 0)
		r = hamidp_policy_set_default(policy, &slicing, reason);
	if (r == 0)
		r = hamidp_policy_add_resource(policy, "hami.com/vgpu", NULL, &n, reason);
	if (r == 0)
		r = hamidp_policy_add_resource_device(policy, n, HAMIDP_MATCH_INDEX, "0", reason);
	if (r == 0)
		r = hamidp_policy_add_override(policy, HAMIDP_MATCH_MODEL, "m*", &slicing, reason);
	if (r == 0)
		r = hdp_policy_copy(policy, &copy);
	EXPECT((r == 0) == (copy != NULL));
	hamidp_policy_free(copy);
	hamidp_policy_free(policy);
	return r;
}

START_TEST(building_a_policy_survives)
{
	exhaust(policy_step, NULL, 10);
}
END_TEST

struct ingredients {
	struct hamidp_inventory *inv;
	struct hamidp_policy *policy;
};

static int layout_step(void *arg, struct hamidp_reason *reason)
{
	struct ingredients *in = arg;
	struct hamidp_layout *layout = NULL;
	int r = hamidp_layout_new(in->inv, in->policy, &layout, reason);

	EXPECT((r == 0) == (layout != NULL));
	EXPECT(r == 0 || hamidp_reason_code(reason) == HAMIDP_REASON_NO_MEMORY);
	hamidp_layout_unref(layout);
	return r;
}

START_TEST(laying_out_survives)
{
	struct hamidp_slicing slicing = { .size = sizeof(slicing), .slots = 8, .memory_mib = 5120 };
	struct ingredients in = { .inv = inventory() };

	ck_assert_int_eq(hamidp_policy_new(&in.policy), 0);
	ck_assert_int_eq(hamidp_policy_set_default(in.policy, &slicing, NULL), 0);
	ck_assert_int_eq(hamidp_policy_add_resource(in.policy, "a/b", NULL, NULL, NULL), 0);
	exhaust(layout_step, &in, 8);
	hamidp_policy_free(in.policy);
	ck_assert_uint_eq(in.inv->refs, 1); /* no failure kept a reference */
	hamidp_inventory_unref(in.inv);
}
END_TEST

static int publish_step(void *arg, struct hamidp_reason *reason)
{
	struct hamidp_publish_options opts = { .size = sizeof(opts), .limit = 1 };
	const struct hamidp_layout *layout = hamidp_occupancy_layout(arg);
	struct hamidp_publication *publication = NULL;
	long before;
	int r = hamidp_publication_new(&publication);

	if (r == 0)
		r = hamidp_publish(layout, arg, 0, &opts, publication, reason);
	EXPECT(!publication || (r == 0) == (hamidp_publication_layout(publication) != NULL));
	before = countdown;
	countdown = 0; /* once grown it needs no more */
	EXPECT(r < 0 || hamidp_publish(layout, arg, 0, &opts, publication, reason) == 0);
	countdown = before;
	hamidp_publication_free(publication);
	return r;
}

START_TEST(publishing_survives)
{
	struct ingredients in = { .inv = inventory() };
	struct hamidp_occupancy *occ = NULL;
	struct hamidp_layout *layout = NULL;

	ck_assert_int_eq(hamidp_policy_new(&in.policy), 0);
	ck_assert_int_eq(hamidp_policy_add_resource(in.policy, "a/b", NULL, NULL, NULL), 0);
	ck_assert_int_eq(hamidp_layout_new(in.inv, in.policy, &layout, NULL), 0);
	ck_assert_int_eq(hamidp_occupancy_new(layout, &occ), 0);
	exhaust(publish_step, occ, 2);
	hamidp_occupancy_free(occ);
	ck_assert_uint_eq(layout->refs, 1); /* no failure kept a reference */
	hamidp_layout_unref(layout);
	hamidp_policy_free(in.policy);
	hamidp_inventory_unref(in.inv);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("oom");
	TCase *t = tcase_create("oom");

	tcase_add_test(t, parsing_survives);
	tcase_add_test(t, reading_an_inventory_survives);
	tcase_add_test(t, writing_and_deriving_survive);
	tcase_add_test(t, building_a_policy_survives);
	tcase_add_test(t, laying_out_survives);
	tcase_add_test(t, publishing_survives);
	suite_add_tcase(suite, t);
	return suite_run(suite);
}
