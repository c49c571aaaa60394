/*
 * The names that Python's threading module has for threads.
 *
 *	interpreter ─▶ sys.modules ─▶ threading ─▶ its globals ─▶ _active: {ident: Thread}
 *	                                                                        │
 *	                            {… _name: str, _ident, _native_id: int} ◀───┘
 *
 * threading keeps each thread that it has started, the main one, and others that have asked for
 * their current_thread(), in _active, under pthread_self(), from their first steps in Python until
 * their last. The Thread object is this thread's if it also has noted this thread's kernel id as
 * its _native_id. So it is from 3.8 to 3.15 (Lib/threading.py). Where os.fork() leaves the parent's
 * id there, nothing is proven; nor in a sub-interpreter, which has a threading of its own.
 *
 * Where a module's globals are: md_dict, the first field of a module object. An int has its number
 * of digits behind the object's head, from 3.12 on times 8 (and from 3.14 on plus 4 if it is one of
 * the small ones), and then its digits of 30 bits; any thread id is one digit.
 */
#include "python/threading.h"

#include <errno.h>
#include "base/bytes.h"
#include "base/clock.h"
#include "python/dict.h"
#include "python/unicode.h"

#define TRIES 3
#define PAUSE_MIN (20 * NSEC_PER_MSEC) /* between two looks for the module */
#define PAUSE_MAX NSEC_PER_SEC
#define SMALL_INT 4ull

static int error_of(const struct trail *t)
{
	return t->error == -EFAULT || t->error == -ENOSPC ? -EAGAIN : t->error;
}

/* sys.modules["threading"].__dict__. 0: another one than before. -EAGAIN: it could not be read. */
static int find_globals(struct threading *g, const struct discover_found *f, struct mem *m)
{
	static const char *const name[] = {"threading"};
	const struct layout *l = &f->layout;
	uint64_t now = clock_mono();
	raddr_t module = 0;
	struct trail t;
	struct dict d;
	uint32_t at;

	if (now < g->next)
		return -ENOENT;
	trail_begin(&t, m);
	if (dict_of(&t, l, trail_read_u64(&t, f->main_interp + l->interp.modules), &d) &&
	    dict_find(&t, l, &d, name, 1, &at))
		module = dict_value(&t, &d, at);
	if (module)
		module = trail_read_u64(&t, module + l->object.size);
	if (!trail_holds(&t))
		return error_of(&t);
	g->pause = MIN(MAX(2 * g->pause, (uint64_t)PAUSE_MIN), (uint64_t)PAUSE_MAX);
	g->next = now + g->pause;
	if (!module || module == g->globals)
		return -ENOENT;
	g->globals = module;
	return 0;
}

/* _active[ident] */
static raddr_t find_thread(const struct threading *g, struct trail *t, const struct layout *l,
			   uint64_t ident)
{
	static const char *const name[] = {"_active"};
	struct dict globals, active;
	uint32_t at;

	if (!dict_of(t, l, g->globals, &globals) || !dict_find(t, l, &globals, name, 1, &at) ||
	    !dict_of(t, l, dict_value(t, &globals, at), &active) ||
	    !dict_find_hash(t, &active, ident, &at))
		return 0;
	return dict_value(t, &active, at);
}

static bool is_int(struct trail *t, const struct layout *l, raddr_t object, uint32_t v)
{
	uint64_t one_digit = l->minor >= 12 ? 1 << 3 : 1, tag;
	const uint8_t *p = NULL;

	if (dict_is_a(t, l, object, DICT_TYPE_INT))
		p = trail_read(t, object + l->object.size, 12);
	if (!p)
		return false;
	tag = bytes_load64(p);
	if (l->minor >= 14)
		tag &= ~SMALL_INT;
	return tag == one_digit && bytes_load32(p + 8) == v;
}

/* What of it is within our limits. */
static bool read_text(struct trail *t, const struct layout *l, raddr_t object, struct unicode *ret,
		      const void **ret_bytes)
{
	uint8_t head[UNICODE_HEAD] = {0};
	size_t from = l->object.size, len = l->str.ascii_data;
	const void *p = NULL;

	if (dict_is_a(t, l, object, DICT_TYPE_STR))
		p = trail_read(t, object + from, len - from);
	if (!p)
		return false;
	memcpy(head + from, p, len - from);
	if (unicode_head(l, object, head, len, ret))
		return false;
	if (ret->chars > THREADING_NAME_CHARS) {
		ret->chars = THREADING_NAME_CHARS;
		ret->truncated = true;
	}
	ret->bytes = (uint32_t)ret->chars * ret->kind;
	*ret_bytes = ret->bytes ? trail_read(t, ret->data, ret->bytes) : "";
	return *ret_bytes;
}

static int read_name(const struct threading *g, struct trail *t, const struct layout *l,
		     uint64_t ident, uint32_t tid, struct buf *out)
{
	static const char *const names[] = {"_native_id", "_name"};
	raddr_t thread = find_thread(g, t, l, ident);
	const void *bytes = NULL;
	struct unicode text;
	uint32_t at[2];
	struct dict d;
	bool found;

	found = thread && dict_of_instance(t, l, thread, &d) && dict_find(t, l, &d, names, 2, at) &&
		is_int(t, l, dict_value(t, &d, at[0]), tid) &&
		read_text(t, l, dict_value(t, &d, at[1]), &text, &bytes);
	/* what was not found may have been on its way to another place */
	if (!trail_holds(t))
		return error_of(t);
	if (!found || unicode_utf8(&text, bytes, out))
		return -ENOENT;
	return out->failed ? -ENOMEM : 0;
}

int threading_name(struct threading *g, const struct discover_found *f, struct mem *m,
		   uint64_t thread_ptr, uint32_t ns_tid, struct buf *out)
{
	struct trail t;
	int err = -ENOENT;

	if (!thread_ptr || !ns_tid)
		return -ENOENT;
	for (int i = 0; i < TRIES; i++) {
		trail_begin(&t, m);
		err = g->globals ? read_name(g, &t, &f->layout, thread_ptr, ns_tid, out) : -ENOENT;
		if (err == -ENOENT)
			err = find_globals(g, f, m)
				      ?: -EAGAIN; /* it was not known, or is another */
		if (err != -EAGAIN)
			break;
	}
	return err;
}
