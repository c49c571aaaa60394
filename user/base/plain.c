/*
 * Text of any origin made safe for a terminal.
 *
 * Names of targets end up on screens, and a process may call itself what it likes: an escape
 * sequence would paint, retitle or answer in its name. C1 controls count as well: terminals take
 * U+009B, two bytes in UTF-8, for the start of one.
 */
#include "base/plain.h"

#include <stdbool.h>
#include <string.h>

#define DEL 0x7f
#define C1_LEAD 0xc2 /* U+0080 to U+009F are this byte and one of 0x80 to 0x9f */

static bool is_c1(const unsigned char *s, size_t n)
{
	return n > 1 && s[0] == C1_LEAD && (s[1] & 0xe0) == 0x80;
}

/* In place; how long it is then. */
static size_t replace(char *s, size_t n)
{
	size_t to = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		bool c1 = is_c1((const unsigned char *)s + i, n - i);

		s[to++] = c1 || c < ' ' || c == DEL ? '?' : s[i];
		i += c1;
	}
	return to;
}

void plain_string(char *s)
{
	s[replace(s, strlen(s))] = '\0';
}

void plain_put(struct buf *b, const char *s, size_t n)
{
	char *at = buf_grow(b, n);

	if (!at)
		return;
	if (n)
		memcpy(at, s, n);
	b->len -= n - replace(at, n);
	b->data[b->len] = '\0';
}
