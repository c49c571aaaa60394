/* What a look at a process stands for: time and ticks since the look before. */
#include "collect/wall_look.h"

#include "base/clock.h"
#include "collect/process.h"

#define LOOK_MAX_TICKS 100000

/* On the monotonic clock; 0: not known. */
static uint64_t started(const struct process *p)
{
	return p->start_exact ? clock_mono_of_boot(p->start_boottime) : 0;
}

struct wall_look wall_look_at(struct process *p, uint64_t time, uint64_t last)
{
	struct wall_look l = {.time = time, .ticks = 1};

	if (!p->wall_seen) {
		p->wall_seen = MIN(MAX(last, started(p)), time);
		p->wall_awake = time;
	}
	l.begin = p->wall_seen;
	p->wall_seen = time;
	return l;
}

void wall_look_before(struct wall_look *l, uint32_t ticks, uint64_t until)
{
	if (!ticks || until <= l->begin)
		return;
	l->ticks = ticks + 1;
	l->before_ticks = ticks;
	l->before_time = until;
}

/* A change is met half a tick late by a tick of its own; so many ticks too late is it met by a
 * look. */
void wall_look_guess(struct wall_look *l, uint64_t period)
{
	uint64_t ticks = l->time / period - l->begin / period, before;

	ticks = MAX(MIN(ticks, LOOK_MAX_TICKS), 1u);
	before = (ticks - 1) / 2;
	wall_look_before(l, (uint32_t)before,
			 l->time - (l->time - l->begin) / ticks * (ticks - before));
	l->ticks = (uint32_t)ticks;
}
