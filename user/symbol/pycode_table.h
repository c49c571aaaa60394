/* The code objects of one process that have been read and proven: by address, bounded. */
#ifndef SCRY_SYMBOL_PYCODE_TABLE_H
#define SCRY_SYMBOL_PYCODE_TABLE_H

#include <stdbool.h>
#include "python/code.h"

#define PYCODE_MAX_ENTRIES 65536     /* code objects of one process that are kept */
#define PYCODE_MAX_BYTES (32u << 20) /* memory of all of them, line tables included */
#define PYCODE_LINES 8		     /* instructions of one code object whose frame is kept */
#define PYCODE_MAX_TLBC 2048	     /* bytecode copies of one code object */

struct pycode_line {
	int64_t offset; /* of the instruction; PYCODE_NO_OFFSET: empty */
	uint32_t frame; /* id in names */
};

#define PYCODE_NO_OFFSET INT64_MIN

/* What a tick of the past says about a code object that it found: see pycode.c. */
struct pycode_fact {
	uint32_t counter; /* N */
	bool has_generation;
	uint64_t generation;
	raddr_t interp; /* whose generation */
};

struct pycode_entry {
	raddr_t addr;
	struct code head;
	uint64_t hash[2], mark[2]; /* NAME: of the name and of the file's: see unicode.h */
	uint32_t func, file;	   /* string ids */
	struct pycode_fact fact;
	uint32_t doubted; /* pycode.emptied then: see pycode_proof.c; 0: it is not */
	uint32_t full;	  /* the drain that read its strings last */
	uint32_t used;	  /* the drain that asked for it last */
	uint64_t seen;	  /* monotonic ns: read, or confirmed, last; `fact` is older */
	bool shim;	  /* not a function: see pycode_proof_shim() */
	bool has_table;
	uint32_t table_len;
	uint32_t n_tlbc;
	raddr_t *tlbc; /* first instruction of each bytecode copy; 0 unknown */
	struct pycode_line lines[PYCODE_LINES];
	uint8_t table[]; /* line table */
};

struct pycode_slot {
	raddr_t addr; /* 0: empty */
	struct pycode_entry *entry;
};

/* Open addressing, linear probing, at most half full. */
struct pycode_table {
	struct pycode_slot *slots;
	uint32_t size; /* a power of two */
	uint32_t shift;
	uint32_t n;
	uint32_t hand; /* where the search for an old entry goes on */
	size_t bytes;
};

int pycode_table_init(struct pycode_table *t);
void pycode_table_release(struct pycode_table *t);

/* A new entry with a copy of the line table and of the bytecode copies; in no table yet. */
struct pycode_entry *pycode_table_entry(raddr_t addr, const void *lines, uint32_t len,
					const raddr_t *tlbc, uint32_t n_tlbc);
/* Takes the entry over; one of the same address is freed, and old ones when there are too many. 0
 * or -ENOMEM (the entry is then freed). */
int pycode_table_put(struct pycode_table *t, struct pycode_entry *e);
/* Fills an empty table with copies of the entries that were seen before. 0 or -ENOMEM. */
int pycode_table_copy(struct pycode_table *t, const struct pycode_table *from, uint64_t before);
void pycode_table_remove(struct pycode_table *t, raddr_t addr);

static inline uint32_t pycode_table_slot(const struct pycode_table *t, raddr_t addr)
{
	return (uint32_t)((addr * 0x9e3779b97f4a7c15ULL) >> t->shift);
}

static inline struct pycode_entry *pycode_table_find(const struct pycode_table *t, raddr_t addr)
{
	uint32_t i = pycode_table_slot(t, addr);

	for (; t->slots[i].addr; i = (i + 1) & (t->size - 1))
		if (t->slots[i].addr == addr)
			return t->slots[i].entry;
	return NULL;
}

#endif
