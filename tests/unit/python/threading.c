/* Tests of python/threading.c and python/dict.c: each form of attributes, holes, nonsense, change.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "tests/support/fakethreading.h"

typedef void check_fn(struct fakethreading *w, const struct layout *l);

/* Calls fn with a process of every version and form. */
static void each(const char *name, check_fn *fn)
{
	struct fakethreading w;
	unsigned int n = 0;
	struct layout l;

	for (size_t i = 0; fakethreading_layout(i, &l); i++) {
		for (int form = 0; form < FAKETHREADING_FORMS; form++) {
			if (!fakethreading_has(&l, form))
				continue;
			fakethreading_init(&w, &l, form, name);
			fn(&w, &l);
			fakethreading_release(&w);
			n++;
		}
	}
	cr_assert_eq(n, 30);
}

#define EXPECT_NAME(w, l, want)                                                                    \
	do {                                                                                       \
		struct buf b_;                                                                     \
		int err_ = fakethreading_ask(w, &b_);                                              \
                                                                                                   \
		cr_expect_eq(err_, 0, "3.%u: %d", (l)->minor, err_);                               \
		if (!err_)                                                                         \
			cr_expect_str_eq(b_.data, want, "3.%u", (l)->minor);                       \
		buf_release(&b_);                                                                  \
	} while (0)

#define EXPECT_ERROR(w, l, want)                                                                   \
	do {                                                                                       \
		struct buf b_;                                                                     \
		int err_ = fakethreading_ask(w, &b_);                                              \
                                                                                                   \
		cr_expect_eq(err_, want, "3.%u: %d", (l)->minor, err_);                            \
		cr_expect_eq(b_.len, 0);                                                           \
		buf_release(&b_);                                                                  \
	} while (0)

static void is_found(struct fakethreading *w, const struct layout *l)
{
	uint64_t calls;

	EXPECT_NAME(w, l, "a name of more than fifteen bytes");
	calls = w->mem->stats.calls;
	EXPECT_NAME(w, l, "a name of more than fifteen bytes");
	cr_expect_leq(w->mem->stats.calls - calls, 44);
}

Test(threading, every_form)
{
	each("a name of more than fifteen bytes", is_found);
}

static void of_another(struct fakethreading *w, const struct layout *l)
{
	struct buf b;

	buf_init(&b);
	cr_expect_eq(threading_name(&w->threading, &w->found, w->mem, FAKETHREADING_IDENT,
				    FAKETHREADING_TID + 1, &b),
		     -ENOENT);
	cr_expect_eq(threading_name(&w->threading, &w->found, w->mem, FAKETHREADING_IDENT + 64,
				    FAKETHREADING_TID, &b),
		     -ENOENT);
	cr_expect_eq(threading_name(&w->threading, &w->found, w->mem, 0, FAKETHREADING_TID, &b),
		     -ENOENT);
	cr_expect_eq(threading_name(&w->threading, &w->found, w->mem, FAKETHREADING_IDENT, 0, &b),
		     -ENOENT);
	cr_expect_eq(b.len, 0);
	/* two digits; negative */
	fakemem_add_u64(w->mem, w->native_id + l->object.size, l->minor >= 12 ? 16 : 2);
	EXPECT_ERROR(w, l, -ENOENT);
	fakemem_add_u64(w->mem, w->native_id + l->object.size,
			l->minor >= 12 ? 8 | 2 : (uint64_t)-1);
	EXPECT_ERROR(w, l, -ENOENT);
}

/* Its kernel id is another one, or no number. */
Test(threading, another_thread)
{
	each("x", of_another);
}

/* Each object and table missing in turn. */
static void with_holes(struct fakethreading *w, const struct layout *l)
{
	unsigned int needed = 0;
	struct buf b;
	int err;

	for (size_t i = 0; i < w->n; i++) {
		struct fakethreading v;

		fakethreading_init(&v, l, w->form, "x");
		fakemem_hole(v.mem, v.places[i] & ~0xfffull, 0x1000);
		err = fakethreading_ask(&v, &b);
		cr_expect(err == 0 || err == -ENOENT || err == -EAGAIN, "%d", err);
		needed += err != 0;
		buf_release(&b);
		fakethreading_release(&v);
	}
	cr_expect_geq(needed, 18, "3.%u: %u of %zu", l->minor, needed, w->n);
}

Test(threading, holes)
{
	each("x", with_holes);
}

static void with_sizes(struct fakethreading *w, const struct layout *l)
{
	static const uint64_t poison[] = {0, 3, 1ull << 31, 1ull << 63, UINT64_MAX};
	raddr_t tables[] = {w->active_keys, w->attr_keys};
	raddr_t count = l->object_frames ? 32 : 24;
	struct buf b;

	for (size_t t = 0; t < ARRAY_SIZE(tables); t++) {
		for (size_t i = 0; i < ARRAY_SIZE(poison); i++) {
			uint64_t index, n;

			cr_assert_eq(mem_read_u64(w->mem, tables[t] + 8, &index), 0);
			cr_assert_eq(mem_read_u64(w->mem, tables[t] + count, &n), 0);
			fakemem_add_u64(w->mem, tables[t] + 8, poison[i]);
			cr_expect_neq(fakethreading_ask(w, &b), 0, "3.%u: slots %" PRIx64, l->minor,
				      poison[i]);
			buf_release(&b);
			fakemem_add_u64(w->mem, tables[t] + 8, index);
			fakemem_add_u64(w->mem, tables[t] + count, poison[i]);
			if (fakethreading_ask(w, &b) == 0) /* three of four entries */
				cr_expect_eq(poison[i], 3);
			buf_release(&b);
			fakemem_add_u64(w->mem, tables[t] + count, n);
		}
	}
	EXPECT_NAME(w, l, "x");
	fakemem_add_u64(w->mem, w->name + l->str.length, 1ull << 50);
	EXPECT_ERROR(w, l, -ENOENT);
}

/* Words of its class: found where it was, or not at all. */
static void with_another_class(struct fakethreading *w, const struct layout *l)
{
	static const uint64_t poison[] = {0, 1, 16, 0x3000, UINT64_MAX - 7, UINT64_MAX};
	uint32_t words[] = {l->type.flags, l->type.basicsize, l->type.dictoffset,
			    l->type.cached_keys};
	uint64_t was;
	struct buf b;

	for (size_t k = 0; k < ARRAY_SIZE(words); k++) {
		if (mem_read_u64(w->mem, w->class + words[k], &was))
			was = 0;
		for (size_t i = 0; i < ARRAY_SIZE(poison); i++) {
			fakemem_add_u64(w->mem, w->class + words[k], poison[i]);
			if (!fakethreading_ask(w, &b))
				cr_expect_str_eq(b.data, "x");
			buf_release(&b);
		}
		fakemem_add_u64(w->mem, w->class + words[k], was);
	}
	EXPECT_NAME(w, l, "x");
	fakemem_add_u64(w->mem, w->thread + l->object.type, 0);
	EXPECT_ERROR(w, l, -ENOENT);
}

Test(threading, hostile_class)
{
	each("x", with_another_class);
}

Test(threading, hostile_sizes)
{
	each("x", with_sizes);
}

/* Nothing is there, or nothing can be read there. */
static void expect_none(struct fakethreading *w, const struct layout *l)
{
	struct buf b;
	int err = fakethreading_ask(w, &b);

	cr_expect(err == -ENOENT || err == -EAGAIN, "3.%u: %d", l->minor, err);
	cr_expect_eq(b.len, 0);
	buf_release(&b);
}

static void in_a_circle(struct fakethreading *w, const struct layout *l)
{
	raddr_t entry = w->active_keys + (l->object_frames ? 48 : 40) + 24;

	/* the thread's object is the table of threads, an attribute, itself its name */
	fakemem_add_u64(w->mem, entry + 16, w->active_keys);
	expect_none(w, l);
	fakemem_add_u64(w->mem, entry + 16, w->name);
	expect_none(w, l);
	fakemem_add_u64(w->mem, entry + 16, w->thread);
	fakemem_add_u64(w->mem, w->name_at, w->thread);
	expect_none(w, l);
	fakemem_add_u64(w->mem, w->name_at, w->native_id);
	expect_none(w, l);
	fakemem_add_u64(w->mem, w->name_at, 0);
	expect_none(w, l);
	fakemem_add_u64(w->mem, w->name_at, UINT64_MAX - 3);
	expect_none(w, l);
}

Test(threading, circles)
{
	each("x", in_a_circle);
}

static void while_it_changes(struct fakethreading *w, const struct layout *l)
{
	raddr_t text[] = {fakethreading_str(w, "new"), w->name};
	uint64_t calls, once;

	EXPECT_NAME(w, l, "old");
	calls = w->mem->stats.calls;
	EXPECT_NAME(w, l, "old");
	once = w->mem->stats.calls - calls;
	/* before the last call, which reads all of it again */
	calls = w->mem->stats.calls;
	fakemem_change(w->mem, (struct fakemem_when){calls + once - 1, 0}, w->name_at, &text[0],
		       sizeof(text[0]));
	EXPECT_NAME(w, l, "new");
	cr_expect_eq(w->mem->stats.calls - calls, 2 * once);
	/* every time */
	calls = w->mem->stats.calls;
	for (uint64_t i = 1; i <= 3; i++)
		fakemem_change(w->mem, (struct fakemem_when){calls + i * once - 1, 0}, w->name_at,
			       &text[i % 2], sizeof(text[0]));
	EXPECT_ERROR(w, l, -EAGAIN);
	EXPECT_NAME(w, l, "old");
	fakemem_state(w->mem, -ESRCH);
	EXPECT_ERROR(w, l, -ESRCH);
}

Test(threading, it_changes)
{
	each("old", while_it_changes);
}

/* The module comes later, or another one takes its place. */
Test(threading, another_module)
{
	struct fakethreading w, v;
	struct layout l;

	cr_assert(fakethreading_layout(4, &l));
	fakethreading_init(&w, &l, FAKETHREADING_VALUES, "x");
	v = w;
	fakemem_add_u64(w.mem, w.found.main_interp + l.interp.modules, 0);
	EXPECT_ERROR(&w, &l, -ENOENT);
	EXPECT_ERROR(&w, &l, -ENOENT);
	cr_expect_gt(w.threading.next, 0, "it is not looked for all the time");
	w.threading.globals = w.thread;
	w.threading.next = 0;
	EXPECT_ERROR(&w, &l, -ENOENT);
	fakethreading_init(&v, &l, FAKETHREADING_VALUES, "x");
	v.threading.globals = v.thread; /* no dict (any more) */
	EXPECT_NAME(&v, &l, "x");
	fakethreading_release(&v);
	fakethreading_release(&w);
}

static void is_cut(struct fakethreading *w, const struct layout *l)
{
	struct buf b;

	cr_expect_eq(fakethreading_ask(w, &b), 0);
	cr_expect_eq(b.len, THREADING_NAME_CHARS + 3, "3.%u: %zu", l->minor, b.len);
	cr_expect_str_eq(b.data + THREADING_NAME_CHARS, "\xe2\x80\xa6");
	buf_release(&b);
}

Test(threading, long_names)
{
	char name[THREADING_NAME_CHARS + 2];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	each(name, is_cut);
}
