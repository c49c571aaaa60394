/*
 * Intern byte strings of any content and length.
 *
 * An open-addressed table of ids + 1 (0: empty), at most half full, over an array of entries in the
 * order of their ids. The bytes lie in blocks that never move, so that they stay where they are.
 */
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define INTERN_BLOCK 65536u
#define INTERN_MIN_SLOTS 64u

struct entry {
	const char *p;
	size_t len;
	uint64_t hash;
};

struct block {
	struct block *next;
	size_t used, cap;
	char data[];
};

struct intern {
	uint32_t *slots;
	size_t n_slots; /* a power of two */
	struct entry *v;
	size_t n, cap;
	struct block *blocks; /* the first one is the one being filled */
	size_t bytes;
};

struct intern *intern_new(void)
{
	struct intern *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->n_slots = INTERN_MIN_SLOTS;
	t->slots = calloc(t->n_slots, sizeof(*t->slots));
	if (!t->slots) {
		free(t);
		return NULL;
	}
	t->bytes = sizeof(*t) + t->n_slots * sizeof(*t->slots);
	return t;
}

void intern_free(struct intern *t)
{
	if (!t)
		return;
	while (t->blocks) {
		struct block *next = t->blocks->next;

		free(t->blocks);
		t->blocks = next;
	}
	free(t->v);
	free(t->slots);
	free(t);
}

/* The slot of these bytes, or the empty one where they would go. */
static size_t probe(const struct intern *t, const void *p, size_t len, uint64_t hash)
{
	size_t i = hash & (t->n_slots - 1);

	while (t->slots[i]) {
		const struct entry *e = &t->v[t->slots[i] - 1];

		if (e->hash == hash && e->len == len && (!len || !memcmp(e->p, p, len)))
			break;
		i = (i + 1) & (t->n_slots - 1);
	}
	return i;
}

static int grow_slots(struct intern *t)
{
	size_t n = t->n_slots * 2;
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -1;
	for (size_t id = 0; id < t->n; id++) {
		size_t i = t->v[id].hash & (n - 1);

		while (slots[i])
			i = (i + 1) & (n - 1);
		slots[i] = (uint32_t)id + 1;
	}
	free(t->slots);
	t->bytes += (n - t->n_slots) * sizeof(*slots);
	t->slots = slots;
	t->n_slots = n;
	return 0;
}

static int grow_entries(struct intern *t)
{
	size_t cap = t->cap ? t->cap * 2 : INTERN_MIN_SLOTS / 2;
	struct entry *v = realloc(t->v, cap * sizeof(*v));

	if (!v)
		return -1;
	t->bytes += (cap - t->cap) * sizeof(*v);
	t->v = v;
	t->cap = cap;
	return 0;
}

static struct block *new_block(struct intern *t, size_t cap)
{
	struct block *b;

	if (cap > SIZE_MAX - sizeof(*b))
		return NULL;
	b = malloc(sizeof(*b) + cap);
	if (!b)
		return NULL;
	b->used = 0;
	b->cap = cap;
	t->bytes += sizeof(*b) + cap;
	return b;
}

/* Copies the bytes and a NUL behind them to where they stay. */
static const char *keep(struct intern *t, const void *p, size_t len)
{
	struct block *b = t->blocks;
	char *at;

	if (len == SIZE_MAX)
		return NULL;
	if (len + 1 > INTERN_BLOCK / 4) {
		/* a block of its own, behind the one being filled */
		b = new_block(t, len + 1);
		if (!b)
			return NULL;
		b->next = t->blocks ? t->blocks->next : NULL;
		if (t->blocks)
			t->blocks->next = b;
		else
			t->blocks = b;
	} else if (!b || b->cap - b->used < len + 1) {
		b = new_block(t, INTERN_BLOCK);
		if (!b)
			return NULL;
		b->next = t->blocks;
		t->blocks = b;
	}
	at = b->data + b->used;
	b->used += len + 1;
	if (len)
		memcpy(at, p, len);
	at[len] = '\0';
	return at;
}

uint32_t intern_put(struct intern *t, const void *p, size_t len)
{
	uint64_t hash = XXH3_64bits(p, len);
	size_t i = probe(t, p, len, hash);
	const char *kept;

	if (t->slots[i])
		return t->slots[i] - 1;
	if (t->n >= INTERN_NONE - 1)
		return INTERN_NONE;
	if (t->n == t->cap && grow_entries(t))
		return INTERN_NONE;
	if ((t->n + 1) * 2 > t->n_slots) {
		if (grow_slots(t))
			return INTERN_NONE;
		i = probe(t, p, len, hash);
	}
	kept = keep(t, p, len);
	if (!kept)
		return INTERN_NONE;
	t->v[t->n] = (struct entry){.p = kept, .len = len, .hash = hash};
	t->slots[i] = (uint32_t)++t->n;
	return (uint32_t)t->n - 1;
}

const char *intern_get(const struct intern *t, uint32_t id, size_t *ret_len)
{
	if (id >= t->n)
		return NULL;
	if (ret_len)
		*ret_len = t->v[id].len;
	return t->v[id].p;
}

uint32_t intern_count(const struct intern *t)
{
	return (uint32_t)t->n;
}

size_t intern_bytes(const struct intern *t)
{
	return t->bytes;
}
