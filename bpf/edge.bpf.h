/*
 * Ticks on the edge between two frames.
 *
 * For a few instructions of a call, a return, a generator's start or its yield, CPython's own words
 * do not describe a stack: compilers store the pointer to the current frame some instructions
 * before that frame's `previous` (3.12, into a generator: 15 of them), or after it was
 * cleared; 3.11 and 3.12 make a new CFrame current before it is filled (with what leads to an
 * object, its type, and `type`, in up to 1.7 % of all samples of such a loop). `previous` is
 * whatever the memory held then: NULL or nonsense (0.7 % of all samples of a loop over generators
 * on 3.12, 0.15 % of calls on 3.11), or another frame that is alive (3.11: 1 of 8,000 samples named
 * the caller's caller as the caller).
 *
 * The caller is alive and the interpreter's loop has it in a register, since storing it is what
 * comes next. So each register of the interrupted code is tried as a frame; of those whose chain
 * leads to a frame that begins a stack the one with the longest chain is the youngest: the caller.
 * Frames above datastack_top have been popped, and one that is suspended has no `previous`: neither
 * can be mistaken for it. The stack then is the caller's; the frame being entered or left is not in
 * it.
 *
 *     current frame: leaf, not started     leaf -> (stale) -> hot_d -> module           3 frames
 *     a register:    sub                            sub ----> hot_d -> module           3 frames
 *
 * A frame whose chain is as long as the leaf's lies at the leaf's level, where no other can be.
 *
 * Registers hold other things that lead to frames: a PyFrameObject has the pointer to its frame
 * where a frame 24 bytes before it would have `previous`, and it may be another thread's, with a
 * stack as good as ours (3.11: 0.3 % of what threads that take turns showed). So a candidate must
 * be a frame, whose instruction lies in its code, and its chain must lead through a chunk of this
 * thread's data stack. Nothing is concluded for a thread all of whose frames are generators'.
 */
#ifndef SCRY_BPF_EDGE_BPF_H
#define SCRY_BPF_EDGE_BPF_H

#include "bpf/frames.bpf.h"

#define EDGE_STEPS 512	      /* of a candidate's chain, a read each */
#define EDGE_UNITS (1u << 26) /* of code, 2 bytes each: more than any has */
#define EDGE_OWNERS 2	      /* of entry frames: the interpreter, the C stack */
#define EDGE_YOUNG 3	      /* the frame entered, and a few that stale words led to */

/* Frames that have been popped lie above the top of the data stack, up to the end of its chunk. */
static __always_inline bool edge_popped(const struct tick *t, __u64 frame)
{
	__u64 chunk = tstate_word(t, t->layout.tstate_chunk);

	return frame >= t->sample.top && frame - chunk < CHUNK_SMALLEST;
}

/* Has the frame in t->raw not run an instruction yet? */
static __always_inline bool edge_fresh(const struct tick *t)
{
	const struct target_layout *l = &t->layout;

	return l->frame_fresh != TARGET_NONE &&
	       raw_word(t, l->frame_lasti) - (raw_word(t, l->frame_code) & ~7ull) == l->frame_fresh;
}

/* Is the instruction of the frame in t->raw one of its code's, or the place before the first? */
static __always_inline bool edge_runs(const struct tick *t)
{
	const struct target_layout *l = &t->layout;
	__u64 code = raw_word(t, l->frame_code) & ~7ull, units;
	__u64 at = raw_word(t, l->frame_lasti) - code - l->code_bytecode + 2;
	int failed = 0;

	units = read_word(code + l->code_units, &failed);
	return !failed && units < EDGE_UNITS && at <= 2 * units;
}

/* Is it an entry frame? That runs no code of its own, so its owner has to be one that there is. */
static __always_inline bool edge_entry(const struct tick *t)
{
	__u8 owner = t->raw[t->layout.frame_owner & (TARGET_FRAME_MAX - 1)];

	return owner >= t->layout.owner_entry && owner - t->layout.owner_entry < EDGE_OWNERS;
}

/* The used parts of the thread's newest chunk and of the one before, which holds the caller of the
 * newest's first frame. */
static __always_inline void edge_chunks(struct tick *t)
{
	struct edge *e = &t->edge;
	struct chunk_head h = {};

	e->chunk[0] = tstate_word(t, t->layout.tstate_chunk);
	e->used[0] = t->sample.top - e->chunk[0];
	e->used[1] = 0;
	if (e->used[0] > CHUNK_SANE) /* one is being pushed, the top is the other's */
		e->used[0] = 0;
	if (bpf_probe_read_user(&h.previous, sizeof(h.previous), (void *)e->chunk[0]))
		return;
	e->chunk[1] = h.previous;
	if (!h.previous || !chunk_read(&h, e->chunk[1]))
		return;
	e->used[1] = CHUNK_HEADER + 8 * h.top;
}

static __always_inline bool edge_inside(const struct edge *e)
{
	return e->frame - e->chunk[0] < e->used[0] || e->frame - e->chunk[1] < e->used[1];
}

static __always_inline int edge_read(struct tick *t, __u64 frame)
{
	__u32 size = t->layout.frame_size;

	if (size > TARGET_FRAME_MAX)
		size = TARGET_FRAME_MAX;
	return bpf_probe_read_user(t->raw, size, (void *)frame);
}

/* How many frames from t->edge.frame to one that begins a stack; 0: no such chain. */
__attribute__((noinline)) int edge_step(void)
{
	struct tick *t = tick_get();
	__u64 previous;

	if (!t || (t->edge.frame & 7) || t->edge.steps >= EDGE_STEPS || edge_read(t, t->edge.frame))
		return -1;
	if (!t->edge.steps)
		t->edge.fresh = edge_fresh(t);
	if (!t->edge.is_frame && !edge_entry(t)) {
		if (!edge_runs(t))
			return -1;
		t->edge.is_frame = 1;
	}
	if (edge_inside(&t->edge))
		t->edge.is_ours = 1;
	previous = frames_previous(t, t->raw);
	if (previous == t->edge.frame) /* any object leads to `type`, which is its own type */
		return -1;
	t->edge.frame = previous;
	t->edge.steps++;
	if (previous)
		return 1;
	return t->edge.is_ours && frames_root(t, t->raw) ? 0 : -1;
}

__attribute__((noinline)) int edge_turn(void)
{
	int more = 1;

	ROLLED
	for (int i = 0; i < TURNS && more > 0; i++)
		more = edge_step();
	return more;
}

/* Tries one word as a frame, keeps the one with the longest chain. */
__attribute__((noinline)) int edge_try(__u64 frame)
{
	struct tick *t = tick_get();
	int more = 1;

	if (!t || frame < PAGE || frame == t->sample.frame || edge_popped(t, frame))
		return 0;
	t->edge.frame = frame;
	t->edge.steps = t->edge.is_frame = t->edge.is_ours = 0;
	ROLLED
	for (int i = 0; i < TURNS && more > 0; i++)
		more = edge_turn();
	if (more)
		return 0;
	if (t->edge.fresh) {
		t->edge.entered = frame;
	} else if (t->edge.steps > t->edge.best_steps) {
		t->edge.best = frame;
		t->edge.best_steps = t->edge.steps;
	}
	return 0;
}

/* Tries a register and, where frames hang on CFrames, what it points to. */
__attribute__((noinline)) int edge_register(__u32 index)
{
	struct tick *t = tick_get();
	int failed = 0;

	if (!t || index >= REGS_COUNT)
		return 0;
	edge_try(t->edge.regs[index]);
	if (t->layout.frame_hop != TARGET_NONE)
		edge_try(read_word(t->edge.regs[index] + t->layout.frame_hop, &failed));
	return 0;
}

/*
 * May this be an edge? Sets how long the caller's chain must be. Only the youngest frames can be on
 * it. An absent page looks much like it, but then what a register holds may be an older frame: with
 * a hole in the chunk nothing is concluded.
 */
static __always_inline bool edge_suspected(struct tick *t)
{
	struct event_sample *s = &t->sample;
	bool entries = t->layout.owner_entry != TARGET_NONE;

	t->edge.best_steps = entries; /* an entry frame alone is no stack */
	if (seed_mode != TARGET_SEED_STACK || t->layout.object_frames || !s->tstate || !s->top ||
	    (s->flags & EVENT_CHUNK_FAILED))
		return false;
	if (!s->frame) /* a CFrame that is not filled may hold any word */
		return t->layout.frame_hop != TARGET_NONE;
	if (edge_popped(t, s->frame))
		return true; /* being left, or a stale word that led to one of old */
	if (s->flags & (EVENT_WALK_BROKEN | EVENT_WALK_FAILED))
		return s->steps <= EDGE_YOUNG;
	if (!(s->flags & EVENT_WALK_END) || !s->steps)
		return false;
	if (entries && s->steps == 1)
		return true;
	t->edge.best_steps = s->steps - 1;
	return t->layout.frame_fresh != TARGET_NONE && !edge_read(t, s->frame) && edge_fresh(t);
}

/* Finds the caller by t->edge.regs and takes its stack instead. */
__attribute__((noinline)) int edge_repair(void)
{
	struct tick *t = tick_get();

	if (!t)
		return 0;
	t->edge.best = 0;
	t->edge.entered = 0;
	edge_chunks(t);
	ROLLED
	for (__u32 i = 0; i < REGS_COUNT; i++)
		edge_register(i);
	/* the one being entered itself only if its caller is nowhere: its own chain may be stale */
	if (!t->edge.best && (!t->sample.frame || !(t->sample.flags & EVENT_WALK_END)))
		t->edge.best = t->edge.entered;
	if (!t->edge.best)
		return 0;
	t->sample.flags &= ~(EVENT_WALK_BROKEN | EVENT_WALK_FAILED | EVENT_WALK_END);
	t->sample.flags |= EVENT_EDGE;
	t->sample.steps = 0;
	t->sample.frame = t->frame = t->edge.best;
	return frames_walk();
}

#endif
