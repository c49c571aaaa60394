/* When wall ticks are that user space makes: one at a random moment of each period. */
#ifndef SCRY_COLLECT_WALL_SLOTS_H
#define SCRY_COLLECT_WALL_SLOTS_H

#include "base/compiler.h"

struct wall_slots {
	uint64_t period;
	uint64_t slot, next; /* the next tick is at `next`, inside of the period from `slot` on */
	uint64_t random;
	uint64_t due; /* ticks that the next one stands for */
};

/* Monotonic ns, all of them. */
void wall_slots_start(struct wall_slots *s, uint64_t period, uint64_t now);
/* The next one is in the next slot that is not over yet, nor before that of `earliest`: it stands
 * for those in between. How many ticks the one that was stands for. */
uint64_t wall_slots_plan(struct wall_slots *s, uint64_t now, uint64_t earliest);

#endif
