/* Code objects in a fake memory, by any layout, and the cache that names them. */
#ifndef SCRY_SUPPORT_FAKECODE_H
#define SCRY_SUPPORT_FAKECODE_H

#include "symbol/pycode.h"
#include "tests/support/fakemem.h"

#define FAKECODE_TYPE 0x60000000ul
#define FAKECODE_FUNCTION_TYPE 0x60001000ul
#define FAKECODE_MAX 256

/* Its strings and line table lie at fixed distances from it. */
struct fakecode {
	raddr_t addr;
	uint32_t version, firstlineno;
	uint64_t refcnt; /* 0: a live one */
	const char *name, *file;
	uint64_t hash;	     /* of the name; 0: some */
	raddr_t tlbc;	     /* where the array of bytecode copies is */
	raddr_t lines;	     /* 0: its own */
	raddr_t qualname_at; /* 0: its name */
};

/* A cache, and the memory it reads. */
struct fakecache {
	struct layout layout;
	struct names *names;
	struct pycode *cache;
	struct mem *mem;
};

/* By layout_table(), or for 13 and up one that looks like it. */
void fakecache_init(struct fakecache *f, uint32_t minor);
void fakecache_release(struct fakecache *f);
/* pycode_resolve() of one query; *ret_calls: what it cost. */
int fakecache_ask(struct fakecache *f, struct pycode_query *q, uint64_t *ret_calls);
/* "name file:line/firstline" of an answer; "[unreadable]". */
const char *fakecache_text(const struct fakecache *f, const struct pycode_query *q);

raddr_t fakecode_name_at(raddr_t code);
raddr_t fakecode_file_at(raddr_t code);
raddr_t fakecode_lines_at(raddr_t code);
/* An ASCII str object. */
void fakecode_str(struct mem *m, const struct layout *l, raddr_t addr, const char *text,
		  uint64_t hash);
/* A bytes object. */
void fakecode_bytes(struct mem *m, const struct layout *l, raddr_t addr, const void *p, size_t n);
/* The head of the object alone: the bytes that lie at its address. */
void fakecode_head(const struct layout *l, const struct fakecode *c, uint8_t ret[FAKECODE_MAX]);
/* All of it, with a line table: 4 units of the first line, 8 units of the next. */
void fakecode_put(struct mem *m, const struct layout *l, const struct fakecode *c);
/* A frame in it, `offset` bytes behind its first instruction. */
struct pycode_query fakecode_query(const struct layout *l, raddr_t code, uint32_t offset);

#endif
