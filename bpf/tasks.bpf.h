/*
 * What the scheduler says of a thread, as a record: for the programs that visit all threads.
 *
 * "Has not run" must be exact. A thread is off the CPU at both of two passes, and `runs` is equal:
 * then it did not run in between. `runs` counts departures (nvcsw + nivcsw), which the kernel
 * counts before it clears on_cpu, and is read after on_cpu: had the thread run after the first
 * read, then its leaving, which the second pass finds done, would have been counted. A count of
 * arrivals (sched_info.pcount), read after on_cpu, would not do: a thread that arrives between the
 * two reads of the first pass has the same count ever after, however long it runs.
 */
#ifndef SCRY_BPF_TASKS_BPF_H
#define SCRY_BPF_TASKS_BPF_H

#include "bpf/ids.bpf.h"
#include "bpf/task.h"

enum known { KNOWN_NOT, KNOWN_SAMPLED, KNOWN_IGNORED };

static __always_inline enum known image_known(__u32 pid, struct mm_struct *mm)
{
	struct target *found = bpf_map_lookup_elem(&targets, &pid);
	struct target t;

	if (!found)
		return KNOWN_NOT;
	t = *found; /* an element is reused at once when another is deleted: copied, then checked */
	if (t.pid != pid || t.start_code != mm->start_code || t.start_stack != mm->start_stack)
		return KNOWN_NOT;
	if (t.state == TARGET_PYTHON)
		return KNOWN_SAMPLED;
	return !t.recheck || t.exec_vm == mm->exec_vm ? KNOWN_IGNORED : KNOWN_NOT;
}

/* A process that was asked for: unless the map says that it was another image. */
static __always_inline bool image_fits(__u32 pid, struct mm_struct *mm)
{
	struct target *found = bpf_map_lookup_elem(&targets, &pid);

	return !found || !mm || found->pid != pid ||
	       (found->start_code == mm->start_code && found->start_stack == mm->start_stack);
}

/* Is there to be a record of this thread? Fills pid and flags. */
static __always_inline bool task_wanted(struct task_record *r, struct task_struct *task,
					struct mm_struct *mm, __u32 only_pid)
{
	enum known known;

	if (!mm && !only_pid)
		return false; /* the kernel's own, or it ends */
	r->pid = process_pid(task, true);
	if (!mm)
		r->flags |= TASK_NO_MEMORY;
	if (only_pid)
		return r->pid == only_pid && image_fits(r->pid, mm);
	if (!r->pid)
		return false;
	known = image_known(r->pid, mm);
	if (known == KNOWN_NOT) /* forked, and nobody has added it yet */
		known = image_known(process_pid(BPF_CORE_READ(task, real_parent), false), mm);
	if (known == KNOWN_NOT) {
		r->flags |= TASK_UNKNOWN;
		return task->pid == task->tgid && !(task->flags & PF_KTHREAD);
	}
	return known == KNOWN_SAMPLED;
}

static __always_inline __u32 task_state(struct task_struct *task)
{
	struct task_struct___before_5_14 *old = (void *)task;
	__u32 state = task->exit_state;

	if (bpf_core_field_exists(task->__state))
		return state | task->__state;
	return state | (__u32)BPF_CORE_READ(old, state);
}

/* Equal only if one switch put this one off and us on: the kernel takes the time once for both. */
static __always_inline bool task_displaced(struct task_struct *task)
{
	struct task_struct *self = (void *)bpf_get_current_task();

	return bpf_core_field_exists(task->sched_info.last_queued) &&
	       task->sched_info.last_queued &&
	       task->sched_info.last_queued == BPF_CORE_READ(self, sched_info.last_arrival);
}

/* The address a thread sleeps on, from its registers at the entry to the kernel (5.15). */
static __always_inline __u64 task_futex(struct task_struct *task)
{
	struct pt_regs *regs;
	__u64 nr = 0, addr = 0;

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	nr = REGS_SYSCALL(regs);
	if (nr != SYSCALL_FUTEX && nr != SYSCALL_FUTEX_WAIT)
		return 0;
	addr = REGS_ARG0(regs);
	return addr;
}

/* Which threads a pass is about. */
struct tasks_scope {
	__u32 only_pid; /* this process, whatever it is; 0: all that are sampled */
	bool by_reader; /* the pass is made by a thread of scry's, which has a CPU for it */
};

/*
 * Fills *r, which is all zero; false: there is to be no record of this thread. `trusted` is the
 * same task, as helpers want it. Pointers are loaded before anything branches: to check a load from
 * one that it trusts, the kernel searches all of its types by name, on each path that leads there.
 */
static __always_inline bool tasks_record(struct task_record *r, struct task_struct *task,
					 struct task_struct *trusted, struct tasks_scope scope)
{
	struct mm_struct *mm = task->mm;
	struct pid *pid = task->thread_pid;

	r->threads = task->signal->nr_threads;
	if (!task_wanted(r, task, mm, scope.only_pid))
		return false;
	/* in this order: see above */
	if (bpf_core_field_exists(task->on_cpu) && task->on_cpu)
		r->flags |= TASK_ON_CPU;
	barrier();
	r->runs = task->nvcsw + task->nivcsw;
	r->cpu_ns = task->se.sum_exec_runtime;
	r->state = task_state(task);
	if (!r->state && !(r->flags & TASK_ON_CPU) && scope.by_reader && task_displaced(task))
		r->flags |= TASK_DISPLACED;
	if ((r->state & TASK_INTERRUPTIBLE) && !(r->flags & TASK_ON_CPU))
		r->futex = task_futex(trusted);
	r->start_boottime = task->start_boottime;
	r->thread_ptr = task->THREAD_POINTER;
	r->tid = process_tid(task, true);
	r->ns_tid = pid_inner_number(pid, task->pid, true);
	return true;
}

#endif
