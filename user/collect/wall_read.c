/*
 * Read the stacks of threads of one process at a wall tick, and say what proves them.
 *
 *	pass ──▶ read of all that have run ──▶ GIL's words: stood still? ──▶ proven
 *	                     ▲                        │ no
 *	                     │                     second pass: has not run? ──▶ proven
 *	                     └── once more ◀──────────┘ no
 *
 * What is remembered of a proven stack are the facts from before its read: while they stay the
 * same, the thread has not run since then, hence not during the read either.
 *
 * The GIL's words speak of the time of the read alone. Facts that the kernel told are older, by as
 * long as it took until we got a CPU, and those of a pass over many processes by the reads before
 * this one: of them only the second pass can say that they still hold.
 */
#include "collect/wall_read.h"

#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>
#include "base/vec.h"
#include "collect/pointers.h"
#include "collect/wall_read_impl.h"

#define WALL_READ_ROUNDS 2
#define WALL_READ_ROUNDS_RUNNING 4 /* without BPF, where running threads are read as well */

/* What a round found of a job. */
enum verdict { PROVEN, UNPROVEN, GONE, AGAIN };

int wall_read_new(const struct session_options *o, struct tasks *tasks, struct pipeline *p,
		  struct wall_read **ret)
{
	struct wall_read *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->tasks = tasks;
	r->pipeline = p;
	r->gil_only = o->mode == SESSION_MODE_GIL;
	r->cpu_only = o->mode == SESSION_MODE_CPU;
	r->exclude_idle = o->exclude_idle;
	r->live = tasks_live(tasks);
	*ret = r;
	return 0;
}

void wall_read_free(struct wall_read *r)
{
	if (!r)
		return;
	free(r->jobs);
	free(r->asked);
	free(r->unsettled);
	free(r);
}

void wall_read_begin(struct wall_read *r, const struct wall_look *look)
{
	r->look = *look;
	r->n_jobs = 0;
}

bool wall_read_is_idle(const struct process *p, const struct sched_facts *f)
{
	if (f->state == SCHED_SLEEPING)
		return !f->futex || !reader_is_gil(p->reader, f->futex);
	return f->state != SCHED_RUNNABLE && f->state != SCHED_ON_CPU;
}

static uint64_t pointer_of(const struct process *p, const struct job *j)
{
	return j->facts.thread_ptr ? j->facts.thread_ptr : p->roster.v[j->i].thread_ptr;
}

int wall_read_want(struct wall_read *r, struct process *p, size_t i, const struct sched_facts *f)
{
	struct job j = {.i = i, .facts = *f, .ticks = r->look.ticks};
	uint32_t before;
	int err;

	if (vec_reserve(&r->jobs, &r->cap_jobs, r->n_jobs + 1, sizeof(*r->jobs)))
		return -ENOMEM;
	err = wall_hold_before(r, p, &p->roster.v[i], &before);
	j.ticks -= before;
	j.cpu_ns = wall_read_ran(r, f->cpu_ns);
	r->jobs[r->n_jobs++] = j;
	return err ? err : wall_hold_forget(r, p, &p->roster.v[i]);
}

static int read_jobs(struct wall_read *r, struct process *p)
{
	size_t i;
	int err;

	if (vec_reserve(&r->asked, &r->cap_asked, r->n_jobs, sizeof(*r->asked)))
		return -ENOMEM;
	for (i = 0; i < r->n_jobs; i++)
		r->asked[i] = (struct reader_thread){
			.thread_ptr = pointer_of(p, &r->jobs[i]),
			.ns_tid = r->jobs[i].facts.ns_tid,
			.runs = !r->live && !sched_off_cpu(&r->jobs[i].facts),
			.status = READER_FAILED,
		};
	err = reader_read(p->reader, r->asked, r->n_jobs);
	/* a pass of the kernel's looks at the image itself */
	if (err == -ESRCH || (!r->live && !process_same(p)))
		p->gone = true;
	return err == -ENOMEM ? err : 0;
}

/* Do the GIL's words prove that it stands where its facts say? */
static bool is_still(const struct wall_read *r, size_t i)
{
	return r->asked[i].still && !r->look.late;
}

/* A second pass, unless the GIL's words have proven all. */
static int pass_again(struct wall_read *r, const struct process *p, struct tasks_view *ret)
{
	size_t i;
	int err;

	for (i = 0; i < r->n_jobs && is_still(r, i); i++)
		;
	if (i == r->n_jobs)
		return 0;
	err = tasks_pass(r->tasks, p->pid, ret);
	if (err == -ESRCH)
		*ret = (struct tasks_view){0};
	return err == -ESRCH ? 0 : err;
}

/* Jobs and facts both come by tid. NULL: that thread has ended. */
static const struct sched_facts *facts_of(const struct job *j, const struct tasks_view *v,
					  size_t *at)
{
	while (*at < v->n && v->v[*at].tid < j->facts.tid)
		++*at;
	if (*at < v->n && v->v[*at].tid == j->facts.tid && v->v[*at].start == j->facts.start &&
	    v->v[*at].state != SCHED_DEAD)
		return &v->v[*at];
	return NULL;
}

static uint64_t print_of(const struct wall_read *r, const struct process *p, size_t i)
{
	const struct walk_frame *f = reader_frames(p->reader) + r->asked[i].first;
	uint64_t h = 1, v[3];
	size_t k;

	for (k = 0; k < r->asked[i].n; k++, f++) {
		v[0] = f->addr;
		v[1] = f->code;
		v[2] = k ? f->instr : 0; /* the innermost one goes on */
		h = XXH64(v, sizeof(v), h);
	}
	return h;
}

/* Nobody knows yet which thread state is this one's, if any. */
static bool is_not_looked_for(const struct wall_read *r, const struct process *p, size_t i)
{
	return !r->live && pointers_needed(p) && !p->roster.v[r->jobs[i].i].looked;
}

static enum verdict judge(const struct wall_read *r, const struct process *p, size_t i,
			  const struct sched_facts *now)
{
	const struct reader_thread *a = &r->asked[i];

	if (p->gone || (!is_still(r, i) && !now))
		return GONE;
	if (a->status == READER_FAILED || is_not_looked_for(r, p, i))
		return AGAIN;
	if (is_still(r, i) || sched_stood_still(&r->jobs[i].facts, now))
		return PROVEN;
	/* a thread that no list has has nothing to be found twice in one call */
	if (!r->live && (a->steady || a->status == READER_NO_STATE) &&
	    r->jobs[i].print == print_of(r, p, i))
		return UNPROVEN;
	return AGAIN;
}

static enum outcome outcome_of(const struct reader_thread *a, enum verdict v)
{
	if (v == GONE)
		return OUTCOME_GONE;
	switch (a->status) {
	case READER_STACK:
		return v == UNPROVEN || a->foreign ? OUTCOME_UNPROVEN : OUTCOME_READ;
	case READER_CUT:
		return OUTCOME_CUT;
	case READER_NO_FRAMES:
	case READER_NO_STATE:
		return OUTCOME_NATIVE;
	default:
		return OUTCOME_MISSED;
	}
}

/* The sample of a job, and what is remembered of it. */
static int finish(struct wall_read *r, struct process *p, size_t i, enum verdict v)
{
	const struct job *j = &r->jobs[i];
	const struct reader_thread *a = &r->asked[i];
	struct roster_thread *th = &p->roster.v[j->i];
	struct pipeline_frames f = {0};
	struct sample s;
	uint64_t weight = roster_tell(th, r->look.time, j->cpu_ns);
	int err;

	th->runs = j->facts.runs;
	th->cpu_ns = j->facts.cpu_ns;
	th->waits_gil = j->facts.futex && reader_is_gil(p->reader, j->facts.futex);
	th->holds_gil = a->holds_gil;
	if (r->gil_only && !th->holds_gil) {
		th->stack = v == PROVEN ? STACK_EMPTY : ROSTER_NONE; /* as long as it is so */
		return 0;
	}
	s = wall_hold_sample(p, th, wall_hold_state(th, &j->facts));
	s.outcome = outcome_of(a, v);
	if (r->cpu_only && j->facts.state != SCHED_ON_CPU) {
		/* it ran at the tick; where, only what came later tells */
		s.state = RUN_ON_CPU;
		if (s.outcome == OUTCOME_READ)
			s.outcome = OUTCOME_UNPROVEN;
	}
	if (s.outcome == OUTCOME_READ)
		p->stats.v[a->still ? STAT_WITNESS_GIL : STAT_WITNESS_SCHED]++;
	s.time = r->look.time;
	s.weight = weight;
	s.more = j->ticks - 1;
	if (v != GONE && a->n)
		f = (struct pipeline_frames){
			.frames = reader_frames(p->reader) + a->first,
			.ids = reader_ids(p->reader) + a->first,
			.n = a->n,
			.one_id = a->one_id,
		};
	th->held_state = (uint8_t)s.state;
	err = pipeline_read(r->pipeline, p, &s, &f, &th->ticket);
	if (err || (v == PROVEN && sched_off_cpu(&j->facts)))
		return err ? err : wall_hold_settling(r, p);
	th->ticket = ROSTER_NONE;
	return 0;
}

/* Without a tick, what runs is read twice at once, to be compared. */
static int read_twice(struct wall_read *r, struct process *p)
{
	bool runs = false;
	size_t i;

	for (i = 0; i < r->n_jobs; i++)
		runs |= !sched_off_cpu(&r->jobs[i].facts) && !r->asked[i].still;
	for (i = 0; i < r->n_jobs; i++)
		r->jobs[i].print = runs ? print_of(r, p, i) : 0;
	return runs && !p->gone ? read_jobs(r, p) : 0;
}

/* It has run since, to where it has no sample of a wall tick: on its CPU, or idle. */
static bool has_left(const struct wall_read *r, const struct process *p,
		     const struct sched_facts *now)
{
	if (!now)
		return false;
	return (r->live && now->state == SCHED_ON_CPU) ||
	       (r->exclude_idle && wall_read_is_idle(p, now));
}

/* Its time goes to its next sample. */
static void put_off(const struct wall_read *r, struct process *p, size_t i)
{
	struct roster_thread *th = &p->roster.v[r->jobs[i].i];

	th->untold = roster_untold(th, r->look.time, r->jobs[i].cpu_ns);
}

static int round_of(struct wall_read *r, struct process *p)
{
	struct tasks_view after = {0};
	const struct sched_facts *now;
	size_t left = 0, at = 0, i;
	enum verdict v;
	int err = read_jobs(r, p);

	if (!err && !r->live)
		err = read_twice(r, p);
	if (!err)
		err = pass_again(r, p, &after);
	for (i = 0; i < r->n_jobs && !err; i++) {
		now = facts_of(&r->jobs[i], &after, &at);
		v = judge(r, p, i, now);
		if (v != AGAIN) {
			err = finish(r, p, i, v);
			continue;
		}
		if (has_left(r, p, now)) {
			put_off(r, p, i);
			continue;
		}
		r->asked[left] = r->asked[i];
		r->jobs[left].i = r->jobs[i].i;
		r->jobs[left].cpu_ns = r->jobs[i].cpu_ns;
		r->jobs[left].ticks = r->jobs[i].ticks;
		r->jobs[left++].facts = now ? *now : r->jobs[i].facts;
	}
	r->n_jobs = left;
	r->look.late = false; /* those that are left have facts of the second pass */
	return err;
}

/* After the last round: it could not be read though it stood still, or it ran on and on. */
static int give_up(struct wall_read *r, struct process *p, size_t i)
{
	if (r->asked[i].status == READER_FAILED || !r->live) {
		r->asked[i].status = READER_FAILED;
		r->asked[i].n = 0;
		return finish(r, p, i, AGAIN);
	}
	put_off(r, p, i);
	return 0;
}

int wall_read_all(struct wall_read *r, struct process *p)
{
	int rounds = r->live ? WALL_READ_ROUNDS : WALL_READ_ROUNDS_RUNNING, err = 0;
	size_t i;

	while (r->n_jobs && rounds-- && !err)
		err = round_of(r, p);
	for (i = 0; i < r->n_jobs && !err; i++)
		err = give_up(r, p, i);
	return err;
}
