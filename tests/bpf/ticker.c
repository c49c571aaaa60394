/* Ticks that the kernel makes: told when something has changed, counted when not, ended with us. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/bpf.h>

#include "base/clock.h"
#include "collect/ring.h"
#include "collect/ticker.h"
#include "tests/support/child.h"
#include "tests/support/crew.h"
#include "tests/support/passes.h"

#define PERIOD (2 * NSEC_PER_MSEC)
#define PROMPT (3 * PERIOD)
#define WAIT (10 * NSEC_PER_SEC)

static struct ticker *ticker;

/* What was told last, and of all together. */
static struct {
	uint32_t pid;
	struct sched_facts facts[CREW_MAX];
	size_t n, times;
	uint64_t ticks, time, before;
	uint64_t backwards; /* ticks in the wrong order */
	uint64_t missed;    /* when we were told */
	uint64_t late;	    /* ns that passed until then */
} told;

static int on_tick(void *arg, const struct ticker_tick *tick)
{
	(void)arg;
	told.pid = tick->pid;
	told.n = MIN(tick->n, (size_t)CREW_MAX);
	memcpy(told.facts, tick->v, told.n * sizeof(*tick->v));
	told.backwards += tick->time <= told.time || tick->before > tick->time;
	told.times++;
	told.ticks += tick->unchanged + 1;
	told.time = tick->time;
	told.before = tick->before;
	told.missed = ticker_missed(ticker);
	told.late = clock_mono() - tick->time;
	return 0;
}

static void start(void)
{
	int err;

	passes_start(true);
	err = tasks_ticker(passes_tasks, PERIOD, on_tick, NULL, &ticker);
	if (err) {
		passes_stop();
		cr_skip_test("this kernel, or being in a pid namespace: %s", strerror(-err));
	}
}

static void stop(void)
{
	ticker_free(ticker);
	passes_stop();
}

/* Until it has called so many times in all. */
static void wait_told(size_t times)
{
	uint64_t until = clock_mono() + WAIT;

	while (told.times < times) {
		cr_assert_lt(clock_mono(), until, "told %zu times of %zu", told.times, times);
		ring_wait(NULL, ticker_ring(ticker), NSEC_PER_SEC);
		cr_assert_eq(ticker_take(ticker), 0);
	}
}

/*
 * Until a tick is told at once that was not late, the so many-th or a later one: what the kernel
 * has missed by now, it missed before that tick. Of one that was late it says so just after.
 */
static void wait_prompt(size_t times)
{
	uint64_t until = clock_mono() + WAIT;

	do {
		wait_told(times);
		cr_assert_lt(clock_mono(), until, "each tick of %zu was late", told.times);
		while (clock_mono() < told.time + PROMPT)
			;
		times = told.times + 1;
	} while (told.late > PROMPT || told.missed != ticker_missed(ticker));
}

/* Each stands still by now: what is told of it is what it was. */
static void settle(const struct crew *c, size_t n)
{
	struct sched_facts before, after;

	for (size_t i = 0; i < n; i++) {
		after = passes_until(c->pid, c->hands[i].tid, SCHED_SLEEPING);
		do {
			before = after;
			after = passes_until(c->pid, c->hands[i].tid, SCHED_SLEEPING);
		} while (!sched_stood_still(&before, &after));
	}
}

Test(bpf_ticker, who_stands_still_is_counted)
{
	static const enum crew_job jobs[] = {CREW_SLEEP, CREW_FUTEX, CREW_SLEEP};
	uint64_t begin, ticks, missed;
	struct crew *c;
	size_t times;
	uint32_t pid;

	start();
	c = crew_start(jobs, ARRAY_SIZE(jobs), 0);
	settle(c, ARRAY_SIZE(jobs));
	pid = (uint32_t)c->pid;
	cr_assert_eq(ticker_watch(ticker, &pid, 1), 0);
	wait_prompt(1);
	times = told.times;
	begin = told.time;
	ticks = told.ticks;
	missed = told.missed;
	wait_prompt(times + 5);
	cr_expect_eq(told.pid, pid);
	cr_expect_eq(told.n, ARRAY_SIZE(jobs));
	cr_expect_eq(told.backwards, 0);
	for (size_t i = 0; i < told.n; i++) {
		struct sched_facts f = passes_facts(c->pid, (pid_t)told.facts[i].tid);

		cr_expect(sched_stood_still(&told.facts[i], &f));
		cr_expect_eq(told.facts[i].futex, f.futex);
		cr_expect_eq(told.facts[i].thread_ptr, f.thread_ptr);
	}
	cr_expect_geq(told.time - begin, (told.times - times) * 90 * NSEC_PER_MSEC,
		      "told though nothing changed");
	/* one in each period, but for those that it says it missed */
	ticks = told.ticks - ticks + told.missed - missed;
	cr_expect_leq(ticks, (told.time - begin) / PERIOD + 2);
	cr_expect_geq(ticks, (told.time - begin) / PERIOD - 2);
	crew_end(c);
	stop();
}

Test(bpf_ticker, who_has_run_is_told_of)
{
	static const enum crew_job jobs[] = {CREW_ECHO, CREW_SLEEP};
	struct sched_facts before, after;
	struct crew *c;
	uint32_t pid;
	char x = 0;

	start();
	c = crew_start(jobs, ARRAY_SIZE(jobs), 0);
	before = passes_until(c->pid, c->pid, SCHED_SLEEPING);
	pid = (uint32_t)c->pid;
	cr_assert_eq(ticker_watch(ticker, &pid, 1), 0);
	for (int i = 0; i < 20; i++) {
		cr_assert_eq(write(c->ask[1], &x, 1), 1);
		cr_assert_eq(read(c->answer[0], &x, 1), 1);
		after = passes_until(c->pid, c->pid, SCHED_SLEEPING);
		cr_assert_not(sched_stood_still(&before, &after));
		do
			wait_told(told.times + 1);
		while (told.facts[0].runs < after.runs);
		cr_expect(sched_stood_still(&told.facts[0], &after));
		before = after;
	}
	/* and of nobody when it is not to be watched any more */
	cr_assert_eq(ticker_watch(ticker, NULL, 0), 0);
	crew_end(c);
	stop();
}

Test(bpf_ticker, who_runs_on_is_counted)
{
	static const enum crew_job jobs[] = {CREW_SPIN, CREW_SLEEP};
	size_t running = 0;
	struct crew *c;
	uint32_t pid;

	start();
	c = crew_start(jobs, ARRAY_SIZE(jobs), 0);
	pid = (uint32_t)c->pid;
	cr_assert_eq(ticker_watch(ticker, &pid, 1), 0);
	while (running < 5) {
		wait_told(told.times + 1);
		for (size_t i = 0; i < told.n; i++)
			running += told.facts[i].tid == pid && told.facts[i].state == SCHED_ON_CPU;
	}
	crew_end(c);
	stop();
}

Test(bpf_ticker, too_many_are_refused)
{
	uint32_t pids[TASK_WATCH_MAX + 1], pid;
	uint32_t wanted = TASK_TICK_MAX;
	uint64_t made, until;
	pid_t child;

	start();
	for (uint32_t i = 0; i < ARRAY_SIZE(pids); i++)
		pids[i] = (uint32_t)getpid() + i;
	cr_expect_eq(ticker_watch(ticker, pids, ARRAY_SIZE(pids)), -E2BIG);
	child = child_start(child_threads, &wanted, &made);
	if (made < wanted) {
		child_end(child);
		cr_skip_test("no more than %u threads can be had", (unsigned int)made);
	}
	pid = (uint32_t)child;
	until = clock_mono() + WAIT;
	while (ticker_watch(ticker, &pid, 1) != -E2BIG)
		cr_assert_lt(clock_mono(), until, "it goes on with too many threads");
	cr_expect_eq(told.times, 0);
	child_end(child);
	stop();
}

/* Starts to tick, and tells the program's id. */
static uint64_t ticking(void *arg)
{
	uint32_t pid = (uint32_t)getppid();
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);
	struct bpf_tasks_run run;

	(void)arg;
	start();
	cr_assert_eq(ticker_watch(ticker, &pid, 1), 0);
	wait_told(2);
	cr_assert_eq(bpf_tasks_run(passes_bpf, &run), 0);
	cr_assert_eq(bpf_obj_get_info_by_fd(run.prog_fd, &info, &len), 0);
	return info.id;
}

/* Killed, it has no chance to stop its timer. */
Test(bpf_ticker, ends_with_its_process)
{
	uint64_t id, until = clock_mono() + WAIT;
	pid_t child;
	int fd;

	start(); /* or skip */
	stop();
	child = child_start(ticking, NULL, &id);
	fd = bpf_prog_get_fd_by_id((uint32_t)id);
	cr_assert_geq(fd, 0, "it ticks");
	close(fd);
	child_end(child);
	while ((fd = bpf_prog_get_fd_by_id((uint32_t)id)) >= 0) {
		close(fd);
		cr_assert_lt(clock_mono(), until, "its program is still there");
	}
	cr_expect_eq(fd, -ENOENT);
}
