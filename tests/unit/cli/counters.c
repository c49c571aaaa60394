/* Tests of cli/counters.c. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cli/counters.h"
#include "tests/support/fakeprofile.h"
#include "tests/support/golden.h"

static void check(const struct stats_table *t, uint64_t rows, const char *golden)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	counters_print(f, t, rows);
	fclose(f);
	golden_check(golden, text, n);
	free(text);
}

Test(counters, golden)
{
	struct stats_table t;
	struct profile p;

	fakeprofile_wall(&p);
	cr_assert_eq(profile_stats(&p, &t), 0);
	check(&t, 0, "counters.all");
	check(&t, 1, "counters.one");
	stats_release(&t);
	check(&t, 0, "counters.none");
	profile_release(&p);
}
