/*
 * The stacks of threads whose frames are those of their last sample.
 *
 * Most of a stack is what it was a tick ago. A walk keeps for each level, from the root up, what
 * named its frame and the interned stack that ends there:
 *
 *	level            0           1        2         3
 *	last walk   <module>:40   main:12   step:5   inner:9	stacks 7, 8, 21, 22
 *	this walk   <module>:40   main:12   step:6		stack 8, and one frame to be named
 *
 * Why the stack is true. The chain of frames is this tick's: it was followed in the bytes of this
 * tick, and nothing of it is taken from here. What is taken are names, and the name of a frame
 * follows from its code object, its instruction and its bytecode copy alone (where the frame lies
 * adds nothing, so its address is not compared). Instruction and copy are compared as they are. For
 * the code object it is not enough that it lies at the same address, where another one may be by
 * now; that it is the same follows from what the two ticks, t and then u, saw of it:
 *
 * COUNTER: N(t) = N(u) of one interpreter: no code object was made between them. What ran at A at
 *   u existed at t, and since objects do not move, at A; so it is what ran there at t. Or G(t) =
 *   G(u): none died between them, so what was at A at t is there at u. An N of 0 says nothing.
 * VERSION: the same (A, v) of one interpreter is the same object.
 * NAME: the same name, file and first line, by the hashes in the strings. As pycode_proof.c says
 *   that is no proof of the object itself, only of what it is called as far as the hashes go.
 *   Objects in use are read again for this reason, and so no walk gets older than MAX_AGE_NS.
 *
 * The three hold whichever tick came first, and a level keeps what was seen at the tick by which it
 * was named: every later one is compared with that, not with its neighbour. Only levels down from
 * which all frames were named, by a proof, are kept: what is [unreadable] now may have a name next
 * time. (But a frame of which a tick saw nothing that could prove anything has no name at any tick
 * that saw no more.) Until levels are named other walks may stand on them all the same: it is one
 * object and gets one answer. A forked child and a new image have threads of their own, which have
 * no walks.
 *
 * Levels of all threads take MAX_BYTES at most; when there is no room a walk is not kept. Walks of
 * MAX_AGE_NS are forgotten, in use or not: that gives back the memory of threads that have ended,
 * gives others their turn when there are too many, and shows the cache of code objects what is in
 * use.
 */
#include "symbol/walkcache.h"

#include <errno.h>
#include <stdlib.h>
#include <uthash.h>
#include "base/clock.h"
#include "base/vec.h"
#include "symbol/pycode_proof.h"

#define MAX_BYTES (8u << 20)
#define MAX_LEVELS 8192u /* of a thread; what is hotter is named every time */
#define MAX_AGE_NS NSEC_PER_SEC
#define SWEEP_NS (NSEC_PER_SEC / 4)
#define MIN_LEVELS 32u

/* What named a frame. Which of a and b hold what depends on the proof: see level_of(). */
struct level {
	raddr_t code;
	uint64_t instr, a, b;
	uint32_t tlbc, version, line;
	uint32_t stack;	   /* or while it waits its place in c->places */
	uint32_t unproven; /* frames from the root to here that nothing could name */
	uint8_t proof;
	bool ok, has_generation, waits;
};

struct walk {
	uint32_t thread;
	bool cut, dirty; /* dirty: some levels wait */
	uint32_t n, cap;
	struct level *levels; /* root first */
	uint64_t born;	      /* 0: since the last settle */
	struct walk *next;    /* dirty ones */
	UT_hash_handle hh;
};

struct walkcache {
	struct names *names;
	uint32_t truncated; /* the stack of that marker alone */
	struct walk *walks; /* uthash by thread */
	struct walk *dirty;
	struct walkcache_stack *places; /* of frames that were to be named since the last settle */
	size_t n_places, cap_places;
	size_t bytes;
	uint64_t sweep; /* when old ones are looked for next */
};

struct walkcache *walkcache_new(struct names *names)
{
	struct walkcache *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->names = names;
	c->truncated = names_stack(names, STACK_EMPTY, names_marker(names, "[truncated]"));
	if (c->truncated == INTERN_NONE) {
		free(c);
		return NULL;
	}
	return c;
}

static void forget(struct walkcache *c, struct walk *w)
{
	HASH_DEL(c->walks, w);
	c->bytes -= w->cap * sizeof(*w->levels);
	free(w->levels);
	free(w);
}

void walkcache_free(struct walkcache *c)
{
	struct walk *w, *tmp;

	if (!c)
		return;
	HASH_ITER (hh, c->walks, w, tmp)
		forget(c, w);
	free(c->places);
	free(c);
}

size_t walkcache_bytes(const struct walkcache *c)
{
	return c->bytes;
}

/* --- levels --- */

static struct level level_of(const struct walk_frame *f, const struct identity *id)
{
	struct level l = {.code = f->code,
			  .instr = f->instr,
			  .tlbc = f->tlbc,
			  .version = id->version,
			  .proof = (uint8_t)id->proof,
			  .ok = pycode_proof_possible(id)};

	switch (id->proof) {
	case LAYOUT_PROOF_COUNTER:
		l.a = id->interp;
		l.b = id->generation;
		l.has_generation = id->has_generation;
		return l;
	case LAYOUT_PROOF_VERSION:
		l.a = id->interp;
		break;
	case LAYOUT_PROOF_NAME:
		l.a = id->name_hash;
		l.version = id->file_mark;
		break;
	}
	l.b = id->filename;
	l.line = (uint32_t)id->firstlineno;
	return l;
}

/* Was the object at its address at the level's tick the one that is there at the identity's? */
static bool same_object(const struct level *l, const struct identity *id)
{
	if (l->proof != id->proof || l->ok != pycode_proof_possible(id))
		return false;
	if (!l->ok)
		return true; /* whatever it is, it gets no name */
	switch (id->proof) {
	case LAYOUT_PROOF_COUNTER:
		return l->a == id->interp &&
		       ((id->version && l->version == id->version) ||
			(l->has_generation && id->has_generation && l->b == id->generation));
	case LAYOUT_PROOF_VERSION:
		return l->a == id->interp && l->version == id->version && l->b == id->filename &&
		       l->line == (uint32_t)id->firstlineno;
	case LAYOUT_PROOF_NAME:
		return l->a == id->name_hash && l->version == id->file_mark &&
		       l->b == id->filename && l->line == (uint32_t)id->firstlineno;
	}
	return false;
}

static bool same(const struct level *l, const struct walk_frame *f, const struct identity *id)
{
	return l->code == f->code && l->instr == f->instr && l->tlbc == f->tlbc &&
	       same_object(l, id);
}

/* Room for n levels; false: they are not kept. */
static bool reserve(struct walkcache *c, struct walk *w, size_t n)
{
	size_t cap = MAX(w->cap, MIN_LEVELS), more;
	struct level *v;

	if (n <= w->cap)
		return true;
	while (cap < n)
		cap *= 2;
	more = (cap - w->cap) * sizeof(*v);
	if (c->bytes + more > MAX_BYTES)
		return false;
	v = realloc(w->levels, cap * sizeof(*v));
	if (!v)
		return false;
	w->levels = v;
	w->cap = (uint32_t)cap;
	c->bytes += more;
	return true;
}

/* --- a walk --- */

static struct walk *walk_of(struct walkcache *c, uint32_t thread)
{
	struct walk *w;

	HASH_FIND(hh, c->walks, &thread, sizeof(thread), w);
	if (w)
		return w;
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->thread = thread;
	HASH_ADD(hh, c->walks, thread, sizeof(w->thread), w);
	return w;
}

static const struct identity *id_of(const struct walkcache_frames *f, size_t i)
{
	return &f->ids[f->one_id ? 0 : i];
}

/* How many levels are as they were. */
static uint32_t compare(const struct walk *w, const struct walkcache_frames *f)
{
	uint32_t k = 0;

	if (w->cut != f->cut)
		return 0;
	for (; k < w->n && k < f->n; k++)
		if (!same(&w->levels[k], &f->frames[f->n - 1 - k], id_of(f, f->n - 1 - k)))
			break;
	return k;
}

/* The walk's levels from `known` on are those of f, which wait in the places from `first` on. */
static void note(struct walkcache *c, struct walk *w, const struct walkcache_frames *f,
		 uint32_t known, uint32_t first)
{
	size_t n = MIN(f->n, MAX_LEVELS);

	w->n = known;
	w->cut = f->cut;
	if (n <= known || !reserve(c, w, n))
		return;
	for (; w->n < n; w->n++) {
		size_t i = f->n - 1 - w->n;
		struct level *l = &w->levels[w->n];

		*l = level_of(&f->frames[i], id_of(f, i));
		l->unproven = !l->ok + (w->n ? l[-1].unproven : 0);
		l->stack = first + (uint32_t)i;
		l->waits = true;
	}
	if (!w->dirty) {
		w->dirty = true;
		w->next = c->dirty;
		c->dirty = w;
	}
}

int walkcache_take(struct walkcache *c, uint32_t thread, const struct walkcache_frames *f,
		   struct walkcache_walk *ret)
{
	struct walk *w = f->n ? walk_of(c, thread) : NULL;
	struct walkcache_walk v = {.cut = f->cut, .first = (uint32_t)c->n_places};
	size_t hot;

	if (w)
		v.known = compare(w, f);
	hot = f->n - v.known;
	if (c->n_places + hot > UINT32_MAX ||
	    vec_reserve(&c->places, &c->cap_places, c->n_places + hot, sizeof(*c->places)))
		return -ENOMEM;
	v.hot = (uint32_t)hot;
	if (v.known) {
		v.base = w->levels[v.known - 1].stack;
		v.base_waits = w->levels[v.known - 1].waits;
		v.unproven = w->levels[v.known - 1].unproven;
	}
	c->n_places += hot;
	if (w)
		note(c, w, f, v.known, v.first);
	*ret = v;
	return 0;
}

void walkcache_name(struct walkcache *c, const struct walkcache_walk *w,
		    const struct pycode_query *q, struct walkcache_stack *ret)
{
	struct walkcache_stack s = {.stack = w->cut ? c->truncated : STACK_EMPTY};
	uint32_t i;

	if (w->base_waits)
		s = c->places[w->base];
	else if (w->known)
		s = (struct walkcache_stack){
			.stack = w->base, .named = w->known - w->unproven, .unnamed = w->unproven};
	for (i = w->hot; i-- > 0;) {
		s.named += q[i].ret_named;
		s.unnamed += !q[i].ret_named;
		if (!q[i].ret_hidden)
			s.stack = names_stack(c->names, s.stack, q[i].ret_frame);
		c->places[w->first + i] = s;
	}
	*ret = s;
}

/* --- after all were named --- */

/* What waited has a stack now; levels from a frame on that may have a name next time are dropped.
 */
static void settle(const struct walkcache *c, struct walk *w)
{
	const struct walkcache_stack *s;
	uint32_t k;

	for (k = 0; k < w->n; k++) {
		if (!w->levels[k].waits)
			continue;
		s = &c->places[w->levels[k].stack];
		if (s->unnamed != w->levels[k].unproven || s->stack == INTERN_NONE)
			break;
		w->levels[k].stack = s->stack;
		w->levels[k].waits = false;
	}
	w->n = k;
	w->dirty = false;
}

static void forget_old(struct walkcache *c, uint64_t now)
{
	struct walk *w, *tmp;

	c->sweep = now + SWEEP_NS;
	HASH_ITER (hh, c->walks, w, tmp)
		if (now - w->born >= MAX_AGE_NS)
			forget(c, w);
}

void walkcache_settle(struct walkcache *c, uint64_t now)
{
	for (; c->dirty; c->dirty = c->dirty->next) {
		settle(c, c->dirty);
		if (!c->dirty->born)
			c->dirty->born = now;
	}
	c->n_places = 0;
	if (now >= c->sweep)
		forget_old(c, now);
}
