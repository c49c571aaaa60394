/* Tests of profile/profile.c. */
#include <criterion/criterion.h>
#include <errno.h>

#include "tests/support/fakeprofile.h"

Test(profile, counts_what_is_added)
{
	struct profile p;

	fakeprofile_small(&p);
	cr_assert_eq(p.summary.samples, 116);
	cr_assert_eq(p.summary.outcomes[OUTCOME_EXACT], 96);
	cr_assert_eq(p.summary.processes, 2);
	cr_assert_eq(p.summary.threads, 3);
	cr_assert_eq(p.end_mono, p.samples[115].time);
	profile_release(&p);
	cr_assert_null(p.names);
	profile_release(&p);
	profile_release(NULL);
}

Test(profile, refuses_ids_out_of_order_and_unknown_ones)
{
	struct profile p;
	struct process_info process = {.id = 1};
	struct thread_info thread = {.id = 0, .process = 1};
	struct sample sample = {.process = 1};

	fakeprofile_init(&p);
	fakeprofile_process(&p, 5, "a");
	fakeprofile_process(&p, 6, "b");
	cr_assert_eq(profile_add_process(&p, &process), -EINVAL);
	process = (struct process_info){.id = 2, .exe = 9999};
	cr_assert_eq(profile_add_process(&p, &process), -EINVAL);
	thread.name = 9999;
	cr_assert_eq(profile_add_thread(&p, &thread), -EINVAL);
	thread = (struct thread_info){.process = 2};
	cr_assert_eq(profile_add_thread(&p, &thread), -EINVAL);
	cr_assert_eq(profile_add_sample(&p, &sample), -EINVAL);
	thread.process = 1;
	cr_assert_eq(profile_add_thread(&p, &thread), 0);
	cr_assert_eq(profile_add_sample(&p, &sample), 0);
	sample.process = 0;
	cr_assert_eq(profile_add_sample(&p, &sample), -EINVAL);
	sample = (struct sample){.process = 1, .stack = 1};
	cr_assert_eq(profile_add_sample(&p, &sample), -EINVAL);
	sample = (struct sample){.process = 1, .outcome = OUTCOME_MAX};
	cr_assert_eq(profile_add_sample(&p, &sample), -EINVAL);
	cr_assert_eq(p.n_samples, 1);
	cr_assert_eq(p.n_threads, 1);
	cr_assert_eq(p.n_processes, 2);
	profile_release(&p);
}

Test(profile, a_sample_that_stands_for_more)
{
	struct thread_info thread = {0};
	struct sample sample = {.outcome = OUTCOME_READ, .state = RUN_SLEEPING, .weight = 30};
	struct profile p;

	fakeprofile_init(&p);
	fakeprofile_process(&p, 5, "a");
	cr_assert_eq(profile_add_thread(&p, &thread), 0);
	cr_assert_eq(profile_add_sample(&p, &sample), 0);
	sample.more = UINT32_MAX;
	cr_assert_eq(profile_add_sample(&p, &sample), 0);
	cr_expect_eq(p.n_samples, 2);
	cr_expect_eq(p.summary.samples, (1ULL << 32) + 1);
	cr_expect_eq(p.summary.outcomes[OUTCOME_READ], (1ULL << 32) + 1);
	cr_expect_eq(p.summary.states[RUN_SLEEPING], (1ULL << 32) + 1);
	cr_expect_eq(p.summary.weights[RUN_SLEEPING], 60, "a weight is that of all together");
	cr_expect_eq(profile_count(&p), (1ULL << 32) + 1);
	profile_release(&p);
}
