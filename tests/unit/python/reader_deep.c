/* Stacks that are deeper than anything else: they come whole, or their leaf end and say so. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "python/reader.h"
#include "tests/support/fakestack.h"

#define CHUNKS 0x1000000000ul
#define CHUNK_SIZE 0x4000u
#define PER_CHUNK 200u /* frames of 80 bytes */
#define HEAP 0x2000000000ul
#define ROOT 0x7ffff000ul

/* A fake process whose frames are made when they are read: fakemem would take hours. */
struct deep {
	struct mem mem;
	struct mem *rest;
	const struct layout *l;
	size_t depth; /* SIZE_MAX: it never ends */
};

static raddr_t frame_at(const struct layout *l, size_t i)
{
	if (l->object_frames)
		return HEAP + i * 512;
	return CHUNKS + i / PER_CHUNK * CHUNK_SIZE + 24 + i % PER_CHUNK * l->frame.size;
}

/* Frame i, counted from the leaf; its caller is i + 1. */
static void make_frame(const struct deep *d, size_t i, uint8_t *p)
{
	const struct layout *l = d->l;
	uint64_t code = fakestack_code(i % 3), previous = frame_at(l, i + 1);

	if (i + 1 == d->depth)
		previous = l->frame.owner_entry == LAYOUT_NONE ? 0 : ROOT;
	memset(p, 0, l->frame.size);
	memcpy(p + l->frame.code, &code, 8);
	memcpy(p + l->frame.previous, &previous, 8);
	if (l->minor == 11)
		p[l->frame.owner - 1] = !previous;
}

static void make_chunk(const struct deep *d, size_t i, uint8_t *p)
{
	uint64_t head[3] = {CHUNKS + (i + 1) * CHUNK_SIZE, CHUNK_SIZE,
			    PER_CHUNK * d->l->frame.size / 8};

	memset(p, 0, CHUNK_SIZE);
	memcpy(p, head, sizeof(head));
	for (size_t k = 0; k < PER_CHUNK; k++)
		make_frame(d, i * PER_CHUNK + k, p + 24 + k * d->l->frame.size);
}

/* One piece, by units of a chunk or a heap frame's place. */
static void make(const struct deep *d, struct mem_seg *seg)
{
	bool heap = d->l->object_frames;
	raddr_t base = heap ? HEAP : CHUNKS, unit = heap ? 512 : CHUNK_SIZE;
	uint8_t bytes[CHUNK_SIZE] = {0};
	uint32_t done = 0;

	while (done < seg->len) {
		raddr_t at = seg->addr + done - base, in = at % unit;
		uint32_t n = MIN(seg->len - done, (uint32_t)(unit - in));

		if (heap)
			make_frame(d, at / unit, bytes);
		else
			make_chunk(d, at / unit, bytes);
		memcpy((uint8_t *)seg->buf + done, bytes + in, n);
		done += n;
	}
	seg->status = 0;
}

static int deep_readv(struct mem *m, struct mem_seg *v, size_t n)
{
	struct deep *d = container_of(m, struct deep, mem);

	m->stats.calls += (n + 1023) / 1024;
	for (size_t i = 0; i < n; i++)
		if (v[i].addr >= CHUNKS && v[i].addr < 2 * HEAP)
			make(d, &v[i]);
		else
			mem_readv(d->rest, &v[i], 1);
	return 0;
}

static void deep_free(struct mem *m)
{
	(void)m;
}

static void read_deep(uint32_t minor, size_t depth, struct reader_thread *ret, uint64_t *ret_calls)
{
	static const struct mem_ops ops = {.readv = deep_readv, .free = deep_free};
	struct layout l = fakestack_layout(minor);
	struct fakepython p = {&l, 1, 1, false, 0};
	struct deep d = {.mem.ops = &ops, .rest = fakepython_new(&p), .l = &l, .depth = depth};
	struct discover_found f = fakestack_found(&p);
	struct reader_thread t = {.thread_ptr = FAKEPYTHON_THREAD_ID};
	struct reader *r;
	uint64_t calls;
	raddr_t state = fakepython_state(0), leaf = frame_at(&l, 0);

	fakestack_add(d.rest, &l, 0, 3, 0); /* the code objects */
	fakestack_frame(d.rest, &l, ROOT, 0, 0x1230, 3);
	fakestack_leaf(d.rest, &l, 0, leaf);
	if (l.tstate.datastack_chunk != LAYOUT_NONE) {
		fakemem_add_u64(d.rest, state + l.tstate.datastack_chunk, CHUNKS);
		fakemem_add_u64(d.rest, state + l.tstate.datastack_chunk + 8, CHUNKS + CHUNK_SIZE);
		fakemem_add_u64(d.rest, state + l.tstate.datastack_chunk + 16, CHUNKS + CHUNK_SIZE);
	}
	r = reader_new(&f, &d.mem);
	cr_assert_eq(reader_read(r, &t, 1), 0);
	calls = d.mem.stats.calls;
	cr_assert_eq(reader_read(r, &t, 1), 0);
	*ret_calls = d.mem.stats.calls - calls;
	for (size_t i = 0; i < t.n; i++) {
		cr_assert_eq(reader_frames(r)[t.first + i].addr, frame_at(&l, i));
		cr_assert(reader_ids(r)[t.first + (t.one_id ? 0 : i)].ok);
	}
	*ret = t;
	reader_free(r);
	mem_free(d.rest);
}

Test(reader_deep, a_hundred_thousand_frames_come_whole, .timeout = 60)
{
	for (uint32_t minor = 11; minor <= 13; minor++) {
		struct reader_thread t;
		uint64_t calls;

		read_deep(minor, 100000, &t, &calls);
		cr_assert_eq(t.status, READER_STACK, "3.%u: %d", minor, t.status);
		cr_assert_eq(t.n, 100000);
		cr_assert_eq(calls, 1);
	}
}

Test(reader_deep, objects_on_the_heap_too, .timeout = 60)
{
	struct reader_thread t;
	uint64_t calls;

	read_deep(10, 20000, &t, &calls);
	cr_assert_eq(t.status, READER_STACK, "%d", t.status);
	cr_assert_eq(t.n, 20000);
	cr_assert_eq(calls, 1, "%lu", (unsigned long)calls);
}

Test(reader_deep, past_the_limit_the_leaf_end_is_kept, .timeout = 60)
{
	struct reader_thread t;
	uint64_t calls;

	read_deep(13, SIZE_MAX, &t, &calls);
	cr_assert_eq(t.status, READER_CUT);
	cr_assert_gt(t.n, 100000);
}
