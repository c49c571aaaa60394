/* A memory made of (address, bytes) regions with holes, failures and changes, for unit tests. */
#include "tests/support/fakemem.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096u

/* In the order they came; for each byte the last one that covers it counts. */
struct region {
	raddr_t addr, last; /* both inside */
	uint8_t *bytes;	    /* NULL: a hole, or a failure */
	int status;
};

struct event {
	struct fakemem_when when;
	bool die;
	int status;
	struct region region;
};

struct fakemem {
	struct mem mem;
	struct region *v;
	size_t n;
	struct event *events;
	size_t n_events;
	int state;
};

static struct fakemem *fake(struct mem *m)
{
	return container_of(m, struct fakemem, mem);
}

static void *more(void *v, size_t n, size_t size)
{
	v = realloc(v, (n + 1) * size);
	cr_assert_not_null(v);
	return v;
}

static void put(struct fakemem *f, struct region r)
{
	f->v = more(f->v, f->n, sizeof(*f->v));
	f->v[f->n++] = r;
}

static struct region region_of(raddr_t addr, const void *bytes, size_t len, int status)
{
	struct region r = {.addr = addr, .last = addr + (len - 1), .status = status};

	cr_assert(len > 0 && r.last >= addr, "a region must not be empty and must not wrap");
	if (bytes) {
		r.bytes = malloc(len);
		cr_assert_not_null(r.bytes);
		memcpy(r.bytes, bytes, len);
	}
	return r;
}

/* What is due before this piece happens, once. */
static void happen(struct fakemem *f, size_t piece)
{
	uint64_t call = f->mem.stats.calls - 1;

	for (size_t i = 0; i < f->n_events; i++) {
		struct event *e = &f->events[i];

		if (e->when.call != call || e->when.piece != piece)
			continue;
		if (e->die)
			f->state = e->status;
		else
			put(f, e->region);
		e->region.bytes = NULL; /* moved */
		e->when.call = UINT64_MAX;
	}
}

static int read_byte(const struct fakemem *f, raddr_t addr, uint8_t *ret)
{
	bool page = false;

	for (size_t i = f->n; i--;) {
		const struct region *r = &f->v[i];

		page |= !r->status && addr / PAGE >= r->addr / PAGE &&
			addr / PAGE <= r->last / PAGE;
		if (addr < r->addr || addr > r->last)
			continue;
		if (r->status)
			return r->status;
		*ret = r->bytes[addr - r->addr];
		return 0;
	}
	*ret = 0;
	return page ? 0 : -EFAULT;
}

static int read_piece(const struct fakemem *f, struct mem_seg *seg)
{
	uint8_t *buf = seg->buf;
	int err = 0;

	for (uint32_t i = 0; i < seg->len && !err; i++)
		err = seg->addr + i < seg->addr ? -EFAULT : read_byte(f, seg->addr + i, &buf[i]);
	return err;
}

static int fakemem_readv(struct mem *m, struct mem_seg *segs, size_t n)
{
	struct fakemem *f = fake(m);

	m->stats.calls++;
	for (size_t i = 0; i < n; i++) {
		happen(f, i);
		segs[i].status = f->state ? f->state : read_piece(f, &segs[i]);
		if (segs[i].status && segs[i].status != -EFAULT)
			f->state = segs[i].status;
	}
	return f->state;
}

static void fakemem_free(struct mem *m)
{
	struct fakemem *f = fake(m);

	for (size_t i = 0; i < f->n; i++)
		free(f->v[i].bytes);
	for (size_t i = 0; i < f->n_events; i++)
		free(f->events[i].region.bytes);
	free(f->events);
	free(f->v);
	free(f);
}

struct mem *fakemem_new(void)
{
	static const struct mem_ops ops = {.readv = fakemem_readv, .free = fakemem_free};
	struct fakemem *f = calloc(1, sizeof(*f));

	cr_assert_not_null(f);
	f->mem.ops = &ops;
	return &f->mem;
}

void fakemem_add(struct mem *m, raddr_t addr, const void *bytes, size_t len)
{
	put(fake(m), region_of(addr, bytes, len, 0));
}

void fakemem_add_u64(struct mem *m, raddr_t addr, uint64_t v)
{
	fakemem_add(m, addr, &v, sizeof(v));
}

void fakemem_add_u32(struct mem *m, raddr_t addr, uint32_t v)
{
	fakemem_add(m, addr, &v, sizeof(v));
}

void fakemem_hole(struct mem *m, raddr_t addr, size_t len)
{
	fakemem_fail(m, addr, len, -EFAULT);
}

void fakemem_fail(struct mem *m, raddr_t addr, size_t len, int status)
{
	put(fake(m), region_of(addr, NULL, len, status));
}

static void plan(struct fakemem *f, struct event e)
{
	f->events = more(f->events, f->n_events, sizeof(*f->events));
	f->events[f->n_events++] = e;
}

void fakemem_change(struct mem *m, struct fakemem_when when, raddr_t addr, const void *bytes,
		    size_t len)
{
	plan(fake(m), (struct event){.when = when, .region = region_of(addr, bytes, len, 0)});
}

void fakemem_die(struct mem *m, struct fakemem_when when, int status)
{
	plan(fake(m), (struct event){.when = when, .die = true, .status = status});
}

void fakemem_state(struct mem *m, int status)
{
	fake(m)->state = status;
}
