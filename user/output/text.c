/* Text of any origin made safe to show. */
#include "output/text.h"

#include <stdbool.h>
#include <string.h>

#define TEXT_MAX 0x10ffffu

size_t text_decode(const char *p, size_t n, uint32_t *ret)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	uint8_t c = (uint8_t)p[0];
	size_t len = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
	uint32_t v = len == 1 ? c : c & (0x7fu >> len);

	if (!len || len > n)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if (((uint8_t)p[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | ((uint8_t)p[i] & 0x3f);
	}
	if (v < smallest[len] || v > TEXT_MAX || (v >= 0xd800 && v <= 0xdfff))
		return 0;
	*ret = v;
	return len;
}

void text_utf8(struct buf *b, const char *p, size_t n)
{
	while (n) {
		uint32_t c;
		size_t len = text_decode(p, n, &c);

		if (len)
			buf_put(b, p, len);
		else
			buf_puts(b, "\xef\xbf\xbd");
		len = len ? len : 1;
		p += len;
		n -= len;
	}
}

static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

void text_escape(struct buf *b, const char *p, size_t n, const char *also)
{
	while (n) {
		uint32_t c = 0;
		size_t len = text_decode(p, n, &c);

		if (!len)
			buf_printf(b, "\\x%02x", (uint8_t)*p);
		else if (c == '\\')
			buf_puts(b, "\\\\");
		else if (c == '\n')
			buf_puts(b, "\\n");
		else if (is_control(c) || (c < 0x80 && strchr(also, (int)c)))
			buf_printf(b, "\\x%02x", c);
		else
			buf_put(b, p, len);
		len = len ? len : 1;
		p += len;
		n -= len;
	}
}
