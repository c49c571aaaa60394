/* A growable byte buffer. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BUF_MIN_CAP 64

void buf_init(struct buf *b)
{
	*b = (struct buf){0};
}

void buf_release(struct buf *b)
{
	if (!b)
		return;
	free(b->data);
	buf_init(b);
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = 0;
	if (b->data)
		b->data[0] = '\0';
}

/* Makes room for n more bytes and the NUL behind them. */
static bool reserve(struct buf *b, size_t n)
{
	size_t need, cap;
	char *data;

	if (b->failed)
		return false;
	if (__builtin_add_overflow(b->len, n, &need) || need >= SIZE_MAX / 2)
		goto err;
	need++;
	if (need <= b->cap)
		return true;
	cap = MAX(b->cap, (size_t)BUF_MIN_CAP);
	while (cap < need)
		cap *= 2;
	data = realloc(b->data, cap);
	if (!data)
		goto err;
	b->data = data;
	b->cap = cap;
	return true;
err:
	b->failed = 1;
	return false;
}

void *buf_grow(struct buf *b, size_t n)
{
	char *at;

	if (!reserve(b, n))
		return NULL;
	at = b->data + b->len;
	b->len += n;
	b->data[b->len] = '\0';
	return at;
}

void buf_put(struct buf *b, const void *p, size_t n)
{
	void *at = buf_grow(b, n);

	if (at && n)
		memcpy(at, p, n);
}

void buf_puts(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

void buf_putc(struct buf *b, char c)
{
	buf_put(b, &c, 1);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		b->failed = 1;
	else if (reserve(b, (size_t)n))
		b->len += (size_t)vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
	va_end(again);
}

void buf_u8(struct buf *b, uint8_t v)
{
	buf_put(b, &v, 1);
}

static void put_le(struct buf *b, uint64_t v, unsigned int n)
{
	uint8_t bytes[8];

	for (unsigned int i = 0; i < n; i++)
		bytes[i] = (uint8_t)(v >> (8 * i));
	buf_put(b, bytes, n);
}

void buf_u32(struct buf *b, uint32_t v)
{
	put_le(b, v, 4);
}

void buf_u64(struct buf *b, uint64_t v)
{
	put_le(b, v, 8);
}

void buf_uleb(struct buf *b, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;

	while (v >= 0x80) {
		bytes[n++] = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	bytes[n++] = (uint8_t)v;
	buf_put(b, bytes, n);
}

void buf_sleb(struct buf *b, int64_t v)
{
	buf_uleb(b, ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0));
}
