/* SPDX-License-Identifier: Apache-2.0 */
/* Messages against bytes of another implementation (protoc --encode), and against bad input. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dp-codec.h"
#include "helper.h"

static struct dp_arena arena;

static void setup(void)
{
	dp_arena_init(&arena, DP_ARENA_BUDGET);
}

static void teardown(void)
{
	dp_arena_done(&arena);
}

static void expect_hex(const struct dp_bytes *bytes, const char *hex)
{
	size_t len;
	uint8_t *want = test_from_hex(hex, &len);

	ck_assert_uint_eq(bytes->len, len);
	ck_assert_mem_eq(bytes->bytes, want, len);
	free(want);
}

/* protoc writes an empty map value (1200 after 0142), protobuf-c leaves it out: both mean "". */
#define ALLOCATE_HEX                                                                               \
	"0a450a070a01411202c3bc0a030a0142120a0a022f6312022f6818011a140a062f6465762f6312062f646576" \
	"2f681a02727722060a016b1201762a0b0a09762e636f6d2f633d6e0a00"

static const struct dp_pair envs[] = { { "A", "\xc3\xbc" }, { "B", "" } };
static const struct dp_mount mounts[] = { { "/c", "/h", true } };
static const struct dp_device_node nodes[] = { { "/dev/c", "/dev/h", "rw" } };
static const struct dp_pair annotations[] = { { "k", "v" } };
static const char *const cdi[] = { "v.com/c=n" };
static const struct dp_container_response full = {
	envs, 2, mounts, 1, nodes, 1, annotations, 1, cdi, 1,
};

START_TEST(answers_are_the_bytes_that_others_write)
{
	static const char *const ids[] = { "s-1", "s-0" };
	static const struct dp_ids container = { ids, 2 };
	static const struct dp_options options = { true, true };
	struct dp_container_response two[2] = { full };
	struct dp_allocate_response allocate = { two, 2 };
	struct dp_preferred_response preferred = { &container, 1 };
	struct dp_register_request reg = { "a.sock", "hami.com/vgpu", { false, true } };
	struct dp_plugin_info info = { "DevicePlugin", "hami.com/vgpu", "/p/a.sock" };
	struct dp_bytes bytes;

	ck_assert_int_eq(dp_encode_options(&arena, &options, &bytes), 0);
	expect_hex(&bytes, "08011001");
	ck_assert_int_eq(dp_encode_allocate(&arena, &allocate, &bytes), 0);
	expect_hex(&bytes, ALLOCATE_HEX);
	ck_assert_int_eq(dp_encode_preferred(&arena, &preferred, &bytes), 0);
	expect_hex(&bytes, "0a0a0a03732d310a03732d30");
	ck_assert_int_eq(dp_encode_register(&arena, &reg, &bytes), 0);
	expect_hex(&bytes, "0a07763162657461311206612e736f636b1a0d68616d692e636f6d2f7667707522"
			   "021001");
	ck_assert_int_eq(dp_encode_plugin_info(&arena, &info, &bytes), 0);
	expect_hex(&bytes, "0a0c446576696365506c7567696e120d68616d692e636f6d2f766770751a092f702f"
			   "612e736f636b220776316265746131");
}
END_TEST

START_TEST(list_is_the_bytes_that_others_write)
{
	static const int64_t numa[] = { 0, 1 };
	static const struct dp_device devices[] = { { "s-0", true, numa, 2 },
						    { "s-1", false, NULL, 0 } };
	struct dp_list list = { devices, 2 };
	uint8_t buf[128];
	size_t size;

	ck_assert_int_eq(dp_list_size(&list, &size), 0);
	ck_assert_uint_le(size, sizeof(buf));
	ck_assert_int_eq(dp_encode_list(&list, buf, size), 0);
	expect_hex(&(struct dp_bytes){ buf, size },
		   "0a160a03732d3012074865616c7468791a060a000a0208010a100a03732d311209556e68656"
		   "16c746879");
}
END_TEST

START_TEST(requests_are_read)
{
	struct dp_allocate_request allocate;
	struct dp_preferred_request preferred;
	struct dp_registration_status status;
	struct dp_options options;
	struct dp_ids ids;
	uint8_t *bytes;
	size_t len;

	bytes = test_from_hex("0a0b0a03732d310a000a02c3bc0a00", &len);
	ck_assert_int_eq(dp_decode_allocate(&arena, bytes, len, &allocate), 0);
	ck_assert_uint_eq(allocate.n_containers, 2);
	ck_assert_uint_eq(allocate.containers[0].n_ids, 3);
	ck_assert_str_eq(allocate.containers[0].ids[0], "s-1");
	ck_assert_str_eq(allocate.containers[0].ids[1], "");
	ck_assert_str_eq(allocate.containers[0].ids[2], "\xc3\xbc");
	ck_assert_uint_eq(allocate.containers[1].n_ids, 0);
	free(bytes);
	bytes = test_from_hex("0a0b0a01610a01621201621802", &len);
	ck_assert_int_eq(dp_decode_preferred(&arena, bytes, len, &preferred), 0);
	ck_assert_uint_eq(preferred.n_containers, 1);
	ck_assert_uint_eq(preferred.containers[0].available.n_ids, 2);
	ck_assert_str_eq(preferred.containers[0].must_include.ids[0], "b");
	ck_assert_int_eq(preferred.containers[0].size, 2);
	free(bytes);
	ck_assert_int_eq(dp_decode_pre_start(&arena, "\x0a\x01\x61", 3, &ids), 0);
	ck_assert_uint_eq(ids.n_ids, 1);
	ck_assert_int_eq(dp_decode_registration_status(&arena, "\x12\x02no", 4, &status), 0);
	ck_assert(!status.registered);
	ck_assert_str_eq(status.error, "no");
	ck_assert_int_eq(dp_decode_options(&arena, "\x08\x01", 2, &options), 0);
	ck_assert(options.pre_start_required && !options.preferred_allocation);
	ck_assert_int_eq(dp_decode_empty(&arena, NULL, 0), 0);
	ck_assert_int_eq(dp_decode_allocate(&arena, NULL, 0, &allocate), 0);
	ck_assert_uint_eq(allocate.n_containers, 0);
}
END_TEST

static const struct {
	const char *what, *hex;
	int expect;
} bad[] = {
	{ "cut in a length", "0a", -EBADMSG },
	{ "cut in a container", "0a05", -EBADMSG },
	{ "cut in an id", "0a030a05", -EBADMSG },
	{ "wrong wire type for a container", "0801", -EBADMSG },
	{ "wrong wire type for an id", "0a020801", -EBADMSG },
	{ "a group", "0b0c", -EBADMSG },
	{ "field number 0", "0200", -EBADMSG },
	{ "a varint that does not end", "0affffffffffffffffffffff", -EBADMSG },
	{ "a NUL byte in an id", "0a050a03610062", -EBADMSG },
	{ "a NUL byte alone", "0a030a0100", -EBADMSG },
	{ "bare continuation byte", "0a030a0180", -EBADMSG },
	{ "overlong slash", "0a040a02c0af", -EBADMSG },
	{ "surrogate", "0a050a03eda080", -EBADMSG },
	{ "above U+10FFFF", "0a060a04f4908080", -EBADMSG },
	{ "cut sequence", "0a040a02e282", -EBADMSG },
	{ "unknown field", "0a030a016150011a0161", 0 },
	{ "nothing", "", 0 },
};

START_TEST(bad_requests_are_told_apart)
{
	struct dp_allocate_request request;
	size_t len;
	uint8_t *bytes = test_from_hex(bad[_i].hex, &len);
	int r = dp_decode_allocate(&arena, bytes, len, &request);

	ck_assert_msg(r == bad[_i].expect, "%s: got %d, want %d", bad[_i].what, r, bad[_i].expect);
	free(bytes);
}
END_TEST

static uint8_t *many(size_t n, size_t *ret_len)
{
	uint8_t *bytes = calloc(n, 2);

	ck_assert_ptr_nonnull(bytes);
	for (size_t i = 0; i < n; i++)
		bytes[2 * i] = 0x0a;
	*ret_len = 2 * n;
	return bytes;
}

static const struct {
	const char *what;
	size_t n;
	int expect;
} counts[] = {
	{ "as many containers as allowed", DP_CONTAINERS_MAX, 0 },
	{ "one more", DP_CONTAINERS_MAX + 1, -E2BIG },
	{ "200 kB of empty containers", 100000, -E2BIG },
	{ "4 MB of them", 2000000, -E2BIG },
};

START_TEST(empty_containers_do_not_amplify)
{
	struct dp_allocate_request request;
	size_t len;
	uint8_t *bytes = many(counts[_i].n, &len);
	int r = dp_decode_allocate(&arena, bytes, len, &request);

	ck_assert_msg(r == counts[_i].expect, "%s: %d", counts[_i].what, r);
	ck_assert_uint_le(arena.used, DP_ARENA_BUDGET);
	dp_arena_reset(&arena);
	ck_assert_int_eq(dp_decode_allocate(&arena, "\x0a\x00", 2, &request), 0);
	free(bytes);
}
END_TEST

/* @n ids of 36 bytes as one container's available ones. */
static uint8_t *preferred_request(size_t n, size_t *ret_len)
{
	size_t inner = n * 38, len = 0;
	uint8_t *bytes = malloc(inner + 8);

	ck_assert_ptr_nonnull(bytes);
	bytes[len++] = 0x0a;
	for (size_t v = inner;; v >>= 7) {
		bytes[len++] = (uint8_t)(v >= 0x80 ? v | 0x80 : v);
		if (v < 0x80)
			break;
	}
	for (size_t i = 0; i < n; i++) {
		char id[64];

		(void)snprintf(id, sizeof(id), "GPU-0123456789abcdef0123456789-%05zu", i);
		ck_assert_uint_eq(strlen(id), 36);
		bytes[len++] = 0x0a;
		bytes[len++] = 36;
		memcpy(bytes + len, id, 36);
		len += 36;
	}
	*ret_len = len;
	return bytes;
}

START_TEST(ids_per_container_are_capped)
{
	struct dp_preferred_request request;
	size_t len;
	uint8_t *bytes;
	int r;

	bytes = preferred_request(51000, &len);
	r = dp_decode_preferred(&arena, bytes, len, &request);
	ck_assert_msg(r == 0, "a full node's list: %d", r);
	ck_assert_uint_eq(request.containers[0].available.n_ids, 51000);
	free(bytes);
	dp_arena_reset(&arena);
	bytes = preferred_request(DP_IDS_MAX + 1, &len);
	ck_assert_int_eq(dp_decode_preferred(&arena, bytes, len, &request), -E2BIG);
	free(bytes);
}
END_TEST

START_TEST(reading_1600_ids_is_quick)
{
	uint64_t best_us = UINT64_MAX;
	struct dp_preferred_request request;
	size_t len;
	uint8_t *bytes = preferred_request(1600, &len);

	for (int i = 0; i < 100; i++) {
		uint64_t start_us = test_now_us(), took_us;

		ck_assert_int_eq(dp_decode_preferred(&arena, bytes, len, &request), 0);
		took_us = test_now_us() - start_us;
		best_us = took_us < best_us ? took_us : best_us;
		dp_arena_reset(&arena);
	}
	(void)fprintf(stderr, "1600 ids read in %ju us\n", (uintmax_t)best_us);
	ck_assert_uint_lt(best_us, 1000); /* an order above the goal: sanitizers, busy machines */
	free(bytes);
}
END_TEST

/* With every budget from none to enough: a refusal or the right answer, nothing in between. */
START_TEST(every_budget_is_refused_or_enough)
{
	size_t len;
	uint8_t *bytes = test_from_hex("0a0b0a03732d310a000a02c3bc0a00", &len);
	bool fitted = false;

	for (size_t budget = 0; budget < 2048; budget += 8) {
		struct dp_allocate_request request;
		struct dp_arena small;
		int r;

		dp_arena_init(&small, budget);
		r = dp_decode_allocate(&small, bytes, len, &request);
		ck_assert(r == 0 || r == -E2BIG);
		ck_assert(r == 0 || !fitted);
		if (r == 0) {
			fitted = true;
			ck_assert_str_eq(request.containers[0].ids[2], "\xc3\xbc");
		}
		dp_arena_done(&small);
	}
	ck_assert(fitted);
	free(bytes);
}
END_TEST

START_TEST(damaged_requests_never_pass_the_limits)
{
	static const char *const seeds[] = { "0a0b0a03732d310a000a02c3bc0a00",
					     "0a0b0a01610a01621201621802", ALLOCATE_HEX };
	unsigned n = test_count(400000);
	uint64_t random = test_seed();

	for (unsigned i = 0; i < n; i++) {
		struct dp_allocate_request allocate;
		struct dp_preferred_request preferred;
		struct dp_ids ids;
		size_t len;
		uint8_t *bytes = test_from_hex(seeds[i % 3], &len);
		unsigned flips = 1 + test_random(&random) % 4;

		while (flips--)
			bytes[test_random(&random) % len] = (uint8_t)test_random(&random);
		len = test_random(&random) % (len + 1);
		if (dp_decode_allocate(&arena, bytes, len, &allocate) == 0)
			for (size_t j = 0; j < allocate.n_containers; j++)
				for (size_t k = 0; k < allocate.containers[j].n_ids; k++)
					ck_assert(dp_is_utf8(allocate.containers[j].ids[k]));
		(void)dp_decode_preferred(&arena, bytes, len, &preferred);
		(void)dp_decode_pre_start(&arena, bytes, len, &ids);
		dp_arena_reset(&arena);
		free(bytes);
	}
}
END_TEST

START_TEST(strings_that_the_kubelet_would_choke_on_are_refused)
{
	static const struct dp_pair bad_env = { "A", "\xff" }, null_env = { "A", NULL };
	static const char *const bad_cdi[] = { "ok", NULL };
	struct dp_container_response c = { .envs = &bad_env, .n_envs = 1 };
	struct dp_allocate_response response = { &c, 1 };
	struct dp_device device = { .id = "\xed\xa0\x80" };
	struct dp_list list = { &device, 1 };
	struct dp_bytes bytes;
	size_t size;

	ck_assert_int_eq(dp_encode_allocate(&arena, &response, &bytes), -EILSEQ);
	c.envs = &null_env;
	ck_assert_int_eq(dp_encode_allocate(&arena, &response, &bytes), -EINVAL);
	c = (struct dp_container_response){ .cdi_devices = bad_cdi, .n_cdi_devices = 2 };
	ck_assert_int_eq(dp_encode_allocate(&arena, &response, &bytes), -EINVAL);
	ck_assert_int_eq(dp_list_size(&list, &size), -EILSEQ);
	device.id = NULL;
	ck_assert_int_eq(dp_list_size(&list, &size), -EINVAL);
}
END_TEST

START_TEST(list_over_4_mib_is_refused_with_its_size)
{
	size_t n = 60000, size;
	struct dp_device *devices = calloc(n, sizeof(*devices));
	struct dp_list list = { devices, n };
	char id[64];

	ck_assert_ptr_nonnull(devices);
	memset(id, 'x', 63);
	id[63] = '\0';
	for (size_t i = 0; i < n; i++)
		devices[i].id = id;
	ck_assert_int_eq(dp_list_size(&list, &size), 0);
	ck_assert_uint_eq(size, n * (2 + 2 + 63 + 2 + 9));
	ck_assert_int_eq(dp_encode_list(&list, NULL, size), -EMSGSIZE);
	free(devices);
}
END_TEST

START_TEST(list_of_4096_devices_has_the_known_size)
{
	static const int64_t numa[] = { 0, 1 };
	size_t n = 4096, size;
	struct dp_device *devices = calloc(n, sizeof(*devices));
	struct dp_list list = { devices, n };
	uint8_t *buf;
	char id[64];

	ck_assert_ptr_nonnull(devices);
	memset(id, 'x', 63);
	id[63] = '\0';
	for (size_t i = 0; i < n; i++)
		devices[i] = (struct dp_device){ id, true, numa + i % 2, 1 };
	ck_assert_int_eq(dp_list_size(&list, &size), 0);
	buf = malloc(size);
	ck_assert_int_eq(dp_encode_list(&list, buf, size), 0);
	ck_assert_int_eq(dp_encode_list(&list, buf, size - 1), -EINVAL);
	free(buf);
	free(devices);
}
END_TEST

START_TEST(arena_keeps_alignment_sizes_and_a_budget)
{
	uint64_t random = test_seed();
	struct dp_arena a;

	dp_arena_init(&a, 1 << 20);
	for (int round = 0; round < 20; round++) {
		void *p;
		size_t size, total = 0;

		while ((p = dp_arena_alloc(&a, size = test_random(&random) % 3000))) {
			ck_assert_uint_eq((uintptr_t)p % 16, 0);
			ck_assert_uint_eq(dp_arena_size(p), size);
			memset(p, 0xa5, size);
			total += size;
		}
		ck_assert(a.over_budget && !a.out_of_memory);
		ck_assert_uint_gt(total, 900 * 1024);
		ck_assert_uint_le(total, 1 << 20);
		dp_arena_reset(&a);
	}
	ck_assert_ptr_null(dp_arena_alloc(&a, SIZE_MAX));
	ck_assert_ptr_null(dp_arena_calloc(&a, SIZE_MAX / 2, 4));
	dp_arena_done(&a);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("codec");
	TCase *t = tcase_create("messages");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, answers_are_the_bytes_that_others_write);
	tcase_add_test(t, list_is_the_bytes_that_others_write);
	tcase_add_test(t, requests_are_read);
	tcase_add_loop_test(t, bad_requests_are_told_apart, 0, (int)ARRAY_SIZE(bad));
	tcase_add_loop_test(t, empty_containers_do_not_amplify, 0, (int)ARRAY_SIZE(counts));
	tcase_add_test(t, ids_per_container_are_capped);
	tcase_add_test(t, reading_1600_ids_is_quick);
	tcase_add_test(t, every_budget_is_refused_or_enough);
	tcase_add_test(t, damaged_requests_never_pass_the_limits);
	tcase_add_test(t, strings_that_the_kubelet_would_choke_on_are_refused);
	tcase_add_test(t, list_over_4_mib_is_refused_with_its_size);
	tcase_add_test(t, list_of_4096_devices_has_the_known_size);
	tcase_add_test(t, arena_keeps_alignment_sizes_and_a_budget);
	suite_add_tcase(s, t);
	return test_main(s);
}
