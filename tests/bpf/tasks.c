/* What passes over tasks say of threads, by the iterator and from /proc alike. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/child.h"
#include "tests/support/crew.h"
#include "tests/support/passes.h"

static const enum crew_job jobs[] = {CREW_SLEEP, CREW_SPIN, CREW_FUTEX, CREW_VFORK};

/* Where it rests, not on its way there, where it may wait for something else. */
static struct sched_facts at_its_job(const struct crew *c, const struct crew_hand *h,
				     enum sched_state state)
{
	uint64_t futex = h->job == CREW_FUTEX ? (uint64_t)(uintptr_t)&h->word : 0;
	uint64_t begin = clock_mono();
	struct sched_facts f;

	do
		f = passes_until(c->pid, h->tid, state);
	while (f.futex != futex && clock_mono() - begin < 10 * NSEC_PER_SEC);
	cr_expect_eq(f.futex, futex);
	return f;
}

static void states(bool iterator)
{
	static const enum sched_state expected[] = {SCHED_SLEEPING, SCHED_ON_CPU, SCHED_SLEEPING,
						    SCHED_BLOCKED};
	struct crew *c;

	passes_start(iterator);
	c = crew_start(jobs, ARRAY_SIZE(jobs), 0);
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		struct crew_hand *h = &c->hands[i];
		struct sched_facts f = at_its_job(c, h, expected[i]);

		cr_expect_eq(f.pid, c->pid);
		cr_expect_eq(f.ns_tid, h->tid);
		cr_expect_eq(f.live, iterator);
		cr_expect_gt(f.start, 0);
		cr_expect_lt(f.start, clock_boot());
		/* who runs has none before its first tick */
		cr_expect(f.cpu_ns > 0 || f.state == SCHED_ON_CPU);
		cr_expect_eq(f.thread_ptr, iterator ? h->thread_ptr : 0);
	}
	kill(c->pid, SIGSTOP);
	passes_until(c->pid, c->hands[1].tid, SCHED_STOPPED);
	crew_end(c);
	passes_stop();
}

Test(bpf_tasks, states)
{
	states(true);
}

Test(bpf_tasks, states_from_proc)
{
	states(false);
}

/* A thread that wakes for a microsecond between two passes, and is asleep at both. */
static void ran_between(bool iterator, int tries)
{
	static const enum crew_job echo[] = {CREW_ECHO, CREW_SLEEP};
	struct sched_facts a, b;
	struct crew *c;
	int asleep = 0;
	char x = 0;

	passes_start(iterator);
	c = crew_start(echo, ARRAY_SIZE(echo), 0);
	for (int i = 0; i < tries; i++) {
		a = passes_facts(c->pid, c->pid);
		cr_assert_eq(write(c->ask[1], &x, 1), 1);
		cr_assert_eq(read(c->answer[0], &x, 1), 1);
		b = passes_facts(c->pid, c->pid);
		asleep += a.state == SCHED_SLEEPING && b.state == SCHED_SLEEPING;
		cr_assert_not(sched_stood_still(&a, &b), "try %d: it ran", i);
	}
	cr_log_info("asleep at both passes: %d of %d", asleep, tries);
	for (int i = 0; i < tries; i++) {
		a = passes_until(c->pid, c->pid, SCHED_SLEEPING);
		cr_assert_eq(write(c->ask[1], &x, 1), 1);
		cr_assert_eq(read(c->answer[0], &x, 1), 1);
		b = passes_until(c->pid, c->pid, SCHED_SLEEPING);
		cr_assert_not(sched_stood_still(&a, &b), "try %d: it ran, then slept", i);
		a = passes_facts(c->pid, c->hands[1].tid);
		b = passes_facts(c->pid, c->hands[1].tid);
		cr_assert(i < 10 || sched_stood_still(&a, &b), "try %d: this one slept on", i);
	}
	crew_end(c);
	passes_stop();
}

Test(bpf_tasks, one_that_ran_did_not_stand_still)
{
	ran_between(true, 10000);
}

Test(bpf_tasks, one_that_ran_did_not_stand_still_from_proc)
{
	ran_between(false, 2000);
}

/* A thread that nobody wakes but itself: two passes at any moment of its life. */
static void never_still(bool iterator, int tries)
{
	static const enum crew_job spin[] = {CREW_SLEEP, CREW_CHURN};
	struct crew *c;
	int still = 0;

	passes_start(iterator);
	c = crew_start(spin, ARRAY_SIZE(spin), 0);
	for (int i = 0; i < tries; i++) {
		uint64_t turns;
		struct sched_facts b, a = passes_facts(c->pid, c->hands[1].tid);

		turns = c->hands[1].turns;
		while (c->hands[1].turns < turns + 2)
			;
		b = passes_facts(c->pid, c->hands[1].tid);
		still += sched_stood_still(&a, &b);
	}
	cr_assert_eq(still, 0);
	crew_end(c);
	passes_stop();
}

Test(bpf_tasks, busy_one_never_stands_still)
{
	never_still(true, 2000);
}

Test(bpf_tasks, busy_one_never_stands_still_from_proc)
{
	never_still(false, 500);
}

static void same_of_one_and_all(bool iterator)
{
	enum crew_job sleepers[17] = {CREW_SLEEP};
	struct tasks_view all, one;
	struct crew *c;
	int same = 0;

	passes_start(iterator);
	c = crew_start(sleepers, ARRAY_SIZE(sleepers), 0);
	passes_know(c->pid);
	for (size_t i = 0; i < ARRAY_SIZE(sleepers); i++)
		passes_until(c->pid, c->hands[i].tid, SCHED_SLEEPING);
	cr_assert_eq(tasks_pass(passes_tasks, 0, &all), 0);
	cr_assert_eq(tasks_pass(passes_tasks, (uint32_t)c->pid, &one), 0);
	cr_assert_eq(one.n, ARRAY_SIZE(sleepers));
	cr_assert_eq(all.n, ARRAY_SIZE(sleepers), "nobody else is known");
	cr_assert_leq(all.time, one.time);
	for (size_t i = 0; i < one.n; i++) {
		cr_expect(!i || one.v[i - 1].tid < one.v[i].tid, "sorted");
		same += sched_stood_still(&all.v[i], &one.v[i]);
	}
	cr_assert_eq(same, ARRAY_SIZE(sleepers));
	crew_end(c);
	passes_stop();
}

Test(bpf_tasks, narrowed_pass_is_the_same)
{
	same_of_one_and_all(true);
}

Test(bpf_tasks, narrowed_pass_is_the_same_from_proc)
{
	same_of_one_and_all(false);
}

static void churn(bool iterator, int passes)
{
	enum crew_job all[6] = {CREW_SLEEP, CREW_CHURN, CREW_CHURN,
				CREW_SLEEP, CREW_CHURN, CREW_SLEEP};
	struct crew *c;

	passes_start(iterator);
	c = crew_start(all, ARRAY_SIZE(all), 0);
	for (int i = 0; i < passes; i++) {
		struct tasks_view v;

		cr_assert_eq(tasks_pass(passes_tasks, (uint32_t)c->pid, &v), 0);
		for (size_t k = 0; k < ARRAY_SIZE(all); k++)
			cr_assert(passes_find(&v, c->hands[k].tid), "pass %d lost one", i);
	}
	crew_end(c);
	passes_stop();
}

/* Threads that end while they are visited do not hide those behind them. */
Test(bpf_tasks, none_is_lost_among_threads_that_come_and_go)
{
	churn(true, 5000);
}

Test(bpf_tasks, none_is_lost_among_threads_that_come_and_go_from_proc)
{
	churn(false, 200);
}

static void ending(bool iterator)
{
	struct tasks_view v;

	passes_start(iterator);
	for (int i = 0; i < 300; i++) {
		pid_t pid = fork();
		int err;

		cr_assert_geq(pid, 0);
		if (!pid)
			child_exit(0);
		do {
			err = tasks_pass(passes_tasks, (uint32_t)pid, &v);
			cr_assert(!err || err == -ESRCH, "%d", err);
			cr_assert(err || v.n == 1);
		} while (!err && !waitpid(pid, NULL, WNOHANG));
		waitpid(pid, NULL, 0);
		cr_assert_eq(tasks_pass(passes_tasks, (uint32_t)pid, &v), -ESRCH);
	}
	passes_stop();
}

Test(bpf_tasks, processes_that_end_meanwhile)
{
	ending(true);
}

Test(bpf_tasks, processes_that_end_meanwhile_from_proc)
{
	ending(false);
}

static void other_namespace(bool iterator)
{
	static const enum crew_job two[] = {CREW_SLEEP, CREW_SLEEP};
	struct tasks_view v;
	struct crew *c;

	passes_start(iterator);
	c = crew_start(two, ARRAY_SIZE(two), CLONE_NEWPID);
	cr_assert_eq(c->hands[0].tid, 1, "as it sees itself");
	cr_assert_eq(tasks_pass(passes_tasks, (uint32_t)c->pid, &v), 0);
	cr_assert_eq(v.n, 2);
	for (size_t i = 0; i < v.n; i++) {
		cr_expect_eq(v.v[i].pid, c->pid);
		cr_expect_eq(v.v[i].ns_tid, c->hands[i].tid);
	}
	cr_expect_eq(v.v[0].tid, c->pid);
	cr_expect_gt(v.v[1].tid, c->pid);
	crew_end(c);
	passes_stop();
}

Test(bpf_tasks, process_in_a_namespace_of_its_own)
{
	other_namespace(true);
}

Test(bpf_tasks, process_in_a_namespace_of_its_own_from_proc)
{
	other_namespace(false);
}
