/*
 * Reads code objects and what they point at, for many of them in three calls.
 *
 *   1. the heads
 *   2. strings, line tables and bytecode copies, each of a guessed length, then the heads again
 *   3. what was longer than the guess, then the heads of those again
 *
 * Pieces are read in the order they were asked for, so a code object whose head is the same in the
 * first and in its last call lived all the time between, and with it everything it points at. A
 * guess never reaches into a page that the object itself does not: there may be nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
#include "python/linetable.h"
#include "symbol/pycode_read.h"

#define GUESS_STR 256
#define GUESS_LINES 512
#define PAGE 4096u
#define NONE SIZE_MAX
#define WORD 8

struct pycode_str {
	raddr_t addr;
	size_t piece, tail; /* the object's first bytes; its characters, when not among these */
	uint32_t len;	    /* of piece */
	bool ok, longer;
	struct unicode u;
};

int pycode_read_init(struct pycode_read *r, struct mem *m, const struct layout *l,
		     struct code_types types)
{
	*r = (struct pycode_read){.layout = l, .types = types, .mem = m};
	r->batch = batch_new();
	return r->batch ? 0 : -ENOMEM;
}

void pycode_read_release(struct pycode_read *r)
{
	batch_free(r->batch);
	free(r->strs);
	free(r->map);
	*r = (struct pycode_read){0};
}

void pycode_read_reset(struct pycode_read *r)
{
	batch_reset(r->batch);
	r->n_strs = 0;
}

/* How much of an object to read unseen: up to the end of a page that it reaches for certain. */
static uint32_t guess(raddr_t addr, uint32_t want, uint32_t least)
{
	uint32_t to_end = PAGE - (uint32_t)(addr % PAGE);

	return to_end >= least ? MIN(want, to_end) : want;
}

static bool decode_head(const struct pycode_read *r, raddr_t addr, const void *bytes,
			struct code *ret)
{
	return bytes && code_head(r->layout, addr, bytes, r->layout->code.size, ret) == 0 &&
	       ret->alive && (!r->types.code || ret->type == r->types.code);
}

/* Reads what was asked for, and the watched words after it. */
static int run(struct pycode_read *r)
{
	struct pycode_watch *w;
	const void *bytes;
	int err;

	for (uint32_t i = 0; i < r->n_watches; i++) {
		w = &r->watches[i];
		if (batch_want(r->batch, w->addr, sizeof(w->value), &w->piece))
			w->piece = NONE;
	}
	err = batch_run(r->batch, r->mem);
	for (uint32_t i = 0; i < r->n_watches; i++) {
		w = &r->watches[i];
		bytes = w->piece == NONE ? NULL : batch_at(r->batch, w->piece);
		w->ok = bytes;
		if (bytes)
			w->value = bytes_load64(bytes);
	}
	return err;
}

bool pycode_read_watched(const struct pycode_read *r, raddr_t addr, uint64_t *ret)
{
	for (uint32_t i = 0; i < r->n_watches; i++) {
		if (r->watches[i].addr == addr) {
			*ret = r->watches[i].value;
			return r->watches[i].ok;
		}
	}
	return false;
}

int pycode_read_heads(struct pycode_read *r, struct pycode_job *v, size_t n)
{
	const struct layout *l = r->layout;
	const uint8_t *bytes;
	int err;

	for (size_t i = 0; i < n; i++) {
		err = batch_want(r->batch, v[i].addr, l->code.size, &v[i].head_piece);
		if (err)
			return err;
	}
	err = run(r);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		bytes = batch_at(r->batch, v[i].head_piece);
		v[i].state = PYCODE_DEAD;
		if (!decode_head(r, v[i].addr, bytes, &v[i].head))
			continue;
		v[i].state = PYCODE_HEAD;
		if (l->code.tlbc != LAYOUT_NONE)
			v[i].tlbc = bytes_load64(bytes + l->code.tlbc);
	}
	return 0;
}

static int map_reserve(struct pycode_read *r, size_t jobs)
{
	uint32_t size = 64;

	while (size < 8 * jobs)
		size *= 2;
	if (size > r->map_size) {
		free(r->map);
		r->map_size = 0;
		r->map = malloc(size * sizeof(*r->map));
		if (!r->map)
			return -ENOMEM;
		r->map_size = size;
	}
	memset(r->map, 0, r->map_size * sizeof(*r->map));
	if (r->cap_strs < 3 * jobs) {
		struct pycode_str *strs = realloc(r->strs, 3 * jobs * sizeof(*strs));

		if (!strs)
			return -ENOMEM;
		r->strs = strs;
		r->cap_strs = (uint32_t)(3 * jobs);
	}
	r->n_strs = 0;
	return 0;
}

/* Asks for a string, once however many code objects have it. */
static int want_str(struct pycode_read *r, raddr_t addr, uint32_t *ret_index)
{
	uint32_t i = (uint32_t)((addr * 0x9e3779b97f4a7c15ULL) >> 32) & (r->map_size - 1);
	struct pycode_str *s;
	int err;

	for (; r->map[i]; i = (i + 1) & (r->map_size - 1)) {
		*ret_index = r->map[i] - 1;
		if (r->strs[*ret_index].addr == addr)
			return 0;
	}
	s = &r->strs[r->n_strs];
	*s = (struct pycode_str){.addr = addr, .tail = NONE};
	s->len = guess(addr, GUESS_STR, r->layout->str.ascii_data);
	err = batch_want(r->batch, addr, s->len, &s->piece);
	if (err)
		return err;
	*ret_index = r->n_strs++;
	r->map[i] = r->n_strs;
	return 0;
}

static int want_parts(struct pycode_read *r, struct pycode_job *j)
{
	const struct code *h = &j->head;
	int err;

	j->tlbc_piece = j->lines_piece = j->tail_piece = j->function_piece = NONE;
	err = want_str(r, h->qualname ? h->qualname : h->name, &j->strs[PYCODE_FUNC]);
	if (!err)
		err = want_str(r, h->filename, &j->strs[PYCODE_FILE]);
	if (!err)
		err = batch_want(r->batch, h->lines,
				 guess(h->lines, GUESS_LINES, r->layout->bytes.data),
				 &j->lines_piece);
	if (!err && j->tlbc_max && j->tlbc && j->tlbc_max < PYCODE_MAX_TLBC) {
		j->tlbc_len = (j->tlbc_max + 1) * WORD; /* behind the array's size */
		err = batch_want(r->batch, j->tlbc, WORD + j->tlbc_len, &j->tlbc_piece);
	}
	/* risky: what was a function may be unmapped by now */
	if (!err && h->single && j->function)
		err = batch_want(r->batch, j->function, code_function_size(r->layout),
				 &j->function_piece);
	return err;
}

/* Reads; but first the heads of those in `state`, once more and last. */
static int run_with_heads(struct pycode_read *r, struct pycode_job *v, size_t n,
			  enum pycode_state state)
{
	bool any = false;
	int err;

	for (size_t i = 0; i < n; i++) {
		if (!v[i].wanted || v[i].state != state)
			continue;
		err = batch_want(r->batch, v[i].addr, r->layout->code.size, &v[i].head_piece);
		if (err == -ENOMEM)
			return err;
		if (err)
			v[i].head_piece = NONE;
		any = true;
	}
	return any ? run(r) : 0;
}

/* What a string still lacks after the guess. */
static void decode_str(const struct pycode_read *r, struct pycode_str *s)
{
	const void *bytes = batch_at(r->batch, s->piece);

	s->ok = bytes && unicode_head(r->layout, s->addr, bytes, s->len, &s->u) == 0;
	s->longer = s->ok && (s->u.data < s->addr || s->u.data - s->addr > s->len ||
			      s->u.bytes > s->len - (s->u.data - s->addr));
}

static int want_tail(struct pycode_read *r, struct pycode_job *j)
{
	const struct layout *l = r->layout;
	const uint8_t *bytes = batch_at(r->batch, j->lines_piece);
	uint32_t len = guess(j->head.lines, GUESS_LINES, l->bytes.data);
	int err = 0;

	for (int i = PYCODE_FUNC; i <= PYCODE_FILE; i++) {
		struct pycode_str *s = &r->strs[j->strs[i]];

		if (!s->longer)
			continue;
		j->state = PYCODE_MORE;
		if (s->tail == NONE)
			err = batch_want(r->batch, s->u.data, s->u.bytes, &s->tail);
		if (err)
			return err;
	}
	j->lines_len = 0;
	if (!bytes)
		return 0;
	j->lines_len = MIN(bytes_load64(bytes + l->bytes.size), LINETABLE_MAX);
	if (j->lines_len <= len - l->bytes.data)
		return 0;
	j->state = PYCODE_MORE;
	return batch_want(r->batch, j->head.lines + l->bytes.data, (uint32_t)j->lines_len,
			  &j->tail_piece);
}

bool pycode_read_same(const struct code *a, const struct code *b)
{
	return a->type == b->type && a->filename == b->filename && a->name == b->name &&
	       a->qualname == b->qualname && a->lines == b->lines && a->version == b->version &&
	       a->firstlineno == b->firstlineno && a->bytecode_len == b->bytecode_len;
}

static const void *str_bytes(const struct pycode_read *r, const struct pycode_str *s)
{
	const uint8_t *p;

	if (s->longer)
		return s->tail == NONE ? NULL : batch_at(r->batch, s->tail);
	p = batch_at(r->batch, s->piece);
	return p ? p + (s->u.data - s->addr) : NULL;
}

static bool str_whole(const struct pycode_read *r, const struct pycode_str *s)
{
	return s->ok && str_bytes(r, s);
}

static void conclude(struct pycode_read *r, struct pycode_job *j)
{
	const uint8_t *bytes = j->head_piece == NONE ? NULL : batch_at(r->batch, j->head_piece);
	struct code last;

	if (j->head_piece == NONE) {
		j->state = PYCODE_MORE;
	} else if (!decode_head(r, j->addr, bytes, &last)) {
		j->state = PYCODE_DEAD;
	} else if (!pycode_read_same(&j->head, &last)) {
		j->head = last;
		j->state = PYCODE_TORN;
	} else {
		if (j->tlbc_piece != NONE && bytes_load64(bytes + r->layout->code.tlbc) != j->tlbc)
			j->tlbc_piece = NONE; /* the array has moved */
		j->state = PYCODE_READ;
		j->head.single = j->head.single && last.single;
		bytes = j->function_piece == NONE ? NULL : batch_at(r->batch, j->function_piece);
		j->in_function =
			bytes && code_of_function(r->layout, r->types.function, bytes) == j->addr;
		for (int i = PYCODE_FUNC; i <= PYCODE_FILE; i++)
			if (!str_whole(r, &r->strs[j->strs[i]]))
				j->state = PYCODE_BAD;
	}
}

int pycode_read_rest(struct pycode_read *r, struct pycode_job *v, size_t n)
{
	int err = map_reserve(r, n);

	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		if (!v[i].wanted)
			continue;
		err = want_parts(r, &v[i]);
		if (err == -ENOMEM)
			return err;
		v[i].state = err ? PYCODE_MORE : PYCODE_HEAD;
	}
	err = run_with_heads(r, v, n, PYCODE_HEAD);
	if (err)
		return err;
	for (uint32_t i = 0; i < r->n_strs; i++)
		decode_str(r, &r->strs[i]);
	for (size_t i = 0; i < n; i++) {
		if (!v[i].wanted)
			continue;
		if (v[i].state == PYCODE_MORE) {
			v[i].wanted = false;
			continue;
		}
		err = want_tail(r, &v[i]);
		if (err == -ENOMEM)
			return err;
		if (err) /* MORE stays its state */
			v[i].wanted = false;
	}
	err = run_with_heads(r, v, n, PYCODE_MORE);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++)
		if (v[i].wanted)
			conclude(r, &v[i]);
	return 0;
}

int pycode_read_utf8(const struct pycode_read *r, const struct pycode_job *j,
		     enum pycode_which which, struct buf *out)
{
	const struct pycode_str *s = &r->strs[j->strs[which]];

	return unicode_utf8(&s->u, str_bytes(r, s), out);
}

void pycode_read_hash(const struct pycode_read *r, const struct pycode_job *j,
		      enum pycode_which which, uint64_t *ret_hash, uint64_t *ret_mark)
{
	const struct pycode_str *s = &r->strs[j->strs[which]];

	*ret_hash = s->u.hash;
	*ret_mark = unicode_mark(&s->u, str_bytes(r, s));
}

const void *pycode_read_lines(const struct pycode_read *r, const struct pycode_job *j,
			      uint32_t *ret_len)
{
	const uint8_t *bytes;

	*ret_len = 0;
	if (j->tail_piece != NONE)
		bytes = batch_at(r->batch, j->tail_piece);
	else
		bytes = batch_at(r->batch, j->lines_piece);
	if (!bytes)
		return NULL;
	*ret_len = (uint32_t)j->lines_len;
	return j->tail_piece != NONE ? bytes : bytes + r->layout->bytes.data;
}

const raddr_t *pycode_read_tlbc(const struct pycode_read *r, const struct pycode_job *j,
				uint32_t *ret_n)
{
	const raddr_t *words = j->tlbc_piece == NONE ? NULL : batch_at(r->batch, j->tlbc_piece);

	if (!words)
		return NULL;
	*ret_n = (uint32_t)MIN(words[0], j->tlbc_len / WORD);
	return words + 1;
}
