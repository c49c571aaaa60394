/* Whether a _PyRuntime lies at an address of a process, and which build of CPython it belongs to.
 */
#include "python/runtime.h"
#include <errno.h>
#include <string.h>
#include "python/debug_offsets.h"
#include "python/evidence.h"

#define HEAD_WORDS 8
/*
 * The word that is not 0 once there is an interpreter, in every version before the cookie: 3.7
 * interpreters.next_id, 3.8 - 3.10 .main, 3.11 and 3.12 .head.
 */
#define INITIALISED 5
#define TRIES 3 /* the lists are changed by the running target while they are read */

enum discover_why runtime_why(int error)
{
	switch (error) {
	case -ESRCH:
		return DISCOVER_GONE;
	case -EPERM:
	case -EACCES:
		return DISCOVER_DENIED;
	case -ETIMEDOUT:
		return DISCOVER_STUCK;
	default:
		return DISCOVER_INVALID;
	}
}

static bool aligned(raddr_t a)
{
	return a && !(a & 7);
}

/* Reads n words, all or nothing. 0 or the first failure. */
static int read_words(struct mem *m, struct mem_seg *segs, size_t n)
{
	int r = mem_readv(m, segs, n);

	for (size_t i = 0; !r && i < n; i++)
		r = segs[i].status;
	return r;
}

#define WORD(where, to) ((struct mem_seg){.addr = (where), .len = sizeof(to), .buf = &(to)})

/* A state's links must lead back: to its interpreter, and from its neighbour to itself. */
static enum discover_why check_state(struct mem *m, const struct layout *l, raddr_t interp,
				     raddr_t state)
{
	raddr_t prev, next, back, owner;
	struct mem_seg links[] = {
		WORD(state + l->tstate.prev, prev),
		WORD(state + l->tstate.next, next),
		WORD(state + l->tstate.interp, owner),
	};
	int r;

	if (!aligned(state))
		return DISCOVER_INVALID;
	r = read_words(m, links, ARRAY_SIZE(links));
	if (r)
		return runtime_why(r);
	if (owner != interp || prev)
		return DISCOVER_INVALID;
	if (!next)
		return DISCOVER_OK;
	r = mem_read_u64(m, next + l->tstate.prev, &back);
	if (r)
		return runtime_why(r);
	return back == state ? DISCOVER_OK : DISCOVER_INVALID;
}

/* The GIL's words hold what a GIL's can hold. */
static enum discover_why check_gil(struct mem *m, const struct layout *l, raddr_t gil)
{
	raddr_t holder;
	int32_t locked;
	struct mem_seg words[] = {
		WORD(gil + l->gil.last_holder, holder),
		WORD(gil + l->gil.locked, locked),
	};
	int r = read_words(m, words, ARRAY_SIZE(words));

	if (r)
		return runtime_why(r);
	return locked >= -1 && locked <= 1 && !(holder & 7) ? DISCOVER_OK : DISCOVER_INVALID;
}

/* Finds the main interpreter and its GIL by one layout, and checks the round trip. */
static enum discover_why walk_once(struct mem *m, const struct layout *l, raddr_t runtime,
				   struct discover_found *ret)
{
	raddr_t head, interp, state, gil = 0;
	struct mem_seg roots[] = {
		WORD(runtime + l->runtime.interp_head, head),
		WORD(runtime + l->runtime.main_interp, interp),
	};
	enum discover_why why;
	int r = read_words(m, roots, ARRAY_SIZE(roots));

	if (r)
		return runtime_why(r);
	if (!head || !interp)
		return DISCOVER_NOT_YET;
	if (!aligned(head) || !aligned(interp))
		return DISCOVER_INVALID;
	struct mem_seg of_interp[] = {
		WORD(interp + l->interp.threads_head, state),
		WORD(interp + l->interp.gil_ptr, gil),
	};
	r = read_words(m, of_interp, l->interp.gil_ptr == LAYOUT_NONE ? 1 : 2);
	if (r)
		return runtime_why(r);
	if (!state || (l->interp.gil_ptr != LAYOUT_NONE && !gil))
		return DISCOVER_NOT_YET;
	if (l->runtime.gil != LAYOUT_NONE)
		gil = runtime + l->runtime.gil;
	why = check_state(m, l, interp, state);
	if (why == DISCOVER_OK && !l->free_threaded)
		why = aligned(gil) ? check_gil(m, l, gil) : DISCOVER_INVALID;
	if (why == DISCOVER_OK) {
		ret->main_interp = interp;
		ret->gil = l->free_threaded ? 0 : gil;
	}
	return why;
}

/* Checks a layout against the process: ret->layout, minor and version are set. */
static enum discover_why check_runtime(struct mem *m, const struct runtime_hint *h,
				       struct discover_found *ret)
{
	enum discover_why why = DISCOVER_INVALID;

	if (layout_check(&ret->layout))
		return DISCOVER_INVALID;
	ret->runtime = h->addr;
	for (int i = 0; i < TRIES && why == DISCOVER_INVALID; i++) {
		why = walk_once(m, &ret->layout, h->addr, ret);
		if (why == DISCOVER_OK)
			why = evidence_check(m, h->types, ret);
	}
	return why;
}

enum discover_why runtime_by_table(struct mem *m, const struct runtime_hint *h,
				   struct discover_found *ret)
{
	uint64_t head[HEAD_WORDS];
	uint8_t table[DEBUG_OFFSETS_MAX];
	struct mem_seg segs[] = {
		WORD(h->addr, head),
		WORD(h->addr, table),
	};
	int r = mem_readv(m, segs, ARRAY_SIZE(segs));

	if (!r)
		r = segs[0].status;
	if (r)
		return runtime_why(r);
	if (memcmp(head, DEBUG_OFFSETS_COOKIE, DEBUG_OFFSETS_COOKIE_LEN))
		return head[INITIALISED] ? DISCOVER_NOT_PYTHON : DISCOVER_NOT_YET;
	if (segs[1].status)
		return runtime_why(segs[1].status);
	r = debug_offsets_parse(table, sizeof(table), &ret->layout);
	ret->version = ret->layout.version;
	ret->minor = (ret->version >> 16) & 0xff;
	if (r)
		return r == -EOPNOTSUPP ? DISCOVER_UNSUPPORTED : DISCOVER_INVALID;
	return check_runtime(m, h, ret);
}

static const struct layout *table_of_size(uint64_t size)
{
	for (uint32_t i = LAYOUT_MINOR_MIN; i <= LAYOUT_MINOR_MAX; i++) {
		const struct layout *l = layout_table(i);

		if (l && size == l->runtime.size)
			return l;
	}
	return NULL;
}

enum discover_why runtime_by_version(struct mem *m, const struct runtime_hint *h,
				     struct discover_found *ret)
{
	uint32_t minor = (h->version >> 16) & 0xff;
	const struct layout *l;

	ret->version = h->version;
	ret->minor = minor;
	if (h->version) {
		l = h->version >> 24 == 3 ? layout_table(minor) : NULL;
		if (!l)
			return DISCOVER_UNSUPPORTED;
	} else {
		l = table_of_size(h->size);
		if (!l)
			return DISCOVER_INVALID;
		ret->minor = l->minor;
	}
	ret->layout = *l;
	ret->layout.version = h->version;
	return check_runtime(m, h, ret);
}
