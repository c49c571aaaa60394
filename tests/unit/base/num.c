/* Tests of base/num.c. */
#include <criterion/criterion.h>
#include <errno.h>

#include "base/clock.h"
#include "base/num.h"

Test(num, u64)
{
	static const struct {
		const char *s;
		int err;
		uint64_t v;
	} cases[] = {
		{"5", 0, 5},	     {"007", 0, 7},
		{"100", 0, 100},     {"101", -ERANGE, 0},
		{"4", -ERANGE, 0},   {"99999999999999999999", -ERANGE, 0},
		{"", -EINVAL, 0},    {" 5", -EINVAL, 0},
		{"5 ", -EINVAL, 0},  {"-5", -EINVAL, 0},
		{"+5", -EINVAL, 0},  {"0x10", -EINVAL, 0},
		{"5.0", -EINVAL, 0}, {"1e1", -EINVAL, 0},
		{"ten", -EINVAL, 0}, {"99999999999999999999x", -EINVAL, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t v = 0;

		cr_expect_eq(num_u64(cases[i].s, 5, 100, &v), cases[i].err, "'%s'", cases[i].s);
		cr_expect_eq(v, cases[i].v, "'%s' gave %lu", cases[i].s, v);
	}
}

Test(num, u64_whole_range)
{
	uint64_t v;

	cr_assert_eq(num_u64("18446744073709551615", 0, UINT64_MAX, &v), 0);
	cr_assert_eq(v, UINT64_MAX);
	cr_assert_eq(num_u64("18446744073709551616", 0, UINT64_MAX, &v), -ERANGE);
}

Test(num, seconds)
{
	static const struct {
		const char *s;
		int err;
		uint64_t ns;
	} cases[] = {
		{"2.5", 0, 2500000000},
		{"0", 0, 0},
		{".25", 0, 250000000},
		{"5", 0, 5000000000},
		{"1.0000000019", 0, 1000000001},
		{"100.000000001", -ERANGE, 0},
		{"18446744074", -ERANGE, 0},
		{"99999999999999999999", -ERANGE, 0},
		{"", -EINVAL, 0},
		{".", -EINVAL, 0},
		{"1.", -EINVAL, 0},
		{"1.2.3", -EINVAL, 0},
		{"1s", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"inf", -EINVAL, 0},
		{"1.5x", -EINVAL, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t ns = 0;

		cr_expect_eq(num_seconds(cases[i].s, 100 * NSEC_PER_SEC, &ns), cases[i].err, "'%s'",
			     cases[i].s);
		cr_expect_eq(ns, cases[i].ns, "'%s' gave %lu", cases[i].s, ns);
	}
}

Test(num, scan_stops_behind_the_digits)
{
	const char *text = "7fFe-12", *s = text;
	uint64_t v;

	cr_assert_eq(num_scan(&s, 16, &v), 0);
	cr_assert_eq(v, 0x7ffe);
	cr_assert_eq(*s, '-');
	cr_assert_eq(num_scan(&s, 16, &v), -EINVAL);
	cr_assert_eq(*s, '-');
	s = text;
	cr_assert_eq(num_scan(&s, 10, &v), 0);
	cr_assert_eq(v, 7);
	cr_assert_eq(*s, 'f');
	s = "ffffffffffffffff";
	cr_assert_eq(num_scan(&s, 16, &v), 0);
	cr_assert_eq(v, UINT64_MAX);
	s = text = "10000000000000000";
	cr_assert_eq(num_scan(&s, 16, &v), -ERANGE);
	cr_assert_eq(s, text);
	s = "8";
	cr_assert_eq(num_scan(&s, 8, &v), -EINVAL);
}
