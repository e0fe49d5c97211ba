/* SPDX-License-Identifier: Apache-2.0 */

/* Policies: what is accepted, and which rule wins. */

#include <errno.h>

#include <hami/hamidp.h>

#include "describe.h"
#include "layout.h"
#include "policy.h"
#include "resource-name.h"
#include "suite.h"

#define SLICING(...) \
	(&(const struct hamidp_slicing){ .size = sizeof(struct hamidp_slicing), __VA_ARGS__ })

static struct hamidp_policy *new_policy(void)
{
	struct hamidp_policy *policy = NULL;

	ck_assert_int_eq(hamidp_policy_new(&policy), 0);
	return policy;
}

#define X10 "aaaaaaaaaa"
#define X60 X10 X10 X10 X10 X10 X10
#define X244 X60 X60 X60 X60 "aaaa"

static const struct {
	const char *name;
	const char *prefix; /* NULL: refused */
} names[] = {
	{ "hami.com/vgpu", "HAMI_VGPU" },
	{ "hami.com/vgpu-a100", "HAMI_VGPU_A100" },
	{ "nvidia.com/gpu", "HAMI_GPU" },
	{ "hami.com/vGPU_1.x", "HAMI_VGPU_1_X" },
	{ "8.8.8.8/x", "HAMI_X" },
	{ "a-b.c/x", "HAMI_X" },
	{ "h/" X60 "aaa", "HAMI_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" },
	{ "h/" X60 "aaaa", NULL },
	{ X244 "/x", "HAMI_X" },
	{ X244 "a/x", NULL },
	{ "vgpu", NULL },
	{ "kubernetes.io/x", NULL },
	{ "a.kubernetes.io/x", NULL },
	{ "requests.foo/x", NULL },
	{ "hami.com/", NULL },
	{ "/vgpu", NULL },
	{ "a.b/c/d", NULL },
	{ "hami.com/-x", NULL },
	{ "hami.com/x-", NULL },
	{ "hami.com/x y", NULL },
	{ "hami.com/\xc3\xa9", NULL },
	{ "Hami.com/x", NULL },
	{ "hami..com/x", NULL },
	{ "-hami.com/x", NULL },
	{ "hami-.com/x", NULL },
	{ ".hami.com/x", NULL },
	{ "hami.com./x", NULL },
	{ "hami_x.com/x", NULL },
	{ "", NULL },
};

START_TEST(resource_names_are_those_a_kubelet_takes)
{
	struct hamidp_policy *policy = new_policy();
	struct hamidp_reason reason;
	size_t number = 9;
	int r = hamidp_policy_add_resource(policy, names[_i].name, NULL, &number, &reason);

	if (names[_i].prefix) {
		ck_assert_msg(r == 0, "%s", reason.text);
		ck_assert_uint_eq(number, 0);
		ck_assert_str_eq(policy->resources[0].prefix, names[_i].prefix);
	} else {
		ck_assert_msg(r == -EINVAL, "'%s'", names[_i].name);
		ck_assert_int_eq(reason.code, HAMIDP_REASON_BAD_ARGUMENT);
		ck_assert_uint_eq(number, 9);
		ck_assert_uint_eq(policy->n_resources, 0);
	}
	hamidp_policy_free(policy);
}
END_TEST

START_TEST(resources_with_one_prefix_are_refused)
{
	struct hamidp_policy *policy = new_policy();
	struct hamidp_reason reason;

	ck_assert_int_eq(hamidp_policy_add_resource(policy, "hami.com/v-gpu", NULL, NULL, NULL), 0);
	ck_assert_int_eq(hamidp_policy_add_resource(policy, "other.com/V_gpu", NULL, NULL, &reason),
			 -EINVAL);
	ck_assert_int_eq(reason.code, HAMIDP_REASON_CONFLICT);
	ck_assert_ptr_nonnull(strstr(reason.text, "HAMI_V_GPU"));
	ck_assert_ptr_nonnull(strstr(reason.text, "other.com/V_gpu"));
	ck_assert_int_eq(hamidp_policy_add_resource(policy, "hami.com/v-gpu", NULL, NULL, &reason),
			 -EINVAL);
	ck_assert_ptr_nonnull(strstr(reason.text, "twice"));
	ck_assert_int_eq(hamidp_policy_add_resource(policy, "hami.com/vgpu", NULL, NULL, &reason),
			 0);
	ck_assert_int_eq(reason.code, HAMIDP_REASON_NONE);
	hamidp_policy_free(policy);
}
END_TEST

static const struct {
	struct hamidp_slicing slicing;
	const char *says; /* NULL: accepted */
} ranges[] = {
	{ { .slots = 1024, .memory_mib = HDP_MEMORY_MIB_MAX }, NULL },
	{ { .slots = 1025 }, "1025 slots" },
	{ { .slots = UINT32_MAX }, "1 to 1024" },
	{ { .memory_mib = HDP_MEMORY_MIB_MAX + 1 }, "4294967297 MiB" },
	{ { .memory_ratio_ppm = HAMIDP_PPM, .cores_ratio_ppm = HAMIDP_RATIO_MAX_PPM }, NULL },
	{ { .memory_ratio_ppm = HAMIDP_PPM - 1 }, "memory ratio of 999999 ppm" },
	{ { .memory_ratio_ppm = UINT64_MAX }, "memory ratio" },
	{ { .cores_ratio_ppm = HAMIDP_RATIO_MAX_PPM + 1 }, "cores ratio of 100000001 ppm" },
};

START_TEST(amounts_have_ranges_wherever_they_are_given)
{
	struct hamidp_policy *policy = new_policy();
	struct hamidp_slicing slicing = ranges[_i].slicing;
	int expect = ranges[_i].says ? -EINVAL : 0;
	struct hamidp_reason reasons[3];

	slicing.size = sizeof(slicing);
	ck_assert_int_eq(hamidp_policy_set_default(policy, &slicing, &reasons[0]), expect);
	ck_assert_int_eq(hamidp_policy_add_resource(policy, "a/b", &slicing, NULL, &reasons[1]),
			 expect);
	ck_assert_int_eq(hamidp_policy_add_override(policy, HAMIDP_MATCH_UUID, "x", &slicing,
						    &reasons[2]),
			 expect);
	for (size_t i = 0; i < 3 && expect; i++) {
		ck_assert_int_eq(reasons[i].code, HAMIDP_REASON_BAD_ARGUMENT);
		ck_assert_msg(strstr(reasons[i].text, ranges[_i].says) != NULL, "%s",
			      reasons[i].text);
	}
	ck_assert_uint_eq(policy->overrides.n, expect ? 0 : 1);
	hamidp_policy_free(policy);
}
END_TEST

START_TEST(structs_of_other_sizes_are_understood_or_refused)
{
	struct {
		struct hamidp_slicing slicing;
		uint64_t newer;
	} wide = { .slicing = { .size = sizeof(wide), .slots = 8 } };
	struct hamidp_policy *policy = new_policy();
	struct hamidp_slicing bare = { .slots = 8 };
	struct hamidp_reason reason;

	ck_assert_int_eq(hamidp_policy_set_default(policy, &wide.slicing, &reason), 0);
	ck_assert_uint_eq(policy->slicing.slots, 8);
	wide.newer = 1;
	ck_assert_int_eq(hamidp_policy_set_default(policy, &wide.slicing, &reason), -EINVAL);
	ck_assert_int_eq(hamidp_policy_set_default(policy, &bare, &reason), -EINVAL);
	ck_assert_ptr_nonnull(strstr(reason.text, "size 0"));
	hamidp_policy_free(policy);
}
END_TEST

static const struct {
	enum hamidp_match by;
	const char *value;
	int expect;
} rules[] = {
	{ HAMIDP_MATCH_UUID, "GPU-1", 0 },
	{ HAMIDP_MATCH_UUID, "", -EINVAL },
	{ HAMIDP_MATCH_MODEL, "NVIDIA A100*", 0 },
	{ HAMIDP_MATCH_MODEL, "x\ny", -EINVAL },
	{ HAMIDP_MATCH_INDEX, "0", 0 },
	{ HAMIDP_MATCH_INDEX, "2147483647", 0 },
	{ HAMIDP_MATCH_INDEX, "2147483648", -EINVAL },
	{ HAMIDP_MATCH_INDEX, "99999999999", -EINVAL },
	{ HAMIDP_MATCH_INDEX, "-1", -EINVAL },
	{ HAMIDP_MATCH_INDEX, "1x", -EINVAL },
	{ (enum hamidp_match)0, "x", -EINVAL },
	{ (enum hamidp_match)4, "x", -EINVAL },
};

START_TEST(device_rules_are_checked)
{
	struct hamidp_policy *policy = new_policy();
	struct hamidp_reason reason;

	ck_assert_int_eq(hamidp_policy_add_resource(policy, "a/b", NULL, NULL, NULL), 0);
	ck_assert_int_eq(hamidp_policy_add_override(policy, rules[_i].by, rules[_i].value,
						    SLICING(.slots = 2), &reason),
			 rules[_i].expect);
	ck_assert_int_eq(hamidp_policy_add_resource_device(policy, 0, rules[_i].by, rules[_i].value,
							   NULL),
			 rules[_i].expect);
	ck_assert_int_eq(hamidp_policy_add_resource_device(policy, 1, HAMIDP_MATCH_UUID, "x", NULL),
			 -EINVAL);
	hamidp_policy_free(policy);
}
END_TEST

START_TEST(too_long_rules_and_too_many_resources_are_refused)
{
	struct hamidp_policy *policy = new_policy();
	char value[258], name[32];

	memset(value, 'x', sizeof(value));
	value[257] = '\0';
	ck_assert_int_eq(hamidp_policy_add_override(policy, HAMIDP_MATCH_MODEL, value, NULL, NULL),
			 -EINVAL);
	value[256] = '\0';
	ck_assert_int_eq(hamidp_policy_add_override(policy, HAMIDP_MATCH_MODEL, value, NULL, NULL),
			 0);
	for (unsigned i = 0; i <= HDP_RESOURCES_MAX; i++) {
		snprintf(name, sizeof(name), "a/b%u", i);
		ck_assert_int_eq(hamidp_policy_add_resource(policy, name, NULL, NULL, NULL),
				 i < HDP_RESOURCES_MAX ? 0 : -EINVAL);
	}
	hamidp_policy_free(policy);
}
END_TEST

START_TEST(memory_fit_takes_its_values_only)
{
	struct hamidp_policy *policy = new_policy();

	ck_assert_int_eq(hamidp_policy_set_memory_fit(policy, HAMIDP_MEMORY_FIT_STRICT), 0);
	ck_assert_int_eq(hamidp_policy_set_memory_fit(policy, (enum hamidp_memory_fit)2), -EINVAL);
	ck_assert_int_eq(policy->fit, HAMIDP_MEMORY_FIT_STRICT);
	hamidp_policy_free(policy);
	ck_assert_ptr_null(hamidp_policy_free(NULL));
}
END_TEST

static void add_override(struct hamidp_policy *policy, enum hamidp_match by, const char *value,
			 const struct hamidp_slicing *slicing)
{
	ck_assert_int_eq(hamidp_policy_add_override(policy, by, value, slicing, NULL), 0);
}

/* A policy in which every level says something. */
static struct hamidp_policy *layered_policy(void)
{
	struct hamidp_policy *policy = new_policy();

	ck_assert_int_eq(hamidp_policy_set_default(policy, SLICING(.slots = 5, .memory_mib = 500),
						   NULL),
			 0);
	ck_assert_int_eq(hamidp_policy_set_default(policy, SLICING(.slots = 6), NULL), 0);
	ck_assert_int_eq(hamidp_policy_add_resource(policy, "a/plain",
						    SLICING(.memory_ratio_ppm = 2000000), NULL,
						    NULL),
			 0);
	ck_assert_int_eq(hamidp_policy_add_resource(policy, "a/cut", SLICING(.slots = 7), NULL,
						    NULL),
			 0);
	add_override(policy, HAMIDP_MATCH_MODEL, "*A100*", SLICING(.slots = 10, .memory_mib = 10));
	add_override(policy, HAMIDP_MATCH_MODEL, "NVIDIA*", SLICING(.slots = 11));
	add_override(policy, HAMIDP_MATCH_INDEX, "3", SLICING(.slots = 20));
	add_override(policy, HAMIDP_MATCH_UUID, "u", SLICING(.cores_ratio_ppm = 3000000));
	add_override(policy, HAMIDP_MATCH_UUID, "u",
		     SLICING(.slots = 30, .cores_ratio_ppm = 4000000));
	return policy;
}

static const struct {
	const char *what;
	struct hdp_device_info info;
	size_t resource;
	struct hamidp_slicing expect;
} winners[] = {
	{ "default",
	  { .uuid = (char *)"x", .model = (char *)"", .index = -1 },
	  0,
	  { 0, 6, 500, 2000000, 1000000 } },
	{ "resource",
	  { .uuid = (char *)"x", .model = (char *)"", .index = -1 },
	  1,
	  { 0, 7, 500, 1000000, 1000000 } },
	{ "model, the first of two",
	  { .uuid = (char *)"x", .model = (char *)"NVIDIA A100", .index = 0 },
	  1,
	  { 0, 10, 10, 1000000, 1000000 } },
	{ "model, the second",
	  { .uuid = (char *)"x", .model = (char *)"NVIDIA V100", .index = 0 },
	  1,
	  { 0, 11, 500, 1000000, 1000000 } },
	{ "index beats model",
	  { .uuid = (char *)"x", .model = (char *)"NVIDIA A100", .index = 3 },
	  0,
	  { 0, 20, 10, 2000000, 1000000 } },
	{ "UUID beats index, value by value",
	  { .uuid = (char *)"u", .model = (char *)"NVIDIA A100", .index = 3 },
	  0,
	  { 0, 30, 10, 2000000, 3000000 } },
};

static void check_winner(const struct hamidp_policy *policy, size_t i)
{
	struct hamidp_slicing got =
		hdp_policy_slicing(policy, winners[i].resource, &winners[i].info);
	const struct hamidp_slicing *want = &winners[i].expect;

	ck_assert_msg(got.slots == want->slots && got.memory_mib == want->memory_mib &&
			      got.memory_ratio_ppm == want->memory_ratio_ppm &&
			      got.cores_ratio_ppm == want->cores_ratio_ppm,
		      "%s: %u slots, %llu MiB, ratios %llu and %llu", winners[i].what, got.slots,
		      (unsigned long long)got.memory_mib, (unsigned long long)got.memory_ratio_ppm,
		      (unsigned long long)got.cores_ratio_ppm);
}

START_TEST(the_narrowest_rule_wins_value_by_value)
{
	struct hamidp_policy *policy = layered_policy();

	check_winner(policy, (size_t)_i);
	hamidp_policy_free(policy);
}
END_TEST

START_TEST(a_copy_outlives_its_policy)
{
	struct hamidp_policy *policy = layered_policy(), *copy = NULL;

	ck_assert_int_eq(hamidp_policy_add_resource_device(policy, 1, HAMIDP_MATCH_INDEX, "17",
							   NULL),
			 0);
	ck_assert_int_eq(hamidp_policy_set_memory_fit(policy, HAMIDP_MEMORY_FIT_STRICT), 0);
	ck_assert_int_eq(hdp_policy_copy(policy, &copy), 0);
	hamidp_policy_free(policy);
	for (size_t i = 0; i < ARRAY_SIZE(winners); i++)
		check_winner(copy, i);
	ck_assert_int_eq(copy->fit, HAMIDP_MEMORY_FIT_STRICT);
	ck_assert_uint_eq(copy->n_resources, 2);
	ck_assert_str_eq(copy->resources[1].name, "a/cut");
	ck_assert_str_eq(copy->resources[1].prefix, "HAMI_CUT");
	ck_assert_uint_eq(copy->resources[1].devices.n, 1);
	ck_assert_int_eq(copy->resources[1].devices.items[0].index, 17);
	hamidp_policy_free(copy);
}
END_TEST

START_TEST(no_rule_at_all_means_four_slots)
{
	struct hamidp_policy *policy = new_policy();
	struct hdp_device_info info = { .uuid = (char *)"x", .model = (char *)"" };
	struct hamidp_slicing got;

	ck_assert_int_eq(hamidp_policy_add_resource(policy, "a/b", NULL, NULL, NULL), 0);
	got = hdp_policy_slicing(policy, 0, &info);
	ck_assert_uint_eq(got.slots, 4);
	ck_assert_uint_eq(got.memory_mib, 0);
	ck_assert_uint_eq(got.memory_ratio_ppm, HAMIDP_PPM);
	ck_assert_uint_eq(got.cores_ratio_ppm, HAMIDP_PPM);
	hamidp_policy_free(policy);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy");
	TCase *t = tcase_create("policy");

	tcase_add_loop_test(t, resource_names_are_those_a_kubelet_takes, 0, ARRAY_SIZE(names));
	tcase_add_test(t, resources_with_one_prefix_are_refused);
	tcase_add_loop_test(t, amounts_have_ranges_wherever_they_are_given, 0, ARRAY_SIZE(ranges));
	tcase_add_test(t, structs_of_other_sizes_are_understood_or_refused);
	tcase_add_loop_test(t, device_rules_are_checked, 0, ARRAY_SIZE(rules));
	tcase_add_test(t, too_long_rules_and_too_many_resources_are_refused);
	tcase_add_test(t, memory_fit_takes_its_values_only);
	tcase_add_loop_test(t, the_narrowest_rule_wins_value_by_value, 0, ARRAY_SIZE(winners));
	tcase_add_test(t, a_copy_outlives_its_policy);
	tcase_add_test(t, no_rule_at_all_means_four_slots);
	suite_add_tcase(suite, t);
	return suite_run(suite);
}
