/* When wall ticks are that user space makes: one at a random moment of each period. */
#include "collect/wall_slots.h"

/* Somewhere in the slot (xorshift64). */
static void draw(struct wall_slots *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	s->next = s->slot + s->random % s->period;
}

void wall_slots_start(struct wall_slots *s, uint64_t period, uint64_t now)
{
	*s = (struct wall_slots){.period = period, .slot = now, .random = now | 1, .due = 1};
	draw(s);
}

uint64_t wall_slots_plan(struct wall_slots *s, uint64_t now, uint64_t earliest)
{
	uint64_t due = s->due;

	s->due = 1;
	s->slot += s->period;
	if (s->slot + s->period <= now)
		s->slot += (now - s->slot) / s->period * s->period;
	if (s->slot < earliest) {
		s->due += (earliest - s->slot + s->period - 1) / s->period;
		s->slot += (s->due - 1) * s->period;
	}
	draw(s);
	return due;
}
