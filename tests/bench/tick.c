/*
 * One wall tick of one process, like wall mode's: threads that run are left to the interrupt. Or
 * all threads are read, as without BPF; those that run until two readings in a row say the same.
 */
#include "tests/bench/tick.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/vec.h"

#define TICK_ROUNDS 2	  /* of reading what has not stood still */
#define TICK_ROUNDS_ALL 4 /* the same when running threads are read too */

/* What became of a thread in a tick: an outcome, or no sample. */
enum {
	TICK_LEFT = OUTCOME_MAX, /* it runs: the interrupt's */
	TICK_RAN,		 /* it ran whenever it was looked at */
	TICK_OPEN,
};

/* A thread, and its stack when that was last proven. */
struct known {
	struct sched_facts facts;
	uint32_t id; /* that no other thread will have */
	bool proven;
	int outcome; /* enum outcome, or one of the above */
	uint32_t stack;
};

/* A thread whose stack is read in this tick. */
struct asked {
	struct known *known;
	bool kept; /* the following are of a reading */
	enum reader_status status;
	size_t first, n; /* of the frames, leaf first */
	size_t first_id;
	bool one_id;
	size_t query; /* of its hot frames */
	struct walkcache_walk walk;
};

static uint64_t now(const struct ticker *t)
{
	return t->time ? clock_mono() : 0;
}

static void took(struct ticker *t, enum part part, uint64_t since)
{
	t->counts.parts[part] += now(t) - since;
}

static int pass(struct ticker *t, struct tasks_view *ret)
{
	uint64_t start = now(t);
	int err = tasks_pass(t->tasks, (uint32_t)t->pid, ret);

	took(t, PART_TASKS, start);
	return err;
}

static int read_threads(struct ticker *t, struct reader_thread *v, size_t n)
{
	uint64_t start = now(t), before = t->memory->ns;
	int err = reader_read(t->reader, v, n);

	took(t, PART_WALK, start + (t->memory->ns - before));
	return err;
}

static bool has_not_run(const struct known *k, const struct sched_facts *f)
{
	return k->proven && f->state != SCHED_ON_CPU && k->facts.runs == f->runs &&
	       k->facts.cpu_ns == f->cpu_ns;
}

/* Takes over what is known of the threads that are still there; asks for those that ran. */
static int choose(struct ticker *t, const struct tasks_view *view)
{
	size_t i, k = 0, n = view->n;

	if (vec_reserve(&t->next, &t->cap_next, n, sizeof(*t->next)) ||
	    vec_reserve(&t->asked, &t->cap_asked, n, sizeof(*t->asked)) ||
	    vec_reserve(&t->threads, &t->cap_threads, n, sizeof(*t->threads)) ||
	    vec_reserve(&t->again, &t->cap_again, n, sizeof(*t->again)) ||
	    vec_reserve(&t->again_of, &t->cap_again_of, n, sizeof(*t->again_of)))
		return -ENOMEM;
	t->n_asked = 0;
	for (i = 0; i < n; i++) {
		const struct sched_facts *f = &view->v[i];
		struct known *to = &t->next[i];

		while (k < t->n_known && t->known[k].facts.tid < f->tid)
			k++;
		*to = (struct known){.facts = *f};
		if (k < t->n_known && t->known[k].facts.tid == f->tid &&
		    t->known[k].facts.start == f->start) {
			to->id = t->known[k].id;
			if (has_not_run(&t->known[k], f)) {
				*to = t->known[k];
				continue;
			}
		} else {
			to->id = t->next_id++;
		}
		to->outcome = TICK_OPEN;
		if (f->state == SCHED_ON_CPU && !t->all)
			to->outcome = TICK_LEFT;
		if (to->outcome == TICK_LEFT)
			continue;
		t->asked[t->n_asked] = (struct asked){.known = to};
		t->threads[t->n_asked++] = (struct reader_thread){
			.thread_ptr = f->thread_ptr,
			.ns_tid = f->ns_tid,
		};
	}
	return 0;
}

static void swap_known(struct ticker *t, size_t n)
{
	struct known *v = t->known;
	size_t cap = t->cap_known;

	t->known = t->next;
	t->cap_known = t->cap_next;
	t->n_known = n;
	t->next = v;
	t->cap_next = cap;
}

/* Keeps the frames of one thread: the reader's own are gone with its next call. */
static int keep(struct ticker *t, const struct reader_thread *v, struct asked *a)
{
	size_t ids = v->one_id ? 1 : v->n;

	if (vec_reserve(&t->frames, &t->cap_frames, t->n_frames + v->n, sizeof(*t->frames)) ||
	    vec_reserve(&t->ids, &t->cap_ids, t->n_ids + ids, sizeof(*t->ids)))
		return -ENOMEM;
	a->kept = true;
	a->status = v->status;
	a->first = t->n_frames;
	a->first_id = t->n_ids;
	a->n = v->n;
	a->one_id = v->one_id;
	if (!v->n)
		return 0;
	memcpy(t->frames + t->n_frames, reader_frames(t->reader) + v->first,
	       v->n * sizeof(*t->frames));
	memcpy(t->ids + t->n_ids, reader_ids(t->reader) + v->first, ids * sizeof(*t->ids));
	t->n_frames += v->n;
	t->n_ids += ids;
	return 0;
}

/* The leaf's instruction is one word, true whenever it was read. */
static bool is_same(const struct ticker *t, const struct reader_thread *v, const struct asked *a)
{
	const struct walk_frame *f = reader_frames(t->reader) + v->first;
	const struct walk_frame *before = t->frames + a->first;
	size_t i;

	if (!a->kept || v->status != a->status || v->n != a->n)
		return false;
	for (i = 0; i < v->n; i++)
		if (f[i].code != before[i].code || (i && f[i].instr != before[i].instr))
			return false;
	return true;
}

static enum outcome outcome_of(enum reader_status s, enum outcome whole)
{
	switch (s) {
	case READER_STACK:
		return whole;
	case READER_CUT:
		return OUTCOME_CUT;
	case READER_NO_FRAMES:
	case READER_NO_STATE:
		return OUTCOME_NATIVE;
	default:
		return OUTCOME_MISSED;
	}
}

/* Facts and threads both come by tid. NULL: it has ended. */
static const struct sched_facts *facts_of(const struct known *k, const struct tasks_view *v,
					  size_t *at)
{
	while (*at < v->n && v->v[*at].tid < k->facts.tid)
		++*at;
	return *at < v->n && v->v[*at].tid == k->facts.tid ? &v->v[*at] : NULL;
}

/* After a reading, and maybe a pass behind it. */
static int judge(struct ticker *t, struct asked *a, const struct reader_thread *v,
		 const struct sched_facts *now)
{
	struct known *k = a->known;
	bool same = is_same(t, v, a);
	int err = keep(t, v, a);

	if (err)
		return err;
	if (v->status != READER_FAILED &&
	    (v->still || (now && sched_stood_still(&k->facts, now)))) {
		k->outcome = outcome_of(v->status, OUTCOME_READ);
		k->proven = k->facts.state != SCHED_ON_CPU;
	} else if (t->all && same) {
		k->outcome = outcome_of(v->status, OUTCOME_UNPROVEN);
	} else if (now && now->state == SCHED_ON_CPU && !t->all) {
		k->outcome = TICK_LEFT;
	} else if (now) {
		k->facts = *now;
	}
	return 0;
}

/* Collects the threads that are still open; how many. */
static size_t open_threads(struct ticker *t, bool *ret_off_cpu)
{
	size_t i, n = 0;

	*ret_off_cpu = false;
	for (i = 0; i < t->n_asked; i++) {
		const struct known *k = t->asked[i].known;

		if (k->outcome != TICK_OPEN)
			continue;
		t->again[n] = t->threads[i];
		t->again_of[n++] = i;
		*ret_off_cpu |= k->facts.state != SCHED_ON_CPU;
	}
	return n;
}

static bool all_still(const struct reader_thread *v, size_t n)
{
	while (n && v[n - 1].still)
		n--;
	return n == 0;
}

/* One reading of the threads that are open. How many that were, or -errno. */
static int read_round(struct ticker *t)
{
	struct tasks_view view = {0};
	size_t at = 0, i, n;
	bool off_cpu;
	int err;

	n = open_threads(t, &off_cpu);
	if (!n)
		return 0;
	err = read_threads(t, t->again, n);
	if (!err && off_cpu && !all_still(t->again, n))
		err = pass(t, &view);
	for (i = 0; i < n && !err; i++) {
		struct asked *a = &t->asked[t->again_of[i]];

		err = judge(t, a, &t->again[i], facts_of(a->known, &view, &at));
	}
	return err ? err : (int)MIN(n, (size_t)INT32_MAX);
}

static bool has_stack(const struct asked *a)
{
	return a->n && a->known->outcome != OUTCOME_MISSED && a->known->outcome < TICK_LEFT;
}

/* What the thread's last walk did not have is to be named. */
static int ask_names(struct ticker *t, struct asked *a)
{
	const struct walkcache_frames f = {
		.frames = t->frames + a->first,
		.ids = t->ids + a->first_id,
		.n = a->n,
		.one_id = a->one_id,
		.cut = a->known->outcome == OUTCOME_CUT,
	};
	int err = walkcache_take(t->walks, a->known->id, &f, &a->walk);
	size_t i;

	if (err || vec_reserve(&t->queries, &t->cap_queries, t->n_queries + a->walk.hot,
			       sizeof(*t->queries)))
		return -ENOMEM;
	a->query = t->n_queries;
	for (i = 0; i < a->walk.hot; i++)
		t->queries[t->n_queries++] = (struct pycode_query){
			.code = f.frames[i].code,
			.instr = f.frames[i].instr,
			.tlbc = f.frames[i].tlbc,
			.function = f.frames[i].function,
			.id = f.ids[f.one_id ? 0 : i],
		};
	return 0;
}

static int resolve(struct ticker *t)
{
	uint64_t start = now(t), before = t->memory->ns;
	int err = 0;
	size_t i;

	t->n_queries = 0;
	for (i = 0; i < t->n_asked && !err; i++)
		if (has_stack(&t->asked[i]))
			err = ask_names(t, &t->asked[i]);
	if (!err)
		err = pycode_resolve(t->code, &t->memory->mem, t->queries, t->n_queries);
	took(t, PART_RESOLVE, start + (t->memory->ns - before));
	return err == -ENOMEM ? err : 0;
}

static void intern(struct ticker *t)
{
	uint64_t start = now(t);
	size_t i;

	for (i = 0; i < t->n_asked; i++) {
		struct asked *a = &t->asked[i];
		struct walkcache_stack s = {.stack = STACK_EMPTY};

		if (has_stack(a))
			walkcache_name(t->walks, &a->walk, t->queries + a->query, &s);
		a->known->stack = s.stack;
	}
	walkcache_settle(t->walks, t->wall_ns);
	took(t, PART_INTERN, start);
}

static int count(struct ticker *t)
{
	size_t i, stacks = names_stacks(t->names);
	bool failed = false;

	if (vec_reserve(&t->seen, &t->cap_seen, stacks, sizeof(*t->seen)))
		return -ENOMEM;
	if (stacks > t->n_seen)
		memset(t->seen + t->n_seen, 0, (stacks - t->n_seen) * sizeof(*t->seen));
	t->n_seen = stacks;
	for (i = 0; i < t->n_known; i++) {
		const struct known *k = &t->known[i];

		t->counts.left += k->outcome == TICK_LEFT;
		t->counts.ran += k->outcome == TICK_RAN;
		if (k->outcome >= OUTCOME_MAX)
			continue;
		t->counts.outcomes[k->outcome]++;
		t->seen[k->stack][k->outcome]++;
		failed |= k->outcome == OUTCOME_MISSED || k->outcome == OUTCOME_CUT;
	}
	t->counts.ticks++;
	t->counts.failed_ticks += failed;
	t->counts.threads += t->n_known;
	t->counts.read += t->n_asked;
	return 0;
}

/* Reads the threads that ran, and finds what their stacks are worth. */
static int read_asked(struct ticker *t)
{
	int rounds = t->all ? TICK_ROUNDS_ALL : TICK_ROUNDS, n = 1;
	size_t i;

	t->n_frames = t->n_ids = 0;
	while (rounds-- && n > 0)
		n = read_round(t);
	if (n < 0)
		return n;
	for (i = 0; i < t->n_asked; i++) {
		struct known *k = t->asked[i].known;

		if (k->outcome == TICK_OPEN)
			k->outcome = t->asked[i].status == READER_FAILED && !t->all ? OUTCOME_MISSED
										    : TICK_RAN;
	}
	return 0;
}

int tick(struct ticker *t)
{
	struct tasks_view view;
	size_t n;
	int err = pass(t, &view);

	if (!err)
		err = choose(t, &view);
	if (err)
		return err;
	n = view.n;
	t->wall_ns = view.time;
	if (t->n_asked) {
		err = read_asked(t);
		if (!err)
			err = resolve(t);
		if (err)
			return err;
		intern(t);
	}
	swap_known(t, n);
	return count(t);
}

void tick_forget(struct ticker *t)
{
	t->counts = (struct tick_counts){0};
	if (t->n_seen)
		memset(t->seen, 0, t->n_seen * sizeof(*t->seen));
}

void tick_release(struct ticker *t)
{
	free(t->known);
	free(t->next);
	free(t->asked);
	free(t->threads);
	free(t->again);
	free(t->again_of);
	free(t->queries);
	free(t->frames);
	free(t->ids);
	free(t->seen);
}
