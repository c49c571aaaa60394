/* Reads code objects and what they point at, for many of them in three calls. */
#ifndef SCRY_SYMBOL_PYCODE_READ_H
#define SCRY_SYMBOL_PYCODE_READ_H

#include "base/buf.h"
#include "python/code.h"
#include "python/unicode.h"
#include "remote/batch.h"
#include "symbol/pycode_table.h"

enum pycode_state {
	PYCODE_UNREAD,
	PYCODE_DEAD, /* no live code object is there, or no longer the one that was */
	PYCODE_HEAD, /* `head` is that of a live one */
	PYCODE_TORN, /* it lives, but its head changed while its strings were read */
	PYCODE_MORE, /* no room in this batch: ask again */
	PYCODE_BAD,  /* its strings can't be read */
	PYCODE_READ, /* the head, its strings and tables belong together */
};

/* One code object that is to be read. */
struct pycode_job {
	raddr_t addr;
	size_t first, end; /* the caller's: queries that ask for it */
	bool full;	   /* the caller's: read its strings even when it is known */
	bool wanted;	   /* phases 2 and 3 are for it */
	raddr_t function;  /* one that ran it; 0: none known */
	bool in_function;  /* which is alive and has it as its code */
	uint32_t tlbc_max; /* highest bytecode copy asked for */
	enum pycode_state state;
	struct code head;
	raddr_t tlbc;	  /* co_tlbc */
	uint32_t strs[2]; /* qualname or name, filename */
	uint32_t tlbc_len;
	uint64_t lines_len;
	size_t head_piece, lines_piece, tail_piece, tlbc_piece, function_piece;
};

enum pycode_which { PYCODE_FUNC, PYCODE_FILE };

/* One str object; several code objects may share it. */
struct pycode_str;

/* A word of the target that is read last in each call. */
struct pycode_watch {
	raddr_t addr;
	bool ok;
	uint64_t value;
	size_t piece;
};

#define PYCODE_MAX_WATCHES 64

struct pycode_read {
	const struct layout *layout;
	struct code_types types;
	struct mem *mem;
	struct batch *batch;
	struct pycode_str *strs;
	uint32_t n_strs, cap_strs;
	struct pycode_watch watches[PYCODE_MAX_WATCHES];
	uint32_t n_watches;
	uint32_t *map; /* address to strs, open addressed; index + 1 */
	uint32_t map_size;
};

int pycode_read_init(struct pycode_read *r, struct mem *m, const struct layout *l,
		     struct code_types types);
void pycode_read_release(struct pycode_read *r);
/* All below: 0, a class of mem.h that holds for the whole process, or -ENOMEM. */

/* Call 1: the heads. HEAD or DEAD. */
int pycode_read_heads(struct pycode_read *r, struct pycode_job *v, size_t n);
/* Calls 2 and 3: of those that are `wanted` the strings and tables, and last the head again. READ,
 * BAD, TORN (with the new head), MORE or DEAD. */
int pycode_read_rest(struct pycode_read *r, struct pycode_job *v, size_t n);
/* Forgets the bytes; what the functions below returned is gone. */
void pycode_read_reset(struct pycode_read *r);

/* The watched word at this address as the last call found it; false: it is not watched, or could
 * not be read. */
bool pycode_read_watched(const struct pycode_read *r, raddr_t addr, uint64_t *ret);

/* Are these the same object's, with the same names and tables? */
bool pycode_read_same(const struct code *a, const struct code *b);

/* Of a job that is READ. */
int pycode_read_utf8(const struct pycode_read *r, const struct pycode_job *j,
		     enum pycode_which which, struct buf *out);
void pycode_read_hash(const struct pycode_read *r, const struct pycode_job *j,
		      enum pycode_which which, uint64_t *ret_hash, uint64_t *ret_mark);
const void *pycode_read_lines(const struct pycode_read *r, const struct pycode_job *j,
			      uint32_t *ret_len);
/* The first instructions of its bytecode copies, as far as they are known; NULL: none. */
const raddr_t *pycode_read_tlbc(const struct pycode_read *r, const struct pycode_job *j,
				uint32_t *ret_n);

#endif
