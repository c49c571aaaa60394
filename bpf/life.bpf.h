/* The end of what user space knows: exec and exit of processes that have an entry. */
#ifndef SCRY_BPF_LIFE_BPF_H
#define SCRY_BPF_LIFE_BPF_H

#include "bpf/process.bpf.h"

struct life_record {
	struct event_head head;
	struct event_life life;
};

static __always_inline int life_send(struct task_struct *task, __u32 pid, __u16 kind)
{
	struct life_record r = {};

	r.head.kind = kind;
	r.head.version = EVENT_VERSION;
	r.head.length = sizeof(r);
	r.head.cpu = bpf_get_smp_processor_id();
	r.head.parts = 1;
	r.life.pid = pid;
	r.life.tid = process_tid(task, false);
	r.life.start_boottime = BPF_CORE_READ(task, group_leader, start_boottime);
	r.life.time = bpf_ktime_get_ns();
	if (bpf_ringbuf_output(&ring, &r, sizeof(r), BPF_RB_NO_WAKEUP))
		count(EVENT_CTR_LOST_OTHER);
	return 0;
}

/* (task, old pid, binary): the new image is in place. */
SEC("raw_tp/sched_process_exec")
int life_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u32 pid = process_pid(task, false);

	if (!pid || !bpf_map_lookup_elem(&targets, &pid))
		return 0;
	return life_send(task, pid, EVENT_EXEC);
}

/* (task, ...): of each thread; told when it is the last. */
SEC("raw_tp/sched_process_exit")
int life_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u32 pid;

	if (BPF_CORE_READ(task, signal, live.counter))
		return 0;
	pid = process_pid(task, false);
	if (!pid || !bpf_map_lookup_elem(&targets, &pid))
		return 0;
	return life_send(task, pid, EVENT_EXIT);
}

#endif
