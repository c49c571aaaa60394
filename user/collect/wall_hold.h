/* Threads that stand still at wall ticks: their samples, held back to become one. */
#ifndef SCRY_COLLECT_WALL_HOLD_H
#define SCRY_COLLECT_WALL_HOLD_H

#include "collect/process.h"
#include "target/sched.h"

struct wall_read;

/* All return 0 or -errno, also of the sink. */

/* The process's threads are these now: its roster is that of f. */
int wall_hold_follow(struct wall_read *r, struct process *p, const struct sched_facts *f, size_t n);
/* It stands where it stood. */
int wall_hold_again(struct wall_read *r, struct process *p, struct roster_thread *th,
		    const struct sched_facts *f);
/* It has no sample now: those of the ticks before. */
int wall_hold_leave(struct wall_read *r, struct process *p, struct roster_thread *th);
/* Its threads are not looked at again: what time none of a thread's samples has told, if it is so
 * long (ns), as one of that outcome. */
int wall_hold_rest(struct wall_read *r, struct process *p, enum outcome outcome, uint64_t least);
/* It has no sample at this look, nor will the time since the last one: unless that was on a CPU
 * which has ticks of its own. */
void wall_hold_drop(struct wall_read *r, struct roster_thread *th, const struct sched_facts *f);
/* Where it stands is not known any more. */
int wall_hold_forget(struct wall_read *r, struct process *p, struct roster_thread *th);
/* Hands on what is held back of this process. */
int wall_hold_release(struct wall_read *r, struct process *p);
/* Before a flush: of all processes what waits for names. */
int wall_hold_release_unnamed(struct wall_read *r);
/* After it: threads whose stacks were read get their ids. */
void wall_hold_settle(struct wall_read *r);

#endif
