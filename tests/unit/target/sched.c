/* Tests of target/sched.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "target/sched.h"
#include "target/task.h"
#include "tests/support/child.h"

static const struct sched_facts asleep = {
	.pid = 10,
	.tid = 11,
	.state = SCHED_SLEEPING,
	.live = true,
	.start = 1000,
	.runs = 7,
	.cpu_ns = 500,
};

Test(sched, stood_still)
{
	struct sched_facts a = asleep, b = asleep;

	cr_assert(sched_stood_still(&a, &b));
	b.state = SCHED_BLOCKED; /* woken and asleep again would be another run */
	b.futex = 8;
	cr_assert(sched_stood_still(&a, &b));
	a.state = b.state = SCHED_RUNNABLE;
	cr_assert(sched_stood_still(&a, &b));
	a.live = b.live = false;
	cr_assert_not(sched_stood_still(&a, &b), "from /proc: ready to run, or running");
}

#define MOVED(field, value)                                                                        \
	do {                                                                                       \
		struct sched_facts a_ = asleep, b_ = asleep;                                       \
		b_.field = (value);                                                                \
		cr_expect_not(sched_stood_still(&a_, &b_), #field);                                \
		cr_expect_not(sched_stood_still(&b_, &a_), #field);                                \
	} while (0)

Test(sched, moved)
{
	MOVED(pid, 12);
	MOVED(tid, 12);
	MOVED(start, 1001);
	MOVED(runs, 8);
	MOVED(cpu_ns, 501);
	MOVED(state, SCHED_ON_CPU);
	MOVED(live, false);
}

Test(sched, kernel_state)
{
	cr_expect_eq(sched_kernel_state(0), SCHED_RUNNABLE);
	cr_expect_eq(sched_kernel_state(0x200), SCHED_RUNNABLE, "being woken");
	cr_expect_eq(sched_kernel_state(0x1), SCHED_SLEEPING);
	cr_expect_eq(sched_kernel_state(0x2001), SCHED_SLEEPING, "freezable");
	cr_expect_eq(sched_kernel_state(0x2), SCHED_BLOCKED);
	cr_expect_eq(sched_kernel_state(0x102), SCHED_BLOCKED, "killable");
	cr_expect_eq(sched_kernel_state(0x8000), SCHED_BLOCKED, "frozen");
	cr_expect_eq(sched_kernel_state(0x104), SCHED_STOPPED);
	cr_expect_eq(sched_kernel_state(0x108), SCHED_STOPPED, "traced");
	cr_expect_eq(sched_kernel_state(0x20), SCHED_DEAD, "zombie");
	cr_expect_eq(sched_kernel_state(0x80), SCHED_DEAD);
	cr_expect_eq(sched_kernel_state(0x90), SCHED_DEAD);
}

Test(sched, syscall_text)
{
	uint64_t futex = 1;
	bool off = true;
	char text[128];

	cr_assert_eq(sched_parse_syscall("running\n", &off, &futex), 0);
	cr_expect_not(off);
	cr_expect_eq(futex, 0);
	snprintf(text, sizeof(text), "%d 0x7f00dead 0x80 0x0 0x0 0x0 0x0 0x7ffc 0x7f3e\n",
		 SYS_futex);
	cr_assert_eq(sched_parse_syscall(text, &off, &futex), 0);
	cr_expect(off);
	cr_expect_eq(futex, 0x7f00dead);
	cr_assert_eq(sched_parse_syscall("0 0x3 0x0 0x0 0x0 0x0 0x0 0x7ffc 0x7f3e\n", &off, &futex),
		     0);
	cr_expect(off);
	cr_expect_eq(futex, 0);
	cr_assert_eq(sched_parse_syscall("-1 0x7ffc 0x7f3e\n", &off, &futex), 0);
	cr_expect(off);
	cr_expect_eq(futex, 0);
}

Test(sched, syscall_text_hostile)
{
	static const char *const texts[] = {"",	    "-",     "x",      "202",
					    "202 ", "202 7", "202 0x", "202 0xg"};
	uint64_t futex = 1;
	bool off = true;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		cr_expect_lt(sched_parse_syscall(texts[i], &off, &futex), 0, "'%s'", texts[i]);
	cr_expect(off, "untouched");
	cr_expect_eq(futex, 1);
}

static uint64_t nothing(void *arg)
{
	(void)arg;
	return 1;
}

static struct sched_facts until(pid_t pid, enum sched_state state)
{
	uint64_t start = clock_mono();
	struct sched_facts f = {0};

	do {
		int err = sched_read(pid, pid, &f);

		if (err == -EPERM || err == -EACCES)
			cr_skip_test("needs CAP_SYS_PTRACE");
		cr_assert_eq(err, 0);
	} while (f.state != state && clock_mono() - start < 10 * NSEC_PER_SEC);
	cr_assert_eq(f.state, state);
	return f;
}

Test(sched, read_of_a_process)
{
	uint64_t answer, start = clock_mono();
	struct sched_facts f, g;
	struct task_stat st;
	pid_t pid = child_start(nothing, NULL, &answer);

	f = until(pid, SCHED_SLEEPING);
	cr_expect_eq(f.pid, pid);
	cr_expect_eq(f.tid, pid);
	cr_expect_not(f.live);
	cr_expect_eq(f.thread_ptr, 0);
	cr_expect_gt(f.runs, 0);
	cr_expect_gt(f.cpu_ns, 0);
	cr_assert_eq(task_stat(pid, 0, &st), 0);
	cr_expect_eq(f.start, st.start_ticks * (NSEC_PER_SEC / sysconf(_SC_CLK_TCK)));
	do { /* it may have slept elsewhere on its way to pause() */
		f = until(pid, SCHED_SLEEPING);
		g = until(pid, SCHED_SLEEPING);
	} while (!sched_stood_still(&f, &g) && clock_mono() - start < 10 * NSEC_PER_SEC);
	cr_expect(sched_stood_still(&f, &g));
	kill(pid, SIGSTOP);
	until(pid, SCHED_STOPPED); /* its run count was read first: maybe before it ran */
	g = until(pid, SCHED_STOPPED);
	cr_expect_not(sched_stood_still(&f, &g), "it ran to take the signal");
	child_end(pid);
	cr_expect_eq(sched_read(pid, pid, &f), -ESRCH);
}
