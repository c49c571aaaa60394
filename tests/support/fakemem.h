/* A memory made of (address, bytes) regions with holes, failures and changes, for unit tests. */
#ifndef SCRY_SUPPORT_FAKEMEM_H
#define SCRY_SUPPORT_FAKEMEM_H

#include "remote/mem.h"

/*
 * Freed with mem_free(). Calls and pieces are counted in mem's own stats: each mem_readv is one
 * call. Functions that add something fail the test when memory runs out.
 */
struct mem *fakemem_new(void);
/* Maps a copy of the bytes. What is mapped later lies over what was there. The rest of their pages
 * is there too, and zero. */
void fakemem_add(struct mem *m, raddr_t addr, const void *bytes, size_t len);
void fakemem_add_u64(struct mem *m, raddr_t addr, uint64_t v);
void fakemem_add_u32(struct mem *m, raddr_t addr, uint32_t v);
/* Unmaps it: a read that touches it is -EFAULT. */
void fakemem_hole(struct mem *m, raddr_t addr, size_t len);
/* A read that touches it has this status; -ESRCH, -EPERM and -ETIMEDOUT end all reads from then on.
 */
void fakemem_fail(struct mem *m, raddr_t addr, size_t len, int status);

/* When something happens: just before piece `piece` of call `call`, both counted from 0. */
struct fakemem_when {
	uint64_t call;
	size_t piece;
};

void fakemem_change(struct mem *m, struct fakemem_when when, raddr_t addr, const void *bytes,
		    size_t len);
/* From then on every read has this status; 0 brings the memory back. */
void fakemem_die(struct mem *m, struct fakemem_when when, int status);
/* The status of every read from now on, at once. */
void fakemem_state(struct mem *m, int status);

#endif
