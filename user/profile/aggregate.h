/* Count a profile: stacks with weights, and rows of self and total by function, line, process,
 * thread or state. */
#ifndef SCRY_PROFILE_AGGREGATE_H
#define SCRY_PROFILE_AGGREGATE_H

#include "profile/profile.h"

enum aggregate_by {
	AGGREGATE_FUNCTION,
	AGGREGATE_LINE,
	AGGREGATE_PROCESS,
	AGGREGATE_THREAD,
	AGGREGATE_STATE,
};

struct aggregate_row {
	uint32_t frame;			    /* a frame that stands for the row (function, line) */
	uint32_t process;		    /* or the process, */
	uint32_t thread;		    /* or the thread, */
	uint32_t state;			    /* or the enum run_state */
	uint64_t self, total;		    /* samples */
	uint64_t self_weight, total_weight; /* recursion counts once */
};

struct aggregate {
	struct aggregate_row *rows;
	size_t n;
	uint64_t samples, weight;
};

/* Rows in descending order of total or self weight, equal ones as first seen. 0 or -ENOMEM. */
int aggregate_rows(const struct profile *p, enum aggregate_by by, bool by_total,
		   struct aggregate *ret);
void aggregate_release(struct aggregate *a);

/* One distinct (process, thread, stack, outcome), with AGGREGATE_PER_STATE also state, with its
 * counts. */
struct aggregate_stack {
	uint32_t process, thread, stack;
	enum outcome outcome;
	enum run_state state; /* AGGREGATE_PER_STATE; else of the first one */
	uint64_t samples, weight;
};

#define AGGREGATE_ALL UINT32_MAX /* process, thread: of several, which the group makes one */

enum aggregate_group {
	AGGREGATE_NONE,
	AGGREGATE_PER_PROCESS,
	AGGREGATE_PER_THREAD,
	AGGREGATE_PER_STATE, /* of each thread */
};

/* outcomes: bit mask of enum outcome to keep. Order: as first seen. *ret is for free(). 0 or
 * -ENOMEM. */
int aggregate_stacks(const struct profile *p, enum aggregate_group group, uint32_t outcomes,
		     struct aggregate_stack **ret, size_t *ret_n);

#endif
