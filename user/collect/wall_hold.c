/*
 * Ticks at which threads stand still, held back to become one sample each.
 *
 * A thread that sleeps would have the same sample at every tick: same stack, same state. What is
 * kept instead is how many they are and what they weigh. They are released when the thread has
 * moved, or is in another state, or its process has other threads than before, or ends; and about
 * twice a second, before the sink is told the time, which is when it writes. Ticks of a stack that
 * waits for its names go with it, at the next drain.
 */
#include "collect/wall_hold.h"

#include <errno.h>
#include "base/clock.h"
#include "base/vec.h"
#include "collect/wall_read_impl.h"

#define HELD_MAX 1000000 /* ticks that one sample stands for */
#define HELD_STALE_NS                                                                              \
	(10 * NSEC_PER_MSEC)	   /* the scheduler's count for one that runs: a tick of HZ=100 */
#define HELD_BORN_NS NSEC_PER_MSEC /* so far apart two readings of one birth may be */

/* Ticks at which a thread stood still. */
struct held {
	enum run_state state;
	uint32_t ticks;
	uint64_t weight, time; /* of all together; of the last one */
};

enum run_state wall_hold_state(const struct roster_thread *th, const struct sched_facts *f)
{
	static const enum run_state states[] = {
		[SCHED_ON_CPU] = RUN_ON_CPU,	 [SCHED_RUNNABLE] = RUN_RUNNABLE,
		[SCHED_SLEEPING] = RUN_SLEEPING, [SCHED_BLOCKED] = RUN_BLOCKED,
		[SCHED_STOPPED] = RUN_STOPPED,	 [SCHED_DEAD] = RUN_UNKNOWN,
	};

	return f->state == SCHED_SLEEPING && th->waits_gil ? RUN_GIL : states[f->state];
}

/* What the samples of a thread have in common. */
struct sample wall_hold_sample(const struct process *p, const struct roster_thread *th,
			       enum run_state state)
{
	return (struct sample){
		.process = p->info.id,
		.thread = th->id,
		.state = state,
		.holds_gil = th->holds_gil,
	};
}

static int release(struct wall_read *r, struct process *p, struct roster_thread *th)
{
	struct sample s = wall_hold_sample(p, th, (enum run_state)th->held_state);

	if (!th->held_ticks)
		return 0;
	s.time = th->held_time;
	s.weight = th->held_weight;
	s.more = th->held_ticks - 1;
	s.stack = th->stack;
	s.outcome = (enum outcome)th->outcome;
	th->held_ticks = 0;
	th->held_weight = 0;
	return th->ticket != ROSTER_NONE ? pipeline_like(r->pipeline, &s, th->ticket)
					 : pipeline_again(r->pipeline, p, &s);
}

/* Of all threads, or of those whose stack waits for its names. */
static int release_each(struct wall_read *r, struct process *p, bool unnamed)
{
	struct roster_thread *th;
	int err = 0;

	for (th = p->roster.v; th < p->roster.v + p->roster.n && !err; th++)
		if (!unnamed || th->ticket != ROSTER_NONE)
			err = release(r, p, th);
	return err;
}

int wall_hold_release(struct wall_read *r, struct process *p)
{
	return release_each(r, p, false);
}

/* At the next drain stacks of it get their names. */
int wall_hold_settling(struct wall_read *r, struct process *p)
{
	if (p->unsettled)
		return 0;
	if (vec_reserve(&r->unsettled, &r->cap_unsettled, r->n_unsettled + 1,
			sizeof(struct process *)))
		return -ENOMEM;
	r->unsettled[r->n_unsettled++] = p;
	p->unsettled = true;
	return 0;
}

/* More ticks with the stack that is known, or waits to be named. */
static int hold(struct wall_read *r, struct process *p, struct roster_thread *th,
		const struct held *h)
{
	int err = 0;

	if (th->held_ticks && (th->held_state != h->state || th->held_ticks > HELD_MAX))
		err = release(r, p, th);
	th->held_state = (uint8_t)h->state;
	th->held_ticks += h->ticks;
	th->held_weight += h->weight;
	th->held_time = h->time;
	return err;
}

/*
 * Of a thread that has changed since the last look: the ticks at which it stood where it is known
 * to have stood. *ret_ticks: how many; those of a thread that had no sample then have none now. 0:
 * where it stood is not known, they count for what is now.
 */
int wall_hold_before(struct wall_read *r, struct process *p, struct roster_thread *th,
		     uint32_t *ret_ticks)
{
	bool known = th->stack != ROSTER_NONE || th->ticket != ROSTER_NONE;
	bool drops = th->fresh ? th->dropped : r->gil_only && !th->holds_gil;
	struct held h = {
		.state = (enum run_state)th->held_state,
		.ticks = r->look.before_ticks,
		.time = r->look.before_time,
	};

	*ret_ticks = 0;
	if (!h.ticks || (!known && !th->fresh))
		return 0;
	*ret_ticks = h.ticks;
	if (!drops && th->fresh)
		return 0;
	h.weight = roster_tell(th, h.time, th->told_cpu); /* it did not run until then */
	return drops ? 0 : hold(r, p, th, &h);
}

int wall_hold_leave(struct wall_read *r, struct process *p, struct roster_thread *th)
{
	uint32_t ticks;

	return wall_hold_before(r, p, th, &ticks);
}

void wall_hold_drop(struct wall_read *r, struct roster_thread *th, const struct sched_facts *f)
{
	uint64_t ns;

	th->dropped = f->state != SCHED_DEAD && (!r->live || f->state != SCHED_ON_CPU);
	if (th->dropped) {
		roster_tell(th, r->look.time, wall_read_ran(r, f->cpu_ns));
	} else if (r->live && f->state == SCHED_ON_CPU) {
		ns = roster_untold(th, r->look.time, f->cpu_ns);
		th->untold = f->displaced ? ns : ns - MIN(ns, HELD_STALE_NS);
	}
}

/* It is not looked at again. */
static int rest(struct wall_read *r, struct process *p, struct roster_thread *th,
		enum outcome outcome)
{
	struct sample s = wall_hold_sample(p, th, RUN_UNKNOWN);
	struct pipeline_frames none = {0};
	uint32_t ticket;

	s.outcome = outcome;
	s.time = p->wall_seen;
	s.weight = th->untold;
	th->untold = 0;
	/* whether it was idle, or held the GIL, is what was not found out */
	if (!s.weight || !th->wanted || r->exclude_idle || r->gil_only)
		return 0;
	return pipeline_read(r->pipeline, p, &s, &none, &ticket);
}

int wall_hold_rest(struct wall_read *r, struct process *p, enum outcome outcome, uint64_t least)
{
	struct roster_thread *th;
	int err = 0;

	for (th = p->roster.v; th < p->roster.v + p->roster.n && !err; th++)
		if (th->untold >= least)
			err = rest(r, p, th, outcome);
	return err;
}

/* Threads that have ended since the look before: the ticks at which they stood there still. */
static int leave_ended(struct wall_read *r, struct process *p, const struct sched_facts *f,
		       size_t n)
{
	struct roster_thread *th;
	size_t at = 0;
	int err = 0;

	for (th = p->roster.v; th < p->roster.v + p->roster.n && !err; th++) {
		while (at < n && f[at].tid < th->tid)
			at++;
		if (at < n && f[at].tid == th->tid && f[at].start == th->start)
			continue;
		err = wall_hold_leave(r, p, th);
		if (!err)
			err = rest(r, p, th, OUTCOME_GONE);
	}
	return err;
}

/* Its time begins with itself, or where that of its process does. What it had run by then is only
 * known if it was nothing: else a CPU that it is on now is taken to have been its own since. */
static void begin_time(const struct wall_read *r, struct roster_thread *th,
		       const struct sched_facts *f)
{
	uint64_t born = clock_mono_of_boot(f->start);
	bool runs = r->live && f->state == SCHED_ON_CPU && !f->displaced;

	if (born + HELD_BORN_NS > r->look.begin) {
		th->told = MIN(born, r->look.time);
		return;
	}
	th->told = runs ? r->look.time : r->look.begin;
	th->told_cpu = wall_read_ran(r, f->cpu_ns);
}

int wall_hold_follow(struct wall_read *r, struct process *p, const struct sched_facts *f, size_t n)
{
	size_t i;
	int err = 0;

	if (!roster_is_of(&p->roster, f, n)) {
		err = leave_ended(r, p, f, n);
		if (!err)
			err = wall_hold_release(r, p);
	}
	if (!err)
		err = roster_follow(&p->roster, f, n);
	for (i = 0; i < n && !err; i++)
		if (!p->roster.v[i].told)
			begin_time(r, &p->roster.v[i], &f[i]);
	return err;
}

int wall_hold_forget(struct wall_read *r, struct process *p, struct roster_thread *th)
{
	int err = release(r, p, th);

	th->stack = th->ticket = ROSTER_NONE;
	return err;
}

int wall_hold_again(struct wall_read *r, struct process *p, struct roster_thread *th,
		    const struct sched_facts *f)
{
	struct held h = {
		.state = wall_hold_state(th, f), .ticks = r->look.ticks, .time = r->look.time};
	uint32_t before = 0;
	int err = 0;

	if (h.state != th->held_state && (!r->gil_only || th->holds_gil))
		err = wall_hold_before(r, p, th, &before);
	h.ticks -= before;
	h.weight = roster_tell(th, h.time, wall_read_ran(r, f->cpu_ns));
	if (err || (r->gil_only && !th->holds_gil))
		return err;
	return hold(r, p, th, &h);
}

static void settle(const struct wall_read *r, struct process *p)
{
	struct roster_thread *th;
	enum outcome outcome;

	p->unsettled = false;
	for (th = p->roster.v; th < p->roster.v + p->roster.n; th++) {
		if (th->ticket == ROSTER_NONE)
			continue;
		if (pipeline_settled(r->pipeline, th->ticket, &th->stack, &outcome))
			th->outcome = (uint8_t)outcome;
		else
			th->stack = ROSTER_NONE;
		th->ticket = ROSTER_NONE;
	}
}

int wall_hold_release_unnamed(struct wall_read *r)
{
	size_t i;
	int err = 0;

	for (i = 0; i < r->n_unsettled && !err; i++)
		err = release_each(r, r->unsettled[i], true);
	return err;
}

void wall_hold_settle(struct wall_read *r)
{
	size_t i;

	for (i = 0; i < r->n_unsettled; i++)
		settle(r, r->unsettled[i]);
	r->n_unsettled = 0;
}
