/* A stack that is being read. */
#ifndef SCRY_PYTHON_READER_JOB_H
#define SCRY_PYTHON_READER_JOB_H

#include "python/identity.h"
#include "python/walk.h"

struct reader;
struct reader_interp;
struct reader_state;

/* What a walk needs, as kinds of predictions. */
enum reader_kind {
	READER_TSTATE, /* the thread state */
	READER_LINK,   /* the one before it in the list: freed states are in none */
	READER_HOP,    /* 3.11, 3.12: the CFrame */
	READER_CHUNK,  /* used part of a data-stack chunk */
	READER_FRAME,  /* a frame elsewhere: on the C stack, in a generator, on the heap */
	READER_CODE,   /* what identifies a code object */
};

struct reader_stack {
	struct walk_frame *frames;
	struct identity *ids;
	size_t n, cap_frames, cap_ids;
};

enum reader_end {
	READER_PENDING, /* to be read in the next pass */
	READER_WAITING, /* for pieces of this pass */
	READER_DONE,
	READER_STALE, /* not what the lists said: to be read again */
	READER_BAD,   /* makes no sense */
	READER_FULL,  /* no room in this pass */
};

/* A stack that is being read. */
struct reader_job {
	size_t thread; /* of those asked for */
	uint64_t thread_ptr;
	uint32_t ns_tid;
	bool runs;
	struct reader_state *state;
	enum reader_end end;
	bool asked;    /* in this pass */
	bool waits;    /* something is missing, and was asked for now */
	int err;       /* why something is not to be had: -EFAULT, -ENOSPC, -ENOMEM */
	bool alone;    /* no room for it in a pass of its own: cut where it ends */
	bool located;  /* frame and chunk are known */
	bool walked;   /* all frames are there */
	bool cut;      /* past a limit */
	raddr_t frame; /* where the walk goes on */
	raddr_t chunk; /* the chunk behind those that were met; 0: none */
	uint32_t chunks;
	struct reader_interp *interp;
	struct reader_stack own; /* frames so far, once it had to wait */
	bool one_id;		 /* the first frame's is that of all */
	/* answer */
	size_t first, n;
	bool still, holds_gil, steady;
};

/* The bytes from r->snapshot; NULL: asked for now (job->waits), or not to be had (job->err). */
const void *reader_stack_get(struct reader *r, struct reader_job *j, enum reader_kind kind,
			     raddr_t addr, uint32_t len);
/* Goes on with a stack as far as what is there allows; sets j->end. */
void reader_stack_step(struct reader *r, struct reader_job *j);
/* Whether the bytes in r->near hold the stack of j as well; the leaf may have gone on. */
bool reader_stack_is(struct reader *r, const struct reader_job *j);
void reader_stack_release(struct reader_stack *s);

/* Identifies the n frames; j->waits when something is missing. */
void reader_identity_fill(struct reader *r, struct reader_job *j, const struct walk_frame *frames,
			  struct identity *ids, size_t n);
void reader_identity_place(const struct layout *l, uint32_t *ret_offset, uint32_t *ret_len);

#endif
