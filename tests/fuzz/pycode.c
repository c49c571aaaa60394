/*
 * Fuzz the cache of code objects: a target whose memory says anything, and something else each
 * time.
 *
 * The memory is one page over and over: code objects with all their strings and tables, which the
 * input changes (zeroes leave them as they are).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
#include "fuzz/layouts.h"
#include "symbol/pycode.h"

#define BASE 0x7f0000000000ull
#define SIZE (1u << 20)
#define QUERIES 8
#define PAGE 4096
#define TYPE (BASE + 0xf00)
#define STR 0x400
#define LINES 0x600
#define TLBC 0x700

struct memory {
	struct mem mem;
	uint8_t page[PAGE];
	const uint8_t *data;
	size_t len;
	unsigned int turn; /* calls so far */
	unsigned int dies; /* at this one */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int readv(struct mem *m, struct mem_seg *segs, size_t n)
{
	struct memory *f = container_of(m, struct memory, mem);
	int err = ++f->turn == f->dies ? -ESRCH : 0;

	for (size_t i = 0; i < n; i++) {
		uint8_t *to = segs[i].buf;

		segs[i].status = err;
		if (segs[i].addr < BASE || segs[i].addr - BASE + segs[i].len > SIZE)
			segs[i].status = -EFAULT;
		for (uint32_t k = 0; k < segs[i].len && !segs[i].status; k++)
			to[k] = f->page[(segs[i].addr + k) % PAGE] ^
				f->data[(segs[i].addr - BASE + k) % f->len];
	}
	return err;
}

static const struct mem_ops ops = {.readv = readv};

static void put(uint8_t *page, uint32_t at, uint64_t word)
{
	memcpy(page + at, &word, sizeof(word));
}

/* Code objects every 0x100 bytes up to STR, a string, a line table, an array of bytecode copies. */
static void fill(const struct layout *l, uint8_t *page)
{
	for (uint32_t at = 0; at < STR; at += 0x100) {
		if (l->free_threaded)
			memcpy(page + at + l->object.refcnt, "\2\0\0\0", 4);
		else
			put(page, at + l->object.refcnt, 2);
		put(page, at + l->object.type, TYPE);
		put(page, at + l->object.size, 40);
		put(page, at + l->code.firstlineno, 7 | at << 20);
		if (l->code.version != LAYOUT_NONE)
			put(page, at + l->code.version, 0x10000000 + at);
		put(page, at + l->code.filename, BASE + STR);
		put(page, at + l->code.name, BASE + STR);
		put(page, at + l->code.lines, BASE + LINES);
		if (l->code.qualname != LAYOUT_NONE)
			put(page, at + l->code.qualname, BASE + STR);
		if (l->code.tlbc != LAYOUT_NONE)
			put(page, at + l->code.tlbc, BASE + TLBC);
	}
	put(page, STR + l->str.length, 9);
	put(page, STR + l->str.hash, 5);
	put(page, STR + l->str.state, (1u | 8 | 16 | 32) << l->str.kind_shift);
	memcpy(page + STR + l->str.ascii_data, "some name", 9);
	put(page, LINES + l->bytes.size, 16);
	memset(page + LINES + l->bytes.data, 0x80 | 11 << 3 | 3, 16);
	put(page, TLBC, 3);
	put(page, TLBC + 16, BASE + 0x2000);
}

static void ask(struct bytes *b, const struct layout *l, struct pycode_query *q)
{
	for (int i = 0; i < QUERIES; i++) {
		q[i] = (struct pycode_query){
			.code = BASE + 0x40ull * (bytes_u8(b) % 64),
			.instr = BASE + bytes_u16(b),
			.tlbc = bytes_u8(b) % 4,
			.id = {.proof = l->proof,
			       .ok = true,
			       .name_hash = bytes_u8(b),
			       .filename = BASE + STR + bytes_u8(b) % 2 * 8ull,
			       .firstlineno = 7 + (bytes_u8(b) % 4 << 28),
			       .version = 0x10000000u + (bytes_u8(b) << 8),
			       .has_generation = true,
			       .generation = bytes_u8(b),
			       .interp = BASE},
		};
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bytes b = bytes_of(data, len);
	struct memory f = {.mem = {.ops = &ops}};
	struct pycode_query q[QUERIES];
	struct names *names = names_new();
	struct pycode *cache = NULL;
	struct layout l;

	layouts_get(bytes_u8(&b), &l);
	if (l.minor > 12) {
		l.proof = LAYOUT_PROOF_COUNTER;
		l.interp.generation = 64;
		l.code.tlbc = l.code.bytecode;
		l.code.bytecode += 8;
		l.code.size += 8;
	}
	fill(&l, f.page);
	f.dies = bytes_u8(&b) % 16;
	ask(&b, &l, q);
	f.data = b.p;
	f.len = b.len;
	if (names && b.len)
		cache = pycode_new(names, &l,
				   (struct code_types){.code = bytes_u8(&b) % 2 ? TYPE : 0}, BASE);
	for (int i = 0; cache && i < 4; i++) {
		pycode_resolve(cache, &f.mem, q, QUERIES);
		for (int k = 0; k < QUERIES; k++) {
			if (q[k].ret_frame >= names_frames(names))
				abort();
			q[k].id.version += 0x1000;
			q[k].id.generation ^= i;
		}
		f.data += MIN(f.len - 1, 1);
		f.len -= MIN(f.len - 1, 1);
	}
	pycode_free(cache);
	names_free(names);
	return 0;
}
