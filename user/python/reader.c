/*
 * Read the stacks of threads of one process, all in one call, with what shows that they stood
 * still.
 *
 * A thread is looked up among the thread states that the lists had when they were read last, and
 * its state must still be linked into its list when the stack is read: freed states are in none,
 * whatever else they show. Lists are read again only when a thread is not among them, a link is
 * wrong, or the interpreters are others.
 */
#include "python/reader.h"

#include <errno.h>
#include <stdlib.h>
#include "base/vec.h"
#include "python/reader_impl.h"

struct reader *reader_new(const struct discover_found *f, struct mem *m)
{
	struct reader *r = calloc(1, sizeof(*r));
	const struct layout *l = &f->layout;
	uint32_t end;

	if (!r)
		return NULL;
	r->found = *f;
	r->mem = m;
	r->limit = READER_STATES_UNTOLD;
	threads_place(l, &r->state_at, &r->state_len);
	end = r->state_at + r->state_len;
	if (l->tstate.datastack_chunk != LAYOUT_NONE)
		end = MAX(end, l->tstate.datastack_chunk + 24);
	r->state_len = end - r->state_at;
	witness_place(l, &r->gil_at, &r->gil_len);
	reader_identity_place(l, &r->code_at, &r->code_len);
	r->frame_len = walk_frame_size(l);
	r->batch = batch_new();
	r->near = snapshot_new();
	r->far = snapshot_new();
	if (!r->batch || !r->near || !r->far) {
		reader_free(r);
		return NULL;
	}
	return r;
}

void reader_free(struct reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->cap_jobs; i++)
		reader_stack_release(&r->jobs[i].own);
	free(r->jobs);
	reader_stack_release(&r->out);
	reader_stack_release(&r->again);
	reader_list_release(r);
	batch_free(r->batch);
	snapshot_free(r->near);
	snapshot_free(r->far);
	free(r);
}

void reader_expect(struct reader *r, size_t threads)
{
	r->limit = MIN(2 * threads + READER_STATES_MORE, (size_t)THREADS_MAX);
}

static int add_job(struct reader *r, size_t thread, const struct reader_thread *t,
		   struct reader_state *s)
{
	struct reader_stack own;
	size_t cap = r->cap_jobs;
	struct reader_job *j;

	if (vec_reserve(&r->jobs, &r->cap_jobs, r->n_jobs + 1, sizeof(*r->jobs)))
		return -ENOMEM;
	for (; cap < r->cap_jobs; cap++)
		r->jobs[cap] = (struct reader_job){0};
	j = &r->jobs[r->n_jobs++];
	own = j->own;
	*j = (struct reader_job){
		.thread = thread,
		.thread_ptr = t->thread_ptr,
		.ns_tid = t->ns_tid,
		.runs = t->runs,
		.state = s,
		.own = own,
	};
	return 0;
}

/* A job for each state that may be the thread's. 0 or -ENOMEM. */
static int add_jobs(struct reader *r, size_t thread, const struct reader_thread *t)
{
	const struct reader_key *v;
	struct reader_state *s;
	size_t n = 0;
	int err = 0;

	if (t->tstate) {
		s = reader_list_state(r, t->tstate);
		return s ? add_job(r, thread, t, s) : -ENOMEM;
	}
	if (t->thread_ptr)
		v = reader_list_find(r->by_ptr, r->n_keys, t->thread_ptr, &n);
	else if (t->ns_tid)
		v = reader_list_find(r->by_tid, r->n_keys, t->ns_tid, &n);
	for (size_t i = 0; i < n && !err; i++)
		err = add_job(r, thread, t, v[i].state);
	return err;
}

/* Several states of one thread: the one that holds its GIL runs, else the oldest with a frame. */
static int rank(const struct reader_job *j)
{
	if (j->end != READER_DONE)
		return j->end == READER_STALE ? -2 : -1;
	return j->holds_gil ? 2 : j->n > 0;
}

static void answer(const struct reader *r, struct reader_thread *t, const struct reader_job *j)
{
	t->still = j->still;
	t->holds_gil = j->holds_gil;
	t->steady = j->steady;
	t->foreign = r->n_interps > 1 && threads_may_swap(&r->found.layout);
	t->gc = j->interp && j->interp->gc;
	t->interp = j->interp ? j->interp->addr : 0;
	t->first = j->first;
	t->n = j->n;
	t->one_id = j->one_id;
	t->status = j->cut ? READER_CUT : j->n ? READER_STACK : READER_NO_FRAMES;
}

/* Answers one thread from its jobs, which begin at `at`; *ret_at is behind them. False: not yet. */
static bool conclude(struct reader *r, struct reader_thread *v, size_t at, size_t *ret_at)
{
	size_t thread = r->jobs[at].thread;
	const struct reader_job *best = NULL;
	bool failed = false;
	size_t stacks = 0;

	for (; at < r->n_jobs && r->jobs[at].thread == thread; at++) {
		const struct reader_job *j = &r->jobs[at];

		r->relist |= j->end == READER_STALE;
		failed |= rank(j) < 0;
		stacks += rank(j) > 0;
		if (rank(j) >= 0 && (!best || rank(j) >= rank(best)))
			best = j;
	}
	*ret_at = at;
	if (!best || (failed && rank(best) < 2))
		return false;
	answer(r, &v[thread], best);
	v[thread].foreign |= stacks > 1 && rank(best) < 2; /* which of them is the inner one? */
	return true;
}

static bool any_pending(const struct reader *r)
{
	for (size_t i = 0; i < r->n_jobs; i++)
		if (r->jobs[i].end == READER_PENDING)
			return true;
	return false;
}

/* One try: those without an answer so far (status FAILED). *ret_left: how many still have none. */
static int try_all(struct reader *r, struct reader_thread *v, size_t n, bool first,
		   size_t *ret_left)
{
	int err = 0;

	r->n_jobs = 0;
	for (size_t i = 0; i < n && !err; i++)
		if (v[i].status == READER_FAILED)
			err = add_jobs(r, i, &v[i]);
	while (!err && any_pending(r)) {
		err = reader_pass_run(r, first);
		if (r->relist)
			break;
	}
	*ret_left = 0;
	for (size_t at = 0; at < r->n_jobs;)
		*ret_left += !conclude(r, v, at, &at);
	return err;
}

static bool found_none(const struct reader *r, const struct reader_thread *t)
{
	struct reader_state *s;
	size_t n = 0;

	if (t->tstate) {
		HASH_FIND(hh, r->states, &t->tstate, sizeof(t->tstate), s);
		return !s || s->listing != r->listing;
	}
	if (t->thread_ptr)
		reader_list_find(r->by_ptr, r->n_keys, t->thread_ptr, &n);
	else if (t->ns_tid)
		reader_list_find(r->by_tid, r->n_keys, t->ns_tid, &n);
	return !n;
}

static bool any_unknown(const struct reader *r, const struct reader_thread *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].status == READER_FAILED && !v[i].tstate && found_none(r, &v[i]))
			return true; /* a thread state that was given needs no list */
	return false;
}

/* Reads the lists where they are needed; those whom none has are answered then. */
static int list(struct reader *r, struct reader_thread *v, size_t n, bool again)
{
	int err;

	if (r->listing && !again && !any_unknown(r, v, n))
		return 0;
	err = reader_list_update(r);
	for (size_t i = 0; i < n && !err && r->lists.complete; i++)
		if (v[i].status == READER_FAILED && found_none(r, &v[i]))
			v[i].status = READER_NO_STATE;
	return err;
}

int reader_read(struct reader *r, struct reader_thread *v, size_t n)
{
	size_t left;
	int err = 0;

	r->stats.reads++;
	left = n;
	r->out.n = 0;
	r->relist = false;
	for (size_t i = 0; i < n; i++) {
		v[i].status = READER_FAILED;
		v[i].still = v[i].holds_gil = v[i].gc = false;
		v[i].interp = 0;
		v[i].first = v[i].n = 0;
	}
	for (int i = 0; i < READER_TRIES && left && !err; i++) {
		err = list(r, v, n, r->relist);
		r->relist = false;
		if (!err)
			err = try_all(r, v, n, i == 0, &left);
	}
	return err == -EFAULT ? 0 : err;
}

int reader_list(struct reader *r, const struct thread_state **ret, size_t *ret_n)
{
	int err = reader_list_update(r);

	if (err)
		return err;
	*ret = r->lists.v;
	*ret_n = r->lists.n;
	return 0;
}

const struct walk_frame *reader_frames(const struct reader *r)
{
	return r->out.frames;
}

const struct identity *reader_ids(const struct reader *r)
{
	return r->out.ids;
}

bool reader_is_gil(const struct reader *r, raddr_t futex)
{
	const struct layout *l = &r->found.layout;

	if (witness_futex(l, r->found.gil, futex))
		return true;
	for (size_t i = 0; i < r->n_gils; i++)
		if (witness_futex(l, r->gils[i].addr, futex))
			return true;
	return false;
}

const struct reader_stats *reader_get_stats(const struct reader *r)
{
	return &r->stats;
}
