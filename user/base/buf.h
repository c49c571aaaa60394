/* A growable byte buffer. */
#ifndef SCRY_BASE_BUF_H
#define SCRY_BASE_BUF_H

#include "base/compiler.h"

/*
 * Appending never fails visibly: when memory runs out `failed` is set and later appends do nothing,
 * so that callers check once, at the end. `data` is NUL-terminated whenever it is not NULL.
 */
struct buf {
	char *data;
	size_t len;
	size_t cap;
	int failed;
};

void buf_init(struct buf *b);
void buf_release(struct buf *b);
void buf_reset(struct buf *b); /* keeps the memory */
/* Appends n bytes and returns where they start, for the caller to fill; NULL when out of memory. */
void *buf_grow(struct buf *b, size_t n);
void buf_put(struct buf *b, const void *p, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);
void buf_u8(struct buf *b, uint8_t v);
void buf_u32(struct buf *b, uint32_t v);  /* little endian */
void buf_u64(struct buf *b, uint64_t v);  /* little endian */
void buf_uleb(struct buf *b, uint64_t v); /* unsigned LEB128, as protobuf's varint */
void buf_sleb(struct buf *b, int64_t v);  /* zigzag, then buf_uleb */

#endif
