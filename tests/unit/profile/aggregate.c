/* Tests of profile/aggregate.c. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "profile/aggregate.h"
#include "tests/support/fakeprofile.h"

static const struct aggregate_row *row_of(const struct profile *p, const struct aggregate *a,
					  const char *func, uint32_t line)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct frame *f = names_frame_at(p->names, a->rows[i].frame);

		if (strcmp(names_string_at(p->names, f->func, NULL), func) == 0 &&
		    (!line || f->line == line))
			return &a->rows[i];
	}
	return NULL;
}

Test(aggregate, functions_count_self_and_total)
{
	struct profile p;
	struct aggregate a;
	const struct aggregate_row *r;

	fakeprofile_small(&p);
	cr_assert_eq(aggregate_rows(&p, AGGREGATE_FUNCTION, false, &a), 0);
	cr_assert_eq(a.samples, 116);
	cr_assert_eq(a.weight, 1160000000);
	r = row_of(&p, &a, "Work.step", 0); /* both lines are one function */
	cr_assert_eq(r, &a.rows[0]);
	cr_assert_eq(r->self, 85);
	cr_assert_eq(r->total, 85);
	cr_assert_eq(r->self_weight, 850000000);
	r = row_of(&p, &a, "main", 0);
	cr_assert_eq(r->self, 5);
	cr_assert_eq(r->total, 90);
	r = row_of(&p, &a, "<module>", 0);
	cr_assert_eq(r->self, 0);
	cr_assert_eq(r->total, 90);
	r = row_of(&p, &a, "[truncated]", 0);
	cr_assert_eq(r->total, 2);
	aggregate_release(&a);
	aggregate_release(&a);
	aggregate_release(NULL);
	profile_release(&p);
}

Test(aggregate, recursion_counts_once)
{
	struct profile p;
	struct aggregate a;
	const struct aggregate_row *r;
	uint32_t f[3], thread;

	fakeprofile_small(&p);
	cr_assert_eq(aggregate_rows(&p, AGGREGATE_FUNCTION, true, &a), 0);
	r = row_of(&p, &a, "fib", 0);
	cr_assert_eq(r->self, 12);
	cr_assert_eq(r->total, 12);
	aggregate_release(&a);
	profile_release(&p);

	/* f → g → f, and g beside: the second f is in the first one's subtree, both g are topmost
	 */
	fakeprofile_init(&p);
	thread = fakeprofile_thread(&p, fakeprofile_process(&p, 1, "a"), 1, "t");
	f[0] = f[2] = fakeprofile_frame(&p, "f", "x.py", 1, 1);
	f[1] = fakeprofile_frame(&p, "g", "x.py", 1, 1);
	fakeprofile_samples(&p, thread, fakeprofile_stack(&p, f, 3), OUTCOME_EXACT, 7, 10);
	fakeprofile_samples(&p, thread, fakeprofile_stack(&p, f, 2), OUTCOME_EXACT, 7, 4);
	fakeprofile_samples(&p, thread, fakeprofile_stack(&p, f + 1, 1), OUTCOME_EXACT, 7, 2);
	cr_assert_eq(aggregate_rows(&p, AGGREGATE_FUNCTION, true, &a), 0);
	cr_assert_eq(a.n, 2);
	r = row_of(&p, &a, "f", 0);
	cr_assert_eq(r->self, 10);
	cr_assert_eq(r->total, 14);
	r = row_of(&p, &a, "g", 0);
	cr_assert_eq(r, &a.rows[0]);
	cr_assert_eq(r->self, 6);
	cr_assert_eq(r->total, 16);
	cr_assert_eq(r->total_weight, 7 * 16);
	aggregate_release(&a);
	profile_release(&p);
}

Test(aggregate, lines_are_rows_of_their_own)
{
	struct profile p;
	struct aggregate a;

	fakeprofile_small(&p);
	cr_assert_eq(aggregate_rows(&p, AGGREGATE_LINE, false, &a), 0);
	cr_assert_eq(row_of(&p, &a, "Work.step", 5)->self, 60);
	cr_assert_eq(row_of(&p, &a, "Work.step", 6)->self, 25);
	aggregate_release(&a);
	profile_release(&p);
}

Test(aggregate, processes_and_threads)
{
	struct profile p;
	struct aggregate a;

	fakeprofile_small(&p);
	cr_assert_eq(aggregate_rows(&p, AGGREGATE_PROCESS, true, &a), 0);
	cr_assert_eq(a.n, 2);
	cr_assert_eq(a.rows[0].process, 0);
	cr_assert_eq(a.rows[0].total, 103);
	cr_assert_eq(a.rows[1].total, 13);
	aggregate_release(&a);
	cr_assert_eq(aggregate_rows(&p, AGGREGATE_THREAD, true, &a), 0);
	cr_assert_eq(a.n, 3);
	cr_assert_eq(a.rows[0].thread, 0);
	cr_assert_eq(a.rows[0].total, 90);
	cr_assert_eq(a.rows[1].thread, 1); /* 13, and 13: in the order of their ids */
	cr_assert_eq(a.rows[1].process, 0);
	cr_assert_eq(a.rows[1].total, 13);
	cr_assert_eq(a.rows[2].thread, 2);
	cr_assert_eq(a.rows[2].total, 13);
	aggregate_release(&a);
	profile_release(&p);
}

Test(aggregate, states)
{
	struct profile p;
	struct aggregate a;
	struct aggregate_stack *v;
	uint64_t per_state[RUN_MAX] = {0};
	size_t n, apart;

	fakeprofile_wall(&p);
	cr_assert_eq(aggregate_rows(&p, AGGREGATE_STATE, false, &a), 0);
	cr_assert_eq(a.n, 5);
	cr_assert_eq(a.rows[0].state, RUN_SLEEPING);
	for (size_t i = 0; i < a.n; i++)
		cr_assert_eq(a.rows[i].self, p.summary.states[a.rows[i].state]);
	aggregate_release(&a);
	cr_assert_eq(aggregate_stacks(&p, AGGREGATE_PER_THREAD, UINT32_MAX, &v, &n), 0);
	free(v);
	cr_assert_eq(aggregate_stacks(&p, AGGREGATE_PER_STATE, UINT32_MAX, &v, &apart), 0);
	cr_assert_gt(apart, n);
	for (size_t i = 0; i < apart; i++)
		per_state[v[i].state] += v[i].samples;
	cr_assert_arr_eq(per_state, p.summary.states, sizeof(per_state));
	free(v);
	profile_keep_states(&p, 1u << RUN_GIL | 1u << RUN_GC);
	cr_assert_eq(aggregate_rows(&p, AGGREGATE_STATE, false, &a), 0);
	cr_assert_eq(a.n, 2);
	cr_assert_eq(a.samples, p.summary.states[RUN_GIL] + p.summary.states[RUN_GC]);
	aggregate_release(&a);
	profile_release(&p);
}

Test(aggregate, an_empty_profile_has_no_rows)
{
	struct profile p;
	struct aggregate a;
	struct aggregate_stack *v;
	size_t n;

	fakeprofile_init(&p);
	for (int by = AGGREGATE_FUNCTION; by <= AGGREGATE_STATE; by++) {
		cr_assert_eq(aggregate_rows(&p, (enum aggregate_by)by, true, &a), 0);
		cr_assert_eq(a.n, 0);
		aggregate_release(&a);
	}
	cr_assert_eq(aggregate_stacks(&p, AGGREGATE_NONE, UINT32_MAX, &v, &n), 0);
	cr_assert_eq(n, 0);
	free(v);
	profile_release(&p);
}

Test(aggregate, a_very_deep_stack_is_no_trouble)
{
	struct profile p;
	struct aggregate a;
	uint32_t thread, f, stack = STACK_EMPTY;

	fakeprofile_init(&p);
	thread = fakeprofile_thread(&p, fakeprofile_process(&p, 1, "a"), 1, "t");
	f = fakeprofile_frame(&p, "f", "x.py", 1, 1);
	for (int i = 0; i < 200000; i++) {
		stack = names_stack(p.names, stack, f);
		fakeprofile_samples(&p, thread, stack, OUTCOME_EXACT, 1, 1);
	}
	cr_assert_eq(aggregate_rows(&p, AGGREGATE_FUNCTION, true, &a), 0);
	cr_assert_eq(a.n, 1);
	cr_assert_eq(a.rows[0].total, 200000);
	aggregate_release(&a);
	profile_release(&p);
}

Test(aggregate, stacks_by_group_and_outcome)
{
	struct profile p;
	struct aggregate_stack *v;
	uint64_t samples = 0;
	size_t n, per_thread;

	fakeprofile_small(&p);
	cr_assert_eq(aggregate_stacks(&p, AGGREGATE_PER_THREAD, UINT32_MAX, &v, &per_thread), 0);
	for (size_t i = 0; i < per_thread; i++)
		samples += v[i].samples;
	cr_assert_eq(samples, 116);
	cr_assert_eq(per_thread, 11);
	cr_assert_eq(v[0].samples, 60);
	cr_assert_eq(v[0].weight, 600000000);
	cr_assert_eq(v[0].thread, 0);
	free(v);
	cr_assert_eq(aggregate_stacks(&p, AGGREGATE_NONE, 1u << OUTCOME_CUT, &v, &n), 0);
	cr_assert_eq(n, 1);
	cr_assert_eq(v[0].samples, 2);
	cr_assert_eq(v[0].process, AGGREGATE_ALL);
	cr_assert_eq(v[0].thread, AGGREGATE_ALL);
	free(v);
	cr_assert_eq(aggregate_stacks(&p, AGGREGATE_PER_PROCESS, 0, &v, &n), 0);
	cr_assert_eq(n, 0);
	free(v);
	profile_release(&p);
}

/* One that stands for ten counts as ten, whatever it is counted by. */
Test(aggregate, samples_that_stand_for_more)
{
	static const enum aggregate_by all[] = {AGGREGATE_FUNCTION, AGGREGATE_LINE,
						AGGREGATE_PROCESS, AGGREGATE_THREAD};
	struct aggregate_stack *v = NULL;
	struct aggregate a;
	struct profile p;
	uint64_t sum = 0, weight = 0;
	size_t n;

	fakeprofile_small(&p);
	p.samples[0].more = 9;
	p.samples[1].more = 90;
	cr_expect_eq(profile_count(&p), 116 + 99);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		uint64_t self = 0;

		cr_assert_eq(aggregate_rows(&p, all[i], false, &a), 0);
		for (size_t k = 0; k < a.n; k++)
			self += a.rows[k].self;
		cr_expect_eq(a.samples, 116 + 99);
		cr_expect_eq(self, 116 + 99);
		cr_expect_eq(a.weight, 1160000000);
		aggregate_release(&a);
	}
	cr_assert_eq(aggregate_stacks(&p, AGGREGATE_NONE, ~0u, &v, &n), 0);
	for (size_t i = 0; i < n; i++) {
		sum += v[i].samples;
		weight += v[i].weight;
	}
	cr_expect_eq(sum, 116 + 99);
	cr_expect_eq(weight, 1160000000);
	free(v);
	profile_release(&p);
}
