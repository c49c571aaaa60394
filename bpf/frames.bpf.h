/*
 * The snapshot of the frame chain, as raw bytes in the records that user space gets.
 *
 * `previous` is followed in the copies of the chunks; a frame that lies elsewhere (generators,
 * entry frames on the C stack) is read and added as a piece of its own. The walk is what tells
 * which those are: user space could follow the rest.
 *
 * Loops call a global function for each step: the verifier checks such a function once, alone, and
 * its state lives in the map value `struct tick`.
 */
#ifndef SCRY_BPF_FRAMES_BPF_H
#define SCRY_BPF_FRAMES_BPF_H

#include "bpf/chunks.bpf.h"
#include "bpf/identity.bpf.h"

#define STEPS_MAX 4096 /* frames in all: 256 KiB hold about 3,000 */
#define INSIDE_STEPS 16
#define PART_LAST_FRAME (PART_BYTES - TARGET_FRAME_MAX - 8) /* where one may begin */

/* One frame as PyFrameObject: identities are all that is kept of them. 1: the walk is over. */
static __always_inline int frames_object(struct tick *t)
{
	const struct target_layout *l = &t->layout;
	__u32 len = l->frame_size;

	if (len > TARGET_FRAME_MAX)
		len = TARGET_FRAME_MAX;
	if (bpf_probe_read_user(t->raw, len, (void *)t->frame)) {
		t->sample.flags |= EVENT_WALK_FAILED;
		return 1;
	}
	t->code = raw_word(t, l->frame_code) & ~7ull;
	t->lasti = raw_word(t, l->frame_lasti);
	if (frames_identity())
		return 1;
	t->frame = raw_word(t, l->frame_previous);
	t->sample.steps++;
	return 0;
}

/* How many frames have their identity noted. */
static __always_inline __u32 frames_identified(const struct tick *t)
{
	return t->proof == TARGET_PROOF_NAME || t->proof == TARGET_PROOF_VERSION ? max_frames : 0;
}

/* Notes the identity of t->frame, whose bytes are at `raw`; 1: no room. */
static __always_inline int frames_identify(struct tick *t, const __u8 *raw)
{
	const struct target_layout *l = &t->layout;

	if (raw[l->frame_owner & (TARGET_FRAME_MAX - 1)] >= l->owner_entry)
		return 0;
	t->code = *(__u64 *)(raw + (l->frame_code & (TARGET_FRAME_MAX - 1))) & ~7ull;
	return frames_identity();
}

static __always_inline __u64 frames_previous(const struct tick *t, const __u8 *raw)
{
	return *(__u64 *)(raw + (t->layout.frame_previous & (TARGET_FRAME_MAX - 1)));
}

/* Can a stack begin with this frame? An entry frame, or (3.11) one that C code entered. */
static __always_inline bool frames_root(const struct tick *t, const __u8 *raw)
{
	const struct target_layout *l = &t->layout;
	__u8 owner = raw[l->frame_owner & (TARGET_FRAME_MAX - 1)];

	if (l->frame_is_entry != TARGET_NONE)
		return !owner && raw[l->frame_is_entry & (TARGET_FRAME_MAX - 1)] == 1;
	return l->owner_entry == TARGET_NONE || owner >= l->owner_entry;
}

/* Where the walk goes on; at its end, whether that is one. */
static __always_inline __u64 frames_next(struct tick *t, const __u8 *raw)
{
	__u64 previous = frames_previous(t, raw);

	if (!previous && !frames_root(t, raw))
		t->sample.flags |= EVENT_WALK_BROKEN;
	return previous;
}

/* Follows up to INSIDE_STEPS frames of the range t->out.last, which holds the first whole; 1: the
 * walk is over. */
__attribute__((noinline)) int frames_inside(void)
{
	struct tick *t = tick_get();
	__u64 frame, offset, room;
	__u32 identified;
	struct range r;
	__u8 *part;

	if (!t)
		return 1;
	r = t->out.last;
	part = part_get(r.part);
	if (!part)
		return 1;
	frame = t->frame;
	room = r.len - t->layout.frame_size;
	identified = frames_identified(t);
	ROLLED
	for (int i = 0; i < INSIDE_STEPS; i++) {
		offset = frame - r.addr;
		if (offset > room)
			break;
		offset += r.offset;
		barrier_var(offset);
		if (offset > PART_LAST_FRAME)
			break;
		t->frame = frame;
		if (t->sample.steps < identified && frames_identify(t, part + offset))
			return 1;
		t->sample.steps++;
		frame = frames_next(t, part + offset);
		if (!frame)
			break;
	}
	t->frame = frame;
	return 0;
}

/* Makes a range t->out.last if it holds the frame whole; -1: there are no more. */
__attribute__((noinline)) int range_try(__u32 index)
{
	struct tick *t = tick_get();
	const struct range *r;
	__u64 offset;

	if (!t || index >= t->out.ranges || index >= RANGE_MAX)
		return -1;
	r = &t->out.range[index];
	offset = t->frame - r->addr;
	if (offset >= r->len || offset + t->layout.frame_size > r->len ||
	    offset + r->offset > PART_LAST_FRAME)
		return 0;
	t->out.last = *r;
	return 1;
}

static __always_inline bool range_find(void)
{
	int found = 0;

	ROLLED
	for (__u32 i = 0; i < RANGE_MAX && !found; i++)
		found = range_try(i);
	return found > 0;
}

/* Reads a frame that lies in no copy, as a piece of its own; 1: the walk is over. */
__attribute__((noinline)) int frames_outside(void)
{
	struct tick *t = tick_get();
	__u64 next;
	__u32 size;
	__u8 *at;

	if (!t)
		return 1;
	if (t->out.outside >= max_frames) {
		t->sample.flags |= EVENT_WALK_MAX;
		return 1;
	}
	size = t->layout.frame_size;
	if (size > TARGET_FRAME_MAX)
		size = TARGET_FRAME_MAX;
	at = NULL;
	if (output_room(t, TARGET_FRAME_MAX + 8))
		at = output_at(t, t->out.used, PIECE + TARGET_FRAME_MAX + 8);
	if (!at) {
		t->sample.flags |= EVENT_WALK_FULL;
		return 1;
	}
	*(__u64 *)(at + PIECE + (size & ~7u)) = 0; /* the padding, if there is any */
	if (bpf_probe_read_user(at + PIECE, size, (void *)t->frame)) {
		t->sample.flags |= EVENT_WALK_FAILED;
		return 1;
	}
	piece_head(at, t->frame, size, EVENT_FRAME);
	t->out.used += PIECE + ((size + 7) & ~7u);
	t->out.identity = 0;
	t->out.outside++;
	if (t->sample.steps < frames_identified(t) && frames_identify(t, at + PIECE))
		return 1;
	next = frames_next(t, at + PIECE);
	if (next == t->frame) { /* any object leads to `type`, which is its own type */
		t->sample.flags |= EVENT_WALK_BROKEN;
		next = 0;
	}
	t->frame = next;
	t->sample.steps++;
	return 0;
}

/* Frames that need reads of their own are dear, those in a copy take 5 ns each. */
static __always_inline __u32 frames_limit(const struct tick *t)
{
	if (seed_mode == TARGET_SEED_LEAF)
		return 1;
	return t->layout.object_frames ? max_frames : STEPS_MAX;
}

/* One or more frames; 1: the walk is over, and a flag says how. */
__attribute__((noinline)) int frames_step(void)
{
	struct tick *t = tick_get();

	if (!t)
		return 1;
	if (!t->frame) {
		if (!(t->sample.flags & EVENT_WALK_BROKEN))
			t->sample.flags |= EVENT_WALK_END;
		return 1;
	}
	if (t->sample.steps >= frames_limit(t)) {
		t->sample.flags |= EVENT_WALK_MAX;
		return 1;
	}
	if (t->layout.object_frames)
		return frames_object(t);
	if (range_find())
		return frames_inside();
	if (chunk_older())
		return 0;
	return frames_outside();
}

__attribute__((noinline)) int frames_turn(void)
{
	ROLLED
	for (int i = 0; i < TURNS; i++)
		if (frames_step())
			return 1;
	return 0;
}

/* Follows the chain from t->frame. */
__attribute__((noinline)) int frames_walk(void)
{
	struct tick *t = tick_get();

	if (!t)
		return 0;
	ROLLED
	for (int i = 0; i < TURNS; i++)
		if (frames_turn())
			break;
	if (!(t->sample.flags & EVENT_WALK_MAX))
		return 0;
	ROLLED
	for (__u32 i = 0; i < RANGE_MAX; i++)
		if (chunk_rest())
			break;
	return 0;
}

/* Everything of the stack of the state in t->tstate. */
static __always_inline void frames_take(struct tick *t)
{
	if (t->out.chunk)
		chunk_top(t);
	frames_walk();
}

#endif
