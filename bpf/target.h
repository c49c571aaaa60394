/*
 * What user space tells the BPF programs: which processes are CPython, where their thread states
 * are, and how their structures are laid out. Only user space inserts into these maps; programs
 * look up.
 */
#ifndef SCRY_BPF_TARGET_H
#define SCRY_BPF_TARGET_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define TARGET_MAX 32768	 /* processes known at once */
#define TARGET_MAX_THREADS 65536 /* entries of `threads` */
#define TARGET_MAX_LAYOUTS 64
#define TARGET_MAX_FRAMES 512	/* upper bound of --max-frames: frames read one by one */
#define TARGET_TSTATE_MAX 512	/* bytes of a thread state the kernel reads at most */
#define TARGET_FRAME_MAX 128	/* bytes of one frame it reads at most */
#define TARGET_CODE_MAX 256	/* bytes of one code object's head it reads at most */
#define TARGET_NONE 0xffffffffu /* offset of a field that this version does not have */

enum target_state {
	TARGET_PYTHON = 1, /* sample it */
	TARGET_IGNORE = 2, /* looked at: not Python, not wanted or not readable; look again when
			      exec_vm changes */
};

/* Map `targets`: key __u32 pid (scry's namespace). */
struct target {
	__u32 pid;		       /* repeated: preallocated elements are reused at once */
	__u32 state;		       /* enum target_state */
	__u64 start_code, start_stack; /* image id, checked after copying */
	__u64 start_boottime;
	__u64 exec_vm;
	__u64 runtime; /* address of _PyRuntime */
	__u64 gil;     /* address of the main interpreter's struct _gil_runtime_state; 0: none
			  (free-threaded) */
	__u32 layout;  /* index into `layouts` */
	__u32 recheck; /* TARGET_IGNORE: 0 never look again at this image, 1 when exec_vm differs */
};

/* Map `threads`: the thread state of a thread; proven at each use, so a stale entry costs nothing
 * but a walk. */
struct target_thread_key {
	__u32 pid;
	__u32 pad;
	__u64 thread_ptr;
};

struct target_thread {
	__u64 tstate;
};

enum target_proof { TARGET_PROOF_NAME = 1, TARGET_PROOF_VERSION = 2, TARGET_PROOF_COUNTER = 3 };

/*
 * Map `layouts`: offsets, in bytes, that the programs need of one build. TARGET_NONE: no such
 * field. Validated by layouts_to_kernel() before it gets here: thread-state fields + 8 <=
 * tstate_read <= TARGET_TSTATE_MAX and a multiple of 8, frame fields + 8 <= frame_size <=
 * TARGET_FRAME_MAX, code fields + 8 <= TARGET_CODE_MAX.
 */
struct target_layout {
	__u32 object_frames; /* 1: frames are PyFrameObjects (3.8 - 3.10) */
	__u32 proof;	     /* enum target_proof */
	__u32 frame_hop; /* tstate_frame points at a CFrame: its current_frame is at this offset;
			    NONE: no hop */
	__u32 thread_ptr_delta; /* thread_id - thread pointer: 0 on x86-64 glibc */
	/* _PyRuntime */
	__u32 runtime_interp_head;
	/* PyInterpreterState */
	__u32 interp_next, interp_threads_head, interp_gc_collecting;
	__u32 interp_counter;	 /* func_state.next_version, 4 bytes */
	__u32 interp_generation; /* _code_object_generation, 8 bytes */
	/* struct _gil_runtime_state at target.gil */
	__u32 gil_holder, gil_locked;
	__u32 interp_gil_ptr; /* PyInterpreterState (3.12+): pointer to its GIL; 0 or NONE: one for
				 all */
	/* PyThreadState: one read of the first tstate_read bytes */
	__u32 tstate_read;
	__u32 tstate_prev, tstate_next, tstate_interp, tstate_thread_id, tstate_frame;
	__u32 tstate_chunk;	     /* datastack_chunk; datastack_top is the word behind it; NONE
					before 3.11 */
	__u32 gc_collecting_runtime; /* 3.8: in _PyRuntime instead of the interpreter */
	/* frames: one read of frame_size bytes */
	__u32 frame_size, frame_previous, frame_code, frame_lasti;
	__u32 frame_fresh;    /* 3.11, 3.12: prev_instr - code of a frame not started; else NONE */
	__u32 frame_owner;    /* one byte; NONE before 3.11 */
	__u32 frame_is_entry; /* 3.11: byte that is 1 in frames that C code entered; else NONE */
	__u32 owner_entry;    /* owners from here on: entry frames, no code object of their own */
	/* code objects: one read of [code_from, code_from + code_len); offsets of the object */
	__u32 code_from, code_len;
	__u32 code_name, code_filename, code_firstlineno, code_version;
	__u32 str_hash, code_units, code_bytecode; /* how many units of 2 bytes; the first; 3.11+ */
	/* struct _stack_chunk, 3.11 - 3.15: previous 0, size 8, top 16 (words of data), data 24 */
};

/* Settings in .rodata of the sampling program. */
enum target_seed { TARGET_SEED_STACK, TARGET_SEED_LEAF, TARGET_SEED_TSTATE };

#endif
