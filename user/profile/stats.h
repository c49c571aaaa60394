/* What the engine did for one process, or for all (--stats). */
#ifndef SCRY_PROFILE_STATS_H
#define SCRY_PROFILE_STATS_H

#include "profile/sample.h"

enum stats_counter {
	STAT_TICKS,	       /* samples from the interrupt, and wall ticks */
	STAT_WALKS,	       /* stacks walked, from seeds and reads */
	STAT_CALLS,	       /* process_vm_readv calls */
	STAT_SEGMENTS,	       /* pieces asked for in them */
	STAT_BYTES,	       /* that came */
	STAT_BATCHES,	       /* batched reads with predictions */
	STAT_BATCHES_COMPLETE, /* of these: nothing had to be read through */
	STAT_TSTATE_RIGHT,
	STAT_TSTATE_WRONG,
	STAT_TSTATE_UNUSED,
	STAT_LEAF_RIGHT,
	STAT_LEAF_WRONG,
	STAT_LEAF_UNUSED,
	STAT_CHUNK_RIGHT,
	STAT_CHUNK_WRONG,
	STAT_CHUNK_UNUSED,
	STAT_CACHE_FULL,    /* walks whose stack was the thread's last one whole */
	STAT_CACHE_PARTIAL, /* its cold end was */
	STAT_CACHE_MISS,
	STAT_WITNESS_INTERRUPT, /* stacks proven by the interrupt */
	STAT_WITNESS_GIL,	/* by the GIL's words */
	STAT_WITNESS_SCHED,	/* by the scheduler's counters */
	STAT_UNCHANGED,		/* threads that had not run: last stack, nothing read */
	STAT_CODE_HITS,
	STAT_CODE_MISSES,
	STAT_CODE_RETIRED,
	STAT_MAX,
};

struct stats {
	uint64_t v[STAT_MAX];
	uint64_t outcomes[OUTCOME_MAX];
};

const char *
stats_name(enum stats_counter s); /* "ticks", "tstate_right", …: keys of JSON and the table */
void stats_add(struct stats *to, const struct stats *more);
bool stats_any(const struct stats *s); /* is one not 0? */

/* In place of a process id: all processes that had no sample, or are too many to be told apart. */
#define STATS_OTHERS UINT32_MAX

struct stats_row {
	uint32_t process; /* process_info.id, or STATS_OTHERS */
	uint32_t pid;	  /* 0: of STATS_OTHERS */
	const char *comm; /* as long as the names it came from */
	struct stats v;
};

struct stats_table {
	struct stats_row *rows; /* the busiest first */
	size_t n;
	struct stats total;
};

/* Of a table whose rows are filled: makes the total and the order. */
void stats_finish(struct stats_table *t);
void stats_release(struct stats_table *t);

#endif
