/* Wall-clock mode: the time of threads that are not on a CPU. */
#ifndef SCRY_COLLECT_WALL_H
#define SCRY_COLLECT_WALL_H

#include "collect/pipeline.h"
#include "collect/session.h"
#include "collect/tasks.h"
#include "collect/targets.h"

struct ring;
struct wall;

struct wall_counts {
	uint64_t ticks;
	uint64_t unchanged; /* samples of threads that had not run: nothing was read */
};

/* Keeps references to all of its arguments. o->freq must hold. 0, -EINVAL (o->threads) or -ENOMEM.
 */
int wall_new(const struct session_options *o, struct tasks *tasks, struct targets *t,
	     struct pipeline *p, struct wall **ret);
void wall_free(struct wall *w); /* accepts NULL */
/* Elapsed time counts from now on (monotonic ns). */
int wall_start(struct wall *w, uint64_t now);
/* Monotonic ns: when the next tick is due. One that is late counts for the time since the last. */
uint64_t wall_next(const struct wall *w);
/* A tick: one sample for each thread that is off the CPU. 0 or -errno, also of the sink. */
int wall_tick(struct wall *w, uint64_t now);
/* What calls for wall_told(); NULL: nothing does. */
struct ring *wall_ring(const struct wall *w);
/* The same for the ticks that the kernel made and has told of. */
int wall_told(struct wall *w);
/* The last one, of all processes: the time up to the end. */
int wall_end(struct wall *w, uint64_t now);
/* Before each pipeline_flush(): what was held back of stacks that it names, and of processes that
 * have ended. 0 or -errno. */
int wall_release(struct wall *w);
/* What is held back of all threads that stand still; not before wall_settle(). 0 or -errno. */
int wall_release_all(struct wall *w);
/* After each pipeline_flush(): what was read has names now. */
void wall_settle(struct wall *w);
void wall_get_counts(const struct wall *w, struct wall_counts *ret);

#endif
