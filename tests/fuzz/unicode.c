/* Fuzz str objects: a layout, the object's head, and then the characters as far as they go. */
#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
#include "fuzz/layouts.h"
#include "python/unicode.h"

#define CHARS_MAX (1 << 16) /* bytes of characters of one run */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void is_valid_utf8(const struct buf *b)
{
	const uint8_t *p = (const uint8_t *)b->data;

	for (size_t i = 0; i < b->len;) {
		size_t more = p[i] < 0x80 ? 0 : p[i] < 0xe0 ? 1 : p[i] < 0xf0 ? 2 : 3;

		if (more && (p[i] < 0xc2 || p[i] > 0xf4))
			abort();
		for (i++; more; more--, i++)
			if (i >= b->len || (p[i] & 0xc0) != 0x80)
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bytes b = bytes_of(data, len);
	struct layout l;
	const uint8_t *head;
	struct unicode u;
	struct buf out;
	uint8_t *chars;
	size_t head_len;

	layouts_get(bytes_u8(&b), &l);
	head_len = bytes_u8(&b) % (UNICODE_HEAD + 1);
	head = bytes_take(&b, head_len);
	if (!head || unicode_head(&l, 0x7f0000001000, head, head_len, &u) != 0)
		return 0;
	if (u.chars > UNICODE_MAX_CHARS || u.bytes != u.chars * u.kind || u.bytes > CHARS_MAX)
		abort();
	chars = calloc(1, u.bytes + 1); /* no byte more than is asked for */
	if (!chars)
		return 0;
	memcpy(chars, b.p, MIN(b.len, u.bytes));
	buf_init(&out);
	if (unicode_utf8(&u, chars, &out) == 0)
		is_valid_utf8(&out);
	buf_release(&out);
	free(chars);
	return 0;
}
