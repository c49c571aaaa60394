/*
 * Follow pointers in a process step by step, and see in the end that the way is still the same.
 *
 *	read    root ─▶ table ─▶ object ─▶ text       each found by what the one before said
 *	again   root    table    object    text       in one call, in the same order
 *
 * A process that runs may free what the next step reads, and put something else there. But then
 * some step before it has changed: what was read with no change on the way to it was there. Steps
 * should be no wider than they need: a reference count beside a pointer changes all the time.
 */
#include "remote/trail.h"

#include <errno.h>
#include "base/bytes.h"

void trail_begin(struct trail *t, struct mem *m)
{
	t->mem = m;
	t->n = t->used = 0;
	t->error = 0;
}

const void *trail_read(struct trail *t, raddr_t addr, size_t len)
{
	struct mem_seg *s = &t->steps[t->n];

	if (!t->error && (t->n == TRAIL_STEPS || len > TRAIL_BYTES - t->used))
		t->error = -ENOSPC;
	if (!t->error)
		t->error = mem_read(t->mem, addr, t->bytes + t->used, len);
	if (t->error)
		return NULL;
	*s = (struct mem_seg){.addr = addr, .len = (uint32_t)len, .buf = t->bytes + t->used};
	t->used += len;
	t->n++;
	return s->buf;
}

uint64_t trail_read_u64(struct trail *t, raddr_t addr)
{
	const void *bytes = trail_read(t, addr, sizeof(uint64_t));

	return bytes ? bytes_load64(bytes) : 0;
}

uint64_t trail_peek_u64(struct trail *t, raddr_t addr)
{
	uint64_t v = 0;

	if (!t->error)
		t->error = mem_read_u64(t->mem, addr, &v);
	return v;
}

bool trail_holds(struct trail *t)
{
	struct mem_seg again[TRAIL_STEPS];
	uint8_t bytes[TRAIL_BYTES];

	for (size_t i = 0; i < t->n; i++) {
		again[i] = t->steps[i];
		again[i].buf = bytes + ((const uint8_t *)t->steps[i].buf - t->bytes);
	}
	if (!t->error)
		t->error = mem_readv(t->mem, again, t->n);
	for (size_t i = 0; i < t->n && !t->error; i++)
		if (again[i].status || memcmp(again[i].buf, t->steps[i].buf, again[i].len) != 0)
			t->error = -EAGAIN;
	return !t->error;
}
