/* A process in a fake memory that has imported threading, with one thread, by any layout. */
#include "tests/support/fakethreading.h"

#include <criterion/criterion.h>
#include <string.h>
#include "base/file.h"
#include "python/debug_offsets.h"
#include "python/dict.h"
#include "tests/support/fakecode.h"

#define FIRST_PLACE 0x10000000ull
#define INTERP 0x60000000ull
#define GENERAL 0 /* kinds of tables */
#define UNICODE 1
#define SLOTS 8
#define N_ATTRS 4

bool fakethreading_layout(size_t i, struct layout *ret)
{
	static const char *const versions[] = {"3.13.18",  "3.13.18t", "3.14.10",
					       "3.14.10t", "3.15.2",   "3.15.2t"};
	struct buf path, b;

	if (i < 5) {
		*ret = *layout_table((uint32_t)i + 8);
		return true;
	}
	if (i - 5 >= ARRAY_SIZE(versions))
		return false;
	buf_init(&path);
	buf_init(&b);
	buf_printf(&path, "tests/golden/python/debug_offsets-%s.bin", versions[i - 5]);
	cr_assert_eq(file_read(path.data, DEBUG_OFFSETS_MAX, &b), 0, "%s", path.data);
	cr_assert_eq(debug_offsets_parse(b.data, b.len, ret), 0);
	buf_release(&path);
	buf_release(&b);
	return true;
}

bool fakethreading_has(const struct layout *l, enum fakethreading_form form)
{
	return form != FAKETHREADING_VALUES || l->minor >= 11;
}

static raddr_t place(struct fakethreading *w)
{
	cr_assert_lt(w->n, FAKETHREADING_PLACES);
	w->places[w->n] = FIRST_PLACE + w->n * 0x10000 + 0x40;
	return w->places[w->n++];
}

static void put(struct fakethreading *w, raddr_t at, uint64_t v)
{
	fakemem_add_u64(w->mem, at, v);
}

static raddr_t type_of(struct fakethreading *w, uint64_t flags)
{
	raddr_t at = place(w);

	put(w, at + w->found.layout.type.flags, flags);
	return at;
}

static raddr_t object_of(struct fakethreading *w, uint64_t flags)
{
	raddr_t at = place(w);

	put(w, at + w->found.layout.object.type, type_of(w, flags));
	return at;
}

raddr_t fakethreading_str(struct fakethreading *w, const char *text)
{
	raddr_t at = place(w);

	fakecode_str(w->mem, &w->found.layout, at, text, 1);
	put(w, at + w->found.layout.object.type, type_of(w, DICT_TYPE_STR));
	return at;
}

static raddr_t int_of(struct fakethreading *w, uint32_t v)
{
	const struct layout *l = &w->found.layout;
	raddr_t at = object_of(w, DICT_TYPE_INT);

	put(w, at + l->object.size, l->minor >= 14 ? 8 | 4 : l->minor >= 12 ? 8 : 1);
	put(w, at + l->object.size + 8, v);
	return at;
}

/* An entry of a table; value 0: it is elsewhere, or there is none. */
struct entry {
	uint64_t hash;
	raddr_t key, value;
};

static raddr_t keys_of(struct fakethreading *w, int kind, const struct entry *e, size_t n)
{
	raddr_t at = place(w), to;
	bool old = w->found.layout.object_frames;

	if (old) {
		put(w, at + 8, SLOTS);
		put(w, at + 32, n);
		to = at + 40 + SLOTS;
	} else {
		put(w, at + 8, 3 | 3 << 8 | (uint64_t)kind << 16);
		put(w, at + 24, n);
		to = at + 32 + SLOTS;
	}
	for (size_t i = 0; i < n; i++) {
		if (old || kind == GENERAL) {
			put(w, to, e[i].hash);
			to += 8;
		}
		put(w, to, e[i].key);
		put(w, to + 8, e[i].value);
		to += 16;
	}
	return at;
}

static raddr_t dict_at(struct fakethreading *w, raddr_t keys, raddr_t values)
{
	raddr_t at = object_of(w, DICT_TYPE_DICT);

	put(w, at + w->found.layout.dict.keys, keys);
	put(w, at + w->found.layout.dict.values, values);
	return at;
}

static raddr_t values_at(struct fakethreading *w, raddr_t at, const struct entry *e, size_t n)
{
	bool head = w->found.layout.minor >= 13;

	if (head)
		put(w, at, 30 | 4 << 8 | 1 << 16 | 1 << 24);
	for (size_t i = 0; i < n; i++)
		put(w, at + 8 * (i + head), e[i].value);
	return at;
}

/* Where a dict of an instance is noted. */
static raddr_t dict_word(const struct fakethreading *w)
{
	const struct layout *l = &w->found.layout;

	if (l->object_frames)
		return w->thread + 16;
	return w->thread - (l->free_threaded ? 8 : 24);
}

static void put_values(struct fakethreading *w, raddr_t type, const struct entry *e, size_t n)
{
	const struct layout *l = &w->found.layout;
	raddr_t at = l->minor >= 13 ? w->thread + l->object.size : place(w);

	values_at(w, at, e, n);
	w->name_at = at + (l->minor >= 13 ? 8 : 0) + 8;
	put(w, type + l->type.cached_keys, w->attr_keys);
	if (l->minor == 11)
		put(w, w->thread - 32, at);
	else if (l->minor == 12)
		put(w, w->thread - 24, at - 1);
}

static void put_thread(struct fakethreading *w, enum fakethreading_form form, const char *name)
{
	const struct layout *l = &w->found.layout;
	raddr_t type = type_of(w, l->minor < 11	  ? 0
				  : l->minor < 13 ? 1 << 4
						  : 1 << 4 | 1 << 2),
		dict, values = 0;
	struct entry e[N_ATTRS] = {{.hash = 5, .key = fakethreading_str(w, "_target")},
				   {.hash = 6, .key = fakethreading_str(w, "_name")},
				   {.hash = 7},
				   {.hash = 8, .key = fakethreading_str(w, "_native_id")}};

	w->thread = place(w);
	w->class = type;
	put(w, w->thread + l->object.type, type);
	put(w, type + l->type.dictoffset, l->object_frames ? 16 : UINT64_MAX);
	put(w, type + l->type.basicsize, l->object.size);
	e[1].value = w->name = fakethreading_str(w, name);
	e[3].value = w->native_id = int_of(w, FAKETHREADING_TID);
	w->attr_keys = keys_of(w, UNICODE, e, N_ATTRS);
	if (form == FAKETHREADING_VALUES) {
		put_values(w, type, e, N_ATTRS);
		return;
	}
	w->name_at = w->attr_keys + (l->object_frames ? 40 + SLOTS + 24 + 16 : 32 + SLOTS + 16 + 8);
	if (form == FAKETHREADING_SPLIT) {
		values = values_at(w, place(w), e, N_ATTRS);
		w->name_at = values + (l->minor >= 13 ? 8 : 0) + 8;
	}
	dict = dict_at(w, w->attr_keys, values);
	put(w, dict_word(w), dict);
}

void fakethreading_init(struct fakethreading *w, const struct layout *l,
			enum fakethreading_form form, const char *name)
{
	struct entry active[3] = {{.hash = 77}, {.hash = FAKETHREADING_IDENT}}, global = {0},
		     module = {0};
	raddr_t modules;

	*w = (struct fakethreading){.found.layout = *l, .found.main_interp = INTERP, .form = form};
	w->mem = fakemem_new();
	put_thread(w, form, name);
	active[1].key = int_of(w, 1);
	active[1].value = w->thread;
	w->active_keys = keys_of(w, GENERAL, active, 2);
	global = (struct entry){5, fakethreading_str(w, "_active"), dict_at(w, w->active_keys, 0)};
	module = (struct entry){6, fakethreading_str(w, "threading"), object_of(w, 0)};
	put(w, module.value + l->object.size, dict_at(w, keys_of(w, UNICODE, &global, 1), 0));
	modules = dict_at(w, keys_of(w, UNICODE, &module, 1), 0);
	put(w, INTERP + l->interp.modules, modules);
}

void fakethreading_release(struct fakethreading *w)
{
	mem_free(w->mem);
}

int fakethreading_ask(struct fakethreading *w, struct buf *out)
{
	buf_init(out);
	return threading_name(&w->threading, &w->found, w->mem, FAKETHREADING_IDENT,
			      FAKETHREADING_TID, out);
}
