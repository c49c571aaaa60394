/* Tests of output/summary.c. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "output/summary.h"
#include "tests/support/fakeprofile.h"
#include "tests/support/golden.h"

static int plain_json(FILE *f, const struct summary *s)
{
	return summary_json(f, s, NULL);
}

static void check(int (*write)(FILE *f, const struct summary *s), const struct summary *s,
		  const char *golden)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	cr_assert_eq(write(f, s), 0);
	fclose(f);
	golden_check(golden, text, n);
	free(text);
}

Test(summary, golden)
{
	struct summary empty = {0};
	struct profile p;

	fakeprofile_small(&p);
	p.summary.refused = 1;
	check(plain_json, &p.summary, "small.summary.json");
	check(summary_text, &p.summary, "small.summary.txt");
	check(summary_text, &empty, "empty.summary.txt");
	profile_release(&p);
}

Test(summary, states_and_stats)
{
	struct stats_table t;
	struct profile p;
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	fakeprofile_wall(&p);
	check(summary_text, &p.summary, "wall.summary.txt");
	cr_assert_eq(profile_stats(&p, &t), 0);
	cr_assert_eq(summary_json(f, &p.summary, &t), 0);
	fclose(f);
	golden_check("wall.summary.json", text, n);
	free(text);
	stats_release(&t);
	profile_release(&p);
}

Test(summary, a_full_disk_is_told)
{
	struct summary s = {0};
	FILE *f = fopen("/dev/full", "w");

	setvbuf(f, NULL, _IONBF, 0);
	cr_assert_lt(summary_json(f, &s, NULL), 0);
	cr_assert_lt(summary_text(f, &s), 0);
	fclose(f);
}
