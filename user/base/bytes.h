/* A bounded reader over bytes that are not trusted. */
#ifndef SCRY_BASE_BYTES_H
#define SCRY_BASE_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <string.h>
#include "base/compiler.h"

/*
 * Reading past the end sets `bad` and returns zeroes from then on, so a decoder checks once.
 * All integers are little endian.
 */
struct bytes {
	const uint8_t *p;
	size_t len; /* what is left */
	bool bad;
};

struct bytes bytes_of(const void *p, size_t len);
const void *bytes_take(struct bytes *b, size_t n); /* NULL when there are fewer than n left */
uint8_t bytes_u8(struct bytes *b);
uint16_t bytes_u16(struct bytes *b);
uint32_t bytes_u32(struct bytes *b);
uint64_t bytes_u64(struct bytes *b);
uint64_t bytes_uleb(struct bytes *b); /* at most 10 bytes, else bad */
int64_t bytes_sleb(struct bytes *b);  /* zigzag over bytes_uleb */

/* Unaligned little-endian loads from memory that is known to be long enough. Here, as walks are
 * made of them. */
static inline uint16_t bytes_load16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static inline uint32_t bytes_load32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t bytes_load64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

#endif
