/* What targets.c (the table) and targets_attach.c (one process) share; for no one else. */
#ifndef SCRY_COLLECT_TARGETS_IMPL_H
#define SCRY_COLLECT_TARGETS_IMPL_H

#include "bpf/target.h"
#include "collect/family.h"
#include "collect/targets.h"

#define TARGETS_TRIES_SOON 45 /* looks at a process in its first two seconds */

struct targets {
	const struct session_options *o;
	struct bpf *bpf;
	struct guard *guard;
	struct names *names;
	struct sink *sink;
	struct family *family;
	struct discover *discover;
	struct process *processes; /* uthash by pid */
	struct process *exited;	   /* to be freed after the next flush */
	struct layout layouts[TARGET_MAX_LAYOUTS];
	uint32_t layout_users[TARGET_MAX_LAYOUTS]; /* processes that are sampled by each */
	size_t n_layouts;
	struct targets_counts counts; /* reads of processes that are freed */
	struct stats_table ended;     /* rows of processes that are freed (--stats) */
	size_t cap_ended;
	struct stats others;	       /* of freed ones without a row */
	uint64_t poll_next, scan_next; /* targets_poll(): monotonic ns */
	uint64_t retry_next;	       /* monotonic ns: no process waits for an earlier try */
	uint64_t newest;	       /* monotonic ns: when the last process was taken in */
	int error;		       /* of the sink */
};

struct process *targets_add(struct targets *t, uint32_t pid);
void targets_retire(struct targets *t, struct process *p);
void targets_wait(struct targets *t, struct process *p);

/* Looks at the process and makes it PYTHON, WAITING or IGNORED; it may be retired instead (gone).
 */
void targets_attach(struct targets *t, struct process *p);
/* Tells the kernel side not to ask about it: until code is mapped (recheck), or for this image. */
void targets_attach_ignore(struct targets *t, struct process *p, bool recheck);

/* A forked child that the kernel side knew by its parent's entry: the same image, so the same
 * facts. Of k: pid, ppid, image and start. NULL: its parent is not known, or it is not wanted. */
struct process *targets_attach_child(struct targets *t, const struct event_task *k);

/* Keeps the numbers of a process that is about to be freed. */
void targets_stats_keep(struct targets *t, const struct process *p);

/* Tells the sink of the process, which gets its id. */
void targets_attach_announce(struct targets *t, struct process *p);
/* Tells the kernel side the thread states that there are now: it saves walks, and finds those that
 * lie behind the walk's bound. */
void targets_attach_threads(struct targets *t, struct process *p);

#endif
