/* What the frames that are running say about a layout: that code objects are code objects. */
#include "python/evidence.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "python/runtime.h"
#include "python/threads.h"

#define THREADS 16    /* that are looked at */
#define FRAMES 4      /* of each thread */
#define MAX_TYPES 8   /* different types among what frames call their code */
#define CODE_TAGS 7ul /* low bits of a code pointer are tags in 3.14+ */

struct piece {
	raddr_t code, type;
	uint32_t version; /* co_version */
	bool main;	  /* of the main interpreter, whose counter is checked */
};

struct evidence {
	struct piece piece[THREADS * FRAMES];
	size_t n;
};

/* One frame of each thread; the frames become their callers'. */
static int step(struct mem *m, const struct layout *l, struct thread_state *v, size_t n,
		struct evidence *e)
{
	struct mem_seg segs[2 * THREADS];
	raddr_t words[2 * THREADS];
	size_t k = 0;
	int r;

	for (size_t i = 0; i < n; i++) {
		if (!v[i].frame)
			continue;
		for (int what = 0; what < 2; what++, k++) {
			uint32_t off = what ? l->frame.code : l->frame.previous;

			segs[k] = (struct mem_seg){.addr = v[i].frame + off,
						   .len = sizeof(words[k]),
						   .buf = &words[k]};
		}
	}
	if (!k)
		return 0;
	r = mem_readv(m, segs, k);
	if (r)
		return r;
	for (size_t i = 0, at = 0; i < n; i++) {
		if (!v[i].frame)
			continue;
		v[i].frame = segs[at].status ? 0 : words[at];
		if (!segs[at + 1].status && words[at + 1] & ~CODE_TAGS)
			e->piece[e->n++] = (struct piece){.code = words[at + 1] & ~CODE_TAGS,
							  .main = v[i].interp != 0};
		at += 2;
	}
	return 0;
}

/* Type and version of every object found; those that can't be read are left out. */
static int read_pieces(struct mem *m, const struct layout *l, struct evidence *e)
{
	struct mem_seg segs[2 * THREADS * FRAMES];
	bool versions = l->code.version != LAYOUT_NONE;
	size_t k = 0, kept = 0;
	int r;

	for (size_t i = 0; i < e->n; i++) {
		struct piece *p = &e->piece[i];

		segs[k++] = (struct mem_seg){
			.addr = p->code + l->object.type, .len = sizeof(p->type), .buf = &p->type};
		if (versions)
			segs[k++] = (struct mem_seg){.addr = p->code + l->code.version,
						     .len = sizeof(p->version),
						     .buf = &p->version};
	}
	if (!k)
		return 0;
	r = mem_readv(m, segs, k);
	if (r)
		return r;
	for (size_t i = 0; i < e->n; i++) {
		size_t at = versions ? 2 * i : i;

		if (!segs[at].status && (!versions || !segs[at + 1].status))
			e->piece[kept++] = e->piece[i];
	}
	e->n = kept;
	return 0;
}

/* Whether a type's tp_name is "code"; it lies behind the head of a variable-size object. */
static bool type_is_code(struct mem *m, const struct layout *l, raddr_t type)
{
	raddr_t name;
	char text[sizeof("code")];

	return !(type & 7) && !mem_read_u64(m, type + l->object.size + 8, &name) &&
	       !mem_read(m, name, text, sizeof(text)) && !memcmp(text, "code", sizeof(text));
}

static raddr_t find_code_type(struct mem *m, const struct layout *l, const struct evidence *e)
{
	raddr_t seen[MAX_TYPES];
	size_t n = 0;

	for (size_t i = 0; i < e->n; i++) {
		bool known = false;

		for (size_t j = 0; j < n; j++)
			known = known || seen[j] == e->piece[i].type;
		if (known)
			continue;
		if (type_is_code(m, l, e->piece[i].type))
			return e->piece[i].type;
		if (n == MAX_TYPES)
			return 0;
		seen[n++] = e->piece[i].type;
	}
	return 0;
}

/* The counter is read after the versions it must be above. */
static bool counter_holds(struct mem *m, const struct discover_found *f, const struct evidence *e)
{
	uint32_t counter, newest = 0;

	if (mem_read_u32(m, f->main_interp + f->layout.interp.next_version, &counter))
		return false;
	for (size_t i = 0; i < e->n; i++) {
		const struct piece *p = &e->piece[i];

		if (p->type != f->types.code || !p->main)
			continue;
		if (p->version >= counter)
			return false;
		newest = MAX(newest, p->version);
	}
	return newest && counter - newest < EVIDENCE_COUNTER_SPAN;
}

static void check_counter(struct mem *m, const struct evidence *e, struct discover_found *ret)
{
	if (ret->layout.interp.next_version == LAYOUT_NONE || counter_holds(m, ret, e))
		return;
	ret->layout.interp.next_version = LAYOUT_NONE;
	if (ret->layout.proof == LAYOUT_PROOF_COUNTER)
		ret->layout.proof = LAYOUT_PROOF_VERSION;
}

enum discover_why evidence_check(struct mem *m, struct code_types symbols,
				 struct discover_found *ret)
{
	const struct layout *l = &ret->layout;
	struct thread_state v[THREADS];
	struct evidence e = {.n = 0};
	raddr_t type;
	size_t n = 0;
	int r = threads_list(m, ret, v, ARRAY_SIZE(v), &n, NULL);

	for (size_t i = 0; i < n; i++)
		v[i].interp = v[i].interp == ret->main_interp;
	for (int i = 0; !r && i < FRAMES; i++)
		r = step(m, l, v, n, &e);
	if (!r)
		r = read_pieces(m, l, &e);
	if (r)
		return runtime_why(r);
	type = find_code_type(m, l, &e);
	if (e.n && !type)
		return DISCOVER_INVALID;
	ret->types = symbols;
	if (type)
		ret->types.code = type;
	check_counter(m, &e, ret);
	return DISCOVER_OK;
}
