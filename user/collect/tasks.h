/* The scheduler's facts of all threads at one moment: a BPF task iterator, or /proc. */
#ifndef SCRY_COLLECT_TASKS_H
#define SCRY_COLLECT_TASKS_H

#include "collect/bpf.h"
#include "collect/ticker.h"
#include "target/sched.h"

struct tasks;

struct tasks_stats {
	uint64_t passes, tasks; /* made, and threads that they gave */
};

/*
 * bpf NULL: from /proc. Else the iterator, which knows the same processes as the sampling program
 * (its `targets` map); where the kernel refuses it, /proc is taken and *ret_text (may be NULL) gets
 * a line that says so. 0 or -errno.
 */
int tasks_new(struct bpf *bpf, struct tasks **ret, struct buf *ret_text);
void tasks_free(struct tasks *t);	/* accepts NULL */
bool tasks_live(const struct tasks *t); /* the kernel's own facts, not /proc */
/*
 * One pass: the threads of `pid`, or with pid 0 those of every process that is sampled
 * (TARGET_PYTHON); of processes that nobody has looked at yet (in no map) the first thread only,
 * with `pid` in *ret_unknown. Sorted by pid and tid; valid until the next pass of the same kind
 * (narrowed or not). 0, -ESRCH or -errno.
 */
struct tasks_view {
	const struct sched_facts *v;
	size_t n;
	const uint32_t *unknown; /* pids; pid 0 only */
	size_t n_unknown;
	uint64_t time; /* CLOCK_MONOTONIC ns when it began */
};
int tasks_pass(struct tasks *t, uint32_t pid, struct tasks_view *ret);
/* Without BPF: which processes a pass with pid 0 takes. 0 or -ENOMEM. */
int tasks_follow(struct tasks *t, const uint32_t *pids, size_t n);
/* See ticker.h. -EOPNOTSUPP where passes are not made by a program that is run. */
int tasks_ticker(struct tasks *t, uint64_t period, ticker_fn fn, void *arg, struct ticker **ret);
void tasks_get_stats(const struct tasks *t, struct tasks_stats *ret);

#endif
