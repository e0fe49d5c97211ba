/* SPDX-License-Identifier: Apache-2.0 */
/* Text to values: what is taken is exact, what is not exact is not taken. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../unit/suite.h"
#include "units.h"

static const char *const no_numbers[] = {
	"",
	" 1",
	"1 ",
	"+1",
	"-1",
	"0x10",
	"1e3",
	"1k",
	"1Mi",
	"1.0",
	"01",
	"00",
	"1_0",
	"a",
	"\t1",
	"1,",
	"١",
	"18446744073709551616",
	"99999999999999999999999",
};

START_TEST(number_refuses)
{
	uint64_t value = 7;

	ck_assert_msg(units_parse_number(no_numbers[_i], &value) == -EINVAL, "'%s' was taken",
		      no_numbers[_i]);
	ck_assert_msg(value == 7, "'%s' changed the output", no_numbers[_i]);
}
END_TEST

/* Property: every number reads back as itself, and one digit more of the largest does not fit. */
START_TEST(number_reads_back)
{
	uint64_t want = _i < 64 ? (UINT64_C(1) << _i) - 1 : UINT64_MAX - (uint64_t)(_i - 64), got;
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRIu64, want);
	ck_assert_int_eq(units_parse_number(text, &got), 0);
	ck_assert_uint_eq(got, want);
	if (want > UINT64_MAX / 10) {
		(void)snprintf(text, sizeof(text), "%" PRIu64 "0", want);
		ck_assert_int_eq(units_parse_number(text, &got), -EINVAL);
	}
}
END_TEST

static const char *const no_ratios[] = {
	"",    ".5",   "1.",   ".",   "1.0000001", "1.2.3",	     "-1",   "+1.5", "1,5", "01.5",
	"1e1", "1.5 ", " 1.5", "nan", "inf",	   "18446744073710", "1.-5", "1. 5",
};

START_TEST(ratio_refuses)
{
	uint64_t value = 7;

	ck_assert_msg(units_parse_ratio(no_ratios[_i], &value) == -EINVAL, "'%s' was taken",
		      no_ratios[_i]);
	ck_assert_msg(value == 7, "'%s' changed the output", no_ratios[_i]);
}
END_TEST

/* Property: any ppm value survives formatting and reading. */
START_TEST(ratio_reads_back)
{
	uint64_t want, got;
	char text[40];

	srand((unsigned)_i);
	want = (uint64_t)rand() * 31 + (uint64_t)rand() % 1000000;
	if (_i % 3 == 0)
		want = want / 1000000 * 1000000;
	units_format_ratio(want, text, sizeof(text));
	ck_assert_msg(units_parse_ratio(text, &got) == 0, "'%s' was refused", text);
	ck_assert_uint_eq(got, want);
}
END_TEST

START_TEST(ratio_is_exact)
{
	static const struct {
		const char *text;
		uint64_t ppm;
		const char *shortest;
	} cases[] = {
		{ "1", 1000000, "1" },	     { "1.0", 1000000, "1" },
		{ "1.1", 1100000, "1.1" },   { "1.000001", 1000001, "1.000001" },
		{ "100", 100000000, "100" }, { "0.5", 500000, "0.5" },
		{ "1.50", 1500000, "1.5" },  { "0", 0, "0" },
	};
	char text[40];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t ppm;

		ck_assert_int_eq(units_parse_ratio(cases[i].text, &ppm), 0);
		ck_assert_uint_eq(ppm, cases[i].ppm);
		units_format_ratio(ppm, text, sizeof(text));
		ck_assert_str_eq(text, cases[i].shortest);
	}
}
END_TEST

START_TEST(bool_takes_four_words)
{
	static const char *const no_bools[] = { "", "yes", "True", "TRUE", "2", "on", "01", " 1" };
	bool value;

	ck_assert_int_eq(units_parse_bool("true", &value), 0);
	ck_assert(value);
	ck_assert_int_eq(units_parse_bool("0", &value), 0);
	ck_assert(!value);
	ck_assert_int_eq(units_parse_bool("1", &value), 0);
	ck_assert(value);
	ck_assert_int_eq(units_parse_bool("false", &value), 0);
	ck_assert(!value);
	for (size_t i = 0; i < sizeof(no_bools) / sizeof(no_bools[0]); i++)
		ck_assert_msg(units_parse_bool(no_bools[i], &value) == -EINVAL, "'%s' was taken",
			      no_bools[i]);
}
END_TEST

START_TEST(word_takes_its_words_in_either_case)
{
	static const char *const words[] = { "shrink", "strict", NULL };
	size_t i = 9;

	ck_assert_int_eq(units_parse_word("STRICT", words, &i), 0);
	ck_assert_uint_eq(i, 1);
	ck_assert_int_eq(units_parse_word("stric", words, &i), -EINVAL);
	ck_assert_int_eq(units_parse_word("", words, &i), -EINVAL);
	ck_assert_uint_eq(i, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("units");
	TCase *tcase = tcase_create("units");

	tcase_add_loop_test(tcase, number_refuses, 0,
			    (int)(sizeof(no_numbers) / sizeof(no_numbers[0])));
	tcase_add_loop_test(tcase, number_reads_back, 0, 100);
	tcase_add_loop_test(tcase, ratio_refuses, 0,
			    (int)(sizeof(no_ratios) / sizeof(no_ratios[0])));
	tcase_add_loop_test(tcase, ratio_reads_back, 0, 100);
	tcase_add_test(tcase, ratio_is_exact);
	tcase_add_test(tcase, bool_takes_four_words);
	tcase_add_test(tcase, word_takes_its_words_in_either_case);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
