/* The maps, the settings, and the scratch memory of the tick. */
#ifndef SCRY_BPF_MAPS_BPF_H
#define SCRY_BPF_MAPS_BPF_H

#include "bpf/ids.bpf.h"
#include "bpf/event.h"

/* Settings, written by user space before loading. */
const volatile __u32 max_frames = 256; /* read one by one; <= TARGET_MAX_FRAMES */
const volatile __u32 seed_mode = TARGET_SEED_STACK;
const volatile __u32 ring_bytes = 8 << 20;
const volatile bool typed_pointers = true; /* where the kernel has them; tests turn it off */

/*
 * A walk of very many steps is two loops of so many, the inner one in a function of its own: the
 * verifier follows each step of a loop, but a global function only once. Both stay loops: of 32
 * calls in a row it would follow each, 32 times 32 of them.
 */
#define TURNS 32
#define ROLLED _Pragma("clang loop unroll(disable)")

#define PAGE 4096u
#define PART_BYTES EVENT_MAX_RECORD /* one per-CPU value: the most the kernel gives */
#define PART_MAX EVENT_MAX_PARTS    /* 256 KiB of chunks, 512 frames outside, 512 identities */
#define CHUNK_BYTES (256u * 1024)   /* of all chunks of one thread */
#define CHUNK_HEADER 24u	    /* struct _stack_chunk before its data */
#define RANGE_MAX 32
#define NOTED 16u	/* identities kept for the next frames of the same code */
#define STR_HEAD 32u	/* of a str, from its length on */
#define MARK_BYTES 128u /* UNICODE_MARK_BYTES */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TARGET_MAX_THREADS);
	__type(key, struct target_thread_key);
	__type(value, struct target_thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TARGET_MAX_LAYOUTS);
	__type(key, __u32);
	__type(value, struct target_layout);
} layouts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} ring SEC(".maps");

struct counters {
	__u64 value[EVENT_CTR_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counters);
} counters SEC(".maps");

/* Consecutive bytes of the target that lie in a part. */
struct range {
	__u64 addr;
	__u32 len;
	__u16 part;
	__u16 offset;
};

/* What the thread's list of states is searched with (thread.bpf.h). */
struct list {
	__u64 interp, tstate; /* where the walk is */
	__u64 next;	      /* the next interpreter */
	__u64 best;
	__u32 rank; /* of best; 0: none */
	__u32 pad;
};

/* Where the records are written and what of the stack they hold so far (frames.bpf.h). */
struct output {
	__u32 part, used; /* the part being filled, and its bytes so far */
	__u32 length[16]; /* of the parts before it; PART_MAX at most */
	__u32 identity;	  /* offset of the piece of identities that is last in the part; 0: none */
	__u32 open;	  /* 1: the last range is being copied to, its piece is last in the part */
	__u64 copy_at, copy_end; /* what of a chunk is still to copy */
	__u32 copied;		 /* bytes of chunks so far */
	__u32 ranges;
	__u32 outside; /* frames that were read one by one */
	__u32 pad;
	struct range range[RANGE_MAX];
	struct range last; /* the range the walk is in */
	__u64 chunk;	   /* where in the list of chunks; 0: at its end */
	__u64 chunk_size;  /* 0: its header has not been read */
	__u64 chunk_used, chunk_previous;
	__u64 chunk_done; /* 1: nothing left to copy of it */
};

/* Candidates for the caller of a frame that is being entered or left (edge.bpf.h). */
struct edge {
	__u64 regs[REGS_COUNT];
	__u64 frame, best, entered;
	__u64 chunk[2], used[2]; /* of this thread's data stack */
	__u32 steps, best_steps;
	__u32 fresh;
	__u32 is_frame, is_ours;
	__u32 pad;
};

/* The whole state of one tick. It lives in a map because loops keep nothing in registers. */
struct tick {
	struct event_sample sample;
	struct target target;
	struct target_layout layout;
	__u64 seq;
	__u32 force_wakeup;
	__u32 proof; /* enum target_proof in force */
	__u64 frame; /* where the walk of frames is */
	__u64 code;  /* of the frame whose identity is wanted */
	__s32 lasti;
	__u32 pad;
	__u64 str, mark;       /* strings.bpf.h */
	__u64 file, file_mark; /* the last file name marked: frames come in runs of one file */
	__u64 str_head[STR_HEAD / 8], str_text[MARK_BYTES / 8 + 1]; /* side by side */
	struct event_identity noted[NOTED]; /* of this tick (identity.bpf.h) */
	struct list list;
	struct output out;
	struct edge edge;
	__u8 tstate[TARGET_TSTATE_MAX + 8];
	__u8 raw[TARGET_FRAME_MAX + 8];
	__u8 object[TARGET_CODE_MAX + 8];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tick);
} ticks SEC(".maps");

struct part {
	__u8 bytes[PART_BYTES];
};

/* The records of one sample, sent when all of them are complete. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PART_MAX);
	__type(key, __u32);
	__type(value, struct part);
} parts SEC(".maps");

static __always_inline struct tick *tick_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&ticks, &zero);
}

static __always_inline __u8 *part_get(__u32 index)
{
	struct part *part = bpf_map_lookup_elem(&parts, &index);

	return part ? part->bytes : NULL;
}

static __always_inline void count_add(__u32 which, __u64 n)
{
	__u32 zero = 0;
	struct counters *c = bpf_map_lookup_elem(&counters, &zero);

	if (c && which < EVENT_CTR_MAX)
		c->value[which] += n;
}

static __always_inline void count(__u32 which)
{
	count_add(which, 1);
}

/* A word of the target; 0 and *failed set when it can't be read. */
static __always_inline __u64 read_word(__u64 addr, int *failed)
{
	__u64 word = 0;

	if (bpf_probe_read_user(&word, sizeof(word), (void *)addr))
		*failed = 1;
	return word;
}

/* Fields of structures that were copied whole; offsets come from a layout, so they are masked. */
static __always_inline __u64 tstate_word(const struct tick *t, __u32 offset)
{
	return *(__u64 *)(t->tstate + (offset & (TARGET_TSTATE_MAX - 1)));
}

static __always_inline __u64 raw_word(const struct tick *t, __u32 offset)
{
	return *(__u64 *)(t->raw + (offset & (TARGET_FRAME_MAX - 1)));
}

static __always_inline __u64 object_word(const struct tick *t, __u32 offset)
{
	return *(__u64 *)(t->object + (offset & (TARGET_CODE_MAX - 1)));
}

#endif
