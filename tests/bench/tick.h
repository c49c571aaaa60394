/* Wall ticks of one process: what `bench-engine` makes and counts. */
#ifndef SCRY_BENCH_TICK_H
#define SCRY_BENCH_TICK_H

#include "collect/tasks.h"
#include "profile/sample.h"
#include "python/reader.h"
#include "symbol/pycode.h"
#include "symbol/walkcache.h"

enum part { PART_TASKS, PART_READV, PART_WALK, PART_RESOLVE, PART_INTERN, PART_MAX };

/* A memory that takes the time of another's reads. */
struct timed {
	struct mem mem;
	struct mem *real;
	bool on;
	uint64_t ns;
};

struct tick_counts {
	uint64_t ticks, failed_ticks; /* in which a thread's stack was not had */
	uint64_t threads, read;	      /* threads by ticks; those that were read */
	uint64_t left, ran;	      /* without a sample: it ran at first; it ran on and on */
	uint64_t outcomes[OUTCOME_MAX];
	uint64_t parts[PART_MAX]; /* ns */
};

/* One process and what reads it. The first block is for the caller to set. */
struct ticker {
	pid_t pid;
	struct tasks *tasks;
	struct reader *reader;
	struct pycode *code;
	struct names *names;
	struct walkcache *walks;
	struct timed *memory;
	bool all;  /* read threads that run, too */
	bool time; /* measure the parts */

	struct known *known, *next; /* all threads, sorted by tid: as last seen, and now */
	size_t n_known, cap_known, cap_next;
	struct asked *asked; /* the threads of this tick that are read */
	struct reader_thread *threads;
	size_t n_asked, cap_asked, cap_threads;
	struct reader_thread *again; /* those of a reading, and which they are */
	size_t *again_of;
	size_t cap_again, cap_again_of;
	uint32_t next_id;
	uint64_t wall_ns;	   /* of this tick */
	struct walk_frame *frames; /* of all that was read in it */
	struct identity *ids;
	size_t n_frames, cap_frames, n_ids, cap_ids;
	struct pycode_query *queries;
	size_t n_queries, cap_queries;
	uint64_t (*seen)[OUTCOME_MAX]; /* samples by stack id */
	size_t n_seen, cap_seen;
	struct tick_counts counts;
};

/* One tick. 0 or -errno: the process is gone, or there is no memory. */
int tick(struct ticker *t);
/* Counts anew from here. */
void tick_forget(struct ticker *t);
void tick_release(struct ticker *t);

#endif
