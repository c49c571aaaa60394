/*
 * Python's str objects to UTF-8.
 *
 * A str is a head and its characters, 1, 2 or 4 bytes each. `state` says how: 3 bits of kind (the
 * bytes), then compact (the characters follow the head, else the head points to them), ascii, and
 * before 3.12 ready (kind and length are set). A character is a code point: a surrogate is half of
 * nothing in any kind, and undecodable bytes of file names are kept as surrogates too.
 */
#include <errno.h>
#include <string.h>
#include "base/bytes.h"
#include "python/unicode.h"

#define LENGTH_MAX (1ull << 40) /* characters that any str can have: more is no str */
#define UTF8_PER_CHAR 4		/* bytes, at most */
#define REPLACEMENT 0xfffd
#define ELLIPSIS "\xe2\x80\xa6"
#define ELLIPSIS_LEN 3
#define MARK_FACTOR 0x9e3779b97f4a7c15ull

int unicode_head(const struct layout *l, raddr_t addr, const void *bytes, size_t len,
		 struct unicode *ret)
{
	const uint8_t *p = bytes;
	struct unicode u = {0};
	uint64_t chars;
	uint32_t state;
	bool compact;

	if (len < l->str.ascii_data)
		return -EINVAL;
	state = bytes_load32(p + l->str.state) >> l->str.kind_shift;
	chars = bytes_load64(p + l->str.length);
	u.hash = bytes_load64(p + l->str.hash);
	u.kind = state & 7;
	compact = state & 8;
	u.ascii = state & 16;
	if ((u.kind != 1 && u.kind != 2 && u.kind != 4) || (u.ascii && u.kind != 1) ||
	    (l->str.has_ready && !(state & 32)) || chars > LENGTH_MAX)
		return -EINVAL;
	if (compact) {
		u.data = addr + (u.ascii ? l->str.ascii_data : l->str.compact_data);
	} else {
		if (len < l->str.legacy_data + sizeof(uint64_t))
			return -EINVAL;
		u.data = bytes_load64(p + l->str.legacy_data);
	}
	if (!u.data)
		return -EINVAL;
	u.truncated = chars > UNICODE_MAX_CHARS;
	u.chars = MIN(chars, UNICODE_MAX_CHARS);
	u.bytes = (uint32_t)u.chars * u.kind;
	*ret = u;
	return 0;
}

static uint32_t char_at(const struct unicode *u, const uint8_t *p, size_t i)
{
	switch (u->kind) {
	case 1:
		return p[i];
	case 2:
		return bytes_load16(p + 2 * i);
	default:
		return bytes_load32(p + 4 * i);
	}
}

static size_t put_char(uint8_t *out, uint32_t c)
{
	if (c >= 0xd800 && c <= 0xdfff)
		c = REPLACEMENT;
	if (c < 0x80) {
		out[0] = (uint8_t)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (uint8_t)(0xc0 | c >> 6);
		out[1] = (uint8_t)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (uint8_t)(0xe0 | c >> 12);
		out[1] = (uint8_t)(0x80 | (c >> 6 & 63));
		out[2] = (uint8_t)(0x80 | (c & 63));
		return 3;
	}
	out[0] = (uint8_t)(0xf0 | c >> 18);
	out[1] = (uint8_t)(0x80 | (c >> 12 & 63));
	out[2] = (uint8_t)(0x80 | (c >> 6 & 63));
	out[3] = (uint8_t)(0x80 | (c & 63));
	return 4;
}

/* No character that the string can't hold: else the bytes are not this string's. */
static bool chars_hold(const struct unicode *u, const uint8_t *p)
{
	uint32_t max = u->ascii ? 0x7f : 0x10ffff;

	for (size_t i = 0; i < u->chars; i++)
		if (char_at(u, p, i) > max)
			return false;
	return true;
}

int unicode_utf8(const struct unicode *u, const void *bytes, struct buf *out)
{
	size_t start = out->len, n = 0;
	uint8_t *to;

	if (!chars_hold(u, bytes))
		return -EINVAL;
	to = buf_grow(out, u->chars * UTF8_PER_CHAR);
	if (!to)
		return 0; /* out->failed says so */
	for (size_t i = 0; i < u->chars; i++)
		n += put_char(to + n, char_at(u, bytes, i));
	out->len = start + n;
	out->data[out->len] = '\0';
	if (u->truncated)
		buf_put(out, ELLIPSIS, ELLIPSIS_LEN);
	return 0;
}

uint64_t unicode_mark(const struct unicode *u, const void *bytes)
{
	const uint8_t *p = bytes;
	size_t n = MIN(u->bytes, UNICODE_MARK_BYTES);
	uint64_t mark = u->chars << 8 | u->kind, word;

	for (size_t i = 0; i < n; i += sizeof(word)) {
		word = 0;
		memcpy(&word, p + i, MIN(n - i, sizeof(word)));
		mark = (mark ^ word) * MARK_FACTOR;
		mark ^= mark >> 32;
	}
	return mark | 1;
}
