/* Passes over tasks, by the iterator or from /proc, and what they say of one thread. */
#ifndef SCRY_SUPPORT_PASSES_H
#define SCRY_SUPPORT_PASSES_H

#include <sys/types.h>
#include "collect/tasks.h"
#include "target/ns.h"

extern struct bpf *passes_bpf; /* NULL: from /proc */
extern struct tasks *passes_tasks;

/* Skips the test without root. */
void passes_start(bool iterator);
void passes_start_in(const struct ns_self *ns, bool iterator);
void passes_stop(void);

/* The entry of a process for the kernel side's map, as it is now. */
struct target passes_entry(pid_t pid);
/* Makes a pass over all give it. */
void passes_know(pid_t pid);
/* Of a pass; NULL: that thread is not in it. */
const struct sched_facts *passes_find(const struct tasks_view *v, pid_t tid);
/* By a new pass over its process. */
struct sched_facts passes_facts(pid_t pid, pid_t tid);
/* Makes passes until the thread is in that state, for ten seconds. */
struct sched_facts passes_until(pid_t pid, pid_t tid, enum sched_state state);

#endif
