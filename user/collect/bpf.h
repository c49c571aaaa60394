/* Load the BPF programs, fill their maps, and tell what they cost. */
#ifndef SCRY_COLLECT_BPF_H
#define SCRY_COLLECT_BPF_H

#include <stdbool.h>
#include "base/buf.h"
#include "bpf/event.h"
#include "bpf/target.h"
#include "bpf/task.h"
#include "target/ns.h"

struct bpf_options {
	uint32_t max_frames; /* 1 .. TARGET_MAX_FRAMES; 0: the default, 256 */
	enum target_seed seed;
	uint32_t ring_bytes; /* rounded up to a power of two of pages; 0: the default, 8 MiB */
	struct ns_self ns;   /* of scry itself */
	bool untyped;	     /* for tests: read the kernel as before 5.11 */
};

struct bpf;

/* Loads and attaches what needs no event (exec, exit); `err` gets one line that says what failed
 * and, when it was the verifier, the end of its log. 0 or -errno. */
int bpf_load(struct bpf **ret, const struct bpf_options *o, struct buf *err);
void bpf_unload(struct bpf *b);

int bpf_tick_fd(const struct bpf *b); /* the program for perf events */
int bpf_ring_fd(const struct bpf *b); /* the ring buffer's map */

/* All return 0 or -errno; deleting what is not there is -ENOENT. b NULL: a recording without BPF,
 * in which nobody has to be told anything, and nothing is counted. */
int bpf_target_set(struct bpf *b, const struct target *t);
int bpf_target_del(struct bpf *b, uint32_t pid);
int bpf_thread_set(struct bpf *b, uint32_t pid, uint64_t thread_ptr, uint64_t tstate);
int bpf_thread_del(struct bpf *b, uint32_t pid, uint64_t thread_ptr);
int bpf_layout_set(struct bpf *b, uint32_t index, const struct target_layout *l);

/*
 * The task iterator (bpf/tasks.bpf.c), loaded at the first call: the program to make links of, and
 * the process that a pass is narrowed to (0: none), to be set before it. 0 or -errno.
 */
int bpf_tasks(struct bpf *b, int *ret_prog_fd, uint32_t **ret_only_pid);

/* The same in one call (bpf/tasksrun.bpf.c): a program to be run, which leaves `count` records of
 * at most TASK_RUN_MAX. 0 or -errno: not on this kernel (before 6.7), or not in this namespace. */
struct bpf_tasks_run {
	int prog_fd;
	struct task_pass *pass; /* `pid` is to be set before, `next` is the count after */
	const struct task_record *records;
	/* of the timer in it */
	struct task_timer *timer;
	struct task_watch *watch; /* TASK_WATCH_MAX of them */
	int ticks_fd;		  /* the ring buffer's map */
};

int bpf_tasks_run(struct bpf *b, struct bpf_tasks_run *ret);

/* Sums over the CPUs; `ret` has EVENT_CTR_MAX elements. b NULL: all 0. */
int bpf_counters(const struct bpf *b, uint64_t *ret);

/* Of all programs that run in the time of others since loading, by the kernel's statistics (kept on
 * while loaded). */
struct bpf_usage {
	uint64_t run_ns;
	uint64_t map_bytes;	 /* memory of maps and ring */
	uint64_t mapped_bytes;	 /* how much of our own resident size is the ring, mapped twice */
	uint32_t verified_insns; /* of the largest program; 0 before Linux 5.16 */
};

int bpf_usage(const struct bpf *b, struct bpf_usage *ret); /* b NULL: all 0 */

#endif
