/* Versions out of the text of sys.version, and how they are shown. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include "python/version.h"

static uint32_t find(const char *text, size_t *ret_at)
{
	uint32_t version = 0;

	return version_find(text, strlen(text), ret_at, &version) ? version : 0;
}

Test(version, texts_of_real_interpreters)
{
	static const struct {
		const char *text;
		uint32_t version;
	} cases[] = {
		{"3.8.18 (default, Aug 25 2023, 13:20:30) \n[GCC 12.2.0]", 0x030812f0},
		{"2.7.18 (default, Apr 20 2020, 00:00:00) \n[GCC 9]", 0x020712f0},
		{"3.11.2 (main, Apr 28 2025, 14:11:48) [GCC 12.2.0]", 0x030b02f0},
		{"3.12.0rc1+ (heads/3.12:abc, Aug 1 2023, 0:0:0) [Clang 17.0.0 ]", 0x030c00c1},
		{"3.10.16 (main, Dec 19 2024, 14:00:00) [Clang 18.1.8 ]", 0x030a10f0},
		{"3.9.0b4 (v3.9, Jul 1 2020, 1:2:3) \n[GCC 8]", 0x030900b4},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char padded[256];
		size_t at = 99;

		cr_assert_eq(find(cases[i].text, &at), cases[i].version, "%s", cases[i].text);
		cr_assert_eq(at, 0);
		snprintf(padded, sizeof(padded), "x(y) (z) [%s", cases[i].text);
		cr_assert_eq(find(padded, &at), cases[i].version, "%s", padded);
		cr_assert_eq(at, 10, "%s at %zu", padded, at);
	}
}

Test(version, other_texts_are_refused)
{
	static const char *const texts[] = {
		"",
		"(",
		"3.8.18 (",
		"3.8.18 (default",
		"3.8.18 (default) ",
		"3.8.18 (default) GCC",
		"3.8 (default, Aug) [GCC 12]",
		"4.8.18 (default, Aug) [GCC 12]",
		"3.8.300 (default, Aug) [GCC 12]",
		"3.8.18(default, Aug) [GCC 12]",
		"3.8.18rc77 (default, Aug) [GCC 12]",
		"3.8.18x (default, Aug) [GCC 12]",
		"3..18 (default, Aug) [GCC 12]",
		"GNU ld 2.40.1 [abc] (main, x) [GCC 12]",
	};
	size_t at;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		cr_assert_eq(find(texts[i], &at), 0, "%s", texts[i]);
}

Test(version, a_text_that_is_cut_anywhere_is_refused)
{
	static const char text[] = "3.8.18 (default, Aug 25 2023, 13:20:30) \n[GCC 12.2.0]";
	uint32_t version;
	size_t at, whole = (size_t)(strchr(text, '[') - text) + 1;

	for (size_t n = 0; n < sizeof(text); n++)
		cr_assert_eq(version_find(text, n, &at, &version), n >= whole, "%zu", n);
}

Test(version, plausible)
{
	cr_assert(version_plausible(0x030b02f0));
	cr_assert(version_plausible(0x030f00c1));
	cr_assert_not(version_plausible(0));
	cr_assert_not(version_plausible(0x020712f0));
	cr_assert_not(version_plausible(0x030b0200));
	cr_assert_not(version_plausible(0x1030b02f0));
}

Test(version, format)
{
	char buf[32];

	version_format(0x030e0af0, 14, buf, sizeof(buf));
	cr_assert_str_eq(buf, "3.14.10");
	version_format(0x030f00c1, 15, buf, sizeof(buf));
	cr_assert_str_eq(buf, "3.15.0rc1");
	version_format(0x030f00b4, 15, buf, sizeof(buf));
	cr_assert_str_eq(buf, "3.15.0b4");
	version_format(0, 9, buf, sizeof(buf));
	cr_assert_str_eq(buf, "3.9");
}
