/* What passes over /proc have to guess. */
#include <criterion/criterion.h>
#include <sched.h>
#include <time.h>

#include "base/clock.h"
#include "tests/support/crew.h"
#include "tests/support/passes.h"

/*
 * /proc does not tell who runs from who is ready to: what is told must add up to what ran, as far
 * as looks at it can tell. A busy machine makes them rare: each then speaks for a long time.
 */
Test(bpf_tasks_proc, time_on_cpu_from_proc_adds_up)
{
	static const enum crew_job two[] = {CREW_SPIN, CREW_SPIN};
	struct timespec nap = {.tv_nsec = 5 * NSEC_PER_MSEC};
	uint64_t told[2] = {0}, first[2], last[2] = {0}, before;
	double squares = 0; /* of the times between looks, in ns */
	struct tasks_view v;
	struct crew *c;
	cpu_set_t cpu;

	passes_start(false);
	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	c = crew_start(two, ARRAY_SIZE(two), 0);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(sched_setaffinity(c->hands[i].tid, sizeof(cpu), &cpu), 0);
	cr_assert_eq(tasks_pass(passes_tasks, (uint32_t)c->pid, &v), 0);
	before = v.time;
	for (int i = 0; i < 2; i++)
		first[i] = passes_find(&v, c->hands[i].tid)->cpu_ns;
	for (int k = 0; k < 200; k++) {
		nanosleep(&nap, NULL);
		cr_assert_eq(tasks_pass(passes_tasks, (uint32_t)c->pid, &v), 0);
		for (int i = 0; i < 2; i++) {
			const struct sched_facts *f = passes_find(&v, c->hands[i].tid);

			if (f->state == SCHED_ON_CPU)
				told[i] += v.time - before;
			last[i] = f->cpu_ns;
		}
		squares += (double)(v.time - before) * (double)(v.time - before);
		before = v.time;
	}
	for (int i = 0; i < 2; i++) {
		double ran = (double)(last[i] - first[i]), off = (double)told[i] - ran;

		cr_log_info("ran %.0f ms, told %.0f ms", ran / 1e6, (double)told[i] / 1e6);
		if (off * off <
		    36 * squares / 4) /* 6 sigma of looks that are right half of the time */
			continue;
		cr_expect_lt(off, 0.05 * ran + 50e6, "told %.0f ns too much", off);
		cr_expect_gt(off, -0.05 * ran - 120e6, "told %.0f ns too little", -off);
	}
	crew_end(c);
	passes_stop();
}
