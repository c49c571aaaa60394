/* Wall ticks that the kernel makes, and tells of when something has changed. */
#ifndef SCRY_COLLECT_TICKER_H
#define SCRY_COLLECT_TICKER_H

#include "collect/bpf.h"
#include "target/sched.h"

struct ring;
struct ticker;

/* One process at one tick. */
struct ticker_tick {
	uint32_t pid;
	uint32_t unchanged;    /* ticks before this one at which all was as it was told last */
	uint64_t time, before; /* monotonic ns: of this one, of the last of those */
	const struct sched_facts *v; /* by tid; at `time` */
	size_t n;
};

typedef int (*ticker_fn)(void *arg, const struct ticker_tick *tick); /* 0 or -errno */

/* 0 or -errno: not on this kernel (see bpf_tasks_run()). */
int ticker_new(struct bpf *bpf, uint64_t period, ticker_fn fn, void *arg, struct ticker **ret);
void ticker_free(struct ticker *t); /* accepts NULL, here and below */
/* Which processes there are ticks of from now on; 0: none. -E2BIG: too many, or (found out since)
 * too many threads, then there are none of any. 0 or -errno. */
int ticker_watch(struct ticker *t, const uint32_t *pids, size_t n);
/* Calls the function for all that was told since. 0 or its first error. */
int ticker_take(struct ticker *t);
/* What was counted since the tick of `pid` at `time`, which was told of last; 0: nothing, or it was
 * not. */
uint32_t ticker_rest(const struct ticker *t, uint32_t pid, uint64_t time, uint64_t *ret_before);
/* To wait for. */
struct ring *ticker_ring(const struct ticker *t);
/* Ticks that there were not: the kernel, or we, came too late. */
uint64_t ticker_missed(const struct ticker *t);

#endif
