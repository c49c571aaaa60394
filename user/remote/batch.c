/*
 * Collect pieces to read, read them in one call, and leave the bytes in a snapshot.
 *
 * Pieces that may be read in any order are read by address, neighbours as one segment:
 *
 *	asked for   | words | state 2 | chunk 1 | state 1 | state 2 | words |
 *	read        | words | states 1 and 2    | chunk 1 |           words |
 *
 * A segment costs the kernel 0.54 us, a further page of one 0.27, a KiB 0.1 (measured). A gap is
 * smaller than a page, so that all its bytes share a page with a neighbour: a segment can be read
 * where all its pieces can. Where one can't, the others have not come either; who needs them asks
 * again, and then each is read by itself.
 *
 * What is asked for is mostly what was asked for the time before, and so is then the plan.
 *
 * The bytes lie in blocks that stay until the reset, so that what an earlier run of the same batch
 * brought (a second run reads only the pieces that are new) does not move.
 */
#include "remote/batch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define BATCH_ALIGN 16u
#define BATCH_MIN_BLOCK (64u << 10)
#define BATCH_MIN_SLOTS 256u
#define BATCH_KEEP_BLOCK (2u << 20) /* larger ones are given back at the reset */
#define BATCH_GAP 2048u		    /* between neighbours; less than a page */
#define BATCH_SEGMENT (64u << 10)   /* neighbours that are read as one: what a bad one costs */

struct block {
	struct block *next;
	size_t used, cap;
	_Alignas(BATCH_ALIGN) uint8_t data[];
};

struct slot {
	uint32_t age, piece;
};

struct piece {
	raddr_t addr;
	uint32_t len;
	uint32_t seg; /* it was read with */
	bool near;    /* in any order, with its neighbours */
};

/* A piece, to be sorted. */
struct place {
	raddr_t addr;
	uint32_t len, piece;
};

struct batch {
	struct piece *v;
	size_t n, cap;
	size_t done; /* pieces that earlier runs have tried */
	struct mem_seg *segs;
	size_t n_segs, cap_segs;
	size_t given; /* segments that batch_into() has passed on */
	struct place *places;
	size_t cap_places;
	size_t kept, kept_segs; /* pieces and segments of the first run before the reset */
	bool same;		/* what was asked for since is what was asked for then */
	struct slot *slots;	/* of batch_once(), by address and length; a power of two */
	size_t n_slots, cap_slots;
	uint32_t age;	      /* of the slots that count: a reset makes all others old */
	uint64_t bytes;	      /* asked for since the reset */
	struct block *blocks; /* the newest first */
};

static size_t room_of(uint32_t len)
{
	return ((size_t)len + BATCH_ALIGN - 1) & ~(size_t)(BATCH_ALIGN - 1);
}

struct batch *batch_new(void)
{
	struct batch *b = calloc(1, sizeof(*b));

	if (b)
		b->age = 1;
	return b;
}

void batch_free(struct batch *b)
{
	if (!b)
		return;
	while (b->blocks) {
		struct block *next = b->blocks->next;

		free(b->blocks);
		b->blocks = next;
	}
	free(b->slots);
	free(b->places);
	free(b->segs);
	free(b->v);
	free(b);
}

/* Keeps the largest block: most reads are like the last one. */
void batch_reset(struct batch *b)
{
	struct block *keep = NULL, *block, *next;

	for (block = b->blocks; block; block = next) {
		struct block *drop = block;

		next = block->next;
		if (block->cap <= BATCH_KEEP_BLOCK && (!keep || block->cap > keep->cap)) {
			drop = keep;
			keep = block;
		}
		free(drop);
	}
	if (keep) {
		keep->next = NULL;
		keep->used = 0;
	}
	b->blocks = keep;
	b->n = b->n_segs = 0;
	b->done = 0;
	b->given = 0;
	b->same = true;
	b->bytes = 0;
	b->n_slots = 0;
	if (!++b->age) { /* once in 4 billion resets: what is old must not look new */
		if (b->slots)
			memset(b->slots, 0, b->cap_slots * sizeof(*b->slots));
		b->age = 1;
	}
}

static int ask(struct batch *b, raddr_t addr, uint32_t len, bool near, size_t *ret_index)
{
	size_t room = room_of(len);
	struct piece *p;

	if (b->bytes + room > BATCH_MAX_BYTES || b->n == SNAPSHOT_MAX_SPANS)
		return -ENOSPC;
	if (vec_reserve(&b->v, &b->cap, b->n + 1, sizeof(*b->v)))
		return -ENOMEM;
	p = &b->v[b->n];
	b->same = b->same && b->n < b->kept && p->addr == addr && p->len == len && p->near == near;
	if (!b->same) {
		if (b->n < b->kept) /* there is no plan for it, whether it will be read or not */
			b->kept = b->kept_segs = 0;
		*p = (struct piece){.addr = addr, .len = len, .near = near};
	}
	b->bytes += room;
	*ret_index = b->n++;
	return 0;
}

int batch_want(struct batch *b, raddr_t addr, uint32_t len, size_t *ret_index)
{
	return ask(b, addr, len, false, ret_index);
}

int batch_near(struct batch *b, raddr_t addr, uint32_t len, size_t *ret_index)
{
	return ask(b, addr, len, true, ret_index);
}

static size_t slot_of(const struct batch *b, raddr_t addr, uint32_t len)
{
	uint64_t h = (addr ^ (uint64_t)len << 48) * 0x9e3779b97f4a7c15ull;

	return (size_t)(h >> 32) & (b->cap_slots - 1);
}

/* The slot of a piece, or the one where it belongs. */
static struct slot *find_slot(const struct batch *b, raddr_t addr, uint32_t len)
{
	size_t i = slot_of(b, addr, len);

	for (;; i = (i + 1) & (b->cap_slots - 1)) {
		struct slot *s = &b->slots[i];

		if (s->age != b->age || (b->v[s->piece].addr == addr && b->v[s->piece].len == len))
			return s;
	}
}

static int grow_slots(struct batch *b)
{
	size_t cap = b->cap_slots ? b->cap_slots * 2 : BATCH_MIN_SLOTS, old = b->cap_slots;
	struct slot *slots = calloc(cap, sizeof(*slots)), *before = b->slots;

	if (!slots)
		return -ENOMEM;
	b->slots = slots;
	b->cap_slots = cap;
	for (size_t i = 0; i < old; i++)
		if (before[i].age == b->age)
			*find_slot(b, b->v[before[i].piece].addr, b->v[before[i].piece].len) =
				before[i];
	free(before);
	return 0;
}

int batch_once(struct batch *b, raddr_t addr, uint32_t len, size_t *ret_index)
{
	struct slot *s;
	size_t index;
	bool again;
	int err;

	if (b->n_slots >= b->cap_slots / 2 && grow_slots(b))
		return -ENOMEM;
	s = find_slot(b, addr, len);
	again = s->age == b->age && batch_status(b, s->piece) == -ENODATA;
	if (s->age != b->age || again) {
		err = ask(b, addr, len, !again, &index);
		if (err)
			return err;
		b->n_slots += !again;
		*s = (struct slot){.age = b->age, .piece = (uint32_t)index};
	}
	*ret_index = s->piece;
	return 0;
}

static int by_addr(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Whether the piece is read with the segment; *gaps: bytes that nobody asked for. */
static bool joins(const struct mem_seg *seg, const struct place *p, size_t *gaps)
{
	uint64_t at = p->addr - seg->addr, end, gap;

	if (__builtin_add_overflow(at, p->len, &end))
		return false; /* around the end of memory, and back into the segment */
	if (end <= seg->len)
		return true;
	gap = at > seg->len ? at - seg->len : 0;
	if (end > BATCH_SEGMENT || gap > BATCH_GAP || *gaps + gap > BATCH_MAX_BYTES)
		return false;
	*gaps += gap;
	return true;
}

static void add_seg(struct batch *b, raddr_t addr, uint32_t len)
{
	b->segs[b->n_segs++] = (struct mem_seg){.addr = addr, .len = len};
}

/* Segments for n pieces that may be read in any order. */
static void plan_near(struct batch *b, size_t first, size_t n, size_t *gaps)
{
	struct place *v = b->places;

	for (size_t i = 0; i < n; i++)
		v[i] = (struct place){b->v[first + i].addr, b->v[first + i].len,
				      (uint32_t)(first + i)};
	qsort(v, n, sizeof(*v), by_addr);
	for (size_t i = 0; i < n; i++) {
		struct mem_seg *seg = i ? &b->segs[b->n_segs - 1] : NULL;

		if (seg && joins(seg, &v[i], gaps))
			seg->len = MAX(seg->len, (uint32_t)(v[i].addr - seg->addr) + v[i].len);
		else
			add_seg(b, v[i].addr, v[i].len);
		b->v[v[i].piece].seg = (uint32_t)(b->n_segs - 1);
	}
}

/* Segments for the pieces that are new. */
static int plan(struct batch *b)
{
	size_t new = b->n - b->done, gaps = 0, end;

	if (!b->done && b->same && b->n == b->kept) {
		b->n_segs = b->kept_segs;
		return 0;
	}
	if (!b->done)
		b->kept = b->kept_segs = 0;
	if (vec_reserve(&b->segs, &b->cap_segs, b->n_segs + new, sizeof(*b->segs)) ||
	    vec_reserve(&b->places, &b->cap_places, new, sizeof(*b->places)))
		return -ENOMEM;
	for (size_t i = b->done; i < b->n; i = end) {
		for (end = i; end < b->n && b->v[end].near;)
			end++;
		if (end > i) {
			plan_near(b, i, end - i, &gaps);
			continue;
		}
		add_seg(b, b->v[i].addr, b->v[i].len);
		b->v[i].seg = (uint32_t)(b->n_segs - 1);
		end = i + 1;
	}
	if (!b->done) {
		b->kept = b->n;
		b->kept_segs = b->n_segs;
	}
	return 0;
}

/* Gives every segment from `first` on its place. */
static int place(struct batch *b, size_t first)
{
	struct block *block = b->blocks;
	size_t need = 0;

	for (size_t i = first; i < b->n_segs; i++)
		need += room_of(b->segs[i].len);
	if (!block || block->cap - block->used < need) {
		size_t cap = MAX(need, (size_t)BATCH_MIN_BLOCK);

		block = malloc(sizeof(*block) + cap);
		if (!block)
			return -ENOMEM;
		block->used = 0;
		block->cap = cap;
		block->next = b->blocks;
		b->blocks = block;
	}
	for (size_t i = first; i < b->n_segs; i++) {
		b->segs[i].buf = block->data + block->used;
		block->used += room_of(b->segs[i].len);
	}
	return 0;
}

int batch_run(struct batch *b, struct mem *m)
{
	size_t first = b->n_segs;
	int err = plan(b);

	if (!err)
		err = place(b, first);
	if (err) {
		b->n_segs = first;
		return err;
	}
	err = mem_readv(m, b->segs + first, b->n_segs - first);
	b->done = b->n;
	return err;
}

const void *batch_at(const struct batch *b, size_t index)
{
	const struct piece *p;
	const struct mem_seg *seg;

	if (index >= b->done)
		return NULL;
	p = &b->v[index];
	seg = &b->segs[p->seg];
	return seg->status ? NULL : (const uint8_t *)seg->buf + (p->addr - seg->addr);
}

uint32_t batch_len(const struct batch *b, size_t index)
{
	return b->v[index].len;
}

int batch_status(const struct batch *b, size_t index)
{
	const struct piece *p;
	const struct mem_seg *seg;

	if (index >= b->done)
		return index < b->n ? -EAGAIN : -EINVAL;
	p = &b->v[index];
	seg = &b->segs[p->seg];
	if (seg->status == -EFAULT && (p->addr != seg->addr || p->len != seg->len))
		return -ENODATA;
	return seg->status;
}

int batch_into(struct batch *b, struct snapshot *s)
{
	int err = 0;

	for (; b->given < b->n_segs && !err; b->given++) {
		const struct mem_seg *seg = &b->segs[b->given];

		if (!seg->status)
			err = snapshot_add(s, seg->addr, seg->buf, seg->len);
	}
	return err;
}
