/* What a look at a process stands for: time and ticks since the look before. */
#ifndef SCRY_COLLECT_WALL_LOOK_H
#define SCRY_COLLECT_WALL_LOOK_H

#include <stdbool.h>
#include "base/compiler.h"

struct process;

struct wall_look {
	uint64_t time;	/* monotonic ns */
	uint64_t begin; /* monotonic ns: the look before */
	uint32_t ticks; /* in these: samples of each thread */
	bool late;	/* facts are the kernel's, but much older than what is read */
	/* of these: at which all was as it was at the look before, for all that is known */
	uint32_t before_ticks;
	uint64_t before_time; /* of the last one of them */
};

/* A look at `time`, of one tick; a process that is new was there since `last`, or since its start.
 */
struct wall_look wall_look_at(struct process *p, uint64_t time, uint64_t last);
/* So many ticks before that one, up to `until`, found all as it was at the look before. */
void wall_look_before(struct wall_look *l, uint32_t ticks, uint64_t until);
/* There was one each period (of the clock), at which nobody looked. */
void wall_look_guess(struct wall_look *l, uint64_t period);

#endif
