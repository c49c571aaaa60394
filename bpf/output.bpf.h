/*
 * The parts of a sample's records and the pieces in them, written in order and sent at the end.
 *
 *     part 0:  head  event_sample  CHUNK top chunk     FRAME FRAME ...
 *     part 1:  head                CHUNK older chunk   FRAME ...
 */
#ifndef SCRY_BPF_OUTPUT_BPF_H
#define SCRY_BPF_OUTPUT_BPF_H

#include "bpf/maps.bpf.h"

#define PIECE sizeof(struct event_piece)

/* Makes room for a piece of `len` bytes at t->out.used; 0: every part is full. */
static __always_inline int output_room(struct tick *t, __u32 len)
{
	struct output *o = &t->out;

	if (o->used + PIECE + len <= PART_BYTES)
		return 1;
	if (o->part + 1 >= PART_MAX)
		return 0;
	o->length[o->part & 15] = o->used;
	o->part++;
	o->used = sizeof(struct event_head);
	o->identity = 0;
	o->open = 0;
	return 1;
}

/* The place for a piece in its part, offset bounded for the verifier; NULL: does not fit. */
static __always_inline __u8 *output_at(const struct tick *t, __u32 offset, __u32 room)
{
	__u8 *part = part_get(t->out.part);

	if (!part)
		return NULL;
	/* else the compiler adds first and compares the sum with NULL */
	barrier_var(part);
	barrier_var(offset);
	if (offset > PART_BYTES - room)
		return NULL;
	return part + offset;
}

static __always_inline void piece_head(__u8 *at, __u64 addr, __u32 len, __u32 kind)
{
	struct event_piece *piece = (struct event_piece *)at;

	piece->addr = addr;
	piece->len = len;
	piece->kind = kind;
}

#endif
