/* Which processes are recorded: found at start, at their first tick, by fork, after exec. */
#ifndef SCRY_COLLECT_TARGETS_H
#define SCRY_COLLECT_TARGETS_H

#include "bpf/event.h"
#include "collect/bpf.h"
#include "collect/process.h"
#include "collect/session.h"
#include "profile/sink.h"
#include "remote/guard.h"

struct targets;

/* A thread at one moment. */
struct targets_who {
	uint32_t tid, ns_tid; /* ns_tid, thread_ptr: 0 if not known */
	uint64_t thread_ptr;
	uint64_t start; /* boottime ns */
	uint64_t time;	/* monotonic ns */
	const char *comm;
};

struct targets_counts {
	uint64_t processes, threads; /* in the recording */
	uint64_t refused;	     /* had a Python that could not be profiled */
	uint64_t reads, read_bytes;
};

/* Keeps references to all of its arguments. 0 or -ENOMEM. */
int targets_new(const struct session_options *o, struct bpf *bpf, struct guard *g,
		struct names *names, struct sink *sink, struct targets **ret);
void targets_free(struct targets *t);

/* Looks at every process that is there, and tells the kernel side. 0 or -errno of the sink. */
int targets_scan(struct targets *t);
/*
 * The process a sample belongs to; one that inherits by fork is added at once. NULL when the sample
 * is of an image that is not known (any more): it counts as other.
 */
struct process *targets_of_sample(struct targets *t, const struct event_sample *s);
struct targets_who targets_who_of(const struct event_sample *s);
/* The thread of the sample; NULL when out of memory or the sink failed. */
struct process_thread *targets_thread(struct targets *t, struct process *p,
				      const struct event_sample *s);
void targets_unknown(struct targets *t, const struct event_unknown *u);
struct process *targets_find(struct targets *t, uint32_t pid); /* in any state; NULL: not known */
/* The thread that had this id and start (boottime ns) at `time`, named `comm` when it is a new one;
 * its process is announced first. NULL: no memory, or the sink failed. */
struct process_thread *targets_thread_at(struct targets *t, struct process *p,
					 const struct targets_who *who);
void targets_exec(struct targets *t, const struct event_life *e);
void targets_exit(struct targets *t, const struct event_life *e);
/* Without BPF, often: takes note of what has come, changed or gone since. 0 or -errno of the sink.
 */
int targets_poll(struct targets *t, uint64_t now);
/* Tries waiting processes whose time has come; the time of the next try, UINT64_MAX: none. */
uint64_t targets_retry(struct targets *t, uint64_t now);
/* Frees what has exited: call after the pipeline was flushed. */
void targets_reap(struct targets *t);
/* The processes whose queries are to be resolved now: iterate with hh.next, then targets_exited().
 */
struct process *targets_first(struct targets *t);
struct process *targets_exited(struct targets *t);

/* Looks once more at a process that was not Python, with its descendants (--wait). */
void targets_look_again(struct targets *t, pid_t pid);

/* For -p: what became of the process asked for. DISCOVER_NOT_PYTHON also when no descendant is
 * Python. */
enum discover_why targets_asked(const struct targets *t, size_t i, struct discover_found *ret);
/* Monotonic ns: when the last process was taken in; 0: none yet. */
uint64_t targets_newest(const struct targets *t);
/* Calls fn for each wanted process that may well be Python and can't be sampled, until it returns
 * non-zero, which is returned. */
int targets_refused(const struct targets *t, int (*fn)(pid_t pid, const char *reason, void *arg),
		    void *arg);
size_t targets_python(const struct targets *t); /* processes being sampled now */
bool targets_alive(
	const struct targets *t); /* for -p: one of the asked or their descendants still runs */
void targets_get_counts(const struct targets *t, struct targets_counts *ret);
/* What was counted for each process, if options asked for it. 0 or -ENOMEM. */
int targets_stats(const struct targets *t, struct stats_table *ret);
int targets_error(const struct targets *t); /* first error of the sink, 0: none */

#endif
