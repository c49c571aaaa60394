/* What tasks.bpf.c and tasksrun.bpf.c tell user space: one record a thread. */
#ifndef SCRY_BPF_TASK_H
#define SCRY_BPF_TASK_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define TASK_RUN_MAX 8192  /* records that tasksrun.bpf.c has room for */
#define TASK_WATCH_MAX 64  /* processes that its timer watches */
#define TASK_TICK_MAX 1024 /* threads of them, all together */

/* task_record.flags */
enum task_flag {
	TASK_ON_CPU = 1 << 0,	 /* task_struct.on_cpu */
	TASK_DISPLACED = 1 << 1, /* waits for the CPU that the reader of this record took from it */
	TASK_UNKNOWN = 1 << 2,	 /* first thread of a process that is in no map */
	TASK_NO_MEMORY = 1 << 3, /* has let go of its memory: it ends */
};

struct task_record {
	__u64 start_boottime; /* of the thread, ns */
	__u64 runs;	      /* how often it was taken off a CPU; read after TASK_ON_CPU */
	__u64 cpu_ns;	      /* as of its last tick or switch */
	__u64 thread_ptr;
	__u64 futex;	/* address, when it sleeps in futex(2) */
	__u32 pid, tid; /* in scry's pid namespace */
	__u32 ns_tid;	/* in the thread's own innermost one */
	__u32 state;	/* the kernel's __state | exit_state; its bits are decoded by
			   target/sched.c */
	__u32 flags;	/* enum task_flag */
	__u32 threads;	/* of the process */
};

/* Who makes a pass: user space, by running the program, or its timer, which may interrupt that. */
enum task_by { TASK_BY_RUN, TASK_BY_TICK, TASK_BY };

/* Where a pass puts its records. */
struct task_pass {
	__u32 pid;  /* whose threads; 0: of all that are sampled */
	__u32 next; /* in `records` */
	__u32 end;  /* not to be written; when `next` gets there, there may be more */
	__u32 pad;
	__u64 sum; /* of what matters of them */
};

/*
 * What the timer of tasksrun.bpf.c tells of one process, in the ring `ticks`: this, then a record
 * of each thread. Ticks at which nothing has changed are only counted.
 */
struct task_tick {
	__u64 time;	 /* CLOCK_MONOTONIC ns of this tick */
	__u64 before;	 /* of the last one before it, when `unchanged` */
	__u32 pid;	 /* in scry's pid namespace */
	__u32 unchanged; /* ticks since what was told last at which all was still as it was then */
	__u64 pad[5];
};

/* One process that the timer watches. User space writes `pid`, all else is the timer's. */
struct task_watch {
	__u32 pid;  /* 0: none */
	__u32 seen; /* whom the rest is about */
	__u32 unchanged, threads;
	__u64 sum;    /* of what was told last */
	__u64 told;   /* when */
	__u64 before; /* the last tick */
};

/* The timer itself. */
struct task_timer {
	__u64 period;  /* ns; from here on written by user space, before `start` is set */
	__u32 start;   /* a run of the program starts the timer, and makes no pass */
	__u32 watched; /* how many elements of `watch` are looked at; 0: the timer stops */
	__u64 slot;    /* the next tick is inside of the period from here on; this is the timer's */
	__u64 missed;  /* slots without a tick: too late, or user space did not keep up */
	__u64 run_ns;  /* spent in its ticks; the kernel's own statistics leave them out */
	__u64 overflow; /* ticks at which there were too many threads */
};

#ifndef __bpf__
_Static_assert(sizeof(struct task_record) == 64, "task_record");
_Static_assert(sizeof(struct task_tick) == sizeof(struct task_record), "lie in one array");
#endif

#endif
