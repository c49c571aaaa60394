/*
 * Facts of threads from /proc, for where BPF is not to be had.
 *
 * /proc does not tell who runs from who is ready to. But it tells how long each thread has run, to
 * a tick of the scheduler. So a thread that is ready is told as running as long as the CPU time
 * that it got pays for it: the sum over time is right, while one moment may not be.
 */
#include "collect/tasks_impl.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/vec.h"
#include "target/task.h"

#define PROC_KNOWN 4096 /* threads that are remembered, by the low bits of the tid */
#define PROC_CREDIT ((int64_t)(100 * NSEC_PER_MSEC)) /* CPU time that is not told yet, at most */
#define PROC_DEBT                                                                                  \
	((int64_t)(10 * NSEC_PER_MSEC)) /* told in advance; some ticks of the scheduler            \
					 */

#define PROC_MOMENT NSEC_PER_MSEC

struct known {
	uint32_t tid;
	uint32_t ns_tid; /* it never changes */
	uint64_t start;
	uint64_t time, cpu_ns; /* at the last pass; time 0: there was none */
	bool runs;	       /* if it is ready */
	int64_t credit;	       /* CPU time it got less what it was told to run */
};

struct tasks_proc {
	uint32_t *pids;
	size_t n, cap;
	struct known known[PROC_KNOWN];
};

/* What the visit of one thread needs. */
struct visit {
	struct tasks_proc *t;
	struct tasks_list *out;
	uint32_t pid;
	uint64_t now;
};

int tasks_proc_new(struct tasks_proc **ret)
{
	struct tasks_proc *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	*ret = t;
	return 0;
}

void tasks_proc_free(struct tasks_proc *t)
{
	if (!t)
		return;
	free(t->pids);
	free(t);
}

int tasks_proc_follow(struct tasks_proc *t, const uint32_t *pids, size_t n)
{
	int err = vec_reserve(&t->pids, &t->cap, n, sizeof(*t->pids));

	if (err)
		return err;
	for (size_t i = 0; i < n; i++)
		t->pids[i] = pids[i];
	t->n = n;
	return 0;
}

static struct known *known_of(struct tasks_proc *t, const struct sched_facts *f)
{
	struct known *k = &t->known[f->tid % PROC_KNOWN];
	pid_t nr;

	if (k->tid == f->tid && k->start == f->start)
		return k;
	*k = (struct known){.tid = f->tid, .start = f->start, .cpu_ns = f->cpu_ns};
	if (!task_nspid((pid_t)f->pid, (pid_t)f->tid, &nr))
		k->ns_tid = (uint32_t)nr;
	return k;
}

/* Runs, or waits for a CPU? Passes that follow at once are of one moment, and say the same. */
static enum sched_state ready_state(struct known *k, const struct sched_facts *f, uint64_t now)
{
	bool again = k->time && now - k->time < PROC_MOMENT;
	bool runs = f->state == SCHED_ON_CPU;

	if (again)
		return runs && !k->runs ? SCHED_RUNNABLE : f->state;
	k->credit = MIN(k->credit + (int64_t)(f->cpu_ns - k->cpu_ns), PROC_CREDIT);
	k->runs = !runs || k->credit > -PROC_DEBT;
	if (runs && k->runs && k->time)
		k->credit -= (int64_t)(now - k->time);
	k->cpu_ns = f->cpu_ns;
	k->time = now;
	return runs && !k->runs ? SCHED_RUNNABLE : f->state;
}

/* Threads that end meanwhile are left out, and so is one that may not be looked at. */
static int visit(pid_t tid, void *arg)
{
	const struct visit *v = arg;
	struct sched_facts f;
	struct known *k;

	if (sched_read(v->pid, (uint32_t)tid, &f))
		return 0;
	k = known_of(v->t, &f);
	f.ns_tid = k->ns_tid;
	f.state = ready_state(k, &f, v->now);
	if (v->out->n >= TASKS_MAX)
		return -E2BIG;
	return tasks_list_add(v->out, &f);
}

static int visit_process(struct tasks_proc *t, uint32_t pid, struct tasks_list *out)
{
	struct visit v = {.t = t, .out = out, .pid = pid, .now = clock_mono()};
	int err = task_each_thread((pid_t)pid, visit, &v);

	return err == -ENOMEM ? err : 0;
}

int tasks_proc_pass(struct tasks_proc *t, uint32_t pid, struct tasks_list *out)
{
	int err = 0;

	if (pid)
		return visit_process(t, pid, out);
	for (size_t i = 0; i < t->n && !err; i++)
		err = visit_process(t, t->pids[i], out);
	return err;
}
