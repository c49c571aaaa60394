/* What only BPF does: the map of targets, namespaces, whom scry displaced. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/child.h"
#include "tests/support/crew.h"
#include "tests/support/passes.h"

static bool is_unknown(pid_t pid)
{
	struct tasks_view v;
	size_t n = 0;

	cr_assert_eq(tasks_pass(passes_tasks, 0, &v), 0);
	for (size_t i = 0; i < v.n_unknown; i++)
		n += v.unknown[i] == (uint32_t)pid;
	cr_assert_leq(n, 1, "once a process");
	cr_assert(!n || !passes_find(&v, pid), "known or unknown");
	return n;
}

Test(bpf_tasks_iter, what_the_map_says_of_a_process)
{
	static const enum crew_job two[] = {CREW_SLEEP, CREW_SLEEP};
	struct tasks_view v;
	struct target t;
	struct crew *c;

	passes_start(true);
	c = crew_start(two, ARRAY_SIZE(two), 0);
	cr_expect(is_unknown(c->pid));
	passes_facts(c->pid, c->hands[1].tid); /* all the same when it is asked for */
	t = passes_entry(c->pid);
	t.state = TARGET_IGNORE;
	cr_assert_eq(bpf_target_set(passes_bpf, &t), 0);
	cr_expect_not(is_unknown(c->pid));
	t.recheck = 1; /* it has mapped code since */
	cr_assert_eq(bpf_target_set(passes_bpf, &t), 0);
	cr_expect(is_unknown(c->pid));
	t = passes_entry(c->pid);
	t.start_stack += 16;
	cr_assert_eq(bpf_target_set(passes_bpf, &t), 0);
	cr_expect(is_unknown(c->pid), "another image");
	cr_expect_eq(tasks_pass(passes_tasks, (uint32_t)c->pid, &v), -ESRCH, "another image");
	passes_know(c->pid);
	cr_expect_not(is_unknown(c->pid));
	passes_facts(c->pid, c->hands[1].tid);
	crew_end(c);
	passes_stop();
}

/* A forked child that nobody has added yet is known by its parent's entry. */
Test(bpf_tasks_iter, forked_child_is_known)
{
	static const enum crew_job two[] = {CREW_SLEEP, CREW_SLEEP};
	struct tasks_view v;
	struct crew *c;

	passes_start(true);
	passes_know(getpid());
	c = crew_start(two, ARRAY_SIZE(two), 0);
	cr_assert_eq(tasks_pass(passes_tasks, 0, &v), 0);
	cr_expect(passes_find(&v, c->hands[0].tid) && passes_find(&v, c->hands[1].tid));
	crew_end(c);
	passes_stop();
}

/* Runs as pid 1 of a new namespace; `link` gives the namespace's number, asked from outside. */
static void inside_namespace(int link)
{
	static const enum crew_job two[] = {CREW_SLEEP, CREW_SLEEP};
	struct ns_self ns = {0};
	struct tasks_view v;
	struct crew *c;

	cr_assert_eq(read(link, &ns.pid_inode, sizeof(ns.pid_inode)), 8);
	passes_start_in(&ns, true);
	cr_assert_eq(getpid(), 1);
	c = crew_start(two, ARRAY_SIZE(two), 0);
	cr_assert_eq(tasks_pass(passes_tasks, 0, &v), 0);
	cr_assert_eq(v.n, 0);
	cr_assert_eq(v.n_unknown, 2, "all that is in here: %zu", v.n_unknown);
	passes_facts(c->pid, c->hands[0].tid);
	cr_assert_eq(passes_facts(c->pid, c->hands[1].tid).ns_tid, c->hands[1].tid);
	crew_end(c);
	passes_stop();
}

/* In a process of its own: once its namespace's pid 1 is gone it can have no more children. */
static void around_namespace(void)
{
	pid_t pid = child_in_namespace(inside_namespace);
	int status;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
}

Test(bpf_tasks_iter, ids_are_those_of_our_namespace)
{
	int status;
	pid_t pid;

	if (geteuid())
		cr_skip_test("needs root");
	pid = fork();
	if (!pid) {
		around_namespace();
		child_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
}

/* In real time, so that nobody else comes in between. */
static void hurry(pid_t pid, int priority)
{
	const struct sched_param p = {.sched_priority = priority};

	if (sched_setscheduler(pid, SCHED_FIFO, &p))
		cr_skip_test("needs SCHED_FIFO");
}

/* The one that we have just taken the CPU from waits, and would run without us. */
Test(bpf_tasks_iter, one_that_we_displaced_is_on_cpu)
{
	static const enum crew_job spin[] = {CREW_SPIN};
	struct timespec nap = {.tv_nsec = NSEC_PER_MSEC};
	struct crew *c;
	cpu_set_t cpu;
	int on_cpu = 0;

	passes_start(true);
	c = crew_start(spin, ARRAY_SIZE(spin), 0);
	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	cr_assert_eq(sched_setaffinity(c->pid, sizeof(cpu), &cpu), 0);
	cr_assert_eq(sched_setaffinity(0, sizeof(cpu), &cpu), 0);
	hurry(0, 2);
	hurry(c->pid, 1);
	for (int i = 0; i < 200; i++) {
		enum sched_state state;

		nanosleep(&nap, NULL);
		state = passes_facts(c->pid, c->pid).state;
		cr_assert(state == SCHED_ON_CPU || state == SCHED_RUNNABLE);
		on_cpu += state == SCHED_ON_CPU;
	}
	cr_log_info("displaced: %d of 200", on_cpu);
	cr_assert_gt(on_cpu, 150, "%d", on_cpu);
	crew_end(c);
	passes_stop();
}

/* Its maps are counted; its time is our own, and not told a second time. */
Test(bpf_tasks_iter, cost_is_counted)
{
	static const enum crew_job one[] = {CREW_SLEEP};
	struct bpf_usage before, after;
	struct tasks_stats s;
	struct tasks_view v;
	struct crew *c;

	passes_start(true);
	c = crew_start(one, ARRAY_SIZE(one), 0);
	passes_know(c->pid);
	cr_assert_eq(bpf_usage(passes_bpf, &before), 0);
	for (int i = 0; i < 100; i++)
		cr_assert_eq(tasks_pass(passes_tasks, 0, &v), 0);
	cr_assert_eq(bpf_usage(passes_bpf, &after), 0);
	cr_assert_eq(after.map_bytes, before.map_bytes);
	tasks_get_stats(passes_tasks, &s);
	cr_assert_eq(s.passes, 100);
	cr_assert_eq(s.tasks, 100);
	crew_end(c);
	passes_stop();
}
