/* Read the stacks of threads of one process, all in one call, with what shows that they stood
 * still.
 */
#ifndef SCRY_PYTHON_READER_H
#define SCRY_PYTHON_READER_H

#include "python/discover.h"
#include "python/identity.h"
#include "python/threads.h"
#include "python/walk.h"

#define READER_STATES_MORE 2048 /* sub-interpreters, threads that C code forgot */
#define READER_STATES_UNTOLD 16384

enum reader_status {
	READER_STACK,	  /* frames down to a root that was read */
	READER_CUT,	  /* the leaf end only: past a limit */
	READER_NO_FRAMES, /* a thread state without frames */
	READER_NO_STATE,  /* all lists were read to their ends, and none has it */
	READER_FAILED,	  /* not readable, or it makes no sense (it changes under us) */
};

/* One thread: what is asked, and what came. */
struct reader_thread {
	/* who; any of the three is enough, 0: not known */
	uint64_t thread_ptr;
	uint32_t ns_tid; /* 3.11+ */
	raddr_t tstate;
	bool runs; /* it may be running: its stack is to be found twice */
	/* answer */
	enum reader_status status;
	bool still;	/* the GIL's words prove that it ran no Python while its stack was read */
	bool steady;	/* `runs`: two copies that one call made hold the same stack (3.8 - 3.10) */
	bool holds_gil; /* it did, at both ends of the read */
	bool foreign;	/* nothing is proven: another thread may be the one that runs this state, or
			   another state of this one may be what it runs */
	bool gc;	/* its interpreter was collecting */
	raddr_t interp;
	size_t first, n; /* of reader_frames() and reader_ids(), leaf first */
	bool one_id;	 /* reader_ids() has the first only, which proves them all */
};

struct reader_hits {
	uint64_t right, wrong, unused; /* predictions: used; another was needed; for nothing */
};

struct reader_stats {
	uint64_t reads;			    /* reader_read() calls */
	uint64_t walks;			    /* stacks walked */
	uint64_t batches, batches_complete; /* calls with predictions; all that was needed came */
	uint64_t gil_witness;		    /* stacks that the GIL's words proved */
	struct reader_hits tstate, leaf, chunk;
};

struct reader;

/* Copies *f, keeps m. NULL: out of memory. */
struct reader *reader_new(const struct discover_found *f, struct mem *m);
void reader_free(struct reader *r); /* accepts NULL */
/*
 * How many threads the kernel knows of it, as far as the caller knows: a process may link any
 * number of states that no thread has, and each costs a call. Twice as many and READER_STATES_MORE
 * are believed; as long as nothing was told READER_STATES_UNTOLD.
 */
void reader_expect(struct reader *r, size_t threads);
/*
 * Reads the stacks of the threads in v. In the steady state that is one mem_readv(): the GIL's
 * words first and last, between them what the last reads of these threads needed. What was not
 * predicted is read through, inside the same witness. Where one OS thread has states in several
 * interpreters, the one that holds its GIL is taken, else the oldest that has a frame. 0, or a
 * class of mem.h that holds for the process (what came before is in v all the same), or -ENOMEM.
 */
int reader_read(struct reader *r, struct reader_thread *v, size_t n);
/* All thread states of all interpreters, now. Valid until the next call. The same errors. */
int reader_list(struct reader *r, const struct thread_state **ret, size_t *ret_n);
/* Of the last reader_read(). */
const struct walk_frame *reader_frames(const struct reader *r);
const struct identity *reader_ids(const struct reader *r);
/* A futex address inside a GIL's struct: who sleeps on it waits for that GIL. */
bool reader_is_gil(const struct reader *r, raddr_t futex);
const struct reader_stats *reader_get_stats(const struct reader *r);

#endif
