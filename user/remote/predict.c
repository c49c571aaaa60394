/*
 * Which pieces of memory the next walk of something will look at.
 *
 * A piece enters when a walk missed it. It is asked for in every later read until it was not looked
 * at PREDICT_PATIENCE times in a row: a piece in vain costs a fifth of the call that a miss costs.
 * One that could not be read at all goes at once.
 *
 * One that did not come because of a neighbour that it was read with (batch.c) is read by itself
 * the next time.
 */
#include "remote/predict.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

#define NOT_ASKED UINT32_MAX
#define NO_SPAN UINT32_MAX
#define SAME_MAX 1024 /* a longer list is not searched for a piece that has only become longer */
#define SHRINK 4      /* a piece that is too long gives up this part of the excess a time */

void predict_release(struct predict *p)
{
	free(p->v);
	*p = (struct predict){0};
}

int predict_ask(struct predict *p, struct batch *b)
{
	size_t index;
	int err = 0;

	p->asked = p->n > 0;
	for (struct predict_piece *e = p->v; e < p->v + p->n; e++) {
		if (!err)
			err = (e->alone ? batch_want : batch_near)(b, e->addr, e->len, &index);
		e->index = err ? NOT_ASKED : (uint32_t)index;
		e->again = NOT_ASKED;
		e->span = NO_SPAN;
		e->used = e->missed = false;
	}
	return err;
}

int predict_into(struct predict *p, const struct batch *b, struct snapshot *s)
{
	int err = 0;

	for (struct predict_piece *e = p->v; e < p->v + p->n && !err; e++) {
		const void *bytes = e->missed ? NULL : batch_at(b, e->index);

		if (!bytes)
			continue;
		e->span = (uint32_t)snapshot_count(s);
		/* not e->len: predict_fit() may have said what it is to be the next time */
		err = snapshot_add(s, e->addr, bytes, batch_len(b, e->index));
	}
	return err;
}

int predict_ask_again(struct predict *p, struct batch *b, uint32_t kinds)
{
	size_t index, n = 0;
	int err = 0;

	for (struct predict_piece *e = p->v; e < p->v + p->n && !err; e++) {
		if (!(kinds & 1u << e->kind))
			continue;
		/* the first one keeps those behind it from being read with the first copies */
		err = (n++ && !e->alone ? batch_near : batch_want)(b, e->addr, e->len, &index);
		e->again = err ? NOT_ASKED : (uint32_t)index;
	}
	return err;
}

int predict_into_again(const struct predict *p, const struct batch *b, struct snapshot *s)
{
	int err = 0;

	for (const struct predict_piece *e = p->v; e < p->v + p->n && !err; e++) {
		const void *bytes = batch_at(b, e->again);

		if (bytes)
			err = snapshot_add(s, e->addr, bytes, batch_len(b, e->again));
	}
	return err;
}

void predict_seen(struct predict *p, const struct snapshot *s)
{
	for (struct predict_piece *e = p->v; e < p->v + p->n; e++) {
		e->used |= snapshot_used(s, e->span);
		e->span = NO_SPAN;
	}
}

static struct predict_piece *find(const struct predict *p, unsigned int kind, raddr_t addr)
{
	for (struct predict_piece *e = p->v; e < p->v + p->n && p->n <= SAME_MAX; e++)
		if (e->addr == addr && e->kind == kind)
			return e;
	return NULL;
}

int predict_need(struct predict *p, unsigned int kind, raddr_t addr, uint32_t len, struct batch *b)
{
	struct predict_piece *e = find(p, kind, addr);
	int status = e && e->len == len ? batch_status(b, e->index) : -EINVAL, err;
	size_t index;

	if (status && status != -EINVAL && status != -EAGAIN && status != -ENODATA)
		return -EFAULT;
	err = (status == -ENODATA ? batch_want : batch_once)(b, addr, len, &index);
	if (err)
		return err;
	if (batch_status(b, index) != -EAGAIN && !batch_at(b, index))
		return -EFAULT;
	if (p->n == PREDICT_MAX)
		return -ENOSPC;
	if (!e) {
		if (vec_reserve(&p->v, &p->cap, p->n + 1, sizeof(*p->v)))
			return -ENOMEM;
		e = &p->v[p->n++];
	}
	*e = (struct predict_piece){
		.addr = addr,
		.len = len,
		.kind = (uint8_t)kind,
		.index = (uint32_t)index,
		.again = NOT_ASKED,
		.span = NO_SPAN,
		.missed = true,
	};
	return 0;
}

void predict_fit(struct predict *p, unsigned int kind, raddr_t addr, uint32_t len)
{
	for (struct predict_piece *e = p->v; e < p->v + p->n; e++) {
		if (e->addr != addr || e->kind != kind)
			continue;
		e->len = len >= e->len ? len : e->len - (e->len - len + SHRINK - 1) / SHRINK;
		return;
	}
}

/* Counts a piece; whether it stays. */
static bool settle(struct predict_piece *e, const struct batch *b, bool learned,
		   struct predict_hits *hits)
{
	int status = batch_status(b, e->index);
	bool came = !status;

	if (e->missed) {
		hits->wrong += learned;
		return came;
	}
	if (status == -EINVAL || status == -EAGAIN)
		return true; /* it was not asked for, or the read came to nothing before */
	e->alone = status == -ENODATA;
	if (e->used) {
		hits->right++;
		e->idle = 0;
		return true;
	}
	hits->unused++;
	return e->alone || (came && ++e->idle < PREDICT_PATIENCE);
}

void predict_settle(struct predict *p, const struct batch *b,
		    struct predict_hits hits[PREDICT_KINDS])
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		struct predict_piece *e = &p->v[i];

		if (!settle(e, b, p->asked, &hits[e->kind]))
			continue;
		if (n != i)
			p->v[n] = *e;
		n++;
	}
	p->n = n;
}
