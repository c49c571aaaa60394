/* Code objects in a fake memory, by any layout, and the cache that names them. */
#include "tests/support/fakecode.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_AT 0x10000
#define FILE_AT 0x20000
#define LINES_AT 0x30000
#define ASCII_STATE (1u | 8 | 16 | 32) /* kind 1, compact, ascii, ready */
#define UNITS 12
#define PAGE 4096

void fakecache_init(struct fakecache *f, uint32_t minor)
{
	const struct layout *l = layout_table(MIN(minor, 12));

	cr_assert_not_null(l);
	f->layout = *l;
	if (minor > 12) {
		f->layout.minor = minor;
		f->layout.proof = LAYOUT_PROOF_COUNTER;
		f->layout.instr = LAYOUT_INSTR_PTR;
		f->layout.interp.next_version = 0x100;
		f->layout.interp.generation = minor > 13 ? 0x108 : LAYOUT_NONE;
		f->layout.code.tlbc = f->layout.code.bytecode;
		f->layout.code.bytecode += 8;
		f->layout.code.size += 8;
	}
	f->names = names_new();
	f->mem = fakemem_new();
	cr_assert(f->names && f->mem);
	f->cache = pycode_new(f->names, &f->layout,
			      (struct code_types){FAKECODE_TYPE, FAKECODE_FUNCTION_TYPE}, 0);
	cr_assert_not_null(f->cache);
}

void fakecache_release(struct fakecache *f)
{
	pycode_free(f->cache);
	mem_free(f->mem);
	names_free(f->names);
}

int fakecache_ask(struct fakecache *f, struct pycode_query *q, uint64_t *ret_calls)
{
	uint64_t calls = f->mem->stats.calls;
	int err;

	pycode_emptied(f->cache);
	err = pycode_resolve(f->cache, f->mem, q, 1);
	if (ret_calls)
		*ret_calls = f->mem->stats.calls - calls;
	return err;
}

const char *fakecache_text(const struct fakecache *f, const struct pycode_query *q)
{
	static char text[1024];
	const struct frame *frame = names_frame_at(f->names, q->ret_frame);
	size_t n;

	cr_assert_not_null(frame);
	cr_assert_eq(q->ret_named, frame->kind == FRAME_PYTHON);
	if (frame->kind == FRAME_MARKER)
		return names_string_at(f->names, frame->func, &n);
	snprintf(text, sizeof(text), "%.400s %.400s:%u/%u",
		 names_string_at(f->names, frame->func, &n),
		 names_string_at(f->names, frame->file, &n), frame->line, frame->firstline);
	return text;
}

raddr_t fakecode_name_at(raddr_t code)
{
	return code + NAME_AT;
}

raddr_t fakecode_file_at(raddr_t code)
{
	return code + FILE_AT;
}

raddr_t fakecode_lines_at(raddr_t code)
{
	return code + LINES_AT;
}

static void put64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

/* What is behind an object in its page is mapped as well. */
static size_t to_page_end(raddr_t addr, size_t n)
{
	return (addr + n + PAGE - 1) / PAGE * PAGE - addr;
}

static void put32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

void fakecode_str(struct mem *m, const struct layout *l, raddr_t addr, const char *text,
		  uint64_t hash)
{
	size_t n = strlen(text), size = to_page_end(addr, l->str.ascii_data + n + 1);
	uint8_t *p = calloc(1, size);

	cr_assert_not_null(p);
	put64(p + l->str.length, n);
	put64(p + l->str.hash, hash);
	memcpy(p + l->str.ascii_data, text, n);
	put32(p + l->str.state, ASCII_STATE << l->str.kind_shift);
	fakemem_add(m, addr, p, size);
	free(p);
}

void fakecode_bytes(struct mem *m, const struct layout *l, raddr_t addr, const void *bytes,
		    size_t n)
{
	size_t size = to_page_end(addr, l->bytes.data + n + 1);
	uint8_t *p = calloc(1, size);

	cr_assert_not_null(p);
	put64(p + l->bytes.size, n);
	memcpy(p + l->bytes.data, bytes, n);
	fakemem_add(m, addr, p, size);
	free(p);
}

void fakecode_head(const struct layout *l, const struct fakecode *c, uint8_t ret[FAKECODE_MAX])
{
	raddr_t name = fakecode_name_at(c->addr);

	memset(ret, 0, FAKECODE_MAX);
	put64(ret + l->object.refcnt, c->refcnt ? c->refcnt : 2);
	put64(ret + l->object.type, FAKECODE_TYPE);
	put64(ret + l->code.name, name);
	put64(ret + l->code.filename, fakecode_file_at(c->addr));
	put64(ret + l->code.lines, c->lines ? c->lines : fakecode_lines_at(c->addr));
	put32(ret + l->code.firstlineno, c->firstlineno);
	if (l->code.qualname != LAYOUT_NONE)
		put64(ret + l->code.qualname, c->qualname_at ? c->qualname_at : name);
	if (l->code.version != LAYOUT_NONE)
		put32(ret + l->code.version, c->version);
	if (l->code.tlbc != LAYOUT_NONE)
		put64(ret + l->code.tlbc, c->tlbc);
	if (l->code.bytecode != LAYOUT_NONE)
		put64(ret + l->object.size, UNITS);
}

void fakecode_put(struct mem *m, const struct layout *l, const struct fakecode *c)
{
	static const uint8_t locations[] = {0x80 | 10 << 3 | 3, 0, 0, 0x80 | 11 << 3 | 7, 0, 0};
	static const uint8_t lnotab[] = {8, 1}; /* the last line holds to the end */
	static const uint8_t pairs310[] = {8, 0, 16, 1};
	uint8_t head[FAKECODE_MAX];
	raddr_t lines = fakecode_lines_at(c->addr);

	fakecode_head(l, c, head);
	fakemem_add(m, c->addr, head, l->code.size);
	fakecode_str(m, l, fakecode_name_at(c->addr), c->name, c->hash ? c->hash : 77);
	fakecode_str(m, l, fakecode_file_at(c->addr), c->file, 78);
	if (l->lines == LAYOUT_LOCATIONS)
		fakecode_bytes(m, l, lines, locations, sizeof(locations));
	else if (l->lines == LAYOUT_LNOTAB)
		fakecode_bytes(m, l, lines, lnotab, sizeof(lnotab));
	else
		fakecode_bytes(m, l, lines, pairs310, sizeof(pairs310));
}

struct pycode_query fakecode_query(const struct layout *l, raddr_t code, uint32_t offset)
{
	struct pycode_query q = {.code = code, .id = {.proof = l->proof, .ok = true}};

	if (l->instr == LAYOUT_LASTI_BYTES)
		q.instr = offset;
	else if (l->instr == LAYOUT_LASTI_UNITS)
		q.instr = offset / 2;
	else
		q.instr = code + l->code.bytecode + offset;
	q.id.name_hash = 77;
	q.id.filename = l->proof == LAYOUT_PROOF_NAME ? fakecode_file_at(code) : 0;
	return q;
}
