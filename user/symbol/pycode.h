/* Names and lines of code objects that are true: the cache of one process image (design.md §6). */
#ifndef SCRY_SYMBOL_PYCODE_H
#define SCRY_SYMBOL_PYCODE_H

#include <stdbool.h>
#include "profile/frame.h"
#include "python/code.h"
#include "python/identity.h"
#include "remote/mem.h"

struct pycode_query {
	raddr_t code;	  /* address of the code object, tag bits cleared */
	uint64_t instr;	  /* as in the frame: f_lasti, prev_instr or instr_ptr */
	uint32_t tlbc;	  /* free-threaded 3.14+: the frame's bytecode copy; else 0 */
	raddr_t function; /* the frame's function object (3.12+); 0: not known */
	struct identity id;
	uint32_t ret_frame; /* id in names; the marker [unreadable] when it could not be proven */
	bool ret_named;
	bool ret_hidden; /* not a function: the shim between a class's call and its __init__
			    (3.13+), which the interpreter's own tracebacks leave out as well */
};

struct pycode_stats {
	uint64_t hits;	 /* frames that were answered from what is known */
	uint64_t misses; /* code objects that had to be read for frames that were not */
	uint64_t retired, unreadable, revalidated;
};

struct pycode;

/* A cache that interns into `names`. runtime: address of _PyRuntime. NULL: out of memory. */
struct pycode *pycode_new(struct names *names, const struct layout *l, struct code_types types,
			  raddr_t runtime);
/*
 * The cache of a child that was forked at `forked` (monotonic ns): what its parent's held a second
 * before that is the child's own past. Later entries may be about objects that only the parent has.
 * NULL: out of memory.
 */
struct pycode *pycode_fork(const struct pycode *parent, uint64_t forked);
void pycode_free(struct pycode *c);
/* The ring was found empty: every tick from before now is asked about by the next resolve. */
void pycode_emptied(struct pycode *c);
/*
 * Names all queries, in as few reads as possible for all of them together (steady state: none).
 * Once a drain. Returns 0, or the class of mem.h that holds for the whole process (-ESRCH: what is
 * cached and still provable is named all the same).
 */
int pycode_resolve(struct pycode *c, struct mem *m, struct pycode_query *q, size_t n);
/* The same in the midst of a drain: ticks from before this may follow. */
int pycode_resolve_early(struct pycode *c, struct mem *m, struct pycode_query *q, size_t n);
const struct pycode_stats *pycode_get_stats(const struct pycode *c);

#endif
