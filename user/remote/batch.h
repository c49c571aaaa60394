/* Collect pieces to read, read them in one call, and leave the bytes in a snapshot. */
#ifndef SCRY_REMOTE_BATCH_H
#define SCRY_REMOTE_BATCH_H

#include "remote/mem.h"
#include "remote/snapshot.h"

#define BATCH_MAX_BYTES (32u << 20) /* of one batch; what goes beyond is -ENOSPC */

struct batch;

struct batch *batch_new(void);
void batch_free(struct batch *b);
void batch_reset(struct batch *b);
/* Asks for a piece; *ret_index names it in batch_at(). It is read after all that was asked for
 * before it, and before all that is asked for after it. */
int batch_want(struct batch *b, raddr_t addr, uint32_t len, size_t *ret_index);
/* The same, but between two batch_want()s these are read in any order, neighbours as one. */
int batch_near(struct batch *b, raddr_t addr, uint32_t len, size_t *ret_index);
/* The same, but a piece that was asked for by batch_once() before is not asked for again, unless it
 * was a neighbour that kept it from being read: who needs the memory of several threads meets the
 * same code objects. */
int batch_once(struct batch *b, raddr_t addr, uint32_t len, size_t *ret_index);
/* Reads all pieces asked for since the last run in one mem_readv(); 0 or a class that holds for
 * all. */
int batch_run(struct batch *b, struct mem *m);
/* The bytes of a piece that was read whole, else NULL; valid until the reset. */
const void *batch_at(const struct batch *b, size_t index);
uint32_t batch_len(const struct batch *b, size_t index); /* of a piece that was asked for */
/* Why it was not read: mem_seg's status; -EAGAIN: not tried yet, -ENODATA: not
 * by itself. */
int batch_status(const struct batch *b, size_t index);
/* Puts all that was read since the last call into the snapshot, as it was read (by reference: until
 * batch_reset). 0, or snapshot_add()'s failure. */
int batch_into(struct batch *b, struct snapshot *s);

#endif
