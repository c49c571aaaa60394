/* Which processes a pass over all tasks (tasks.h) is about. */
#ifndef SCRY_COLLECT_TARGETS_TASKS_H
#define SCRY_COLLECT_TARGETS_TASKS_H

#include "collect/targets.h"
#include "collect/tasks.h"
#include "target/sched.h"

/*
 * The process that these threads are of, first its main one if that is among them. A child that the
 * kernel side knew by its parent's entry is added at once. NULL: not sampled, or another process
 * has its pid now.
 */
struct process *targets_tasks_process(struct targets *t, const struct sched_facts *f);
/* A process that a pass met and nobody has looked at: looks at it, at the first time, then ever
 * more rarely as long as passes go on to meet it. True if that took time. */
bool targets_tasks_met(struct targets *t, uint32_t pid, uint64_t now);

/* Without the kernel's map: which processes a pass over all is to take. 0 or -ENOMEM. */
int targets_tasks_follow(struct targets *t, struct tasks *tasks);
/* Who dozes from now on, as nothing of it has run for a second; the pids of the others, of which
 * there may be more than `max`. */
size_t targets_tasks_awake(struct targets *t, uint64_t now, uint32_t *pids, size_t max);

#endif
