/* Read the stacks of threads of one process at a wall tick, and say what proves them. */
#ifndef SCRY_COLLECT_WALL_READ_H
#define SCRY_COLLECT_WALL_READ_H

#include "collect/pipeline.h"
#include "collect/session.h"
#include "collect/tasks.h"
#include "collect/wall_look.h"

struct wall_read;

/* Keeps references to tasks and p. */
int wall_read_new(const struct session_options *o, struct tasks *tasks, struct pipeline *p,
		  struct wall_read **ret);
void wall_read_free(struct wall_read *r); /* accepts NULL */

/*
 * For each process at each tick, in this order: begin; wall_hold_follow(), with all of its threads;
 * by thread want (to be read), wall_hold_again() or, when it has no sample, wall_hold_leave(), and
 * wall_hold_forget() when it has changed; all. i: index into the process's roster. 0 or -errno,
 * also of the sink.
 */
void wall_read_begin(struct wall_read *r, const struct wall_look *look);
int wall_read_want(struct wall_read *r, struct process *p, size_t i, const struct sched_facts *f);
int wall_read_all(struct wall_read *r, struct process *p);
/* It waits for something else than a CPU or the GIL. */
bool wall_read_is_idle(const struct process *p, const struct sched_facts *f);

#endif
