/* A bounded reader over bytes that are not trusted. */
#include "base/bytes.h"

#define ULEB_MAX_BYTES 10

struct bytes bytes_of(const void *p, size_t len)
{
	return (struct bytes){.p = p, .len = len};
}

const void *bytes_take(struct bytes *b, size_t n)
{
	const uint8_t *p = b->p;

	if (b->bad || n > b->len) {
		b->bad = true;
		return NULL;
	}
	if (n)
		b->p += n;
	b->len -= n;
	return p;
}

uint8_t bytes_u8(struct bytes *b)
{
	const uint8_t *p = bytes_take(b, 1);

	return p ? *p : 0;
}

uint16_t bytes_u16(struct bytes *b)
{
	const void *p = bytes_take(b, 2);

	return p ? bytes_load16(p) : 0;
}

uint32_t bytes_u32(struct bytes *b)
{
	const void *p = bytes_take(b, 4);

	return p ? bytes_load32(p) : 0;
}

uint64_t bytes_u64(struct bytes *b)
{
	const void *p = bytes_take(b, 8);

	return p ? bytes_load64(p) : 0;
}

uint64_t bytes_uleb(struct bytes *b)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < ULEB_MAX_BYTES; i++) {
		uint8_t c = bytes_u8(b);

		if (b->bad)
			return 0;
		/* the tenth byte has room for one bit */
		if (i == ULEB_MAX_BYTES - 1 && c > 1)
			break;
		v |= (uint64_t)(c & 0x7f) << (7 * i);
		if (!(c & 0x80))
			return v;
	}
	b->bad = true;
	return 0;
}

int64_t bytes_sleb(struct bytes *b)
{
	uint64_t v = bytes_uleb(b);

	return (int64_t)((v >> 1) ^ (v & 1 ? UINT64_MAX : 0));
}
