/*
 * Copy the used parts of the thread's data-stack chunks (3.11+), where its frames lie side by side.
 *
 * The top chunk is copied at once and an older one when the walk comes to it, page by page, so that
 * an absent page costs only itself; what is contiguous is one piece up to the end of its part. A
 * frame that such an end cuts in two is read once more, whole.
 */
#ifndef SCRY_BPF_CHUNKS_BPF_H
#define SCRY_BPF_CHUNKS_BPF_H

#include "bpf/output.bpf.h"

#define COPY_STEPS (CHUNK_BYTES / PAGE + PART_MAX + 2)
#define CHUNK_SMALLEST 16384u /* CPython allocates no smaller ones */
#define CHUNK_SANE (1ull << 32)

/* Opens a piece for chunk bytes at t->out.copy_at, and the range that the walk finds it by. */
static __always_inline int chunk_open(struct tick *t)
{
	struct output *o = &t->out;
	struct range *r;
	__u8 *at;

	if (o->ranges >= RANGE_MAX || !output_room(t, PAGE))
		return 0;
	at = output_at(t, o->used, PIECE);
	if (!at)
		return 0;
	piece_head(at, o->copy_at, 0, EVENT_CHUNK);
	o->used += PIECE;
	r = &o->range[o->ranges & (RANGE_MAX - 1)];
	r->addr = o->copy_at;
	r->len = 0;
	r->part = o->part;
	r->offset = o->used;
	o->ranges++;
	o->open = 1;
	o->identity = 0;
	return 1;
}

/* Copies up to the end of a page into the open piece; 1: nothing is left, or no room. */
__attribute__((noinline)) int chunk_step(void)
{
	struct tick *t = tick_get();
	struct output *o;
	struct range *r;
	__u8 *at, *head;
	__u64 left;
	__u32 n;

	if (!t)
		return 1;
	o = &t->out;
	if (o->copy_at >= o->copy_end)
		return 1;
	left = o->copy_end - o->copy_at;
	n = PAGE - (o->copy_at & (PAGE - 1));
	if (n > left)
		n = left;
	if (o->open && o->used + PAGE > PART_BYTES)
		o->open = 0;
	if (!o->open && !chunk_open(t))
		return 1;
	r = &o->range[(o->ranges - 1) & (RANGE_MAX - 1)];
	at = output_at(t, o->used, PAGE);
	head = output_at(t, r->offset - PIECE, PIECE);
	barrier_var(n);
	if (!at || !head || n > PAGE)
		return 1;
	o->copied += n;
	if (bpf_probe_read_user(at, n, (void *)o->copy_at)) {
		t->sample.flags |= EVENT_CHUNK_FAILED;
		if (!r->len) { /* nothing in it: take the piece back */
			o->used -= PIECE;
			o->ranges--;
		}
		o->open = 0;
	} else {
		o->used += n;
		r->len += n;
		((struct event_piece *)head)->len = r->len;
	}
	o->copy_at += n;
	return 0;
}

/* Copies [from, to) of the target, its last part if that is more than may be copied. */
__attribute__((noinline)) int chunk_copy(__u64 from, __u64 to)
{
	struct tick *t = tick_get();
	struct output *o;
	__u32 room;

	if (!t)
		return 0;
	o = &t->out;
	room = CHUNK_BYTES - o->copied;
	if (o->copied >= CHUNK_BYTES || ((from | to) & 7))
		return 0;
	if (to - from > room)
		from = to - room;
	o->copy_at = from;
	o->copy_end = to;
	o->open = 0;
	ROLLED
	for (__u32 i = 0; i < COPY_STEPS; i++)
		if (chunk_step())
			break;
	o->open = 0;
	return 0;
}

/* struct _stack_chunk, before its data */
struct chunk_head {
	__u64 previous, size, top;
};

/* False when it can't be read, or can't be true. */
static __always_inline bool chunk_read(struct chunk_head *h, __u64 chunk)
{
	return !(chunk & 7) && !bpf_probe_read_user(h, sizeof(*h), (void *)chunk) &&
	       h->size > CHUNK_HEADER && h->size <= CHUNK_SANE && h->top <= h->size / 8;
}

/* Reads the header of the chunk at t->out.chunk; there is none when it can't be true. */
static __always_inline void chunk_header(struct tick *t)
{
	struct output *o = &t->out;
	struct chunk_head h = {};

	if (!o->chunk || o->chunk_size)
		return;
	if (!chunk_read(&h, o->chunk)) {
		o->chunk = 0;
		return;
	}
	o->chunk_previous = h.previous;
	o->chunk_size = h.size;
	o->chunk_used = CHUNK_HEADER + 8 * h.top;
	if (o->chunk_used > h.size)
		o->chunk_used = h.size;
}

/* The top chunk's used part ends at datastack_top. While a chunk is being pushed or popped that
 * lies in another one, and the walk finds the right one through the headers. A distance below the
 * smallest size of a chunk needs no header: the bytes are right by their address in any case. */
static __always_inline void chunk_top(struct tick *t)
{
	struct output *o = &t->out;
	__u64 top = t->sample.top, used = top - o->chunk;

	if (used > CHUNK_SMALLEST) {
		chunk_header(t);
		if (!o->chunk)
			return;
	}
	if (used >= CHUNK_HEADER && (used <= CHUNK_SMALLEST || used <= o->chunk_size))
		chunk_copy(o->chunk, top);
	o->chunk_done = 1;
}

/* Moves on to the next older chunk if this one is done with; 0: there is none. */
__attribute__((noinline)) int chunk_next(void)
{
	struct tick *t = tick_get();
	struct output *o;

	if (!t)
		return 0;
	o = &t->out;
	chunk_header(t);
	if (o->chunk && o->chunk_done) {
		o->chunk = o->chunk_previous;
		o->chunk_size = 0;
		o->chunk_done = 0;
		chunk_header(t);
	}
	return o->chunk && o->copied < CHUNK_BYTES;
}

static __always_inline void chunk_copy_used(struct tick *t)
{
	chunk_copy(t->out.chunk, t->out.chunk + t->out.chunk_used);
	t->out.chunk_done = 1;
}

/* Is the frame in the next older chunk? Then that is copied. */
__attribute__((noinline)) int chunk_older(void)
{
	struct tick *t = tick_get();

	if (!t || !chunk_next() || t->frame - t->out.chunk >= t->out.chunk_size)
		return 0;
	chunk_copy_used(t);
	return 1;
}

/* Where the kernel's walk ended early user space may still walk on: the chunks go on. */
__attribute__((noinline)) int chunk_rest(void)
{
	struct tick *t = tick_get();

	if (!t || !chunk_next())
		return 1;
	chunk_copy_used(t);
	return 0;
}

#endif
