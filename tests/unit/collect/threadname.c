/* Tests of collect/threadname.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include "collect/threadname.h"

#define WANTS(n, name) threadname_wants(n, name, sizeof(name))

Test(threadname, matches)
{
	struct threadname *n = NULL;

	cr_assert_eq(threadname_new("^(io|net)-[0-9]+$", &n, NULL), 0);
	cr_expect(WANTS(n, "io-1"));
	cr_expect(WANTS(n, "net-23"));
	cr_expect_not(WANTS(n, "io-"));
	cr_expect_not(WANTS(n, "audio-1"));
	cr_expect_not(WANTS(n, ""));
	threadname_free(n);
}

/* As grep -E: anywhere in the name. */
Test(threadname, anywhere)
{
	struct threadname *n = NULL;

	cr_assert_eq(threadname_new("io", &n, NULL), 0);
	cr_expect(WANTS(n, "audio-1"));
	cr_expect_not(WANTS(n, "IO"));
	threadname_free(n);
}

Test(threadname, none_wants_all)
{
	cr_expect(WANTS(NULL, "x"));
	cr_expect(WANTS(NULL, ""));
}

/* A name that fills its room ends without a NUL. */
Test(threadname, ends_at_max)
{
	struct threadname *n = NULL;

	cr_assert_eq(threadname_new("^abc$", &n, NULL), 0);
	cr_expect(threadname_wants(n, "abcdef", 3));
	cr_expect_not(threadname_wants(n, "abcdef", 4));
	threadname_free(n);
}

Test(threadname, errors)
{
	static const char *const bad[] = {"(", "[a", "a{2", "*("};
	struct threadname *n = NULL;
	struct buf why;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		buf_init(&why);
		cr_expect_eq(threadname_new(bad[i], &n, &why), -EINVAL, "%s", bad[i]);
		cr_expect(why.len > 0);
		cr_expect_null(n);
		buf_release(&why);
	}
	threadname_free(NULL);
}
