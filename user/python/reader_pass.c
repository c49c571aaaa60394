/*
 * One pass of a reader: many stacks in one witness.
 *
 *	the GIL's words | what the stacks are expected to need | the GIL's words
 *
 * in one call. Stacks of which something is missing then wait for another call, which ends with the
 * GIL's words again; each stack is proven by the first words and by those of the call that
 * completed it.
 */
#include <errno.h>
#include "base/bytes.h"
#include "python/reader_impl.h"

#define MAX_ROUNDS (1u << 17) /* calls of one pass: a chain of frames that all have to be found */

static int want_first(struct reader *r)
{
	int err = reader_words_want(&r->runtime, r->batch);

	for (size_t i = 0; i < r->n_interps && !err; i++)
		err = reader_words_want(&r->interps[i].words, r->batch);
	for (size_t i = 0; i < r->n_gils; i++)
		r->gils[i].wanted = false;
	return err;
}

/* GILs that lie in nobody's words: before everything else, all the same. */
static int want_alone(struct reader *r)
{
	bool runtime = r->runtime.word[READER_RUNTIME_GIL].addr != 0;
	int err = 0;

	for (size_t i = 0; i < r->n_interps && !err; i++) {
		struct reader_interp *in = &r->interps[i];
		struct reader_gil *g = in->gil ? &r->gils[in->gil_at] : NULL;

		if (!g || g->wanted)
			continue;
		for (size_t k = i; k < r->n_interps && !g->wanted; k++)
			g->wanted = r->interps[k].gil == g->addr && r->interps[k].holds_gil;
		if (!runtime && !g->wanted)
			err = reader_words_want(&g->alone, r->batch);
		g->wanted = true;
	}
	return err;
}

/*
 * One thread alone is read, and when it was read last nobody had the GIL, which it was the last to
 * have: then no words can prove anything of it, and should that have changed, the next read knows.
 */
static bool is_moot(const struct reader *r, const struct reader_gil *g)
{
	return r->n_jobs == 1 && g->first.ok && !g->first.locked &&
	       g->first.last_holder == r->jobs[0].state->addr;
}

static void want_last(struct reader *r, bool all)
{
	for (size_t i = 0; i < r->n_gils; i++)
		if ((!all && is_moot(r, &r->gils[i])) ||
		    batch_want(r->batch, r->gils[i].addr + r->gil_at, r->gil_len,
			       &r->gils[i].last_at))
			r->gils[i].last_at = SIZE_MAX; /* no room, or no use: nothing is proven */
}

static void take_last(struct reader *r)
{
	for (size_t i = 0; i < r->n_gils; i++)
		r->gils[i].last =
			witness_decode(&r->found.layout, batch_at(r->batch, r->gils[i].last_at));
}

static uint64_t word64(const struct reader_words *w, const struct batch *b, size_t word)
{
	const void *p = reader_words_at(w, b, word);

	return p ? bytes_load64(p) : 0;
}

static uint32_t word32(const struct reader_words *w, const struct batch *b, size_t word)
{
	const void *p = reader_words_at(w, b, word);

	return p ? bytes_load32(p) : 0;
}

/* What proves all code objects of the interpreter, where something does. The counter of one
 * interpreter proves nothing where there are several. */
static void take_identity(struct reader *r, struct reader_interp *in)
{
	uint32_t n = word32(&in->words, r->batch, READER_COUNTER);

	in->id = (struct identity){0};
	if (r->found.layout.proof != LAYOUT_PROOF_COUNTER || !n || r->n_interps > 1)
		return;
	in->id = (struct identity){
		.proof = LAYOUT_PROOF_COUNTER,
		.ok = true,
		.version = n,
		.has_generation = reader_words_at(&in->words, r->batch, READER_GENERATION),
		.generation = word64(&in->words, r->batch, READER_GENERATION),
		.interp = in->addr,
	};
}

static void take_first(struct reader *r, bool check_heads)
{
	const struct layout *l = &r->found.layout;
	raddr_t next = word64(&r->runtime, r->batch, READER_RUNTIME_HEAD);
	bool gc = word32(&r->runtime, r->batch, READER_RUNTIME_GC) != 0;

	for (size_t i = 0; i < r->n_gils; i++)
		r->gils[i].first = witness_decode(
			l, r->runtime.word[READER_RUNTIME_GIL].addr
				   ? reader_words_at(&r->runtime, r->batch, READER_RUNTIME_GIL)
				   : reader_words_at(&r->gils[i].alone, r->batch, 0));
	for (size_t i = 0; i < r->n_interps; i++) {
		struct reader_interp *in = &r->interps[i];

		r->relist |= next != in->addr;
		next = word64(&in->words, r->batch, READER_NEXT);
		in->head_now = word64(&in->words, r->batch, READER_HEAD);
		in->gc = gc || word32(&in->words, r->batch, READER_GC);
		r->relist |= check_heads && r->n_interps > 1 && in->head_now != in->head;
		if (in->words.word[READER_GIL_PTR].addr)
			r->relist |= word64(&in->words, r->batch, READER_GIL_PTR) != in->gil;
		if (in->holds_gil)
			r->gils[in->gil_at].first = witness_decode(
				l, reader_words_at(&in->words, r->batch, READER_GIL));
		take_identity(r, in);
	}
	r->relist |= next != 0;
}

/* Asks for what the pending stacks are expected to need. -ENOMEM or how many. */
static int ask(struct reader *r, bool *ret_predicted)
{
	int n = 0;

	*ret_predicted = false;
	for (size_t i = 0; i < r->n_jobs; i++)
		r->jobs[i].asked = false; /* those that there is no room for now, too */
	for (size_t i = 0; i < r->n_jobs; i++) {
		struct reader_job *j = &r->jobs[i];
		int err;

		if (j->end != READER_PENDING)
			continue;
		err = predict_ask(&j->state->predict, r->batch);
		if (err == -ENOMEM)
			return err;
		if (err && !n) { /* not even alone: without predictions, as far as it goes */
			predict_release(&j->state->predict);
			j->alone = true;
		} else if (err) {
			break;
		}
		*ret_predicted |= j->state->predict.asked;
		j->located = j->walked = j->cut = false;
		j->chunks = 0;
		j->asked = true;
		n++;
	}
	return n;
}

/*
 * Frames of 3.8 - 3.10 are objects of the heap, a piece each: those of a running thread are read at
 * as many moments. So all of them are read, and then all of them once more:
 *
 *	state, frame, frame, frame | state, frame, frame, frame
 *
 * A stack that both copies hold was there between the two, unless a frame was left and entered
 * again meanwhile.
 */
static int ask_again(struct reader *r)
{
	const uint32_t kinds = 1u << READER_TSTATE | 1u << READER_FRAME;
	int err = 0;

	for (size_t i = 0; i < r->n_jobs && r->found.layout.object_frames && !err; i++)
		if (r->jobs[i].asked && r->jobs[i].runs)
			err = predict_ask_again(&r->jobs[i].state->predict, r->batch, kinds);
	return err == -ENOMEM ? err : 0;
}

static bool is_steady(struct reader *r, const struct reader_job *j)
{
	if (!r->found.layout.object_frames)
		return true;
	snapshot_reset(r->near);
	return !predict_into_again(&j->state->predict, r->batch, r->near) && reader_stack_is(r, j);
}

/* A stack has come to its end, proven by the words of this round. */
static void prove(struct reader *r, struct reader_job *j)
{
	const struct reader_gil *g;

	j->still = j->holds_gil = false;
	if (!j->interp || !j->interp->gil)
		return;
	g = &r->gils[j->interp->gil_at];
	j->still = witness_still(&g->first, &g->last, j->state->addr);
	j->holds_gil = witness_holds(&g->first, &g->last, j->state->addr);
}

/* Steps all that can go on; whether some wait. */
static bool step_all(struct reader *r, bool near)
{
	bool waiting = false;

	for (size_t i = 0; i < r->n_jobs; i++) {
		struct reader_job *j = &r->jobs[i];

		if (!j->asked || (j->end != READER_PENDING && j->end != READER_WAITING))
			continue;
		if (near) {
			snapshot_reset(r->near);
			/* out of memory: what is missing is read */
			(void)predict_into(&j->state->predict, r->batch, r->near);
		}
		reader_stack_step(r, j);
		if (near)
			predict_seen(&j->state->predict, r->near);
		if (j->end == READER_DONE)
			prove(r, j);
		j->steady = j->end == READER_DONE && j->runs && near && is_steady(r, j);
		waiting |= j->end == READER_WAITING;
	}
	return waiting;
}

/* Reads through what is missing, round by round. */
static int finish(struct reader *r)
{
	int err = batch_into(r->batch, r->far);

	for (size_t i = 0; i < r->n_jobs && !err; i++)
		if (r->jobs[i].asked && r->jobs[i].end == READER_WAITING)
			err = predict_into(&r->jobs[i].state->predict, r->batch, r->far);
	r->snapshot = r->far;
	for (unsigned int i = 0; i < MAX_ROUNDS && !err; i++) {
		want_last(r, true);
		err = batch_run(r->batch, r->mem);
		if (err)
			return err;
		take_last(r);
		err = batch_into(r->batch, r->far);
		if (!err && !step_all(r, false))
			break;
	}
	return err;
}

static void count(struct reader_hits *to, const struct predict_hits *v)
{
	to->right += v->right;
	to->wrong += v->wrong;
	to->unused += v->unused;
}

static void settle(struct reader *r, bool far)
{
	struct predict_hits hits[PREDICT_KINDS] = {{0}};
	bool progress = false;

	for (size_t i = 0; i < r->n_jobs; i++) {
		struct reader_job *j = &r->jobs[i];

		if (!j->asked)
			continue;
		if (far)
			predict_seen(&j->state->predict, r->far);
		predict_settle(&j->state->predict, r->batch, hits);
		progress |= j->end == READER_DONE;
		r->stats.walks += j->end == READER_DONE;
		r->stats.gil_witness += j->end == READER_DONE && j->still;
		if (j->end == READER_WAITING)
			j->end = READER_BAD; /* a class that holds for all, or too many rounds */
	}
	for (size_t i = 0; i < r->n_jobs; i++) {
		struct reader_job *j = &r->jobs[i];

		if (!j->asked || j->end != READER_FULL)
			continue;
		j->end = j->alone ? READER_BAD : READER_PENDING;
		j->alone = !progress;
	}
	count(&r->stats.tstate, &hits[READER_TSTATE]);
	count(&r->stats.tstate, &hits[READER_LINK]);
	count(&r->stats.tstate, &hits[READER_HOP]);
	count(&r->stats.chunk, &hits[READER_CHUNK]);
	count(&r->stats.leaf, &hits[READER_FRAME]);
}

int reader_pass_run(struct reader *r, bool check_heads)
{
	bool waiting = false, predicted = false;
	int err;

	batch_reset(r->batch);
	snapshot_reset(r->near);
	snapshot_reset(r->far);
	err = want_first(r);
	if (!err)
		err = want_alone(r);
	if (!err)
		err = MIN(ask(r, &predicted), 0);
	if (!err)
		err = ask_again(r);
	if (err)
		return -ENOMEM;
	want_last(r, false);
	err = batch_run(r->batch, r->mem);
	r->stats.batches += predicted;
	if (!err) {
		r->relist = false;
		take_first(r, check_heads);
		take_last(r);
		if (r->relist)
			return 0;
		r->snapshot = r->near;
		waiting = step_all(r, true);
		r->stats.batches_complete += predicted && !waiting;
		if (waiting)
			err = finish(r);
	}
	settle(r, waiting);
	return err;
}
