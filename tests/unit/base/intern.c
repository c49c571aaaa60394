/* Tests of base/intern.c. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"

Test(intern, equal_bytes_get_equal_ids)
{
	struct intern *t = intern_new();
	const char *p;
	size_t len;

	cr_assert_eq(intern_put(t, "a", 1), 0);
	cr_assert_eq(intern_put(t, "", 0), 1);
	cr_assert_eq(intern_put(t, "a\0b", 3), 2);
	cr_assert_eq(intern_put(t, "a\0c", 3), 3);
	cr_assert_eq(intern_put(t, "a", 1), 0);
	cr_assert_eq(intern_put(t, NULL, 0), 1);
	cr_assert_eq(intern_put(t, "a\0b", 3), 2);
	cr_assert_eq(intern_count(t), 4);
	p = intern_get(t, 2, &len);
	cr_assert_eq(len, 3);
	cr_assert_eq(memcmp(p, "a\0b", 4), 0); /* the NUL behind it too */
	p = intern_get(t, 1, &len);
	cr_assert_eq(len, 0);
	cr_assert_str_eq(p, "");
	cr_assert_null(intern_get(t, 4, &len));
	cr_assert_null(intern_get(t, INTERN_NONE, NULL));
	intern_free(t);
	intern_free(NULL);
}

Test(intern, bytes_stay_where_they_are)
{
	struct intern *t = intern_new();
	const char *first;
	char s[32];

	intern_put(t, "first", 5);
	first = intern_get(t, 0, NULL);
	for (uint32_t i = 1; i < 50000; i++) {
		int n = snprintf(s, sizeof(s), "string %u", i);

		cr_assert_eq(intern_put(t, s, (size_t)n), i);
	}
	cr_assert_eq(intern_get(t, 0, NULL), first);
	cr_assert_str_eq(first, "first");
	for (uint32_t i = 1; i < 50000; i++) {
		int n = snprintf(s, sizeof(s), "string %u", i);

		cr_assert_eq(intern_put(t, s, (size_t)n), i);
		cr_assert_str_eq(intern_get(t, i, NULL), s);
	}
	intern_free(t);
}

Test(intern, long_strings_and_what_they_cost)
{
	struct intern *t = intern_new();
	size_t before = intern_bytes(t), size = 1 << 20, len;
	char *big = malloc(size);

	memset(big, 'x', size);
	cr_assert_eq(intern_put(t, big, size), 0);
	cr_assert_eq(intern_put(t, "small", 5), 1);
	big[size - 1] = 'y';
	cr_assert_eq(intern_put(t, big, size), 2);
	cr_assert_eq(intern_put(t, big, size), 2);
	cr_assert_eq(intern_put(t, "small", 5), 1);
	cr_assert_eq(intern_get(t, 0, &len)[size - 1], 'x');
	cr_assert_eq(len, size);
	cr_assert_geq(intern_bytes(t), before + 2 * size);
	cr_assert_lt(intern_bytes(t), before + 2 * size + 100000);
	free(big);
	intern_free(t);
}
