/* Passes over tasks, by the iterator or from /proc, and what they say of one thread. */
#include "tests/support/passes.h"

#include <criterion/criterion.h>
#include <unistd.h>

#include "base/clock.h"
#include "target/task.h"

struct bpf *passes_bpf;
struct tasks *passes_tasks;

void passes_start_in(const struct ns_self *ns, bool iterator)
{
	struct bpf_options o = {.ns = *ns};
	struct buf text;

	if (geteuid())
		cr_skip_test("needs root");
	buf_init(&text);
	if (iterator)
		cr_assert_eq(bpf_load(&passes_bpf, &o, &text), 0, "%s", text.data);
	cr_assert_eq(tasks_new(passes_bpf, &passes_tasks, &text), 0);
	cr_assert_eq(tasks_live(passes_tasks), iterator, "%s", text.data);
	cr_assert_eq(text.len, 0);
	buf_release(&text);
}

void passes_start(bool iterator)
{
	struct ns_self ns;

	cr_assert_eq(ns_self(&ns), 0);
	passes_start_in(&ns, iterator);
}

void passes_stop(void)
{
	tasks_free(passes_tasks);
	bpf_unload(passes_bpf);
	passes_bpf = NULL;
}

struct target passes_entry(pid_t pid)
{
	struct target t = {.pid = (uint32_t)pid, .state = TARGET_PYTHON};
	struct task_stat st;

	cr_assert_eq(task_stat(pid, 0, &st), 0);
	t.start_code = st.image.start_code;
	t.start_stack = st.image.start_stack;
	return t;
}

/* Makes pass(0) give it. */
void passes_know(pid_t pid)
{
	struct target t = passes_entry(pid);
	uint32_t id = (uint32_t)pid;

	if (passes_bpf)
		cr_assert_eq(bpf_target_set(passes_bpf, &t), 0);
	cr_assert_eq(tasks_follow(passes_tasks, &id, 1), 0);
}

const struct sched_facts *passes_find(const struct tasks_view *v, pid_t tid)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->v[i].tid == (uint32_t)tid)
			return &v->v[i];
	return NULL;
}

struct sched_facts passes_facts(pid_t pid, pid_t tid)
{
	const struct sched_facts *f;
	struct tasks_view v;

	cr_assert_eq(tasks_pass(passes_tasks, (uint32_t)pid, &v), 0);
	f = passes_find(&v, tid);
	cr_assert_not_null(f, "no %d among the %zu threads of %d", tid, v.n, pid);
	return *f;
}

/* Passes until the thread is in that state. */
struct sched_facts passes_until(pid_t pid, pid_t tid, enum sched_state state)
{
	uint64_t begin = clock_mono();
	struct sched_facts f;

	do
		f = passes_facts(pid, tid);
	while (f.state != state && clock_mono() - begin < 10 * NSEC_PER_SEC);
	cr_assert_eq(f.state, state, "thread %d is in %d, not in %d", tid, f.state, state);
	return f;
}
