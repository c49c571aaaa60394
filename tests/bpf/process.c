/* Which process was interrupted, and what is told of processes that come and go. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/capture.h"
#include "tests/support/child.h"

static struct capture c;

static void described(const struct bpf_options *o)
{
	struct event_unknown *u = &c.unknown;
	uint64_t since = clock_mono();
	struct stat st;

	capture_init(&c, o);
	cr_assert_eq(u->task.pid, c.target.pid);
	cr_assert_eq(u->task.tid, c.target.pid);
	cr_assert_eq(u->task.ppid, getpid());
	cr_assert_eq(u->task.ns_tid, c.target.pid);
	cr_assert_eq(u->task.thread_ptr, (uint64_t)pthread_self());
	cr_assert_str_eq(u->task.comm, "faketarget");
	cr_assert_eq(u->task.weight, 1000000, "a nanosecond clock at 1 kHz");
	cr_assert_gt(u->task.time, since);
	cr_assert_lt(u->task.start_boottime, clock_boot());
	cr_assert_eq(u->task.thread_start, u->task.start_boottime);
	cr_assert_gt(u->task.exec_vm, 0);
	cr_assert_neq(u->task.cgroup, 0);
	cr_assert_eq(stat("/proc/self/exe", &st), 0);
	cr_assert_eq(u->exe_inode, st.st_ino);
	cr_assert_eq(u->exe_size, st.st_size);
	cr_assert_eq(u->exe_ctime, st.st_ctim.tv_sec * NSEC_PER_SEC + st.st_ctim.tv_nsec);
	capture_release(&c);
}

Test(bpf_process, unknown_one_is_described)
{
	described(NULL);
}

/* As on a kernel that has no typed pointers for programs. */
Test(bpf_process, unknown_one_is_described_the_old_way)
{
	struct bpf_options o = {.untyped = true};

	described(&o);
}

/* A busy process that nobody looks at: about one notice per CPU and second. */
Test(bpf_process, unknown_one_is_told_once_a_second)
{
	uint64_t start, before, after, seconds;

	capture_init(&c, NULL);
	cr_assert_eq(bpf_target_del(c.bpf, c.target.pid), 0);
	cr_assert(capture_next(&c, CAPTURE_UNKNOWN, c.target.pid));
	start = clock_mono();
	before = c.unknowns;
	while (clock_mono() - start < NSEC_PER_SEC)
		cr_assert_geq(ring_poll(c.ring, 100), 0);
	after = c.unknowns;
	seconds = (clock_mono() - start) / NSEC_PER_SEC; /* a busy machine may have taken more */
	cr_assert_leq(after - before, (1 + seconds) * perf_cpus(c.perf));
	capture_release(&c);
}

Test(bpf_process, ignored_one_is_left_alone_until_it_maps_code)
{
	uint64_t n[EVENT_CTR_MAX], before;

	capture_init(&c, NULL);
	c.entry.state = TARGET_IGNORE;
	c.entry.recheck = 1;
	cr_assert_eq(bpf_target_set(c.bpf, &c.entry), 0);
	cr_assert_eq(bpf_counters(c.bpf, n), 0);
	before = n[EVENT_CTR_OTHER];
	c.pid = c.target.pid;
	c.since = clock_mono();
	c.unknowns = c.samples = 0;
	do {
		cr_assert_geq(ring_poll(c.ring, 10), 0);
		cr_assert_eq(bpf_counters(c.bpf, n), 0);
	} while (n[EVENT_CTR_OTHER] < before + 1200);
	cr_assert_eq(c.unknowns, 0);
	cr_assert_eq(c.samples, 0);
	faketarget_do(&c.target, FAKE_MAP, NULL, 0);
	cr_assert(capture_next(&c, CAPTURE_UNKNOWN, c.target.pid));
	cr_assert_eq(c.unknown.task.exec_vm, c.task.exec_vm + 16);
	capture_release(&c);
}

/* An element of a preallocated map may hold another process by the time it is copied. */
Test(bpf_process, entry_of_another_image_does_not_count)
{
	capture_init(&c, NULL);
	cr_assert(capture_next(&c, CAPTURE_SAMPLE, c.target.pid));
	c.entry.start_stack += 16;
	cr_assert_eq(bpf_target_set(c.bpf, &c.entry), 0);
	cr_assert(capture_next(&c, CAPTURE_UNKNOWN, c.target.pid));
	cr_assert_eq(c.samples, 0);
	capture_release(&c);
}

Test(bpf_process, forked_child_is_sampled_at_once)
{
	capture_init(&c, NULL);
	cr_assert(capture_next(&c, CAPTURE_SAMPLE, c.target.pid));
	cr_assert_eq(c.sample.flags & EVENT_INHERITED, 0);
	faketarget_do(&c.target, FAKE_FORK, NULL, 0);
	cr_assert(capture_next(&c, CAPTURE_SAMPLE, c.target.w->forked));
	cr_assert(c.sample.flags & EVENT_INHERITED);
	cr_assert_eq(c.unknowns, 0);
	cr_assert_eq(c.sample.task.ppid, c.target.pid);
	cr_assert_eq(c.sample.task.start_code, c.task.start_code);
	cr_assert_eq(c.sample.tstate, (uint64_t)&c.target.w->tstate[0]);
	capture_release(&c);
}

Test(bpf_process, exec_is_told_and_ends_sampling)
{
	capture_init(&c, NULL);
	cr_assert(capture_next(&c, CAPTURE_SAMPLE, c.target.pid));
	capture_begin(&c, c.target.pid);
	faketarget_do(&c.target, FAKE_EXEC, NULL,
		      0); /* a busy machine may let it come to that later */
	cr_assert(capture_wait(&c, CAPTURE_EXEC));
	cr_assert(capture_next(&c, CAPTURE_UNKNOWN, c.target.pid));
	cr_assert_eq(c.samples, 0, "the new image is not the one in the map");
	cr_assert_str_eq(c.unknown.task.comm, "sh");
	cr_assert_neq(c.unknown.task.start_stack, c.task.start_stack);
	capture_release(&c);
}

/* The record may come while faketarget_do() waits: what counts is since before the command. */
static void end_and_wait(enum fake_command command, const uint32_t *counter)
{
	uint64_t start = clock_mono();

	c.pid = c.target.pid;
	c.since = start;
	c.execs = c.exits = 0;
	faketarget_do(&c.target, command, NULL, 0);
	while (!*counter && clock_mono() - start < 10 * NSEC_PER_SEC)
		cr_assert_geq(ring_poll(c.ring, 10), 0);
	cr_assert_eq(*counter, 1);
	cr_assert_eq(c.life.start_boottime, c.task.start_boottime);
}

Test(bpf_process, exec_and_exit_of_a_known_one_are_told)
{
	capture_init(&c, NULL);
	end_and_wait(FAKE_EXEC, &c.execs);
	capture_release(&c);
	capture_init(&c, NULL);
	end_and_wait(FAKE_END, &c.exits);
	capture_release(&c);
}

/* Runs as pid 1 of a new namespace; `link` gives the namespace's number, asked from outside. */
static void inside_namespace(int link)
{
	struct bpf_options o = {0};
	uint64_t n[EVENT_CTR_MAX];

	cr_assert_eq(read(link, &o.ns.pid_inode, sizeof(o.ns.pid_inode)), 8);
	capture_init(&c, &o);
	cr_assert_eq(getpid(), 1);
	cr_assert_eq(c.unknown.task.pid, c.target.pid);
	cr_assert_eq(c.unknown.task.tid, c.target.pid);
	cr_assert_eq(c.unknown.task.ppid, 1);
	cr_assert_eq(c.unknown.task.ns_tid, c.target.pid);
	cr_assert(capture_next(&c, CAPTURE_SAMPLE, c.target.pid));
	cr_assert_eq(c.sample.tstate, (uint64_t)&c.target.w->tstate[0]);
	do /* somebody outside runs too: our own parent */
		cr_assert_eq(bpf_counters(c.bpf, n), 0);
	while (!n[EVENT_CTR_OUTSIDE]);
	cr_assert_leq(n[EVENT_CTR_OUTSIDE], n[EVENT_CTR_OTHER]);
	capture_release(&c);
}

/* Spins until the child has ended, so that there is something outside to sample. */
static void spin_for(pid_t pid)
{
	int status;

	while (!waitpid(pid, &status, WNOHANG))
		;
	cr_assert(WIFEXITED(status), "status %x", status);
	cr_assert_eq(WEXITSTATUS(status), 0);
}

/* In a process of its own: once its namespace's pid 1 is gone it can have no more children. */
static void around_namespace(void)
{
	spin_for(child_in_namespace(inside_namespace));
}

Test(bpf_process, ids_are_those_of_our_namespace)
{
	pid_t pid;

	if (geteuid())
		cr_skip_test("needs root");
	pid = fork();
	if (!pid) {
		around_namespace();
		child_exit(0);
	}
	spin_for(pid);
}

/* What finds no room is counted, and nothing of it is taken for a sample. */
Test(bpf_process, full_ring_is_counted)
{
	struct bpf_options o = {.ring_bytes = 65536};
	uint64_t n[EVENT_CTR_MAX];
	struct assemble_stats s;

	capture_init(&c, &o);
	for (int i = 0; i < 3; i++) {
		faketarget_chunk(&c.target, FAKE_CHUNK);
		for (int k = 0; k < 180; k++)
			faketarget_push(&c.target, true);
	}
	faketarget_do(&c.target, FAKE_TOUCH, NULL, 0);
	do
		cr_assert_eq(bpf_counters(c.bpf, n), 0);
	while (n[EVENT_CTR_LOST] < 10);
	cr_assert_leq(n[EVENT_CTR_LOST], n[EVENT_CTR_SAMPLES]);
	cr_assert(capture_next(&c, CAPTURE_SAMPLE, c.target.pid));
	cr_assert_eq(capture_count(&c, EVENT_CHUNK), 3);
	assemble_stats(c.assemble, &s);
	cr_assert_eq(s.bad, 0);
	cr_assert_leq(s.incomplete, n[EVENT_CTR_LOST]);
	capture_release(&c);
}

Test(bpf_process, ticks_add_up)
{
	uint64_t n[EVENT_CTR_MAX];

	capture_init(&c, NULL);
	cr_assert(capture_next(&c, CAPTURE_SAMPLE, c.target.pid));
	cr_assert_eq(perf_disable(c.perf), 0);
	cr_assert_eq(bpf_counters(c.bpf, n), 0);
	cr_assert_eq(n[EVENT_CTR_TICKS],
		     n[EVENT_CTR_IDLE] + n[EVENT_CTR_OTHER] + n[EVENT_CTR_SAMPLES]);
	cr_assert_gt(n[EVENT_CTR_SAMPLES], 0);
	cr_assert_gt(n[EVENT_CTR_OTHER], 0);
	cr_assert_eq(n[EVENT_CTR_OTHER_WEIGHT], n[EVENT_CTR_OTHER] * 1000000);
	cr_assert_leq(n[EVENT_CTR_TICKS], perf_asked(c.perf) + perf_cpus(c.perf));
	capture_release(&c);
}
