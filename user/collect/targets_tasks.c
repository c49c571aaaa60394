/* Which processes a pass over all tasks is about: known ones, children of known ones, new ones. */
#include "collect/targets_tasks.h"

#include <stdlib.h>
#include "base/clock.h"
#include "base/vec.h"
#include "collect/targets_impl.h"
#include "target/task.h"

#define TASKS_LOOK_FIRST (50 * NSEC_PER_MSEC) /* doubles up to the next */
#define TASKS_LOOK_LATE (10 * NSEC_PER_SEC)
#define TASKS_LOOK_DOUBLES 8
#define TASKS_DOZE_NS NSEC_PER_SEC

/* By its parent's entry, which the pass went by as well. */
static struct process *add_child(struct targets *t, const struct sched_facts *f)
{
	struct event_task k = {.pid = f->pid, .start_boottime = f->start};
	struct task_stat st;

	if (f->tid != f->pid || !f->live || task_stat((pid_t)f->pid, 0, &st) || task_ended(&st))
		return NULL;
	k.ppid = (uint32_t)st.ppid;
	k.start_code = st.image.start_code;
	k.start_stack = st.image.start_stack;
	return targets_attach_child(t, &k);
}

struct process *targets_tasks_process(struct targets *t, const struct sched_facts *f)
{
	struct process *p = targets_find(t, f->pid);
	bool exact = f->tid == f->pid && f->live; /* f->start is the process's own */

	if (p && exact && p->start_exact && p->start_boottime != f->start) {
		targets_retire(t, p);
		p = NULL;
	}
	if (!p)
		p = add_child(t, f);
	if (!p || p->state != PROCESS_PYTHON)
		return NULL;
	if (exact) {
		p->start_boottime = f->start;
		p->start_exact = true;
	}
	return p;
}

bool targets_tasks_met(struct targets *t, uint32_t pid, uint64_t now)
{
	struct process *p = targets_find(t, pid);
	unsigned int looks = 0;
	struct task_stat st;

	/* what the kernel side was told just now, or is about to be told, the pass did not know */
	if (p && (p->state != PROCESS_IGNORED || now < p->next_look))
		return false;
	if (task_stat_process((pid_t)pid, &st, NULL))
		return true;
	if (p) {
		looks = p->looks;
		targets_retire(t, p);
	}
	p = targets_add(t, pid);
	if (!p)
		return false;
	p->image = st.image;
	p->fresh = !looks;
	p->looks = looks + 1;
	p->next_look =
		now + MIN(TASKS_LOOK_FIRST << MIN(looks, TASKS_LOOK_DOUBLES), TASKS_LOOK_LATE);
	if (family_wants(t->family, (pid_t)pid, 0))
		targets_attach(t, p);
	else
		targets_attach_ignore(t, p, false);
	return true;
}

int targets_tasks_follow(struct targets *t, struct tasks *tasks)
{
	uint32_t *pids = NULL;
	size_t n = 0, cap = 0;
	struct process *p;
	int err = 0;

	for (p = targets_first(t); p && !err; p = p->hh.next) {
		if (p->state != PROCESS_PYTHON)
			continue;
		err = vec_reserve(&pids, &cap, n + 1, sizeof(*pids));
		if (!err)
			pids[n++] = p->pid;
	}
	if (!err)
		err = tasks_follow(tasks, pids, n);
	free(pids);
	return err;
}

size_t targets_tasks_awake(struct targets *t, uint64_t now, uint32_t *pids, size_t max)
{
	struct process *p;
	size_t n = 0;

	for (p = targets_first(t); p; p = p->hh.next) {
		if (p->state != PROCESS_PYTHON)
			continue;
		p->dozes = now - p->wall_awake >= TASKS_DOZE_NS;
		if (!p->dozes && n < max)
			pids[n] = p->pid;
		n += !p->dozes;
	}
	return n;
}
