/* Follow pointers in a process step by step, and see in the end that the way is still the same. */
#ifndef SCRY_REMOTE_TRAIL_H
#define SCRY_REMOTE_TRAIL_H

#include <stdbool.h>
#include "remote/mem.h"

#define TRAIL_STEPS 40
#define TRAIL_BYTES 4096 /* of all steps together */

struct trail {
	struct mem *mem;
	struct mem_seg steps[TRAIL_STEPS];
	uint8_t bytes[TRAIL_BYTES];
	size_t n, used;
	int error; /* the first one: a class of mem.h, -ENOSPC, -EAGAIN (the way has changed) */
};

void trail_begin(struct trail *t, struct mem *m);
/* A step: its bytes, as long as the trail. NULL: t->error says why. Nothing is read after an error,
 * so that who follows a trail need not look at it before the end. */
const void *trail_read(struct trail *t, raddr_t addr, size_t len);
/* 0: also after an error */
uint64_t trail_read_u64(struct trail *t, raddr_t addr);
/* The same, but it may have changed in the end. */
uint64_t trail_peek_u64(struct trail *t, raddr_t addr);
/* Reads all steps again: is each as it was? */
bool trail_holds(struct trail *t);

#endif
