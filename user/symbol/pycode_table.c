/* The code objects of one process that have been read and proven: by address, bounded. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbol/pycode_table.h"

#define SIZE_MIN_LOG2 6
#define LOOKED_AT 64 /* entries of which the one unused for longest goes */

static void entry_free(struct pycode_entry *e)
{
	free(e->tlbc);
	free(e);
}

int pycode_table_init(struct pycode_table *t)
{
	*t = (struct pycode_table){.size = 1u << SIZE_MIN_LOG2, .shift = 64 - SIZE_MIN_LOG2};
	t->slots = calloc(t->size, sizeof(*t->slots));
	return t->slots ? 0 : -ENOMEM;
}

void pycode_table_release(struct pycode_table *t)
{
	for (uint32_t i = 0; t->slots && i < t->size; i++)
		if (t->slots[i].addr)
			entry_free(t->slots[i].entry);
	free(t->slots);
	t->slots = NULL;
}

static size_t entry_bytes(const struct pycode_entry *e)
{
	return sizeof(*e) + e->table_len + e->n_tlbc * sizeof(*e->tlbc);
}

struct pycode_entry *pycode_table_entry(raddr_t addr, const void *lines, uint32_t len,
					const raddr_t *tlbc, uint32_t n_tlbc)
{
	struct pycode_entry *e = malloc(sizeof(*e) + len);

	if (!e)
		return NULL;
	*e = (struct pycode_entry){.addr = addr, .has_table = lines, .table_len = len};
	if (len)
		memcpy(e->table, lines, len);
	for (size_t i = 0; i < PYCODE_LINES; i++)
		e->lines[i].offset = PYCODE_NO_OFFSET;
	if (n_tlbc) {
		e->tlbc = malloc(n_tlbc * sizeof(*tlbc));
		if (!e->tlbc) {
			free(e);
			return NULL;
		}
		memcpy(e->tlbc, tlbc, n_tlbc * sizeof(*tlbc));
		e->n_tlbc = n_tlbc;
	}
	return e;
}

static void place(struct pycode_table *t, struct pycode_entry *e)
{
	uint32_t i = pycode_table_slot(t, e->addr);

	while (t->slots[i].addr)
		i = (i + 1) & (t->size - 1);
	t->slots[i] = (struct pycode_slot){.addr = e->addr, .entry = e};
}

static int grow(struct pycode_table *t)
{
	struct pycode_slot *old = t->slots;
	uint32_t size = t->size;
	struct pycode_slot *slots = calloc(2 * (size_t)size, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	t->slots = slots;
	t->size = 2 * size;
	t->shift--;
	t->hand = 0;
	for (uint32_t i = 0; i < size; i++)
		if (old[i].addr)
			place(t, old[i].entry);
	free(old);
	return 0;
}

void pycode_table_remove(struct pycode_table *t, raddr_t addr)
{
	uint32_t mask = t->size - 1, i = pycode_table_slot(t, addr), j;

	while (t->slots[i].addr && t->slots[i].addr != addr)
		i = (i + 1) & mask;
	if (!t->slots[i].addr)
		return;
	t->bytes -= entry_bytes(t->slots[i].entry);
	t->n--;
	entry_free(t->slots[i].entry);
	/* whoever was pushed past the gap moves into it */
	for (j = (i + 1) & mask; t->slots[j].addr; j = (j + 1) & mask) {
		uint32_t home = pycode_table_slot(t, t->slots[j].addr);

		if (((j - home) & mask) < ((j - i) & mask))
			continue;
		t->slots[i] = t->slots[j];
		i = j;
	}
	t->slots[i] = (struct pycode_slot){0};
}

/* Of the next few entries the one that was asked for least recently. */
static void evict(struct pycode_table *t)
{
	const struct pycode_entry *oldest = NULL;
	uint32_t seen = 0;

	for (uint32_t i = 0; i < t->size && seen < LOOKED_AT; i++) {
		const struct pycode_slot *s = &t->slots[t->hand];

		t->hand = (t->hand + 1) & (t->size - 1);
		if (!s->addr)
			continue;
		seen++;
		if (!oldest || s->entry->used < oldest->used)
			oldest = s->entry;
	}
	if (oldest)
		pycode_table_remove(t, oldest->addr);
}

int pycode_table_put(struct pycode_table *t, struct pycode_entry *e)
{
	size_t need = entry_bytes(e);

	pycode_table_remove(t, e->addr);
	while (t->n && (t->n >= PYCODE_MAX_ENTRIES || t->bytes + need > PYCODE_MAX_BYTES))
		evict(t);
	if (2 * (t->n + 1) > t->size && grow(t)) {
		entry_free(e);
		return -ENOMEM;
	}
	place(t, e);
	t->n++;
	t->bytes += need;
	return 0;
}

int pycode_table_copy(struct pycode_table *t, const struct pycode_table *from, uint64_t before)
{
	for (uint32_t i = 0; i < from->size; i++) {
		const struct pycode_entry *o = from->slots[i].entry;
		struct pycode_entry *e;
		raddr_t *tlbc;

		if (!from->slots[i].addr || o->seen >= before)
			continue;
		e = pycode_table_entry(o->addr, o->has_table ? o->table : NULL, o->table_len,
				       o->tlbc, o->n_tlbc);
		if (!e)
			return -ENOMEM;
		tlbc = e->tlbc;
		memcpy(e, o, sizeof(*e));
		e->tlbc = tlbc;
		e->used = e->full = 0;
		if (pycode_table_put(t, e))
			return -ENOMEM;
	}
	return 0;
}
