/*
 * What happens to a sample, from the kernel's record to the sink.
 *
 * pipeline_sample() runs while the record is still in the ring: it finds the process, walks the
 * frame chain over the bytes that the interrupt copied, compares it with the thread's last one, and
 * notes which code objects have to be named. pipeline_flush() runs once a drain: it names them, for
 * all samples of a process together, and hands the samples to the sink in the order they came.
 */
#include "collect/pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/vec.h"
#include "collect/perf.h"
#include "collect/pyname.h"
#include "collect/seed.h"
#include "symbol/walkcache.h"

#define PIPELINE_MANY_SAMPLES 16384u /* 2 MiB */
#define PIPELINE_MANY_QUERIES 65536u /* 8 MiB: they are answered before the drain is over */

/* A sample on its way. */
struct pending {
	struct process *process;
	struct sample sample;
	struct walkcache_walk walk;
	size_t first;  /* of process->queries: the hot frames of the walk */
	uint32_t like; /* the index of an earlier one with the same stack; else its own */
	uint32_t unnamed;
};

struct pipeline {
	struct targets *targets;
	struct names *names;
	struct sink *sink;
	enum session_seed seed_kind;
	bool clock;    /* samples are of a clock: a thread with one was on a CPU */
	bool gil_only; /* samples of threads that hold the GIL */
	struct threadname *threads;
	struct snapshot *scratch;
	struct seed seed;
	struct pending *pending;
	size_t n_pending, cap_pending;
	size_t n_named;	  /* of these: they have their stacks */
	size_t n_queries; /* of all processes */
	struct walkcache *walks;
	struct pipeline_counts counts;
};

int pipeline_new(const struct session_options *o, struct targets *t, struct names *names,
		 struct sink *sink, struct pipeline **ret)
{
	struct pipeline *p = calloc(1, sizeof(*p));
	int err = 0;

	if (!p)
		return -ENOMEM;
	p->targets = t;
	p->names = names;
	p->sink = sink;
	p->seed_kind = o->seed;
	p->clock = perf_is_clock(o->event);
	p->gil_only = o->mode == SESSION_MODE_GIL;
	p->scratch = snapshot_new();
	p->walks = walkcache_new(names);
	if (!p->scratch || !p->walks || seed_init(&p->seed))
		err = -ENOMEM;
	else if (o->threads)
		err = threadname_new(o->threads, &p->threads, NULL);
	if (err) {
		pipeline_free(p);
		return err;
	}
	*ret = p;
	return 0;
}

void pipeline_free(struct pipeline *p)
{
	if (!p)
		return;
	snapshot_free(p->scratch);
	seed_release(&p->seed);
	threadname_free(p->threads);
	walkcache_free(p->walks);
	free(p->pending);
	free(p);
}

enum drain_part { DRAIN_MIDST, DRAIN_END, DRAIN_EMPTIED };

/* Names what the process was asked for; at the end of a drain also when that is nothing. */
static void resolve(struct process *proc, enum drain_part part)
{
	bool end = part != DRAIN_MIDST;
	int err = 0;

	if (part == DRAIN_EMPTIED && proc->sampled)
		pycode_emptied(proc->code);

	if (end && proc->sampled)
		err = pycode_resolve(proc->code, proc->mem, proc->queries, proc->n_queries);
	else if (proc->n_queries)
		err = pycode_resolve_early(proc->code, proc->mem, proc->queries, proc->n_queries);
	if (err == -ESRCH)
		proc->gone = true;
	if (end)
		proc->sampled = false;
}

static const char *marker_of(enum outcome o)
{
	switch (o) {
	case OUTCOME_NATIVE:
		return "[native]";
	case OUTCOME_GONE:
		return "[gone]";
	default:
		return "[missed]";
	}
}

/* The stack of a sample whose frames have names now. */
static void take_stack(struct pipeline *p, struct pending *v)
{
	const struct pending *first = &p->pending[v->like];
	struct walkcache_stack s;

	if (first != v) {
		v->sample.stack = first->sample.stack;
		v->sample.outcome = first->sample.outcome;
		v->unnamed = first->unnamed;
		return;
	}
	walkcache_name(p->walks, &v->walk, v->process->queries + v->first, &s);
	if (s.unnamed && !s.named && v->process->gone)
		v->sample.outcome = OUTCOME_GONE;
	if ((!s.unnamed && !s.named) || v->sample.outcome == OUTCOME_GONE) {
		s.unnamed = 0;
		s.stack = names_stack(p->names, STACK_EMPTY,
				      names_marker(p->names, marker_of(v->sample.outcome)));
	}
	v->sample.stack = s.stack;
	v->unnamed = s.unnamed;
}

/* All samples that wait get their stacks. */
static int name_pending(struct pipeline *p, enum drain_part part)
{
	struct process *proc;
	size_t i;

	/* without samples nothing is asked of any process */
	for (proc = targets_first(p->targets); proc && p->n_pending; proc = proc->hh.next)
		resolve(proc, part);
	for (proc = targets_exited(p->targets); proc && p->n_pending; proc = proc->next)
		resolve(proc, part);
	for (i = p->n_named; i < p->n_pending; i++) {
		take_stack(p, &p->pending[i]);
		if (p->pending[i].sample.stack == INTERN_NONE)
			return -ENOMEM;
	}
	for (i = p->n_named; i < p->n_pending; i++)
		p->pending[i].process->n_queries = 0;
	p->n_named = p->n_pending;
	p->n_queries = 0;
	walkcache_settle(p->walks, clock_mono());
	return 0;
}

static void count_walk(struct process *proc, const struct walkcache_walk *w)
{
	if (w->hot && w->known)
		proc->stats.v[STAT_CACHE_PARTIAL]++;
	else if (w->hot || w->known)
		proc->stats.v[w->hot ? STAT_CACHE_MISS : STAT_CACHE_FULL]++;
}

static int add_queries(struct process *proc, const struct walkcache_frames *f, size_t n)
{
	struct pycode_query *q;
	size_t i;

	if (vec_reserve(&proc->queries, &proc->cap_queries, proc->n_queries + n, sizeof(*q)))
		return -ENOMEM;
	q = proc->queries + proc->n_queries;
	for (i = 0; i < n; i++)
		q[i] = (struct pycode_query){
			.code = f->frames[i].code,
			.instr = f->frames[i].instr,
			.tlbc = f->frames[i].tlbc,
			.function = f->frames[i].function,
			.id = f->ids[f->one_id ? 0 : i],
		};
	proc->n_queries += n;
	return 0;
}

/* The sample becomes the last pending one; frames that its thread did not have before are queries
 * of the process. */
static int add_pending(struct pipeline *p, struct process *proc, const struct sample *s,
		       const struct pipeline_frames *f)
{
	const struct walkcache_frames v = {.frames = f->frames,
					   .ids = f->ids,
					   .n = f->n,
					   .one_id = f->one_id,
					   .cut = s->outcome == OUTCOME_CUT};
	struct pending *to;
	int err = p->n_queries >= PIPELINE_MANY_QUERIES ? name_pending(p, DRAIN_MIDST) : 0;

	if (!err)
		err = vec_reserve(&p->pending, &p->cap_pending, p->n_pending + 1,
				  sizeof(*p->pending));
	if (err)
		return err;
	to = &p->pending[p->n_pending];
	*to = (struct pending){.process = proc,
			       .sample = *s,
			       .first = proc->n_queries,
			       .like = (uint32_t)p->n_pending};
	err = walkcache_take(p->walks, s->thread, &v, &to->walk);
	if (!err)
		err = add_queries(proc, &v, to->walk.hot);
	if (err)
		return err;
	count_walk(proc, &to->walk);
	proc->sampled = true;
	p->n_queries += to->walk.hot;
	p->n_pending++;
	return 0;
}

static int take_frames(struct pipeline *p, struct process *proc, const struct assembled *a)
{
	if (p->seed_kind == SESSION_SEED_STACK)
		return seed_decode(&p->seed, &proc->found.layout, a, p->scratch);
	if (!proc->reader)
		proc->reader = reader_new(&proc->found, proc->mem);
	if (!proc->reader)
		return -ENOMEM;
	return seed_read(&p->seed, proc->reader, a->sample);
}

/* The collector runs in the thread that holds the GIL; the others of its interpreter wait. */
static enum run_state state_of(const struct pipeline *p, const struct event_sample *e)
{
	const uint32_t collecting = EVENT_GC | EVENT_HOLDS_GIL;

	if (!p->clock)
		return RUN_UNKNOWN;
	return (e->flags & collecting) == collecting ? RUN_GC : RUN_ON_CPU;
}

static void count(const struct pipeline *p, struct process *proc, const struct seed *s)
{
	bool seen = s->outcome == OUTCOME_EXACT || s->outcome == OUTCOME_CUT;

	proc->stats.v[STAT_TICKS]++;
	if (p->seed_kind != SESSION_SEED_STACK) { /* the reader has counted the walk */
		proc->stats.v[STAT_WITNESS_GIL] += s->outcome == OUTCOME_READ;
		return;
	}
	proc->stats.v[STAT_WALKS] += s->n != 0;
	proc->stats.v[STAT_WITNESS_INTERRUPT] += seen;
}

/* A thread that was asked for, and in gil mode one that holds the GIL. */
static bool is_wanted(const struct pipeline *p, struct process *proc, const struct event_sample *e)
{
	const struct targets_who who = targets_who_of(e);

	return (!p->gil_only || (e->flags & EVENT_HOLDS_GIL)) &&
	       pyname_wants(p->threads, proc, &who, NULL);
}

int pipeline_sample(struct pipeline *p, const struct assembled *a)
{
	struct process *proc = targets_of_sample(p->targets, a->sample);
	struct pipeline_frames f;
	struct process_thread *th;
	struct sample s;
	int err;

	if (!proc || !is_wanted(p, proc, a->sample)) {
		p->counts.other++;
		return 0;
	}
	th = targets_thread(p->targets, proc, a->sample);
	if (!th)
		return -ENOMEM;
	err = take_frames(p, proc, a);
	if (err)
		return err;
	s = (struct sample){
		.time = a->sample->task.time,
		.weight = a->sample->task.weight,
		.process = proc->info.id,
		.thread = th->info.id,
		.cpu = a->cpu,
		.outcome = p->seed.outcome,
		.state = state_of(p, a->sample),
		.holds_gil = a->sample->flags & EVENT_HOLDS_GIL,
	};
	count(p, proc, &p->seed);
	f = (struct pipeline_frames){p->seed.frames, p->seed.ids, p->seed.n, p->seed.one_id};
	return add_pending(p, proc, &s, &f);
}

int pipeline_read(struct pipeline *p, struct process *proc, const struct sample *s,
		  const struct pipeline_frames *f, uint32_t *ret_ticket)
{
	int err = add_pending(p, proc, s, f);

	if (!err)
		*ret_ticket = p->pending[p->n_pending - 1].like;
	return err;
}

int pipeline_like(struct pipeline *p, const struct sample *s, uint32_t ticket)
{
	struct pending *v;

	if (vec_reserve(&p->pending, &p->cap_pending, p->n_pending + 1, sizeof(*p->pending)))
		return -ENOMEM;
	v = &p->pending[p->n_pending++];
	*v = p->pending[ticket];
	v->sample = *s;
	return 0;
}

int pipeline_again(struct pipeline *p, struct process *proc, const struct sample *s)
{
	uint64_t ticks = 1 + (uint64_t)s->more;

	p->counts.samples += ticks;
	p->counts.outcomes[s->outcome] += ticks;
	p->counts.states[s->state] += ticks;
	p->counts.weights[s->state] += s->weight;
	proc->stats.outcomes[s->outcome] += ticks;
	return p->sink->ops->sample(p->sink, p->names, s);
}

bool pipeline_settled(const struct pipeline *p, uint32_t ticket, uint32_t *ret_stack,
		      enum outcome *ret_outcome)
{
	const struct pending *v = &p->pending[ticket];

	if (v->unnamed || v->sample.outcome == OUTCOME_GONE)
		return false;
	*ret_stack = v->sample.stack;
	*ret_outcome = v->sample.outcome;
	return true;
}

bool pipeline_full(const struct pipeline *p)
{
	return p->n_pending >= PIPELINE_MANY_SAMPLES;
}

int pipeline_flush(struct pipeline *p, bool emptied)
{
	int err = name_pending(p, emptied ? DRAIN_EMPTIED : DRAIN_END);
	size_t i;

	for (i = 0; i < p->n_pending && !err; i++) {
		p->counts.unnamed +=
			p->pending[i].unnamed * (1 + (uint64_t)p->pending[i].sample.more);
		err = pipeline_again(p, p->pending[i].process, &p->pending[i].sample);
	}
	p->n_pending = p->n_named = 0;
	return err;
}

void pipeline_get_counts(const struct pipeline *p, struct pipeline_counts *ret)
{
	*ret = p->counts;
}
