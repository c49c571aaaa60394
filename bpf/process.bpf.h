/* Who was interrupted: ids in scry's namespace, the target it is, and notices of unknown ones. */
#ifndef SCRY_BPF_PROCESS_BPF_H
#define SCRY_BPF_PROCESS_BPF_H

#include "bpf/maps.bpf.h"

#define SECOND 1000000000ull
#define WAKEUP_GAP 10000000ull /* ns between wakeups for new processes, per CPU */
#define UNKNOWN_PER_SECOND 1000
#define RECENT 512

/* A process and when it was last told of; direct-mapped by pid, so about one in a slot. */
struct recent {
	__u64 image;
	__u64 time;
};

struct notices {
	struct recent unknown[RECENT]; /* processes an unknown record was sent for */
	struct recent sampled[RECENT]; /* processes a sample was sent for */
	__u64 second;		       /* start of the second that `sent` counts in */
	__u64 woken;
	__u32 sent;
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct notices);
} notices SEC(".maps");

static __always_inline struct notices *notices_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&notices, &zero);
}

/*
 * Does the kernel hand out the current task as a typed pointer? For each pointer that is loaded
 * through it the verifier searches all of the kernel's types by name, up to four times: so they are
 * loaded in functions that it verifies once, and only where more than one field is behind them.
 */
#define TYPED                                                                                      \
	(typed_pointers &&                                                                         \
	 bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf))

/* Whose process it is and what `targets` must agree with; 0: none of user space, or outside. */
static __always_inline int image_take(struct event_task *e, struct task_struct *task, bool typed)
{
	struct mm_struct *mm = KERNEL(task, mm);

	if (!mm)
		return 0;
	e->pid = process_pid(task, typed);
	if (!e->pid) {
		count(EVENT_CTR_OUTSIDE);
		return 0;
	}
	e->ppid = process_pid(KERNEL(task, real_parent), typed);
	e->start_code = KERNEL(mm, start_code);
	e->start_stack = KERNEL(mm, start_stack);
	e->exec_vm = KERNEL(mm, exec_vm);
	return 1;
}

__attribute__((noinline)) int process_image(void)
{
	struct tick *t = tick_get();

	if (!t)
		return 0;
	if (TYPED)
		return image_take(&t->sample.task, bpf_get_current_task_btf(), true);
	return image_take(&t->sample.task, (struct task_struct *)bpf_get_current_task(), false);
}

static __always_inline void task_take(struct event_task *e, struct task_struct *task, bool typed)
{
	struct task_struct *leader = KERNEL(task, group_leader);

	e->start_boottime = KERNEL(leader, start_boottime);
	e->thread_start = KERNEL(task, start_boottime);
	e->tid = process_tid(task, typed);
	e->ns_tid = process_inner_tid(task, typed);
	e->cgroup = bpf_get_current_cgroup_id();
	e->thread_ptr = KERNEL(task, THREAD_POINTER);
	bpf_get_current_comm(e->comm, sizeof(e->comm));
}

/* The rest of what a record says of its task. */
__attribute__((noinline)) int process_describe(void)
{
	struct tick *t = tick_get();

	if (!t)
		return 0;
	if (TYPED)
		task_take(&t->sample.task, bpf_get_current_task_btf(), true);
	else
		task_take(&t->sample.task, (struct task_struct *)bpf_get_current_task(), false);
	return 0;
}

/* Copies the entry of pid if it is of this image; the entry repeats both, since a preallocated
 * element is reused at once when user space deletes another. */
static __always_inline bool target_copy(struct tick *t, __u32 pid)
{
	struct target *found = bpf_map_lookup_elem(&targets, &pid);

	if (!found)
		return false;
	__builtin_memcpy(&t->target, found, sizeof(t->target));
	return t->target.pid == pid && t->target.start_code == t->sample.task.start_code &&
	       t->target.start_stack == t->sample.task.start_stack;
}

/* The entry of the process, or of its parent when fork copied the image and nobody added one. */
static __always_inline bool target_find(struct tick *t)
{
	if (target_copy(t, t->sample.task.pid))
		return true;
	if (target_copy(t, t->sample.task.ppid)) {
		t->sample.flags |= EVENT_INHERITED;
		return true;
	}
	t->target.state = 0;
	return false;
}

/* Not to be sampled and not to be asked about either. */
static __always_inline bool target_ignored(const struct tick *t)
{
	return t->target.state == TARGET_IGNORE &&
	       (!t->target.recheck || t->target.exec_vm == t->sample.task.exec_vm);
}

#define CTIME_NSEC_MASK 0x7fffffffu /* the top bit is a mark of the file system, since 6.13 */

/* One field, three names in the kernels since 5.10. */
static __always_inline __u64 inode_ctime(struct inode *inode)
{
	struct inode___before_6_11 *middle = (void *)inode;
	struct inode___before_6_6 *old = (void *)inode;

	if (bpf_core_field_exists(inode->i_ctime_sec))
		return BPF_CORE_READ(inode, i_ctime_sec) * SECOND +
		       (BPF_CORE_READ(inode, i_ctime_nsec) & CTIME_NSEC_MASK);
	if (bpf_core_field_exists(middle->__i_ctime))
		return BPF_CORE_READ(middle, __i_ctime.tv_sec) * SECOND +
		       BPF_CORE_READ(middle, __i_ctime.tv_nsec);
	return BPF_CORE_READ(old, i_ctime.tv_sec) * SECOND + BPF_CORE_READ(old, i_ctime.tv_nsec);
}

/* Force a wakeup? Only so often: two busy processes may share a slot and look new at each tick. */
static __always_inline bool notices_wake(struct notices *n, __u64 now)
{
	if (now - n->woken < WAKEUP_GAP)
		return false;
	n->woken = now;
	return true;
}

/* Is it time to tell of this process again? Sets *fresh when it was not the last in its slot. */
static __always_inline bool notices_due(struct recent *slot, const struct event_task *e,
					bool *fresh)
{
	__u64 image = e->start_code ^ e->start_stack ^ ((__u64)e->pid << 32);

	*fresh = slot->image != image;
	if (!*fresh && e->time - slot->time < SECOND)
		return false;
	slot->image = image;
	slot->time = e->time;
	return true;
}

/* At most UNKNOWN_PER_SECOND a CPU. */
static __always_inline bool notices_budget(struct notices *n, __u64 now)
{
	if (now - n->second >= SECOND) {
		n->second = now;
		n->sent = 0;
	}
	return n->sent++ < UNKNOWN_PER_SECOND;
}

struct unknown_record {
	struct event_head head;
	struct event_unknown unknown;
};

static __always_inline void unknown_send(struct unknown_record *r, bool wake)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct inode *inode = BPF_CORE_READ(task, mm, exe_file, f_inode);

	if (inode) {
		r->unknown.exe_inode = BPF_CORE_READ(inode, i_ino);
		r->unknown.exe_size = BPF_CORE_READ(inode, i_size);
		r->unknown.exe_ctime = inode_ctime(inode);
		r->unknown.exe_dev = BPF_CORE_READ(inode, i_sb, s_dev);
	}
	if (bpf_ringbuf_output(&ring, r, sizeof(*r), wake ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP))
		count(EVENT_CTR_LOST_OTHER);
}

/* Tells user space of a process that is in no map. */
static __always_inline void process_unknown(struct tick *t)
{
	struct notices *n = notices_get();
	struct event_task *e = &t->sample.task;
	struct unknown_record r = {};
	bool fresh;

	if (!n || !notices_due(&n->unknown[e->pid & (RECENT - 1)], e, &fresh) ||
	    !notices_budget(n, e->time))
		return;
	process_describe();
	r.head.kind = EVENT_UNKNOWN;
	r.head.version = EVENT_VERSION;
	r.head.length = sizeof(r);
	r.head.cpu = bpf_get_smp_processor_id();
	r.head.parts = 1;
	r.head.seq = t->seq++;
	r.unknown.task = *e;
	unknown_send(&r, fresh && notices_wake(n, e->time));
}

#endif
