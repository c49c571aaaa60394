/*
 * Dicts, and the attributes of instances, in a process.
 *
 * A dict has a table of keys: a head, a hash index that nobody here needs, and the entries in the
 * order they came. The values are in the entries; or, when dicts of many instances share one table
 * (the class's), in an array of their own: value i belongs to entry i.
 *
 *	3.8 - 3.10  {refcnt, slots, function, usable, n, index: 1, 2, 4 or 8 bytes a slot}
 *	3.11+       {refcnt, log2 of slots, log2 of the index's bytes, kind (0: keys of any type),
 *	            version, usable, n, index}
 *
 * Where an instance has its attributes:
 *
 *	3.8 - 3.10  a dict, at tp_dictoffset
 *	3.11        4 words before the object: values, by the class's keys; else 3 before: a dict
 *	3.12        3 words before: values if the lowest bit is set (add 1 to it), else a dict
 *	3.13+       behind its fields: {capacity, size, embedded, valid} in a word, the values; if
 *	            they are not valid, 3 words before (1 without a GIL): a dict
 *
 * As long as there is a table an entry of it keeps its key, so a trail that still holds in the end
 * has led to the right one.
 *
 * From the headers of 3.8.18 - 3.13.0 (dictobject.h, pycore_dict.h, pycore_object.h) and
 * dictobject.c of 3.8 - 3.10; pycore_dict.h and pycore_object.h did not change there up to 3.15.
 */
#include "python/dict.h"

#include <errno.h>
#include "base/bytes.h"
#include "python/unicode.h"

#define WORD 8
#define HEAD_OLD 40 /* of a table of keys, up to the index */
#define HEAD 32
#define LOG2_MAX 26		     /* of the bytes of an index */
#define FLAG_INLINE_VALUES (1u << 2) /* Py_TPFLAGS_INLINE_VALUES, 3.13+ */
#define FLAG_MANAGED_DICT (1u << 4)  /* Py_TPFLAGS_MANAGED_DICT, 3.11+ */
#define OBJECT_MAX 4096		     /* bytes of an instance before its values, or its dict */
#define ENTRY_MAX (3 * WORD)
#define CHUNK 512     /* entries that are read together */
#define CHUNK_KEYS 64 /* the same, when their keys are looked at, too */

static bool is_object(raddr_t p)
{
	return p && p % WORD == 0;
}

/* From the words that say so, which are those of the table's size or its three logarithms. */
static uint64_t index_bytes(const uint8_t *size, bool old)
{
	uint64_t slots;

	if (!old)
		return size[1] <= LOG2_MAX ? 1ull << size[1] : 0;
	slots = bytes_load64(size);
	if (!slots || slots > 1u << LOG2_MAX || (slots & (slots - 1)))
		return 0;
	return slots <= 0xff ? slots : slots <= 0xffff ? slots * 2 : slots * 4;
}

static bool open_keys(struct trail *t, const struct layout *l, raddr_t keys, struct dict *ret)
{
	bool old = l->object_frames;
	size_t len = old ? HEAD_OLD : HEAD;
	const uint8_t *size = is_object(keys) ? trail_read(t, keys + WORD, old ? WORD : 3) : NULL;
	uint64_t index, n;

	if (!size)
		return false;
	index = index_bytes(size, old);
	n = trail_peek_u64(t, keys + len - WORD); /* it grows */
	if (!index || n > DICT_MAX)
		return false;
	ret->entries = keys + len + index;
	ret->n = (uint32_t)n;
	ret->key = old || size[2] == 0 ? WORD : 0;
	ret->size = ret->key + 2 * WORD;
	return true;
}

bool dict_is_a(struct trail *t, const struct layout *l, raddr_t object, enum dict_type type)
{
	raddr_t at = is_object(object) ? trail_read_u64(t, object + l->object.type) : 0;

	return is_object(at) && trail_read_u64(t, at + l->type.flags) & type;
}

bool dict_of(struct trail *t, const struct layout *l, raddr_t object, struct dict *ret)
{
	uint32_t from = MIN(l->dict.keys, l->dict.values);
	const uint8_t *p = NULL;

	if (dict_is_a(t, l, object, DICT_TYPE_DICT)) /* the two are neighbours */
		p = trail_read(t, object + from, MAX(l->dict.keys, l->dict.values) + WORD - from);
	if (!p)
		return false;
	ret->values = bytes_load64(p + l->dict.values - from);
	if (ret->values && l->minor >= 13)
		ret->values += WORD; /* they have a head */
	return open_keys(t, l, bytes_load64(p + l->dict.keys - from), ret);
}

static bool is_offset(uint64_t v)
{
	return v <= OBJECT_MAX && v % WORD == 0;
}

/* The words before and behind the object. Where there are no values there is a dict. */
static void find_attributes(struct trail *t, const struct layout *l, raddr_t object,
			    uint64_t basicsize, raddr_t *ret_dict, raddr_t *ret_values)
{
	uint64_t head;
	raddr_t v;

	*ret_dict = trail_read_u64(t, object - (l->free_threaded ? 1 : 3) * WORD);
	if (l->minor == 11) {
		*ret_values = trail_read_u64(t, object - 4 * WORD);
	} else if (l->minor == 12) {
		v = *ret_dict;
		*ret_values = v & 1 ? v + 1 : 0;
	} else if (basicsize && is_offset(basicsize)) {
		head = trail_read_u64(t, object + basicsize);
		*ret_values = head >> 24 & 0xff ? object + basicsize + WORD : 0;
	}
}

bool dict_of_instance(struct trail *t, const struct layout *l, raddr_t object, struct dict *ret)
{
	raddr_t type = 0, dict = 0;
	uint64_t at = 0, flags;

	if (is_object(object))
		type = trail_read_u64(t, object + l->object.type);
	if (!is_object(type))
		return false;
	if (l->object_frames) {
		at = trail_read_u64(t, type + l->type.dictoffset);
		return at && is_offset(at) && dict_of(t, l, trail_read_u64(t, object + at), ret);
	}
	flags = trail_read_u64(t, type + l->type.flags);
	if (!(flags & FLAG_MANAGED_DICT))
		return false;
	if (l->minor >= 13 && flags & FLAG_INLINE_VALUES)
		at = trail_read_u64(t, type + l->type.basicsize);
	ret->values = 0;
	find_attributes(t, l, object, at, &dict, &ret->values);
	if (!ret->values)
		return dict_of(t, l, dict, ret);
	return open_keys(t, l, trail_read_u64(t, type + l->type.cached_keys), ret);
}

/* --- entries --- */

/* A compact ASCII str of these characters? bytes: of its head, and as many as the longest name. */
static bool is_name(const struct layout *l, const uint8_t *bytes, const char *name)
{
	const uint32_t kind1_compact_ascii = 1 | 8 | 16, mask = 31;
	size_t len = strlen(name);

	return bytes_load64(bytes + l->str.length) == len &&
	       (bytes_load32(bytes + l->str.state) >> l->str.kind_shift & mask) ==
		       kind1_compact_ascii &&
	       memcmp(bytes + l->str.ascii_data, name, len) == 0;
}

/* What dict_find() looks for. */
struct search {
	const char *const *names;
	size_t n, longest;
	uint32_t *ret;
	bool found[DICT_NAMES];
};

static bool is_done(const struct search *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!s->found[i])
			return false;
	return true;
}

struct chunk {
	uint32_t max;	/* entries */
	uint32_t first; /* entry */
	size_t n;
	uint8_t bytes[CHUNK * ENTRY_MAX];
};

/* The entries behind those of the chunk; false: there are none, or t->error. */
static bool read_next(struct trail *t, const struct dict *d, struct chunk *c)
{
	c->first += (uint32_t)c->n;
	c->n = MIN(d->n - c->first, c->max);
	if (c->n && !t->error)
		t->error =
			mem_read(t->mem, d->entries + c->first * d->size, c->bytes, c->n * d->size);
	return c->n && !t->error;
}

/* Reads the keys of a chunk, and looks at each. */
static void search_chunk(struct trail *t, const struct layout *l, struct search *s,
			 const struct dict *d, const struct chunk *c)
{
	uint8_t text[CHUNK_KEYS][UNICODE_HEAD + DICT_NAME_MAX];
	struct mem_seg segs[CHUNK_KEYS];
	size_t i, k;

	for (i = 0; i < c->n; i++)
		segs[i] = (struct mem_seg){
			.addr = bytes_load64(c->bytes + i * d->size + d->key),
			.len = (uint32_t)(l->str.ascii_data + s->longest),
			.buf = text[i],
		};
	mem_readv(t->mem, segs, c->n);
	for (i = 0; i < c->n; i++) {
		for (k = 0; k < s->n && !segs[i].status; k++) {
			if (!is_name(l, text[i], s->names[k]))
				continue;
			s->ret[k] = c->first + (uint32_t)i;
			s->found[k] = true;
		}
	}
}

bool dict_find(struct trail *t, const struct layout *l, const struct dict *d,
	       const char *const *names, size_t n, uint32_t *ret)
{
	struct search s = {.names = names, .n = n, .ret = ret};
	struct chunk c = {.max = CHUNK_KEYS};

	for (size_t i = 0; i < n; i++)
		s.longest = MAX(s.longest, strlen(names[i]));
	while (!is_done(&s) && read_next(t, d, &c))
		search_chunk(t, l, &s, d, &c);
	return is_done(&s);
}

bool dict_find_hash(struct trail *t, const struct dict *d, uint64_t hash, uint32_t *ret)
{
	struct chunk c = {.max = CHUNK};

	while (d->key && read_next(t, d, &c)) {
		for (size_t i = 0; i < c.n; i++) {
			const uint8_t *e = c.bytes + i * d->size;

			if (bytes_load64(e) != hash || !bytes_load64(e + d->key))
				continue;
			*ret = c.first + (uint32_t)i;
			return true;
		}
	}
	return false;
}

raddr_t dict_value(struct trail *t, const struct dict *d, uint32_t entry)
{
	const uint8_t *e = trail_read(t, d->entries + (uint64_t)entry * d->size, d->size);

	if (e && d->values)
		return trail_read_u64(t, d->values + (uint64_t)entry * WORD);
	return e ? bytes_load64(e + d->key + WORD) : 0;
}
