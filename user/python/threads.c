/*
 * The thread states of a runtime: all interpreters, all states, bounded.
 *
 * A list leads from one state to the next, a call each, so that a first reading of n states takes n
 * calls. What was found then is asked for at once the next time: one call, and one for each that
 * has come since. Lists change while they are read: a state whose `prev` is not the one we came
 * from, or whose interpreter is another one, has been freed under our feet.
 */
#include "python/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
#include "base/vec.h"
#include "python/witness.h"

#define THREADS_BOUND 13 /* from this minor on a state is run by the thread that it names */
#define TRIES 3		 /* of lists that change while they are read */

struct walk {
	struct mem *m;
	const struct layout *l;
	const struct discover_found *f;
	struct thread_lists *known, now;
	size_t limit;
	uint32_t state_at, state_len, gil_at, gil_len;
	bool changed, cut;
};

/* Two pieces that are needed together. */
struct piece {
	raddr_t addr;
	uint32_t len;
};

bool threads_may_swap(const struct layout *l)
{
	return l->minor < THREADS_BOUND;
}

void threads_place(const struct layout *l, uint32_t *ret_offset, uint32_t *ret_len)
{
	uint32_t fields[] = {l->tstate.prev,  l->tstate.next,	   l->tstate.interp,
			     l->tstate.frame, l->tstate.thread_id, l->tstate.native_thread_id};
	uint32_t from = UINT32_MAX, end = 0;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (fields[i] == LAYOUT_NONE)
			continue;
		from = MIN(from, fields[i]);
		end = MAX(end, fields[i] + 8);
	}
	*ret_offset = from;
	*ret_len = end - from;
}

static int want(struct walk *w, raddr_t addr, uint32_t len)
{
	size_t index;

	return batch_once(w->known->batch, addr, len, &index);
}

static int run(struct walk *w)
{
	int err = batch_run(w->known->batch, w->m);

	if (err)
		return err;
	return batch_into(w->known->batch, w->known->snapshot);
}

static const void *at(struct walk *w, raddr_t addr, uint32_t len)
{
	return snapshot_at(w->known->snapshot, addr, len);
}

/* Makes sure that what can be read of these is there, by at most one call. */
static int need(struct walk *w, const struct piece *v, size_t n)
{
	bool missing = false;

	for (size_t i = 0; i < n; i++) {
		if (at(w, v[i].addr, v[i].len))
			continue;
		if (want(w, v[i].addr, v[i].len))
			return -ENOMEM;
		missing = true;
	}
	return missing ? run(w) : 0;
}

static bool own_gil(const struct walk *w)
{
	return w->l->interp.gil_ptr != LAYOUT_NONE && !w->l->free_threaded;
}

static size_t interp_pieces(const struct walk *w, raddr_t interp, struct piece v[3])
{
	v[0] = (struct piece){interp + w->l->interp.next, 8};
	v[1] = (struct piece){interp + w->l->interp.threads_head, 8};
	v[2] = (struct piece){interp + w->l->interp.gil_ptr, 8};
	return own_gil(w) ? 3 : 2;
}

/* One call for all that was there the last time. */
static int read_known(struct walk *w)
{
	const struct thread_lists *k = w->known;
	int err = want(w, w->f->runtime + w->l->runtime.interp_head, 8);

	for (size_t i = 0; i < k->n_interps && !err; i++) {
		struct piece v[3];
		size_t n = interp_pieces(w, k->interps[i].addr, v);

		for (size_t p = 0; p < n && !err; p++)
			err = want(w, v[p].addr, v[p].len);
		if (k->interps[i].gil && !err)
			err = want(w, k->interps[i].gil + w->gil_at, w->gil_len);
	}
	for (size_t i = 0; i < k->n && !err; i++)
		err = want(w, k->v[i].addr + w->state_at, w->state_len);
	return err ? err : run(w);
}

static int add_state(struct walk *w, const struct thread_state *s)
{
	struct thread_lists *l = &w->now;

	if (vec_reserve(&l->v, &l->cap, l->n + 1, sizeof(*l->v)))
		return -ENOMEM;
	l->v[l->n++] = *s;
	return 0;
}

static uint64_t field(const struct walk *w, const uint8_t *p, uint32_t offset)
{
	return offset == LAYOUT_NONE ? 0 : bytes_load64(p + offset - w->state_at);
}

/* One interpreter's list; it ends early where it is being changed. */
static int walk_states(struct walk *w, const struct thread_interp *interp, raddr_t holder)
{
	const struct layout *l = w->l;
	raddr_t before = 0, next;

	for (raddr_t s = interp->head; s; before = s, s = next) {
		struct piece v = {s + w->state_at, w->state_len};
		const uint8_t *p;
		int err;

		if (w->now.n >= w->limit) {
			w->cut = true;
			return 0;
		}
		err = need(w, &v, 1);
		p = err ? NULL : at(w, v.addr, v.len);
		if (!p || field(w, p, l->tstate.prev) != before ||
		    field(w, p, l->tstate.interp) != interp->addr) {
			w->changed = true;
			return err;
		}
		next = field(w, p, l->tstate.next);
		err = add_state(w, &(struct thread_state){
					   .addr = s,
					   .interp = interp->addr,
					   .thread_id = field(w, p, l->tstate.thread_id),
					   .native_id = field(w, p, l->tstate.native_thread_id),
					   .frame = field(w, p, l->tstate.frame),
					   .holds_gil = s == holder,
				   });
		if (err)
			return err;
	}
	return 0;
}

/* The state that holds a GIL now. */
static int read_holder(struct walk *w, raddr_t gil, raddr_t *ret)
{
	struct piece v = {gil + w->gil_at, w->gil_len};
	struct witness g;
	int err = gil ? need(w, &v, 1) : 0;

	g = witness_decode(w->l, gil && !err ? at(w, v.addr, v.len) : NULL);
	*ret = g.locked ? g.last_holder : 0;
	return err;
}

static bool known_interp(const struct thread_lists *l, raddr_t addr)
{
	for (size_t i = 0; i < l->n_interps; i++)
		if (l->interps[i].addr == addr)
			return true;
	return false;
}

/* One interpreter; *ret_next is the one behind it. */
static int walk_interp(struct walk *w, raddr_t addr, raddr_t *ret_next)
{
	struct thread_interp interp = {.addr = addr, .gil = w->f->gil};
	struct thread_lists *l = &w->now;
	const void *p[3];
	struct piece v[3];
	size_t n = interp_pieces(w, addr, v);
	raddr_t holder;
	int err = need(w, v, n);
	bool there = !err && !known_interp(l, addr);

	*ret_next = 0;
	for (size_t i = 0; i < n && !err; i++) {
		p[i] = at(w, v[i].addr, v[i].len);
		there &= p[i] != NULL;
	}
	if (!there) {
		w->changed = true;
		return err;
	}
	interp.head = bytes_load64(p[1]);
	if (n == 3)
		interp.gil = bytes_load64(p[2]);
	err = read_holder(w, interp.gil, &holder);
	if (!err && vec_reserve(&l->interps, &l->cap_interps, l->n_interps + 1, sizeof(interp)))
		err = -ENOMEM;
	if (err)
		return err;
	l->interps[l->n_interps++] = interp;
	*ret_next = bytes_load64(p[0]);
	return walk_states(w, &interp, holder);
}

/* 3.11 and 3.12 keep the current frame in a CFrame: follow the hops, all in one call. */
static int follow_hops(struct walk *w)
{
	uint32_t hop = w->l->tstate.frame_hop;
	struct thread_lists *l = &w->now;
	int err = 0;

	if (hop == LAYOUT_NONE || !l->n)
		return 0;
	for (size_t i = 0; i < l->n && !err; i++)
		if (l->v[i].frame)
			err = want(w, l->v[i].frame + hop, 8);
	if (!err)
		err = run(w);
	for (size_t i = 0; i < l->n && !err; i++) {
		const void *p = l->v[i].frame ? at(w, l->v[i].frame + hop, 8) : NULL;

		l->v[i].frame = p ? bytes_load64(p) : 0;
	}
	return err;
}

static int read_once(struct walk *w)
{
	raddr_t head = w->f->runtime + w->l->runtime.interp_head, interp;
	int err;

	batch_reset(w->known->batch);
	snapshot_reset(w->known->snapshot);
	w->changed = w->cut = false;
	w->now.n = w->now.n_interps = 0;
	err = read_known(w);
	if (err)
		return err;
	if (!at(w, head, 8))
		return -EFAULT;
	interp = bytes_load64(at(w, head, 8));
	for (int i = 0; !err && interp; i++) {
		if (i == THREADS_MAX_INTERPS) {
			w->changed = true;
			break;
		}
		err = walk_interp(w, interp, &interp);
	}
	w->now.complete = !w->changed && !w->cut;
	return err;
}

static int prepare(struct thread_lists *l)
{
	if (!l->batch)
		l->batch = batch_new();
	if (!l->snapshot)
		l->snapshot = snapshot_new();
	return l->batch && l->snapshot ? 0 : -ENOMEM;
}

int threads_read(struct mem *m, const struct discover_found *f, struct thread_lists *l,
		 size_t limit)
{
	struct walk w = {.m = m, .l = &f->layout, .f = f, .known = l, .limit = limit};
	int err = prepare(l);

	threads_place(w.l, &w.state_at, &w.state_len);
	witness_place(w.l, &w.gil_at, &w.gil_len);
	w.changed = true;
	for (int i = 0; i < TRIES && !err && w.changed; i++)
		err = read_once(&w);
	if (!err)
		err = follow_hops(&w);
	if (err) {
		free(w.now.v);
		free(w.now.interps);
		return err;
	}
	free(l->v);
	free(l->interps);
	w.now.batch = l->batch;
	w.now.snapshot = l->snapshot;
	*l = w.now;
	return 0;
}

void threads_release(struct thread_lists *l)
{
	free(l->v);
	free(l->interps);
	batch_free(l->batch);
	snapshot_free(l->snapshot);
	*l = (struct thread_lists){0};
}

int threads_list(struct mem *m, const struct discover_found *f, struct thread_state *v, size_t max,
		 size_t *ret_n, size_t *ret_total)
{
	struct thread_lists l = {0};
	int err = threads_read(m, f, &l, ret_total ? THREADS_MAX : max);

	if (!err) {
		*ret_n = MIN(l.n, max);
		if (l.n)
			memcpy(v, l.v, *ret_n * sizeof(*v));
		if (ret_total)
			*ret_total = l.n;
	}
	threads_release(&l);
	return err;
}
