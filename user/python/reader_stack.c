/*
 * One stack, as far as what was read allows: thread state, link, chunks, frames, identities.
 *
 * What is missing is asked for, and the step is made again when it has come. What was walked stays
 * walked: the walk goes on where it stopped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
#include "base/vec.h"
#include "python/reader_impl.h"

#define CHUNK_HEAD 24		   /* struct _stack_chunk: previous, size, top (words from data) */
#define CHUNK_SIZE (16u << 10)	   /* of most chunks, and at least of every one */
#define CHUNK_MAX (1u << 20)	   /* a longer one is not copied: its frames are read alone */
#define CHUNK_SLACK 1024	   /* above the top: the next walk may find the stack deeper */
#define CHUNKS_MAX (1u << 14)	   /* of one thread */
#define ROOM 32			   /* frames that there is room for before it grows */
#define RELEASE_ABOVE (64u * 1024) /* frames: such a buffer is given back */

static int reserve(struct reader_stack *s, size_t n)
{
	if (vec_reserve(&s->frames, &s->cap_frames, n, sizeof(*s->frames)) ||
	    vec_reserve(&s->ids, &s->cap_ids, n, sizeof(*s->ids)))
		return -ENOMEM;
	return 0;
}

void reader_stack_release(struct reader_stack *s)
{
	free(s->frames);
	free(s->ids);
	*s = (struct reader_stack){0};
}

const void *reader_stack_get(struct reader *r, struct reader_job *j, enum reader_kind kind,
			     raddr_t addr, uint32_t len)
{
	const void *p = snapshot_at(r->snapshot, addr, len);
	int err;

	if (p)
		return p;
	err = predict_need(&j->state->predict, kind, addr, len, r->batch);
	if (err)
		j->err = err;
	else
		j->waits = true;
	return NULL;
}

/* Not in its list, or of another thread: 1; 0: it is what it was taken for, or it waits. */
static bool is_stale(struct reader *r, struct reader_job *j, const uint8_t *ts)
{
	const struct layout *l = &r->found.layout;
	raddr_t prev = bytes_load64(ts + l->tstate.prev), back;
	const uint8_t *p;

	if (j->thread_ptr && bytes_load64(ts + l->tstate.thread_id) != j->thread_ptr)
		return true;
	if (!j->thread_ptr && j->ns_tid && l->tstate.native_thread_id != LAYOUT_NONE &&
	    bytes_load64(ts + l->tstate.native_thread_id) != j->ns_tid)
		return true;
	j->interp = reader_list_interp(r, bytes_load64(ts + l->tstate.interp));
	if (!j->interp)
		return true;
	if (!prev)
		return j->interp->head_now != j->state->addr;
	p = reader_stack_get(r, j, READER_LINK, prev + r->state_at, r->state_len);
	if (!p)
		return j->err == -EFAULT;
	back = bytes_load64(p - r->state_at + l->tstate.next);
	return back != j->state->addr;
}

/* The newest chunk, up to its top and a little more. */
static void want_chunk(struct reader *r, struct reader_job *j, const uint8_t *ts)
{
	uint32_t at = r->found.layout.tstate.datastack_chunk, used;
	raddr_t chunk, top, limit;

	j->chunk = 0;
	if (at == LAYOUT_NONE)
		return;
	chunk = bytes_load64(ts + at);
	top = bytes_load64(ts + at + 8);
	limit = bytes_load64(ts + at + 16);
	if (!chunk || top < chunk + CHUNK_HEAD || top - chunk > CHUNK_MAX)
		return;
	used = (uint32_t)(top - chunk);
	j->chunk = chunk;
	if (limit > top)
		used += (uint32_t)MIN(limit - top, (raddr_t)CHUNK_SLACK);
	if (!snapshot_at(r->snapshot, chunk, top - chunk))
		reader_stack_get(r, j, READER_CHUNK, chunk, used);
	predict_fit(&j->state->predict, READER_CHUNK, chunk, used);
	if (j->err == -EFAULT) { /* its frames are read one by one */
		j->err = 0;
		j->chunk = 0;
	}
}

/* The thread state, and where its frames are. */
static enum reader_end locate(struct reader *r, struct reader_job *j)
{
	const struct layout *l = &r->found.layout;
	const uint8_t *ts =
		reader_stack_get(r, j, READER_TSTATE, j->state->addr + r->state_at, r->state_len);
	const void *hop;

	if (!ts)
		return j->waits ? READER_WAITING : READER_STALE;
	ts -= r->state_at;
	if (is_stale(r, j, ts))
		return READER_STALE;
	want_chunk(r, j, ts);
	j->frame = bytes_load64(ts + l->tstate.frame);
	if (l->tstate.frame_hop != LAYOUT_NONE && j->frame) {
		hop = reader_stack_get(r, j, READER_HOP, j->frame + l->tstate.frame_hop, 8);
		if (hop)
			j->frame = bytes_load64(hop);
	}
	if (j->waits)
		return READER_WAITING;
	return j->err ? READER_BAD : READER_DONE;
}

/* Passes the chunks that are there; true: the frame lies in the one that is not, and it was asked
 * for. */
static bool want_older_chunk(struct reader *r, struct reader_job *j)
{
	const uint8_t *head;
	uint64_t used = CHUNK_SIZE;

	while (j->chunk && (head = snapshot_at(r->snapshot, j->chunk, CHUNK_HEAD))) {
		used = bytes_load64(head + 16);
		used = used < CHUNK_MAX / 8 ? CHUNK_HEAD + 8 * used : CHUNK_HEAD;
		if (j->frame >= j->chunk && j->frame - j->chunk < used &&
		    !snapshot_at(r->snapshot, j->chunk, used))
			break;
		j->chunk = j->chunks++ < CHUNKS_MAX ? bytes_load64(head) : 0;
		used = CHUNK_SIZE;
	}
	if (!j->chunk || j->frame < j->chunk || j->frame - j->chunk >= used)
		return false;
	if (!reader_stack_get(r, j, READER_CHUNK, j->chunk, (uint32_t)used) && j->waits)
		return true;
	j->chunk = 0;
	j->err = 0;
	return false;
}

static enum reader_end walk(struct reader *r, struct reader_job *j, struct reader_stack *to,
			    size_t first)
{
	const struct layout *l = &r->found.layout;
	struct walk_result w;
	size_t had, max;

	for (;;) {
		had = to->n - first;
		if (reserve(to, to->n + ROOM)) {
			j->err = -ENOMEM;
			return READER_BAD;
		}
		max = MIN(to->cap_frames, to->cap_ids) - to->n;
		max = MIN(max, READER_MAX_FRAMES - had);
		walk_frames(l, r->snapshot, j->frame, to->frames + to->n, max, &w);
		to->n += w.n;
		j->frame = w.next;
		switch (w.end) {
		case WALK_ROOT:
			return READER_DONE;
		case WALK_TOO_DEEP:
			j->cut = to->n - first == READER_MAX_FRAMES;
			if (j->cut)
				return READER_DONE;
			break;
		case WALK_MISSING:
			if (want_older_chunk(r, j))
				return READER_WAITING;
			if (reader_stack_get(r, j, READER_FRAME, j->frame, r->frame_len))
				break;
			if (j->waits)
				return READER_WAITING;
			j->cut = j->alone && j->err == -ENOSPC && to->n > first;
			return j->cut ? READER_DONE : READER_BAD;
		default:
			return READER_BAD;
		}
	}
}

static enum reader_end step(struct reader *r, struct reader_job *j, struct reader_stack *to,
			    size_t first)
{
	enum reader_end end = READER_DONE;

	if (!j->located) {
		end = locate(r, j);
		j->located = end == READER_DONE;
	}
	if (end == READER_DONE && !j->walked) {
		end = walk(r, j, to, first);
		j->walked = end == READER_DONE;
	}
	if (end != READER_DONE)
		return end;
	j->err = 0;
	reader_identity_fill(r, j, to->frames + first, to->ids + first, to->n - first);
	if (j->err == -ENOMEM)
		return READER_BAD;
	if (j->waits)
		return READER_WAITING;
	/* a code object that can't be read leaves its frame unproven, but no room is no answer */
	return j->err == -ENOSPC && !j->alone ? READER_FULL : READER_DONE;
}

bool reader_stack_is(struct reader *r, const struct reader_job *j)
{
	const struct layout *l = &r->found.layout;
	const struct walk_frame *f = r->out.frames + j->first, *again;
	const uint8_t *ts = snapshot_at(r->near, j->state->addr + r->state_at, r->state_len);
	struct walk_result w;

	if (!ts || reserve(&r->again, j->n + 1))
		return false;
	again = r->again.frames;
	walk_frames(l, r->near, bytes_load64(ts - r->state_at + l->tstate.frame), r->again.frames,
		    j->n + 1, &w);
	if (w.end != WALK_ROOT || w.n != j->n)
		return false;
	for (size_t i = 0; i < w.n; i++)
		if (f[i].addr != again[i].addr || f[i].code != again[i].code ||
		    (i && f[i].instr != again[i].instr))
			return false;
	return true;
}

/* What is behind `first` in one stack to the end of another. */
static int append(struct reader_stack *to, const struct reader_stack *from, size_t first,
		  bool one_id)
{
	size_t n = from->n - first;

	if (!n)
		return 0;
	if (reserve(to, to->n + n))
		return -ENOMEM;
	memcpy(to->frames + to->n, from->frames + first, n * sizeof(*to->frames));
	memcpy(to->ids + to->n, from->ids + first, (one_id ? 1 : n) * sizeof(*to->ids));
	to->n += n;
	return 0;
}

/* Frames are put where the caller finds them; those of a stack that has to wait go aside. */
void reader_stack_step(struct reader *r, struct reader_job *j)
{
	bool aside = j->end == READER_WAITING;
	struct reader_stack *to = aside ? &j->own : &r->out;
	size_t first = aside ? 0 : r->out.n;
	int err = 0;

	j->waits = false;
	j->err = 0;
	j->end = step(r, j, to, first);
	if (j->err == -ENOSPC && j->end != READER_DONE)
		j->end = READER_FULL;
	if (j->end == READER_DONE) {
		j->n = to->n - first;
		j->first = r->out.n - (aside ? 0 : j->n);
		if (aside)
			err = append(&r->out, &j->own, 0, j->one_id);
	} else if (!aside) {
		j->own.n = 0;
		if (j->end == READER_WAITING)
			err = append(&j->own, &r->out, first, j->one_id);
		r->out.n = first;
	}
	if (err) {
		j->err = err;
		j->end = READER_BAD;
	}
	if (j->end != READER_WAITING && j->own.cap_frames > RELEASE_ABOVE)
		reader_stack_release(&j->own);
}
