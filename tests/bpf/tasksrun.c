/* All threads in one call: the same facts as the iterator gives. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/task.h"
#include "collect/tasks.h"
#include "collect/tasks_impl.h"
#include "target/task.h"
#include "tests/support/child.h"
#include "tests/support/crew.h"

static struct bpf *bpf;
static struct tasks_run *run;
static struct tasks_iter *iter;

static void start(void)
{
	struct bpf_options o = {0};
	struct buf text;
	int err;

	if (geteuid())
		cr_skip_test("needs root");
	buf_init(&text);
	cr_assert_eq(ns_self(&o.ns), 0);
	cr_assert_eq(bpf_load(&bpf, &o, &text), 0, "%s", text.data);
	buf_release(&text);
	err = tasks_run_new(bpf, &run);
	if (err)
		cr_skip_test("this kernel, or being in a pid namespace: %s", strerror(-err));
	cr_assert_eq(tasks_iter_new(bpf, &iter), 0);
}

static void stop(void)
{
	tasks_run_free(run);
	tasks_iter_free(iter);
	bpf_unload(bpf);
}

static int by_tid(const void *a, const void *b)
{
	const struct sched_facts *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* The threads of `pid` out of a pass: narrowed to it, or over all. */
static void take(struct tasks_list *l, pid_t pid, bool narrowed, bool by_run)
{
	uint32_t only = narrowed ? (uint32_t)pid : 0;
	size_t i, n = 0;

	if (by_run)
		cr_assert_eq(tasks_run_pass(run, only, l), 0);
	else
		cr_assert_eq(tasks_iter_pass(iter, only, l), 0);
	for (i = 0; i < l->n; i++)
		if (l->v[i].pid == (uint32_t)pid)
			l->v[n++] = l->v[i];
	l->n = n;
	qsort(l->v, n, sizeof(*l->v), by_tid);
}

static void compare(pid_t pid, uint32_t threads, bool narrowed)
{
	struct tasks_list a = {0}, b = {0};
	uint32_t i;

	take(&a, pid, narrowed, false);
	take(&b, pid, narrowed, true);
	cr_assert_eq(a.n, threads);
	cr_assert_eq(b.n, threads);
	for (i = 0; i < threads; i++) {
		cr_assert_eq(b.v[i].tid, a.v[i].tid);
		cr_assert_eq(b.v[i].ns_tid, a.v[i].ns_tid);
		cr_assert_eq(b.v[i].start, a.v[i].start);
		cr_assert_eq(b.v[i].thread_ptr, a.v[i].thread_ptr);
		cr_assert_eq(b.v[i].futex, a.v[i].futex);
		cr_assert_eq(b.v[i].state, a.v[i].state);
		cr_assert_eq(b.v[i].runs, a.v[i].runs);
		cr_assert_eq(b.v[i].cpu_ns, a.v[i].cpu_ns);
		cr_assert(b.v[i].live);
	}
	free(a.v);
	free(b.v);
	free(a.unknown);
	free(b.unknown);
}

Test(bpf_tasksrun, says_what_the_iterator_says)
{
	static const enum crew_job jobs[] = {CREW_SLEEP, CREW_FUTEX, CREW_SLEEP, CREW_FUTEX};
	struct target t = {.state = TARGET_PYTHON};
	struct task_stat st;
	struct crew *c;

	start();
	c = crew_start(jobs, ARRAY_SIZE(jobs), 0);
	cr_assert_eq(task_stat(c->pid, 0, &st), 0);
	t.pid = (uint32_t)c->pid;
	t.start_code = st.image.start_code;
	t.start_stack = st.image.start_stack;
	cr_assert_eq(bpf_target_set(bpf, &t), 0);
	/* they sleep for good once they have said who they are */
	while (true) {
		struct tasks_list l = {0};
		size_t asleep = 0, i;

		take(&l, c->pid, true, true);
		for (i = 0; i < l.n; i++)
			asleep += l.v[i].state == SCHED_SLEEPING;
		free(l.v);
		if (asleep == ARRAY_SIZE(jobs))
			break;
	}
	compare(c->pid, ARRAY_SIZE(jobs), true);
	compare(c->pid, ARRAY_SIZE(jobs), false);
	crew_end(c);
	stop();
}

Test(bpf_tasksrun, a_process_that_is_gone_has_no_threads)
{
	struct tasks_list l = {0};
	pid_t pid;
	int status;

	start();
	pid = fork();
	if (!pid)
		child_exit(0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(tasks_run_pass(run, (uint32_t)pid, &l), 0);
	cr_assert_eq(l.n, 0);
	stop();
}

/* The iterator takes over, and nobody notices. */
Test(bpf_tasksrun, more_threads_than_it_has_room_for)
{
	struct tasks_list l = {0};
	struct tasks_view v;
	struct tasks *tasks;
	uint32_t wanted = TASK_RUN_MAX;
	uint64_t made;
	pid_t pid;

	start();
	cr_assert_eq(tasks_new(bpf, &tasks, NULL), 0);
	pid = child_start(child_threads, &wanted, &made);
	if (made < wanted) {
		child_end(pid);
		cr_skip_test("no more than %u threads can be had", (unsigned int)made);
	}
	cr_assert_eq(tasks_run_pass(run, (uint32_t)pid, &l), -ENOSPC);
	cr_assert_eq(tasks_pass(tasks, (uint32_t)pid, &v), 0);
	cr_assert_eq(v.n, TASK_RUN_MAX + 1);
	child_end(pid);
	free(l.v);
	tasks_free(tasks);
	stop();
}
