/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What every store has to do, whatever it is made of. A test program gives the function that makes
 * an empty one; where the store is durable it also gives one that opens the same store again.
 */

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "macro.h"
#include "store.h"

struct store_maker {
	struct hdp_store *(*make)(void);
	struct hdp_store *(*reopen)(struct hdp_store *store); /* NULL: it forgets */
};

static const struct store_maker *store_maker;
static struct hdp_store *store;

static inline void store_setup(void)
{
	store = store_maker->make();
	ck_assert_ptr_nonnull(store);
}

static inline void store_teardown(void)
{
	store->ops->close(store);
}

/* Where it can be closed and opened, it is, before each look. */
static inline void store_reopen(void)
{
	if (store_maker->reopen)
		store = store_maker->reopen(store);
}

static inline struct hdp_grant_record store_record(const char *id, const char *const *slots,
						   size_t n_slots)
{
	return (struct hdp_grant_record){
		.id = id,
		.resource = "hami.com/vgpu",
		.owner = "owner",
		.key = "key \xc3\xa4",
		.created_us = UINT64_MAX - 1,
		.slots = slots,
		.n_slots = n_slots,
	};
}

static inline int store_put(const char *id, const char *const *slots, size_t n_slots)
{
	const struct hdp_grant_record rec = store_record(id, slots, n_slots);
	const struct hdp_store_change change = { .grant = &rec };

	return store->ops->change(store, &change, NULL);
}

static inline int store_append_grant(void *userdata, const struct hdp_grant_record *rec)
{
	char *text = userdata;

	ck_assert_str_eq(rec->resource, "hami.com/vgpu");
	ck_assert_str_eq(rec->owner, "owner");
	ck_assert_str_eq(rec->key, "key \xc3\xa4");
	ck_assert_uint_eq(rec->created_us, UINT64_MAX - 1);
	strcat(text, rec->id);
	for (size_t i = 0; i < rec->n_slots; i++) {
		strcat(text, i ? "," : "=");
		strcat(text, rec->slots[i]);
	}
	strcat(text, " ");
	return 0;
}

/* All grants as "id=slot,slot id=slot ". */
static inline const char *store_grants(void)
{
	static char text[65536];

	store_reopen();
	text[0] = '\0';
	ck_assert_int_eq(store->ops->each_grant(store, store_append_grant, text), 0);
	return text;
}

static inline int store_append_health(void *userdata, const struct hdp_health_record *rec)
{
	char *text = userdata;

	(void)sprintf(text + strlen(text), "%s=%d,%s,%llu,%llu,%u ", rec->uuid, (int)rec->health,
		      rec->cause, (unsigned long long)rec->since_us, (unsigned long long)rec->code,
		      rec->fault_class);
	return 0;
}

static inline const char *store_healths(void)
{
	static char text[65536];

	store_reopen();
	text[0] = '\0';
	ck_assert_int_eq(store->ops->each_health(store, store_append_health, text), 0);
	return text;
}

static const char *const store_slots[] = { "GPU-a::0", "GPU-a::1", "GPU-b::0" };

START_TEST(store_is_empty_at_first)
{
	ck_assert_str_eq(store_grants(), "");
	ck_assert_str_eq(store_healths(), "");
	ck_assert_str_ne(store->ops->name, "");
}
END_TEST

START_TEST(store_keeps_grants_oldest_first)
{
	ck_assert_int_eq(store_put("cc", store_slots, 2), 0);
	ck_assert_int_eq(store_put("aa", store_slots + 2, 1), 0);
	ck_assert_int_eq(store_put("bb", store_slots, 0), 0);
	ck_assert_str_eq(store_grants(), "cc=GPU-a::0,GPU-a::1 aa=GPU-b::0 bb ");
}
END_TEST

START_TEST(store_keeps_its_own_copies)
{
	char slot[] = "GPU-a::0";
	char id[] = "aa";
	const char *slots[] = { slot };

	ck_assert_int_eq(store_put(id, slots, 1), 0);
	memset(slot, 'x', sizeof(slot) - 1);
	memset(id, 'x', sizeof(id) - 1);
	ck_assert_str_eq(store_grants(), "aa=GPU-a::0 ");
}
END_TEST

START_TEST(store_commits_lessens_and_ends_in_one_change)
{
	struct hdp_grant_record lessened[2];
	struct hdp_grant_record fresh;
	const struct hdp_store_change change = {
		.grant = &fresh, .lessened = lessened, .n_lessened = 2, .ended = "dd"
	};

	ck_assert_int_eq(store_put("aa", store_slots, 2), 0);
	ck_assert_int_eq(store_put("bb", store_slots + 2, 1), 0);
	ck_assert_int_eq(store_put("dd", store_slots, 1), 0);
	fresh = store_record("cc", store_slots + 1, 2);
	lessened[0] = store_record("aa", store_slots, 1);
	lessened[1] = store_record("bb", NULL, 0); /* nothing left: it ends */
	ck_assert_int_eq(store->ops->change(store, &change, NULL), 0);
	ck_assert_str_eq(store_grants(), "aa=GPU-a::0 cc=GPU-a::1,GPU-b::0 ");
}
END_TEST

START_TEST(store_refuses_a_change_of_unknown_grants_as_a_whole)
{
	struct hdp_grant_record lessened[2];
	struct hdp_grant_record fresh;
	struct hamidp_reason why = { 0 };
	const struct hdp_store_change change = { .grant = &fresh,
						 .lessened = lessened,
						 .n_lessened = 2 };
	const struct hdp_store_change ends = { .ended = "zz" };

	ck_assert_int_eq(store_put("aa", store_slots, 2), 0);
	fresh = store_record("cc", store_slots + 1, 2);
	lessened[0] = store_record("aa", store_slots, 1);
	lessened[1] = store_record("zz", NULL, 0);
	ck_assert_int_eq(store->ops->change(store, &change, &why), -ENOENT);
	ck_assert_ptr_nonnull(strstr(why.text, "zz"));
	ck_assert_int_eq(store->ops->change(store, &ends, &why), -ENOENT);
	ck_assert_str_eq(store_grants(), "aa=GPU-a::0,GPU-a::1 ");
}
END_TEST

START_TEST(store_takes_the_same_grant_again)
{
	ck_assert_int_eq(store_put("aa", store_slots, 2), 0);
	ck_assert_int_eq(store_put("aa", store_slots, 1), 0);
	ck_assert_str_eq(store_grants(), "aa=GPU-a::0 ");
}
END_TEST

START_TEST(store_keeps_the_last_health_of_each_device)
{
	const struct hdp_health_record a = {
		"GPU-a", HAMIDP_HEALTH_UNHEALTHY, "error 48", 9, 48, 2
	};
	const struct hdp_health_record b = {
		"GPU-b", HAMIDP_HEALTH_GONE, "", UINT64_MAX - 1, 0, 0
	};
	const struct hdp_health_record better = { "GPU-a", HAMIDP_HEALTH_HEALTHY, "", 10, 0, 0 };

	ck_assert_int_eq(store->ops->put_health(store, &a, NULL), 0);
	ck_assert_int_eq(store->ops->put_health(store, &b, NULL), 0);
	ck_assert_str_eq(store_healths(), "GPU-a=3,error 48,9,48,2 "
					  "GPU-b=4,,18446744073709551614,0,0 ");
	ck_assert_int_eq(store->ops->put_health(store, &better, NULL), 0);
	ck_assert_str_eq(store_healths(), "GPU-a=1,,10,0,0 GPU-b=4,,18446744073709551614,0,0 ");
}
END_TEST

static inline int store_stop(void *userdata, const struct hdp_grant_record *rec)
{
	int *n = userdata;

	return ++*n == 2 ? 42 : 0;
}

START_TEST(store_stops_walking_when_told)
{
	int n = 0;

	for (char id[] = "a"; id[0] < 'e'; id[0]++)
		ck_assert_int_eq(store_put(id, store_slots, 1), 0);
	ck_assert_int_eq(store->ops->each_grant(store, store_stop, &n), 42);
	ck_assert_int_eq(n, 2);
}
END_TEST

START_TEST(store_holds_thousands_of_grants)
{
	char id[32];
	size_t n = 0;

	for (unsigned i = 0; i < 2000; i++) {
		(void)snprintf(id, sizeof(id), "%08x", i);
		ck_assert_int_eq(store_put(id, store_slots, 1), 0);
	}
	for (unsigned i = 0; i < 2000; i += 2) {
		const struct hdp_store_change change = { .ended = id };

		(void)snprintf(id, sizeof(id), "%08x", i);
		ck_assert_int_eq(store->ops->change(store, &change, NULL), 0);
	}
	for (const char *at = store_grants(); (at = strstr(at, "=GPU")); at++)
		n++;
	ck_assert_uint_eq(n, 1000);
}
END_TEST

static inline Suite *store_suite(const char *name, const struct store_maker *maker)
{
	const TTest *const tests[] = {
		store_is_empty_at_first,
		store_keeps_grants_oldest_first,
		store_keeps_its_own_copies,
		store_commits_lessens_and_ends_in_one_change,
		store_refuses_a_change_of_unknown_grants_as_a_whole,
		store_takes_the_same_grant_again,
		store_keeps_the_last_health_of_each_device,
		store_stops_walking_when_told,
		store_holds_thousands_of_grants,
	};
	Suite *s = suite_create(name);
	TCase *tc = tcase_create(name);

	store_maker = maker;
	tcase_add_checked_fixture(tc, store_setup, store_teardown);
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	suite_add_tcase(s, tc);
	return s;
}
