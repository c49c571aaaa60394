/* What the files of the reader share. */
#ifndef SCRY_PYTHON_READER_IMPL_H
#define SCRY_PYTHON_READER_IMPL_H

#include <uthash.h>
#include "python/reader.h"
#include "python/reader_job.h"
#include "python/reader_words.h"
#include "python/witness.h"
#include "remote/predict.h"

#define READER_MAX_FRAMES (1u << 17) /* of one thread; what is beyond is cut */
#define READER_TRIES 3		     /* of a thread whose stack made no sense */

enum reader_interp_word {
	READER_NEXT,
	READER_HEAD,
	READER_GIL_PTR,
	READER_GC,
	READER_COUNTER,
	READER_GENERATION,
	READER_GIL,
};

enum reader_runtime_word { READER_RUNTIME_HEAD, READER_RUNTIME_GC, READER_RUNTIME_GIL };

struct reader_gil {
	raddr_t addr;
	struct reader_words alone; /* where it lies in nobody's words */
	size_t last_at;		   /* its closing words in the batch */
	struct witness first, last;
	bool wanted;
};

struct reader_interp {
	raddr_t addr;
	raddr_t head;	/* its newest state when the lists were read */
	raddr_t gil;	/* 0: none */
	size_t gil_at;	/* of reader.gils */
	bool holds_gil; /* the GIL's words are among its own */
	struct reader_words words;
	/* this pass */
	bool gc;
	raddr_t head_now;
	struct identity id; /* proof is COUNTER: of all its code objects */
};

/* A thread state that we know. */
struct reader_state {
	raddr_t addr, interp; /* interp 0: not in a list that we read */
	uint64_t listing;     /* the reading of the lists that had it last */
	struct predict predict;
	UT_hash_handle hh;
};

struct reader_key {
	uint64_t key;
	size_t order; /* in the lists */
	struct reader_state *state;
};

struct reader {
	struct discover_found found;
	struct mem *mem;
	struct thread_lists lists;
	uint64_t listing, limit; /* how often they were read; of states in them */
	bool relist;		 /* they are not what they were */
	struct reader_state *states;
	struct reader_key *by_ptr, *by_tid;
	size_t n_keys, cap_ptr, cap_tid;
	struct reader_words runtime;
	struct reader_interp *interps;
	size_t n_interps, cap_interps;
	struct reader_gil *gils;
	size_t n_gils, cap_gils;
	struct batch *batch;
	struct snapshot *near; /* of one job */
	struct snapshot *far;  /* of all, once one has to wait */
	struct snapshot *snapshot;
	struct reader_job *jobs;
	size_t n_jobs, cap_jobs;
	struct reader_stack out, again;
	uint32_t state_at, state_len, gil_at, gil_len, code_at, code_len, frame_len;
	struct reader_stats stats;
};

/* Reads the lists anew. 0 or as threads_read(). */
int reader_list_update(struct reader *r);
void reader_list_release(struct reader *r);
/* States by key, newest first: *ret_n of them. */
const struct reader_key *reader_list_find(const struct reader_key *v, size_t n, uint64_t key,
					  size_t *ret_n);
/* By address; one that no list had is added with interp 0. NULL: out of memory. */
struct reader_state *reader_list_state(struct reader *r, raddr_t addr);
struct reader_interp *reader_list_interp(struct reader *r, raddr_t addr);

/* One pass: reads the jobs that are pending, as many as there is room for. 0 or a class. */
int reader_pass_run(struct reader *r, bool check_heads);

#endif
