/* Ids of processes and threads in scry's own pid namespace, and the map of processes it knows. */
#ifndef SCRY_BPF_IDS_BPF_H
#define SCRY_BPF_IDS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "bpf/target.h"

/* A setting, written by user space before loading. */
const volatile __u32 pidns_inum = 0; /* of scry's own pid namespace; 0: the first one */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TARGET_MAX);
	__type(key, __u32);
	__type(value, struct target);
} targets SEC(".maps");

/*
 * A field of a kernel structure: a plain load where the kernel hands out typed pointers (since
 * 5.11), else a call of a helper. `typed` is a constant of the function it is used in.
 */
#define KERNEL(p, field) (typed ? (p)->field : BPF_CORE_READ(p, field))

#define PIDNS_LEVELS 32 /* MAX_PID_NS_LEVEL */

static __always_inline struct upid *pid_level(struct pid *pid, __u32 level)
{
	return (struct upid *)((char *)&pid->numbers[0] +
			       (__u64)level * bpf_core_type_size(struct upid));
}

/*
 * The number of pid in scry's own pid namespace, 0 when it is outside of it. How deep that lies
 * can't be learned from a /proc that belongs to it, so the levels are searched.
 */
static __always_inline __u32 pid_number(struct pid *pid)
{
	__u32 depth = pid ? BPF_CORE_READ(pid, level) : 0;

	for (__u32 level = 1; level <= PIDNS_LEVELS && level <= depth; level++)
		if (BPF_CORE_READ(pid_level(pid, level), ns, ns.inum) == pidns_inum)
			return BPF_CORE_READ(pid_level(pid, level), nr);
	return 0;
}

/* The process id of a task, as scry sees it; 0: outside of scry's pid namespace. */
static __always_inline __u32 process_pid(struct task_struct *task, bool typed)
{
	if (!pidns_inum)
		return KERNEL(task, tgid);
	task = KERNEL(task, group_leader);
	return pid_number(KERNEL(task, thread_pid));
}

static __always_inline __u32 process_tid(struct task_struct *task, bool typed)
{
	if (!pidns_inum)
		return KERNEL(task, pid);
	return pid_number(KERNEL(task, thread_pid));
}

/* The number of pid in the innermost namespace it has one in; `first`: in the first. */
static __always_inline __u32 pid_inner_number(struct pid *pid, __u32 first, bool typed)
{
	__u32 level = pid ? KERNEL(pid, level) : 0;

	return level ? BPF_CORE_READ(pid_level(pid, level), nr) : first;
}

/* The thread's id as its own process sees it. One word behind a pointer is not worth a typed one:
 * see TYPED in process.bpf.h. */
static __always_inline __u32 process_inner_tid(struct task_struct *task, bool typed)
{
	return pid_inner_number(BPF_CORE_READ(task, thread_pid), KERNEL(task, pid), false);
}

#endif
