/* Tests of profile/stats.c, and of how a profile keeps them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tests/support/fakeprofile.h"

Test(stats, names_differ_and_fit_keys)
{
	for (unsigned int i = 0; i < STAT_MAX; i++) {
		const char *s = stats_name((enum stats_counter)i);

		cr_assert_eq(strspn(s, "abcdefghijklmnopqrstuvwxyz_"), strlen(s));
		cr_assert_gt(strlen(s), 0);
		for (unsigned int k = 0; k < i; k++)
			cr_assert_str_neq(s, stats_name((enum stats_counter)k));
	}
	cr_assert_str_eq(stats_name(STAT_TICKS), "ticks");
	cr_assert_str_eq(stats_name(STAT_CODE_RETIRED), "code_retired");
	cr_assert_str_eq(stats_name(STAT_MAX), "?");
}

Test(stats, add_adds_every_number)
{
	struct stats a = {0}, b;

	cr_assert_not(stats_any(&a));
	for (size_t i = 0; i < STAT_MAX; i++)
		a.v[i] = i + 1;
	for (size_t i = 0; i < OUTCOME_MAX; i++)
		a.outcomes[i] = 100 + i;
	b = a;
	stats_add(&b, &a);
	for (size_t i = 0; i < STAT_MAX; i++)
		cr_assert_eq(b.v[i], 2 * (i + 1));
	for (size_t i = 0; i < OUTCOME_MAX; i++)
		cr_assert_eq(b.outcomes[i], 2 * (100 + i));
	cr_assert(stats_any(&a));
	cr_assert(stats_any(&(struct stats){.v[STAT_MAX - 1] = 1}));
	cr_assert(stats_any(&(struct stats){.outcomes[OUTCOME_MAX - 1] = 1}));
}

Test(stats, a_profile_adds_up_what_comes_for_a_process)
{
	const struct stats one = {.v[STAT_TICKS] = 1, .v[STAT_CALLS] = 10};
	const struct stats two = {.v[STAT_TICKS] = 5, .outcomes[OUTCOME_CUT] = 2};
	struct stats_table t;
	struct profile p;

	fakeprofile_small(&p);
	cr_assert_eq(profile_stats(&p, &t), 0);
	cr_assert_eq(t.n, 0);
	stats_release(&t);
	cr_assert_not(p.has_stats);
	cr_assert_eq(profile_add_stats(&p, 2, &one), -EINVAL);
	cr_assert_eq(profile_add_stats(&p, 1, &two), 0);
	cr_assert_eq(profile_add_stats(&p, 0, &one), 0);
	cr_assert_eq(profile_add_stats(&p, 0, &one), 0);
	cr_assert_eq(profile_add_stats(&p, STATS_OTHERS, &one), 0);
	cr_assert(p.has_stats);
	cr_assert_eq(profile_stats(&p, &t), 0);
	/* the busiest first */
	cr_assert_eq(t.n, 3);
	cr_assert_eq(t.rows[0].process, 1);
	cr_assert_eq(t.rows[0].pid, 4712);
	cr_assert_eq(t.rows[1].process, 0);
	cr_assert_str_eq(t.rows[1].comm, "python3");
	cr_assert_eq(t.rows[1].v.v[STAT_TICKS], 2);
	cr_assert_eq(t.rows[2].process, STATS_OTHERS);
	cr_assert_eq(t.total.v[STAT_TICKS], 8);
	cr_assert_eq(t.total.v[STAT_CALLS], 30);
	cr_assert_eq(t.total.outcomes[OUTCOME_CUT], 2);
	stats_release(&t);
	stats_release(&t);
	stats_release(NULL);
	profile_release(&p);
}
