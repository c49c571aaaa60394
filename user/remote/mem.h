/* The only way to read a target's memory. */
#ifndef SCRY_REMOTE_MEM_H
#define SCRY_REMOTE_MEM_H

#include "base/compiler.h"
#include "remote/addr.h"

/*
 * One piece of a read. `status` is 0 when all `len` bytes arrived in `buf`, else the class of
 * failure, and what is in `buf` means nothing:
 * - -ESRCH: the process is gone
 * - -EPERM: reading it is forbidden
 * - -EFAULT: not mapped, or not readable
 * - -ETIMEDOUT: the read did not come back in time (stuck); the process is set aside
 * A piece that was not tried (one before it said gone, denied or stuck) has that status too.
 */
struct mem_seg {
	raddr_t addr;
	uint32_t len;
	int status;
	void *buf;
};

struct mem_stats {
	uint64_t calls;	   /* system calls made */
	uint64_t segments; /* pieces asked for */
	uint64_t bytes;	   /* bytes that arrived */
	uint64_t failed;   /* pieces that did not */
};

struct mem;

struct mem_ops {
	/* Reads every piece in order, whatever happens to others. 0 or a class that holds for all.
	 */
	int (*readv)(struct mem *m, struct mem_seg *segs, size_t n);
	void (*free)(struct mem *m);
};

/* Embedded first in each kind of memory: a live process (procmem.h), a fake one in tests. */
struct mem {
	const struct mem_ops *ops;
	struct mem_stats stats;
};

/* Any number of pieces in as few system calls as possible; see struct mem_seg. A process that was
 * gone before it got a memory is m NULL: all pieces are -ESRCH. */
int mem_readv(struct mem *m, struct mem_seg *segs, size_t n);
int mem_read(struct mem *m, raddr_t addr, void *buf, size_t len);
int mem_read_u64(struct mem *m, raddr_t addr, uint64_t *ret);
int mem_read_u32(struct mem *m, raddr_t addr, uint32_t *ret);
void mem_free(struct mem *m); /* accepts NULL */

#endif
