/* The stacks of threads whose frames are those of their last sample, from the root up to where they
 * differ. */
#ifndef SCRY_SYMBOL_WALKCACHE_H
#define SCRY_SYMBOL_WALKCACHE_H

#include "python/walk.h"
#include "symbol/pycode.h"

struct walkcache;

/* Frames of one walk, leaf first, and what proves their code objects. */
struct walkcache_frames {
	const struct walk_frame *frames;
	const struct identity *ids;
	size_t n;
	bool one_id; /* ids has one, which proves them all */
	bool cut;    /* the cold end is missing */
};

/* A walk until it has a stack: its hot frames are to be named, what is below them has a name
 * already, or is named for a walk that was taken before. */
struct walkcache_walk {
	uint32_t hot, known; /* frames; both together are all */
	uint32_t base;	     /* the stack of the known ones, or a place among those that wait */
	uint32_t unproven;   /* frames of the known ones that nothing can name */
	bool base_waits, cut;
	uint32_t first; /* place of the leaf; hot frames follow on each other */
};

struct walkcache_stack {
	uint32_t stack;
	uint32_t named, unnamed; /* frames in it */
};

/* Interns into `names`. NULL: out of memory. */
struct walkcache *walkcache_new(struct names *names);
void walkcache_free(struct walkcache *c);
/* Takes a walk of a thread (a number that no other thread will have). 0 or -ENOMEM. */
int walkcache_take(struct walkcache *c, uint32_t thread, const struct walkcache_frames *f,
		   struct walkcache_walk *ret);
/*
 * The stack of a walk, once its hot frames are named: q, leaf first. In the order in which they
 * were taken. ret->stack is INTERN_NONE when out of memory.
 */
void walkcache_name(struct walkcache *c, const struct walkcache_walk *w,
		    const struct pycode_query *q, struct walkcache_stack *ret);
/* All that was taken has been named: keeps what has names, forgets what is old. now: ns, any clock.
 */
void walkcache_settle(struct walkcache *c, uint64_t now);
size_t walkcache_bytes(const struct walkcache *c); /* memory of the levels that are kept */

#endif
