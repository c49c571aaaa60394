/* The frames of a sample, from what the interrupt recorded. */
#include "collect/seed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/vec.h"

#define IDENTITY_AHEAD 8 /* identities that are looked at for one frame */
#define READ_TRIES 16	 /* readings that may differ from the one before */
#define CODES_SHIFT 11
#define CODES_SLOTS (1u << CODES_SHIFT) /* twice what is kept at least */

static int reserve(struct seed *s, size_t n)
{
	if (vec_reserve(&s->frames, &s->cap_frames, n, sizeof(*s->frames)) ||
	    vec_reserve(&s->ids, &s->cap_ids, n, sizeof(*s->ids)))
		return -ENOMEM;
	return 0;
}

int seed_init(struct seed *s)
{
	*s = (struct seed){.codes = calloc(CODES_SLOTS, sizeof(*s->codes))};
	return s->codes ? reserve(s, SEED_MAX_FRAMES) : -ENOMEM;
}

void seed_release(struct seed *s)
{
	free(s->frames);
	free(s->ids);
	free(s->before);
	free(s->codes);
}

/*
 * What of the tick proves every code object of the sample (3.13+). With several interpreters the
 * counter of one says nothing about the objects of another; the generation still does.
 */
static struct identity counter_identity(const struct event_sample *s)
{
	bool counted = (s->flags & EVENT_COUNTER) && !(s->flags & EVENT_MANY_INTERPS);

	return (struct identity){
		.proof = LAYOUT_PROOF_COUNTER,
		.ok = counted || (s->flags & EVENT_GENERATION),
		.version = counted ? s->counter : 0,
		.has_generation = s->flags & EVENT_GENERATION,
		.generation = s->generation,
		.interp = s->interp,
	};
}

static struct identity own_identity(const struct event_sample *s, const struct event_identity *e,
				    enum layout_proof proof)
{
	struct identity id = {
		.proof = proof,
		.ok = e->ok,
		.filename = e->filename,
		.firstlineno = e->firstlineno,
		.interp = s->interp,
	};

	if (proof == LAYOUT_PROOF_NAME) {
		id.name_hash = e->name_hash;
		id.file_mark = e->version;
	} else {
		id.version = e->version;
	}
	return id;
}

/* Where one is among the identities of a sample, which may lie in several pieces. */
struct cursor {
	size_t piece, index;
};

static const struct event_identity *next_identity(const struct assembled *a, struct cursor *c)
{
	const struct assembled_piece *p;

	for (; c->piece < a->count; c->piece++, c->index = 0) {
		p = &a->pieces[c->piece];
		if (p->kind == EVENT_IDENTITY &&
		    (c->index + 1) * sizeof(struct event_identity) <= p->len)
			return (const struct event_identity *)p->data + c->index++;
	}
	return NULL;
}

/* 3.8 - 3.10: the kernel followed the heap objects and noted each. */
static void decode_objects(struct seed *s, const struct layout *l, const struct assembled *a)
{
	const struct event_identity *e;
	struct cursor c = {0};

	while (s->n < SEED_MAX_FRAMES && (e = next_identity(a, &c))) {
		s->frames[s->n] = (struct walk_frame){
			.addr = e->frame,
			.code = e->code,
			.instr = (uint64_t)(int64_t)e->lasti,
		};
		s->ids[s->n++] = own_identity(a->sample, e, l->proof);
	}
	s->outcome = (a->sample->flags & EVENT_WALK_END) ? OUTCOME_EXACT : OUTCOME_CUT;
	if (!s->n)
		s->outcome = OUTCOME_MISSED;
}

/*
 * Identities and frames both come leaf first, so the next one is the right one but for a frame that
 * was being cleared; what has none (the kernel's walk ended before) leaves the cursor where it is.
 */
static const struct event_identity *find_identity(const struct assembled *a, raddr_t frame,
						  struct cursor *c)
{
	struct cursor ahead = *c;
	const struct event_identity *e;
	int i;

	for (i = 0; i < IDENTITY_AHEAD && (e = next_identity(a, &ahead)); i++) {
		if (e->frame == frame) {
			*c = ahead;
			return e;
		}
	}
	return NULL;
}

static const struct event_identity **slot_of(struct seed *s, raddr_t code)
{
	size_t i = (size_t)((code * 0x9e3779b97f4a7c15ULL) >> (64 - CODES_SHIFT));

	while (s->codes[i] && s->codes[i]->code != code)
		i = (i + 1) & (CODES_SLOTS - 1);
	return &s->codes[i];
}

static void index_codes(struct seed *s, const struct assembled *a)
{
	const struct event_identity *e, **slot;
	struct cursor c = {0};
	size_t n = 0;

	memset(s->codes, 0, CODES_SLOTS * sizeof(*s->codes));
	while (n < CODES_SLOTS / 2 && (e = next_identity(a, &c))) {
		slot = slot_of(s, e->code);
		n += !*slot;
		if (!*slot || !(*slot)->ok)
			*slot = e;
	}
	s->indexed = true;
}

/*
 * The kernel's walk ends after max_frames, the copied chunks go on. At one tick an address has one
 * owner, so what proves a code object in one frame proves it in every other: recursion is named to
 * its end.
 */
static const struct event_identity *same_code(struct seed *s, const struct assembled *a,
					      raddr_t code, const struct event_identity *last)
{
	const struct event_identity *e;

	if (last && last->code == code)
		return last;
	if (!s->indexed)
		index_codes(s, a);
	e = *slot_of(s, code);
	return e && e->ok ? e : NULL;
}

/*
 * Where the tick's counter is no proof (several interpreters, a layout without it) the kernel noted
 * every frame's own version instead.
 */
static void identify(struct seed *s, const struct layout *l, const struct assembled *a)
{
	enum layout_proof own = l->proof == LAYOUT_PROOF_NAME ? l->proof : LAYOUT_PROOF_VERSION;
	const struct event_identity *e, *last = NULL;
	const struct identity other = l->proof == LAYOUT_PROOF_COUNTER
					      ? counter_identity(a->sample)
					      : (struct identity){.proof = own};
	struct cursor c = {0}, first = {0};
	bool any = next_identity(a, &first);
	size_t i;

	s->ids[0] = other;
	s->one_id = !any;
	s->indexed = false;
	if (s->one_id)
		return;
	for (i = 0; i < s->n; i++) {
		e = find_identity(a, s->frames[i].addr, &c);
		if (!e || e->code != s->frames[i].code)
			e = same_code(s, a, s->frames[i].code, last);
		s->ids[i] = e ? own_identity(a->sample, e, own) : other;
		if (e)
			last = e;
	}
}

static enum outcome outcome_of(const struct walk_result *w)
{
	if (w->end == WALK_ROOT)
		return w->n ? OUTCOME_EXACT : OUTCOME_NATIVE;
	return w->n ? OUTCOME_CUT : OUTCOME_MISSED;
}

/* 3.11+: walk what the interrupt copied. */
static int decode_snapshot(struct seed *s, const struct layout *l, const struct assembled *a,
			   struct snapshot *scratch)
{
	struct walk_result w;
	size_t i;

	snapshot_reset(scratch);
	for (i = 0; i < a->count; i++)
		if (a->pieces[i].kind != EVENT_IDENTITY &&
		    snapshot_add(scratch, a->pieces[i].addr, a->pieces[i].data, a->pieces[i].len))
			return -ENOMEM;
	walk_frames(l, scratch, a->sample->frame, s->frames, SEED_MAX_FRAMES, &w);
	s->n = w.n;
	s->outcome = outcome_of(&w);
	identify(s, l, a);
	return 0;
}

static int decode(struct seed *s, const struct layout *l, const struct assembled *a,
		  struct snapshot *scratch)
{
	const struct event_sample *e = a->sample;

	s->n = 0;
	s->one_id = false;
	if (!e->tstate)
		s->outcome = (e->flags & EVENT_LIST_ENDED) ? OUTCOME_NATIVE : OUTCOME_MISSED;
	else if (e->flags & EVENT_TSTATE_FAILED)
		s->outcome = OUTCOME_MISSED;
	else if (!e->frame)
		s->outcome = OUTCOME_NATIVE;
	else if (l->object_frames)
		decode_objects(s, l, a);
	else
		return decode_snapshot(s, l, a, scratch);
	return 0;
}

int seed_decode(struct seed *s, const struct layout *l, const struct assembled *a,
		struct snapshot *scratch)
{
	int err = decode(s, l, a, scratch);

	if (s->outcome == OUTCOME_EXACT && (a->sample->flags & EVENT_MANY_INTERPS) &&
	    threads_may_swap(l))
		s->outcome = OUTCOME_UNPROVEN;
	return err;
}

/* --- without frames from the interrupt --- */

static bool is_before(const struct seed *s, size_t n, const struct walk_frame *f, size_t f_n)
{
	if (n != f_n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (s->before[i].addr != f[i].addr || s->before[i].code != f[i].code ||
		    s->before[i].instr != f[i].instr)
			return false;
	return true;
}

static int keep_before(struct seed *s, const struct walk_frame *f, size_t n)
{
	if (vec_reserve(&s->before, &s->cap_before, n, sizeof(*f)))
		return -ENOMEM;
	if (n)
		memcpy(s->before, f, n * sizeof(*f));
	return 0;
}

static int take_read(struct seed *s, const struct reader *r, const struct reader_thread *t)
{
	if (reserve(s, t->n))
		return -ENOMEM;
	s->n = t->n;
	if (!t->n) {
		s->outcome = OUTCOME_NATIVE;
		return 0;
	}
	memcpy(s->frames, reader_frames(r) + t->first, t->n * sizeof(*s->frames));
	s->one_id = t->one_id;
	memcpy(s->ids, reader_ids(r) + t->first, (t->one_id ? 1 : t->n) * sizeof(*s->ids));
	s->outcome = t->still && !t->foreign ? OUTCOME_READ : OUTCOME_UNPROVEN;
	if (t->status == READER_CUT)
		s->outcome = OUTCOME_CUT;
	return 0;
}

int seed_read(struct seed *s, struct reader *r, const struct event_sample *e)
{
	struct reader_thread t = {
		.thread_ptr = e->task.thread_ptr, .tstate = e->tstate, .runs = true};
	const struct walk_frame *f;
	size_t before = SIZE_MAX;

	s->n = 0;
	s->one_id = false;
	s->outcome = OUTCOME_MISSED;
	if (!e->tstate) {
		if (e->flags & EVENT_LIST_ENDED)
			s->outcome = OUTCOME_NATIVE;
		return 0;
	}
	for (int i = 0; i <= READ_TRIES; i++) {
		int err = reader_read(r, &t, 1);

		if (err == -ENOMEM)
			return err;
		if (err == -ESRCH || t.status == READER_NO_STATE) {
			s->outcome = OUTCOME_GONE;
			return 0;
		}
		if (err || t.status == READER_FAILED)
			continue;
		f = reader_frames(r) + t.first;
		if (t.still || (t.steady && is_before(s, before, f, t.n)))
			return take_read(s, r, &t);
		if (keep_before(s, f, t.n))
			return -ENOMEM;
		before = t.n;
	}
	return 0;
}
