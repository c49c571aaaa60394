/* The table of processes, with the kernel's maps behind it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/targets_impl.h"
#include "python/threads.h"
#include "remote/procmem.h"
#include "tests/support/capture.h"
#include "tests/support/child.h"

/* A sink that counts, and keeps the last process. */
struct told {
	struct sink sink;
	unsigned int processes;
	struct process_info process;
};

static int on_process(struct sink *s, const struct names *n, const struct process_info *p)
{
	struct told *told = container_of(s, struct told, sink);

	(void)n;
	told->processes++;
	told->process = *p;
	return 0;
}

static int on_thread(struct sink *s, const struct names *n, const struct thread_info *t)
{
	(void)s;
	(void)n;
	(void)t;
	return 0;
}

static const struct sink_ops ops = {.process = on_process, .thread = on_thread};

static struct told told;
static struct guard *guard;
static struct names *names;
static struct targets *targets;
static const struct session_options everything;

static void targets_start(struct bpf *bpf)
{
	told = (struct told){.sink.ops = &ops};
	names = names_new();
	cr_assert_eq(guard_new(GUARD_LIMIT_NS, &guard), 0);
	cr_assert_eq(targets_new(&everything, bpf, guard, names, &told.sink, &targets), 0);
}

static void targets_stop(void)
{
	targets_free(targets);
	names_free(names);
	guard_free(guard);
}

static struct bpf *load(void)
{
	struct bpf_options o = {0};
	struct bpf *bpf = NULL;
	struct buf err;

	if (geteuid())
		cr_skip_test("needs root");
	buf_init(&err);
	cr_assert_eq(bpf_load(&bpf, &o, &err), 0, "%s", err.data);
	return bpf;
}

/* What the kernel side would say of it. */
static struct event_unknown unknown_of(pid_t pid)
{
	struct event_unknown u = {.task = {.pid = pid, .tid = pid, .ppid = getpid()}};
	struct task_stat st;

	cr_assert_eq(task_stat(pid, 0, &st), 0);
	u.task.start_code = st.image.start_code;
	u.task.start_stack = st.image.start_stack;
	u.task.start_boottime = st.start_ticks * (NSEC_PER_SEC / 100);
	u.task.exec_vm = 1000;
	return u;
}

static uint64_t main_thread_pointer(pid_t pid)
{
	struct discover *d = discover_new();
	struct discover_found found;
	struct thread_state v;
	struct mem *m;
	size_t n = 0;

	cr_assert_eq(procmem_new(pid, &m), 0);
	cr_assert_eq(discover_process(d, pid, m, &found), DISCOVER_OK);
	cr_assert_eq(threads_list(m, &found, &v, 1, &n, NULL), 0);
	cr_assert_eq(n, 1);
	mem_free(m);
	discover_free(d);
	return v.thread_id;
}

/* A sample of its main thread: a process is told to the sink with its first. */
static void sample_of(const struct event_unknown *u)
{
	const struct event_sample s = {.task = u->task};
	struct process *p = targets_find(targets, u->task.pid);

	cr_assert_not_null(p);
	cr_assert_not_null(targets_thread(targets, p, &s));
}

/* Each CPU that saw it before user space looked has sent a notice: the later ones are old news. */
Test(bpf_targets, second_notice_of_an_image_adds_no_second_process)
{
	struct bpf *bpf = load();
	int end;
	pid_t pid = child_python(&end);
	struct event_unknown u = unknown_of(pid);

	targets_start(bpf);
	targets_unknown(targets, &u);
	cr_expect_eq(told.processes, 0, "nothing of it was sampled yet");
	sample_of(&u);
	cr_assert_eq(told.processes, 1);
	targets_unknown(targets, &u);
	sample_of(&u);
	cr_expect_eq(told.processes, 1);
	cr_expect_eq(targets_python(targets), 1);
	u.task.start_stack += 16; /* an exec that was not told of, or another process of that pid */
	targets_unknown(targets, &u);
	sample_of(&u);
	cr_expect_eq(told.processes, 2);
	targets_stop();
	child_python_end(pid, end);
	bpf_unload(bpf);
}

/* All looks at processes that wait, until none does. */
static void wait_out(void)
{
	while (targets_retry(targets, UINT64_MAX - 1) != UINT64_MAX)
		;
}

/* One that can't be profiled would be counted as refused for each of them. */
Test(bpf_targets, second_notice_of_what_is_ignored_is_old_news_too)
{
	struct bpf *bpf = load();
	struct event_unknown u;
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	u = unknown_of(pid);
	targets_start(bpf);
	targets_unknown(targets, &u);
	cr_assert_eq(bpf_target_del(bpf, pid), -ENOENT, "its loader may be about to map one");
	wait_out();
	cr_assert_eq(bpf_target_del(bpf, pid), 0, "told to be left alone");
	targets_unknown(targets, &u);
	cr_expect_eq(bpf_target_del(bpf, pid), -ENOENT, "not looked at again");
	u.task.exec_vm++;
	targets_unknown(targets, &u);
	wait_out();
	cr_expect_eq(bpf_target_del(bpf, pid), 0, "looked at again: it has mapped code");
	targets_stop();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	bpf_unload(bpf);
}

/* Processes may describe themselves as 64 builds that do not exist: their slots come free again. */
Test(bpf_targets, layouts_of_processes_that_are_gone_make_room)
{
	struct bpf *bpf = load();
	int end;
	pid_t pid = child_python(&end);
	struct event_unknown u = unknown_of(pid);
	struct event_life life = {.pid = pid, .start_boottime = u.task.start_boottime};

	targets_start(bpf);
	for (uint32_t i = 0; i < TARGET_MAX_LAYOUTS; i++) {
		targets->layouts[i] = (struct layout){.version = i};
		targets->layout_users[i] = 1;
	}
	targets->n_layouts = TARGET_MAX_LAYOUTS;
	targets_unknown(targets, &u);
	cr_assert_eq(targets_python(targets), 0, "all are in use");
	targets->layout_users[5] = 0;
	u.task.exec_vm++;
	targets_unknown(targets, &u);
	cr_expect_eq(targets_python(targets), 1);
	cr_expect_eq(targets->layout_users[5], 1);
	targets_exit(targets, &life);
	cr_expect_eq(targets->layout_users[5], 0);
	targets_stop();
	child_python_end(pid, end);
	bpf_unload(bpf);
}

Test(bpf_targets, recording_has_the_image_id)
{
	struct bpf *bpf = load();
	int end;
	pid_t pid = child_python(&end);
	struct event_unknown u = unknown_of(pid);

	targets_start(bpf);
	targets_unknown(targets, &u);
	sample_of(&u);
	cr_assert_eq(told.processes, 1);
	cr_expect_eq(told.process.pid, pid);
	cr_expect_eq(told.process.start_code, u.task.start_code);
	cr_expect_eq(told.process.start_stack, u.task.start_stack);
	targets_stop();
	child_python_end(pid, end);
	bpf_unload(bpf);
}

/* Threads that were told at attach and never sampled, too: else the map fills up for good. */
Test(bpf_targets, thread_entries_go_with_their_process)
{
	struct bpf *bpf = load();
	int end;
	pid_t pid = child_python(&end);
	struct event_unknown u = unknown_of(pid);
	struct event_life life = {.pid = pid, .start_boottime = u.task.start_boottime};
	uint64_t thread = main_thread_pointer(pid);

	targets_start(bpf);
	targets_unknown(targets, &u);
	cr_assert_eq(bpf_thread_del(bpf, pid, thread), 0, "told at attach");
	cr_assert_eq(bpf_thread_set(bpf, pid, thread, 8), 0);
	targets_exit(targets, &life);
	cr_expect_eq(bpf_thread_del(bpf, pid, thread), -ENOENT);
	targets_stop();
	child_python_end(pid, end);
	bpf_unload(bpf);
}

/* A busy program that is not Python is looked at once, not every second for ever. */
Test(bpf_targets, what_is_not_python_is_left_alone)
{
	static struct capture c;
	uint64_t start;

	capture_init(&c, NULL);
	cr_assert_eq(bpf_target_del(c.bpf, c.target.pid), 0);
	cr_assert(capture_next(&c, CAPTURE_UNKNOWN, c.target.pid));
	targets_start(c.bpf);
	targets_unknown(targets, &c.unknown);
	wait_out();
	cr_assert_eq(targets_python(targets), 0);
	/* another CPU may have sent one before; a CPU that asks again does so after a second */
	cr_assert_geq(ring_poll(c.ring, 0), 0);
	c.since = start = clock_mono();
	c.unknowns = 0;
	while (clock_mono() - start < NSEC_PER_SEC * 3 / 2)
		cr_assert_geq(ring_poll(c.ring, 100), 0);
	cr_expect_eq(c.unknowns, 0);
	targets_stop();
	capture_release(&c);
}
