/*
 * Wall-clock mode: the time of threads that are not on a CPU.
 *
 * The elapsed time of a thread is the sum of two kinds of time that never overlap, and each has an
 * estimator of its own:
 *
 *	thread   ███ running ███░░░ sleeps ░░░░░░██ running ██▒▒ waits for a CPU ▒▒███
 *	CPU tick   ╵     ╵     ·     ·     ·     ╵     ╵     ·     ·     ·     ╵ pipeline_sample()
 *	wall tick    ·     ·     ╵     ╵     ╵     ·     ·     ╵     ╵     ╵     ·     wall_tick()
 *
 * The tick of each CPU takes who runs there, in the interrupt, and is worth the event's period. The
 * wall tick takes all who don't run, and is worth the time that the thread was off the CPU since
 * its last one: what the clock says, less what the scheduler says that it ran. A thread that is on
 * a CPU at that moment has no sample from it. So nothing counts twice, a tick that comes late or
 * not at all costs no time, and what is expected of the sum is the time on the wall. What is left
 * at the end of a thread, or of the recording, is a sample without a stack.
 *
 * Each period has one wall tick, at a moment drawn at random: at a fixed one it would keep its
 * distance to the CPUs' ticks, which are as often, for the whole recording, and programs that do
 * something as often would always be seen in the same place.
 *
 * The kernel makes the ticks (ticker.c): its timer looks at the threads of the processes that are
 * awake, and calls us only when anything has changed since it last did. So the moment does not
 * depend on when we get a CPU, which we mostly do when a thread there leaves it; we only read what
 * stood still since, and time that stood still before is known to the tick. Where the kernel can't,
 * or has too much to look at, we make the ticks, by passes of our own: then a thread whose CPU we
 * took for it is taken to be on it still (TASK_DISPLACED).
 *
 * A tick says of every thread whether it is on a CPU, and whether it has run since its last stack
 * was read. If not, it stands there still: its sample is written from what is remembered, and
 * nothing of its process is read. The stacks of the others are read, those of one process in one
 * call, and are true under one of two witnesses (design.md §1): the GIL's words say that they ran
 * no Python meanwhile, or a second pass says that they did not run at all. A thread that did run is
 * read once more. If it is on a CPU by then, or runs again, its time goes to its next sample off
 * the CPU.
 *
 * Looking at every task of the machine costs much when there are many, and most of them sleep for
 * long. So a process of which nothing has run for a second dozes: a tick leaves it out. Ticks of
 * our own are passes over single processes, those that are awake, as long as these cost less than
 * one over all. Every tenth of a second there is one over all; a thread that it finds as it was did
 * stand there at all the ticks in between, and has a sample for each. What has changed is taken to
 * have changed in the middle. When nothing is awake, there is no tick in between at all.
 *
 * Names come with the pipeline's flush: all that was read since the last one is before it, as ticks
 * are (pycode_proof.c), and a drain's frames are resolved together. Until then a thread that stands
 * still shares the frames of the sample that waits for them. While it stands, its ticks are held
 * back and become one sample that stands for all of them (wall_hold.c).
 */
#include "collect/wall.h"

#include <errno.h>
#include <stdlib.h>
#include "base/clock.h"
#include "collect/pointers.h"
#include "collect/pyname.h"
#include "collect/targets_tasks.h"
#include "collect/ticker.h"
#include "collect/wall_hold.h"
#include "collect/wall_look.h"
#include "collect/wall_read.h"
#include "collect/wall_slots.h"

#define WALL_LOOK_NS (100 * NSEC_PER_MSEC) /* between passes over all, at most, or a period */
#define WALL_MAX_AWAKE 64		   /* passes over single processes in one tick */
#define WALL_SMOOTH 8			   /* looks over which costs are averaged */
#define WALL_CROWD_NS (10 * NSEC_PER_SEC)  /* ticks stay our own when the kernel's are too few */
#define WALL_MAX_LOOKS 16		   /* processes that are looked at in one tick */
#define WALL_YOUNG_NS NSEC_PER_SEC	   /* a thread may still be given its name (boottime) */
#define WALL_REST_PERIODS 2 /* less than that at the end is no tick that was missed */
#define WALL_COMM 16

struct wall {
	const struct session_options *o;
	struct tasks *tasks;
	struct targets *targets;
	struct pipeline *pipeline;
	struct threadname *threads;
	struct wall_read *read;
	bool live;		 /* facts are the kernel's own; there are ticks of CPUs too */
	bool told;		 /* ticks are the kernel's, of what is awake */
	struct ticker *ticker;	 /* NULL: not on this kernel, all ticks are our own */
	uint64_t crowded;	 /* until then ours, too */
	struct wall_slots slots; /* of our own */
	uint64_t period, last;
	uint64_t counted, missed;	/* of the kernel's ticks: up to when, ticker_missed() */
	uint64_t time, end;		/* of the pass, or the tick; of the recording */
	uint32_t ticks;			/* that a look at this process stands for */
	uint64_t all_next;		/* when one is over all again */
	uint64_t newest;		/* targets_newest() at the last one over all */
	uint64_t cost_all, cost_one;	/* ns of a pass over all, over one process; 0: not known */
	uint32_t awake[WALL_MAX_AWAKE]; /* pids; more than there is room for: all are looked at */
	size_t n_awake;
	struct wall_counts counts;
};

static int on_tick(void *arg, const struct ticker_tick *tick);

int wall_new(const struct session_options *o, struct tasks *tasks, struct targets *t,
	     struct pipeline *p, struct wall **ret)
{
	struct wall *w = calloc(1, sizeof(*w));
	int err = 0;

	if (!w)
		return -ENOMEM;
	w->o = o;
	w->tasks = tasks;
	w->targets = t;
	w->pipeline = p;
	w->live = tasks_live(tasks);
	w->period = NSEC_PER_SEC / o->rate;
	if (o->threads)
		err = threadname_new(o->threads, &w->threads, NULL);
	if (!err)
		err = wall_read_new(o, tasks, p, &w->read);
	if (!err && tasks_ticker(tasks, w->period, on_tick, w, &w->ticker) == -ENOMEM)
		err = -ENOMEM;
	if (err) {
		wall_free(w);
		return err;
	}
	*ret = w;
	return 0;
}

void wall_free(struct wall *w)
{
	if (!w)
		return;
	ticker_free(w->ticker);
	threadname_free(w->threads);
	wall_read_free(w->read);
	free(w);
}

uint64_t wall_next(const struct wall *w)
{
	if (!w->told)
		return w->slots.next;
	return targets_newest(w->targets) == w->newest ? w->all_next : 0;
}

struct ring *wall_ring(const struct wall *w)
{
	return ticker_ring(w->ticker);
}

int wall_told(struct wall *w)
{
	return ticker_take(w->ticker);
}

void wall_get_counts(const struct wall *w, struct wall_counts *ret)
{
	*ret = w->counts;
}

/* It has ended while it was watched: the ticks before. */
static int take_ticks_before(struct wall *w, struct process *p)
{
	uint64_t begin = p->wall_seen, until = 0;
	uint32_t ticks = p->watched ? ticker_rest(w->ticker, p->pid, begin, &until) : 0;
	struct wall_look look;
	size_t i;
	int err = 0;

	p->watched = false;
	if (!ticks || until <= begin)
		return 0;
	look = wall_look_at(p, until, begin);
	wall_look_before(&look, ticks, until);
	p->stats.v[STAT_TICKS] += ticks;
	wall_read_begin(w->read, &look);
	for (i = 0; i < p->roster.n && !err; i++)
		err = wall_hold_leave(w->read, p, &p->roster.v[i]);
	return err;
}

int wall_release(struct wall *w)
{
	struct process *p = targets_exited(w->targets);
	int err = wall_hold_release_unnamed(w->read);

	for (; p && !err; p = p->next) {
		err = take_ticks_before(w, p);
		if (!err)
			err = wall_hold_rest(w->read, p, OUTCOME_GONE, 0);
		if (!err)
			err = wall_hold_release(w->read, p);
	}
	return err;
}

int wall_release_all(struct wall *w)
{
	struct process *p = targets_first(w->targets);
	int err = 0;

	for (; p && !err; p = p->hh.next)
		err = wall_hold_release(w->read, p);
	return err;
}

void wall_settle(struct wall *w)
{
	wall_hold_settle(w->read);
}

/* A thread that no tick has seen yet, or that may have been named since. */
static int meet(struct wall *w, struct process *p, struct roster_thread *th,
		const struct sched_facts *f)
{
	struct targets_who who = {
		.tid = f->tid,
		.ns_tid = th->ns_tid,
		.thread_ptr = f->thread_ptr ? f->thread_ptr : th->thread_ptr,
		.start = f->start,
		.time = w->time,
	};
	char comm[WALL_COMM] = "";
	struct process_thread *known;
	bool settled;

	if (task_comm((pid_t)f->pid, (pid_t)f->tid, comm, sizeof(comm)))
		return 0; /* it has ended */
	who.comm = comm;
	th->wanted = pyname_wants(w->threads, p, &who, &settled);
	th->named = settled ? clock_boot() : 0;
	if (!th->wanted || th->id != ROSTER_NONE)
		return 0;
	known = targets_thread_at(w->targets, p, &who);
	if (!known)
		return -ENOMEM;
	th->id = known->info.id;
	return targets_error(w->targets);
}

/* Names are given soon after birth. */
static bool is_to_meet(const struct wall *w, const struct roster_thread *th)
{
	return !th->named || (w->threads && th->named - th->start < WALL_YOUNG_NS);
}

/* Does it have a sample? Who runs has one from the tick of its CPU. */
static bool is_told(const struct wall *w, const struct process *p, const struct sched_facts *f)
{
	if (f->state == SCHED_DEAD || (f->state == SCHED_ON_CPU && w->live))
		return false;
	if (w->o->mode == SESSION_MODE_CPU && f->state != SCHED_ON_CPU)
		return false;
	return !w->o->exclude_idle || !wall_read_is_idle(p, f);
}

/* One thread at one tick: a sample from what is remembered, or it is noted to be read. */
static int thread_tick(struct wall *w, struct process *p, size_t i, const struct sched_facts *f)
{
	struct roster_thread *th = &p->roster.v[i];
	bool unchanged = f->state != SCHED_ON_CPU && roster_unchanged(th, f);
	bool told = is_told(w, p, f);
	int err = 0;

	if (th->seen != f->runs || f->state == SCHED_ON_CPU || f->state == SCHED_RUNNABLE)
		p->wall_awake = w->time;
	th->seen = f->runs;
	if ((told || f->displaced) && !unchanged && is_to_meet(w, th))
		err = meet(w, p, th, f);
	told &= th->wanted;
	if (!err && told) {
		err = unchanged ? wall_hold_again(w->read, p, th, f)
				: wall_read_want(w->read, p, i, f);
	} else if (!err) {
		err = wall_hold_leave(w->read, p, th);
		wall_hold_drop(w->read, th, f);
		if (!unchanged && !err)
			err = wall_hold_forget(w->read, p, th);
	}
	if (told && unchanged) {
		w->counts.unchanged += w->ticks;
		p->stats.v[STAT_UNCHANGED] += w->ticks;
	}
	th->fresh = !told;
	return err;
}

static int process_tick(struct wall *w, struct process *p, const struct wall_look *look,
			const struct sched_facts *f, size_t n)
{
	size_t i;
	int err;

	if (!p->reader)
		p->reader = reader_new(&p->found, p->mem);
	if (!p->reader)
		return -ENOMEM;
	reader_expect(p->reader, n);
	w->ticks = look->ticks;
	p->stats.v[STAT_TICKS] += look->ticks;
	wall_read_begin(w->read, look);
	err = wall_hold_follow(w->read, p, f, n);
	if (!err && !w->live)
		err = pointers_find(p, w->time, w->threads || w->o->python_names);
	for (i = 0; i < n && !err; i++)
		err = thread_tick(w, p, i, &f[i]);
	return err ? err : wall_read_all(w->read, p);
}

/* A pass of our own. What was watched until now has ticks that were not told. */
static int process_pass(struct wall *w, struct process *p, const struct sched_facts *f, size_t n,
			bool late)
{
	struct wall_look look = wall_look_at(p, w->time, w->last);
	uint64_t until = 0;
	uint32_t ticks;

	look.late = late;
	if (p->watched) {
		ticks = ticker_rest(w->ticker, p->pid, look.begin, &until);
		wall_look_before(&look, ticks, MIN(until, w->end));
		p->watched = false;
	} else if (p->dozes) {
		wall_look_guess(&look, w->period);
	}
	return process_tick(w, p, &look, f, n);
}

/* A tick that the kernel made. */
static int on_tick(void *arg, const struct ticker_tick *tick)
{
	struct wall *w = arg;
	struct process *p = targets_find(w->targets, tick->pid);
	struct wall_look look;

	if (!p || !p->watched || MIN(tick->time, w->end) <= p->wall_seen)
		return 0; /* another one by now, or looked at since */
	p = targets_tasks_process(w->targets, &tick->v[0]);
	if (!p || !p->watched)
		return 0;
	w->time = MIN(tick->time, w->end);
	look = wall_look_at(p, w->time, w->last);
	wall_look_before(&look, tick->unchanged, MIN(tick->before, w->end));
	look.late = true;
	w->last = w->time;
	return process_tick(w, p, &look, tick->v, tick->n);
}

static int each_process(struct wall *w, const struct sched_facts *f, size_t n)
{
	struct process *p;
	size_t i, end;
	int err;

	for (i = 0; i < n; i = end) {
		for (end = i + 1; end < n && f[end].pid == f[i].pid;)
			end++;
		p = targets_tasks_process(w->targets, &f[i]);
		if (!p || (w->told && p->watched) || p->wall_seen >= w->end)
			continue;
		err = process_pass(w, p, f + i, end - i, i && w->live);
		if (err)
			return err;
	}
	return 0;
}

static void look_at_new(struct wall *w, const struct tasks_view *v)
{
	size_t looks = 0, i;

	for (i = 0; i < v->n_unknown && looks < WALL_MAX_LOOKS; i++)
		looks += targets_tasks_met(w->targets, v->unknown[i], w->time);
}

static void smooth(uint64_t *cost, uint64_t begin)
{
	uint64_t ns = clock_mono() - begin;

	*cost = *cost ? (*cost * (WALL_SMOOTH - 1) + ns) / WALL_SMOOTH : ns;
}

/* Who makes the ticks of what is awake, until the next pass over all. */
static void choose_ticks(struct wall *w, uint64_t now)
{
	struct process *p;
	int err;

	w->n_awake = targets_tasks_awake(w->targets, w->time, w->awake, WALL_MAX_AWAKE);
	if (!w->ticker || now < w->crowded)
		return;
	err = ticker_watch(w->ticker, w->awake, w->n_awake);
	w->told = !err;
	if (err == -E2BIG)
		w->crowded = now + WALL_CROWD_NS;
	for (p = targets_first(w->targets); p && w->told; p = p->hh.next)
		p->watched = p->state == PROCESS_PYTHON && !p->dozes;
}

/* Children, and whatever else starts, are met in a pass over all. */
static int tick_all(struct wall *w, uint64_t now)
{
	struct tasks_view v = {0};
	int err = w->live ? wall_told(w) : targets_tasks_follow(w->targets, w->tasks);

	w->all_next = now + MAX(WALL_LOOK_NS, w->period);
	w->newest = targets_newest(w->targets);
	if (!err)
		err = tasks_pass(w->tasks, 0, &v);
	smooth(&w->cost_all, now);
	if (err)
		return err;
	look_at_new(w, &v);
	w->time = MIN(v.time, w->end);
	err = each_process(w, v.v, v.n);
	choose_ticks(w, now);
	return err;
}

static int tick_awake(struct wall *w)
{
	struct tasks_view v = {0};
	uint64_t begin;
	size_t i;
	int err = 0;

	for (i = 0; i < w->n_awake && !err; i++) {
		begin = clock_mono();
		err = tasks_pass(w->tasks, w->awake[i], &v);
		smooth(&w->cost_one, begin);
		if (err == -ESRCH) { /* it has ended */
			err = 0;
			continue;
		}
		w->time = v.time;
		if (!err)
			err = each_process(w, v.v, v.n);
	}
	return err;
}

static bool is_for_all(const struct wall *w, uint64_t now)
{
	return w->told || now >= w->all_next || targets_newest(w->targets) != w->newest ||
	       w->n_awake > WALL_MAX_AWAKE || w->n_awake * w->cost_one > w->cost_all;
}

/* The kernel had a tick in each period, if they are its, but for those that it says it missed. */
static void count_told(struct wall *w, uint64_t now)
{
	uint64_t missed = ticker_missed(w->ticker), n = (now - w->counted) / w->period;

	if (!w->told)
		return;
	w->counts.ticks += n - MIN(n, missed - w->missed);
	w->counted += n * w->period;
	w->missed = missed;
}

int wall_tick(struct wall *w, uint64_t now)
{
	int err;

	count_told(w, now);
	err = is_for_all(w, now) ? tick_all(w, now) : tick_awake(w);
	w->last = now;
	if (w->told)
		return err;
	/* when nothing is awake, it is that of the next pass over all */
	w->counts.ticks += wall_slots_plan(&w->slots, now, w->n_awake ? 0 : w->all_next);
	w->counted = now;
	return err;
}

/* The first look says how long threads had run before. */
int wall_start(struct wall *w, uint64_t now)
{
	w->last = now;
	w->counted = now;
	w->end = UINT64_MAX;
	wall_slots_start(&w->slots, w->period, now);
	return tick_all(w, now);
}

/* The ticks that are not told yet come with the last look; and then what no look could tell. */
int wall_end(struct wall *w, uint64_t now)
{
	struct process *p;
	int err;

	count_told(w, now);
	w->end =
		now; /* we may come late to what follows, and the kernel's ticks go on until then */
	ticker_watch(w->ticker, NULL, 0);
	err = wall_told(w);
	w->told = false;
	w->crowded = UINT64_MAX;
	if (!err)
		err = tick_all(w, now);
	for (p = targets_first(w->targets); p && !err; p = p->hh.next)
		err = wall_hold_rest(w->read, p, OUTCOME_MISSED, WALL_REST_PERIODS * w->period);
	return err;
}
