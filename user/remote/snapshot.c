/*
 * What was read of a process at one moment: bytes, looked up by remote address.
 *
 * A sample has a handful of spans, a process with many threads some hundreds, and lookups outnumber
 * them. Spans are kept in the order they came; `order` lists the first `sorted` of them by address,
 * and `reach` says for each place in that list how far the spans up to there reach, so that a
 * search backwards knows when no span can hold the address any more:
 *
 *	order   [10,90)  [20,24)  [30,34)     address 40: the search starts at [30,34), which does
 *	reach      90       90       90       not hold it, and goes on to [10,90) since reach is 90
 *
 * What came after the last sort is a tail that is searched one by one; when it has become long, a
 * lookup sorts it and merges it in. A process is read again and again with the same spans: where
 * they lie as at the time before, the order of that time is taken.
 */
#include "remote/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SNAPSHOT_TAIL 32u

struct span {
	raddr_t addr, end;
	const uint8_t *bytes;
	bool used; /* a lookup was answered from it */
};

struct place {
	raddr_t addr;
	raddr_t reach;
	uint32_t span;
};

struct snapshot {
	struct span *v;
	struct place *order, *spare;
	size_t n, cap;
	size_t sorted;
	size_t ordered; /* places that `order` has from before the reset */
};

struct snapshot *snapshot_new(void)
{
	return calloc(1, sizeof(struct snapshot));
}

void snapshot_free(struct snapshot *s)
{
	if (!s)
		return;
	free(s->v);
	free(s->order);
	free(s->spare);
	free(s);
}

void snapshot_reset(struct snapshot *s)
{
	if (s->sorted)
		s->ordered = s->sorted;
	s->n = 0;
	s->sorted = 0;
}

static int grow(struct snapshot *s)
{
	size_t cap = s->cap ? s->cap * 2 : 64;
	struct place *order, *spare;
	struct span *v;

	v = realloc(s->v, cap * sizeof(*v));
	if (!v)
		return -ENOMEM;
	s->v = v;
	order = realloc(s->order, cap * sizeof(*order));
	if (!order)
		return -ENOMEM;
	s->order = order;
	spare = realloc(s->spare, cap * sizeof(*spare));
	if (!spare)
		return -ENOMEM;
	s->spare = spare;
	s->cap = cap;
	return 0;
}

int snapshot_add(struct snapshot *s, raddr_t addr, const void *bytes, size_t len)
{
	raddr_t end;
	int err;

	if (__builtin_add_overflow(addr, len, &end))
		return -EINVAL;
	if (!len)
		return 0;
	if (s->n == SNAPSHOT_MAX_SPANS)
		return -ENOSPC;
	if (s->n == s->cap) {
		err = grow(s);
		if (err)
			return err;
	}
	s->v[s->n++] = (struct span){.addr = addr, .end = end, .bytes = bytes};
	return 0;
}

static int by_addr(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Whether the order of the time before is that of the spans there are now. */
static bool same_order(const struct snapshot *s)
{
	if (s->sorted || s->n != s->ordered)
		return false;
	for (size_t i = 0; i < s->n; i++)
		if (s->v[s->order[i].span].addr != s->order[i].addr)
			return false;
	return true;
}

/* Puts the tail, which is sorted, between the places that were sorted before. */
static void merge(struct snapshot *s, size_t tail)
{
	size_t i = s->sorted, j = tail, at = s->sorted + tail;

	memcpy(s->spare, s->order + s->sorted, tail * sizeof(*s->spare));
	while (j) {
		if (i && s->order[i - 1].addr > s->spare[j - 1].addr)
			s->order[--at] = s->order[--i];
		else
			s->order[--at] = s->spare[--j];
	}
}

static void sort(struct snapshot *s)
{
	size_t tail = s->n - s->sorted;
	raddr_t reach = 0;

	if (!same_order(s)) {
		for (size_t i = s->sorted; i < s->n; i++)
			s->order[i] = (struct place){.addr = s->v[i].addr, .span = (uint32_t)i};
		qsort(s->order + s->sorted, tail, sizeof(*s->order), by_addr);
		if (s->sorted)
			merge(s, tail);
	}
	for (size_t i = 0; i < s->n; i++) {
		reach = MAX(reach, s->v[s->order[i].span].end);
		s->order[i].reach = reach;
	}
	s->sorted = s->n;
}

/* The latest sorted span that holds [addr, end); NULL if none does. */
static struct span *search(const struct snapshot *s, raddr_t addr, raddr_t end)
{
	struct span *found = NULL;
	size_t lo = 0, hi = s->sorted;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->order[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	while (lo-- && s->order[lo].reach >= end) {
		struct span *span = &s->v[s->order[lo].span];

		if (span->end >= end && (!found || span > found))
			found = span;
	}
	return found;
}

bool snapshot_find(struct snapshot *s, raddr_t addr, size_t len, struct snapshot_view *ret)
{
	struct span *found = NULL;
	raddr_t end;

	if (__builtin_add_overflow(addr, len, &end))
		return false;
	if (s->n - s->sorted > SNAPSHOT_TAIL)
		sort(s);
	for (size_t i = s->n; i-- > s->sorted && !found;)
		if (s->v[i].addr <= addr && s->v[i].end >= end)
			found = &s->v[i];
	if (!found)
		found = search(s, addr, end);
	if (!found)
		return false;
	found->used = true;
	*ret = (struct snapshot_view){
		.addr = found->addr, .end = found->end, .bytes = found->bytes};
	return true;
}

const void *snapshot_at(struct snapshot *s, raddr_t addr, size_t len)
{
	struct snapshot_view v;

	return snapshot_find(s, addr, len, &v) ? v.bytes + (addr - v.addr) : NULL;
}

size_t snapshot_count(const struct snapshot *s)
{
	return s->n;
}

bool snapshot_used(const struct snapshot *s, size_t span)
{
	return span < s->n && s->v[span].used;
}
