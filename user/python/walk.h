/* Walk the frame chain of one thread over bytes that are already here. Pure: reads a snapshot,
 * nothing else. */
#ifndef SCRY_PYTHON_WALK_H
#define SCRY_PYTHON_WALK_H

#include "python/layout.h"
#include "remote/snapshot.h"

/* Why the walk ended. */
enum walk_end {
	WALK_ROOT,     /* at a frame that begins a stack, its `previous` NULL: complete */
	WALK_MISSING,  /* `ret->next` is not in the snapshot */
	WALK_CYCLE,    /* the chain does not end; no frame of it is kept */
	WALK_BROKEN,   /* at an unaligned address, or `previous` NULL where no stack begins */
	WALK_TOO_DEEP, /* `max` frames were found and there are more: the rest is cut */
};

struct walk_frame {
	raddr_t addr;
	raddr_t code;	  /* tag bits cleared; 0: an entry frame, or one being cleared */
	uint64_t instr;	  /* f_lasti, prev_instr or instr_ptr as stored */
	raddr_t function; /* the function object it runs (3.12+); 0: not known */
	uint32_t tlbc;
	uint8_t owner;
};

struct walk_result {
	enum walk_end end;
	size_t n;     /* frames with code, leaf first */
	size_t steps; /* frames followed, entry frames included */
	raddr_t next; /* WALK_MISSING: the frame that is not there; TOO_DEEP: the next one */
};

/*
 * Follows `previous` from `frame` and stores frames that have a code object, leaf first, at most
 * max. Entry frames (the interpreter's own, between C and Python) are passed over. A walk that
 * ended as MISSING or TOO_DEEP goes on from ret->next as if it had begun there.
 */
void walk_frames(const struct layout *l, struct snapshot *s, raddr_t frame, struct walk_frame *v,
		 size_t max, struct walk_result *ret);
/* Bytes of a frame that the walk looks at: what is to be read where frames are read one by one. */
uint32_t walk_frame_size(const struct layout *l);

#endif
