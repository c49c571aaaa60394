/* The thread states of a runtime: all interpreters, all states, bounded. */
#ifndef SCRY_PYTHON_THREADS_H
#define SCRY_PYTHON_THREADS_H

#include "python/discover.h"
#include "remote/batch.h"

#define THREADS_MAX 65536 /* states of one process that are listed */
#define THREADS_MAX_INTERPS 1024

struct thread_state {
	raddr_t addr, interp;
	uint64_t thread_id; /* pthread_self: the thread pointer */
	uint64_t native_id; /* kernel tid in the process's own namespace; 0 before 3.11 */
	raddr_t frame;	    /* current frame; 0: none */
	bool holds_gil;
};

struct thread_interp {
	raddr_t addr;
	raddr_t gil;  /* 0: it has none */
	raddr_t head; /* its newest thread state */
};

/* The lists as they were read last, newest first. All zeroes: not read yet. */
struct thread_lists {
	struct thread_state *v;
	size_t n, cap;
	struct thread_interp *interps;
	size_t n_interps, cap_interps;
	bool complete; /* each list was followed to its end, within the limit, and every link led
			  back */
	struct batch *batch;
	struct snapshot *snapshot;
};

/*
 * Reads all lists, at most `limit` states: by one call for all that were there the last time, and a
 * call for each that is new. 0 or a class of mem.h, or -ENOMEM; then what was there stays.
 */
int threads_read(struct mem *m, const struct discover_found *f, struct thread_lists *l,
		 size_t limit);
void threads_release(struct thread_lists *l);

/*
 * Fills up to max entries; *ret_total counts all that were seen (NULL: stop when v is full). 0 or a
 * class of mem.h.
 */
int threads_list(struct mem *m, const struct discover_found *f, struct thread_state *v, size_t max,
		 size_t *ret_n, size_t *ret_total);

/*
 * Up to 3.12 code of a sub-interpreter may run in a state that another thread has made and whose id
 * it still carries (PyThreadState_Swap): with several interpreters no state is known to be its
 * thread's.
 */
bool threads_may_swap(const struct layout *l);

/* Which part of a thread state the lists need: from its address on, this far and this long. */
void threads_place(const struct layout *l, uint32_t *ret_offset, uint32_t *ret_len);

#endif
