/*
 * What the BPF programs tell user space: records in the ring buffer, in their final form.
 *
 * Every record starts with struct event_head. A sample is one or more records with the same (cpu,
 * seq), part 0 first: part 0 carries struct event_sample; each record of the sample then carries
 * pieces (struct event_piece followed by `len` bytes padded to 8) to its end. A sample with a
 * missing part is lost or cut, never mixed with another's. All times are CLOCK_MONOTONIC
 * nanoseconds unless said otherwise; all ids of processes and threads are in scry's own pid
 * namespace. Compiled by clang for BPF and by the host's compiler: fixed widths, no implicit
 * padding.
 */
#ifndef SCRY_BPF_EVENT_H
#define SCRY_BPF_EVENT_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define EVENT_VERSION 1
#define EVENT_MAX_RECORD 32768u /* bytes of one record, its head included */
#define EVENT_MAX_PARTS 14	/* records of one sample */

enum event_kind {
	EVENT_SAMPLE = 1,  /* a tick in a known CPython process: struct event_sample + pieces */
	EVENT_UNKNOWN = 2, /* a tick in a process nobody has looked at: struct event_unknown */
	EVENT_EXEC = 4,	   /* a known process has a new image: struct event_life */
	EVENT_EXIT = 5,	   /* the last thread of a known process ended: struct event_life */
};

struct event_head {
	__u16 kind;    /* enum event_kind */
	__u16 version; /* EVENT_VERSION */
	__u32 length;  /* of the whole record, this header included */
	__u32 cpu;
	__u16 part;  /* 0-based */
	__u16 parts; /* how many records make the sample */
	__u64 seq;   /* per CPU, counts samples and unknown records */
};

/* Who was interrupted; enough to decode a sample of a process that is gone and was never in
 * `targets`. */
struct event_task {
	__u64 start_code;     /* image id, first half: mm->start_code */
	__u64 start_stack;    /* image id, second half: mm->start_stack */
	__u64 start_boottime; /* of the process (group leader), CLOCK_BOOTTIME ns */
	__u64 thread_start;   /* of the thread, CLOCK_BOOTTIME ns */
	__u32 pid, tid;	      /* in scry's pid namespace */
	__u32 ppid;	      /* parent process, in scry's pid namespace; 0 when outside of it */
	__u32 ns_tid;	      /* tid in the thread's own innermost namespace */
	__u64 cgroup;	      /* cgroup v2 id */
	__u64 thread_ptr; /* x86-64 fsbase, arm64 tp_value: pthread_self, or a constant distance off
			   */
	__u64 ip;	  /* the interrupted user or kernel instruction */
	__u64 time;
	__u64 weight;  /* the event's period: nanoseconds for clocks */
	__u64 exec_vm; /* pages mapped executable: changes when code is mapped later */
	char comm[16];
};

/* event_sample.flags */
enum event_sample_flag {
	EVENT_INHERITED = 1 << 0,  /* found through the parent's entry: user space shall add one */
	EVENT_BY_GIL = 1 << 1,	   /* thread state is the GIL's last holder */
	EVENT_BY_MAP = 1 << 2,	   /* thread state came from `threads` */
	EVENT_BY_WALK = 1 << 3,	   /* thread state came from the interpreter's list */
	EVENT_LIST_ENDED = 1 << 4, /* the complete thread list was walked and held no such thread */
	EVENT_LIST_CUT = 1 << 5,   /* the walk hit its bound */
	EVENT_LIST_FAILED = 1 << 6, /* a read of the list failed */
	EVENT_HOLDS_GIL = 1 << 7,   /* locked, and the last holder is this thread state */
	EVENT_GC = 1 << 8,	    /* the interpreter is collecting */
	EVENT_MANY_INTERPS =
		1 << 9,		   /* more than one interpreter: the counter proof does not hold */
	EVENT_WALK_END = 1 << 10,  /* the frame chain was followed to NULL or the base frame */
	EVENT_WALK_MAX = 1 << 11,  /* more frames outside the chunks than max_frames (user space may
				      walk on inside the chunks), or no end in sight */
	EVENT_WALK_FULL = 1 << 12, /* no room left for a frame outside the chunks */
	EVENT_WALK_FAILED = 1 << 13,   /* a frame could not be read */
	EVENT_CHUNK_FAILED = 1 << 14,  /* a chunk copy failed and was retried by pages */
	EVENT_TSTATE_FAILED = 1 << 15, /* the thread state could not be read */
	EVENT_COUNTER = 1 << 16,       /* `counter` was read */
	EVENT_GENERATION = 1 << 17,    /* `generation` was read */
	EVENT_WALK_BROKEN = 1 << 18,   /* the chain ended at a frame that begins no stack */
	EVENT_EDGE = 1 << 19, /* between two frames: `frame` is the caller, out of a register */
};

/* Part 0 of a sample, after the head. */
struct event_sample {
	struct event_task task;
	__u32 layout;  /* index into `layouts` */
	__u32 flags;   /* enum event_sample_flag */
	__u64 runtime; /* address of _PyRuntime */
	__u64 interp;
	__u64 tstate;	  /* 0: none found */
	__u64 frame;	  /* current frame, as the thread state has it */
	__u64 top;	  /* datastack_top (3.11+) */
	__u64 gil_holder; /* GIL's last_holder; 0 unknown */
	__u64 counter;	  /* the interpreter's next code version, N of design.md §6 */
	__u64 generation; /* _code_object_generation */
	__u32 steps;	  /* frames the kernel followed; the first max_frames have identities */
	__u32 pad;
};

enum event_piece_kind {
	EVENT_CHUNK = 1,    /* used part of a data-stack chunk: [addr, addr + len) */
	EVENT_FRAME = 2,    /* one frame outside the chunks, raw */
	EVENT_IDENTITY = 3, /* struct event_identity[]: which code object a frame ran, 3.8 - 3.12 */
};

struct event_piece {
	__u64 addr; /* in the target; 0 for EVENT_IDENTITY */
	__u32 len;  /* bytes that follow, before padding to 8 */
	__u32 kind; /* enum event_piece_kind */
};

/*
 * One frame of a version whose code objects are proven frame by frame. 3.8 - 3.10 have no other
 * piece: the frames in order, leaf first, with their instruction. 3.11 and 3.12 use it beside the
 * raw frames, matched by `frame`.
 */
struct event_identity {
	__u64 frame;
	__u64 code;	 /* tag bits cleared */
	__u64 name_hash; /* 3.8 - 3.11: hash stored in its name, or its mark (bpf/strings.bpf.h); 0
			    when neither is to be had */
	__u64 filename;	 /* co_filename, the pointer */
	__u32 version;	 /* 3.12: co_version; 3.8 - 3.11: low half of the same of co_filename */
	__s32 firstlineno;
	__s32 lasti; /* 3.8 - 3.10: f_lasti as stored */
	__u32 ok;    /* 1: the code object's words were read */
};

/* Rate-limited notice of a process that is in no map. */
struct event_unknown {
	struct event_task task;
	__u64 exe_inode, exe_size; /* of mm->exe_file */
	__u64 exe_ctime;	   /* nanoseconds */
	__u64 exe_dev;
};

struct event_life {
	__u32 pid, tid;
	__u64 start_boottime;
	__u64 time;
};

/* Per-CPU counters, map `counters`. */
enum event_counter {
	EVENT_CTR_TICKS,      /* the program ran */
	EVENT_CTR_IDLE,	      /* of these: pid 0, nothing to say */
	EVENT_CTR_OTHER,      /* ticks outside known CPython processes, unknown ones included */
	EVENT_CTR_SAMPLES,    /* samples emitted or lost */
	EVENT_CTR_LOST,	      /* samples that found no room in the ring buffer */
	EVENT_CTR_LOST_OTHER, /* unknown and life records that found no room */
	EVENT_CTR_OUTSIDE, /* ticks in processes outside scry's pid namespace (counted in other too)
			    */
	EVENT_CTR_OTHER_WEIGHT, /* sum of the periods of EVENT_CTR_OTHER */
	EVENT_CTR_MAX,
};

#ifndef __bpf__
_Static_assert(sizeof(struct event_head) == 24, "event_head");
_Static_assert(sizeof(struct event_task) == 112, "event_task");
_Static_assert(sizeof(struct event_sample) == 192, "event_sample");
_Static_assert(sizeof(struct event_piece) == 16, "event_piece");
_Static_assert(sizeof(struct event_identity) == 48, "event_identity");
#endif

#endif
