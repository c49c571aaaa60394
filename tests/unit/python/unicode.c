/* Strings of every kind, and bytes that are no string. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include "python/unicode.h"

#define ADDR 0x7f0000001000

/* A layout with the str of a version; 8 is 3.8 - 3.11, 12 is 3.12+, 115 is free-threaded 3.14+. */
static struct layout layout_of(unsigned int version)
{
	struct layout l = *layout_table(version == 8 ? 8 : 12);

	if (version == 115) {
		l.str.length = 32;
		l.str.hash = 40;
		l.str.state = 48;
		l.str.kind_shift = 8;
		l.str.ascii_data = 56;
		l.str.compact_data = l.str.legacy_data = 72;
	}
	return l;
}

static const unsigned int versions[] = {8, 12, 115};

/* flags: kind | compact 8 | ascii 16 | ready 32 */
static void make_head(const struct layout *l, uint64_t chars, uint32_t flags, uint8_t *head)
{
	uint32_t state = flags << l->str.kind_shift | 3;
	uint64_t hash = 0x1234567890abcdef, data = 0x7f0000abc000;

	memset(head, 0x5a, UNICODE_HEAD);
	memcpy(head + l->str.length, &chars, 8);
	memcpy(head + l->str.hash, &hash, 8);
	memcpy(head + l->str.state, &state, 4);
	memcpy(head + l->str.legacy_data, &data, 8);
}

Test(unicode, heads)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct layout l = layout_of(versions[i]);
		uint8_t head[UNICODE_HEAD];
		struct unicode u;

		make_head(&l, 5, 1 | 8 | 16 | 32, head);
		cr_assert_eq(unicode_head(&l, ADDR, head, sizeof(head), &u), 0);
		cr_assert_eq(u.hash, 0x1234567890abcdef);
		cr_assert(u.ascii && !u.truncated);
		cr_assert_eq(u.bytes, 5);
		cr_assert_eq(u.data, ADDR + l.str.ascii_data);
		make_head(&l, 5, 2 | 8 | 32, head);
		cr_assert_eq(unicode_head(&l, ADDR, head, sizeof(head), &u), 0);
		cr_assert_eq(u.kind, 2);
		cr_assert_eq(u.bytes, 10);
		cr_assert_not(u.ascii);
		cr_assert_eq(u.data, ADDR + l.str.compact_data);
		make_head(&l, 5, 4 | 32, head); /* not compact */
		cr_assert_eq(unicode_head(&l, ADDR, head, sizeof(head), &u), 0);
		cr_assert_eq(u.bytes, 20);
		cr_assert_eq(u.data, 0x7f0000abc000);
		make_head(&l, UNICODE_MAX_CHARS + 1, 4 | 8 | 32, head);
		cr_assert_eq(unicode_head(&l, ADDR, head, sizeof(head), &u), 0);
		cr_assert(u.truncated);
		cr_assert_eq(u.bytes, 4 * UNICODE_MAX_CHARS);
	}
}

Test(unicode, what_is_no_string)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		static const uint32_t bad[] = {0 | 8 | 32, 3 | 8 | 32,	    5 | 8 | 32,
					       7 | 8 | 32, 2 | 8 | 16 | 32, 4 | 16 | 32};
		struct layout l = layout_of(versions[i]);
		uint8_t head[UNICODE_HEAD];
		struct unicode u;

		for (size_t j = 0; j < ARRAY_SIZE(bad); j++) {
			make_head(&l, 5, bad[j], head);
			cr_assert_eq(unicode_head(&l, ADDR, head, sizeof(head), &u), -EINVAL, "%u",
				     bad[j]);
		}
		make_head(&l, UINT64_MAX, 1 | 8 | 32, head);
		cr_assert_eq(unicode_head(&l, ADDR, head, sizeof(head), &u), -EINVAL);
		make_head(&l, 5, 1 | 8 | 32, head);
		cr_assert_eq(unicode_head(&l, ADDR, head, l.str.ascii_data - 1, &u), -EINVAL);
		cr_assert_eq(unicode_head(&l, ADDR, head, l.str.ascii_data, &u), 0);
		make_head(&l, 5, 1 | 32, head); /* its pointer is cut off */
		cr_assert_eq(unicode_head(&l, ADDR, head, l.str.legacy_data + 7, &u), -EINVAL);
		memset(head + l.str.legacy_data, 0, 8);
		cr_assert_eq(unicode_head(&l, ADDR, head, sizeof(head), &u), -EINVAL);
	}
	/* 3.8 - 3.11 know strings that are not ready */
	struct layout l = layout_of(8);
	uint8_t head[UNICODE_HEAD];
	struct unicode u;

	make_head(&l, 5, 1 | 8, head);
	cr_assert_eq(unicode_head(&l, ADDR, head, sizeof(head), &u), -EINVAL);
}

static void is_utf8(uint8_t kind, bool ascii, const void *chars, size_t n, const char *expected)
{
	struct unicode u = {
		.kind = kind, .ascii = ascii, .chars = n, .bytes = (uint32_t)(kind * n)};
	struct buf b;

	buf_init(&b);
	buf_puts(&b, "<");
	cr_assert_eq(unicode_utf8(&u, chars, &b), 0);
	cr_assert_str_eq(b.data, expected);
	cr_assert_eq(b.len, strlen(expected));
	buf_release(&b);
}

Test(unicode, characters)
{
	is_utf8(1, true, "hot_a", 5, "<hot_a");
	is_utf8(1, true, "", 0, "<");
	is_utf8(1, false, "caf\xe9\xff\x80", 6, "<café\xc3\xbf\xc2\x80");
	is_utf8(2, false, u"größe\u0800\uffff", 7, "<größe\xe0\xa0\x80\xef\xbf\xbf");
	is_utf8(4, false, U"\U0001f40d\U0010ffffa", 3, "<\xf0\x9f\x90\x8d\xf4\x8f\xbf\xbf\x61");
	/* surrogates stand for nothing, also in what would be a pair in UTF-16 */
	is_utf8(2, false, (const uint16_t[]){0xd83d, 0xdc0d, 'x'}, 3, "<\xef\xbf\xbd\xef\xbf\xbdx");
	is_utf8(4, false, (const uint32_t[]){0xdcff, 0xd7ff, 0xe000}, 3,
		"<\xef\xbf\xbd\xed\x9f\xbf\xee\x80\x80");
}

Test(unicode, characters_that_can_not_be)
{
	struct unicode u = {.kind = 1, .ascii = true, .chars = 3, .bytes = 3};
	struct buf b;

	buf_init(&b);
	buf_puts(&b, "kept");
	cr_assert_eq(unicode_utf8(&u, "ab\x80", &b), -EINVAL);
	u = (struct unicode){.kind = 4, .chars = 1, .bytes = 4};
	cr_assert_eq(unicode_utf8(&u, "\0\0\x11\0", &b), -EINVAL);
	cr_assert_str_eq(b.data, "kept");
	buf_release(&b);
}

Test(unicode, long_ones_end_in_an_ellipsis)
{
	struct layout l = layout_of(12);
	uint8_t head[UNICODE_HEAD];
	struct unicode u;
	struct buf chars, out;

	buf_init(&chars);
	buf_init(&out);
	make_head(&l, 1ull << 33, 2 | 8, head);
	cr_assert_eq(unicode_head(&l, ADDR, head, sizeof(head), &u), 0);
	for (size_t i = 0; i < u.chars; i++)
		buf_put(&chars, u"\u00e9", 2);
	cr_assert_eq(chars.len, u.bytes);
	cr_assert_eq(unicode_utf8(&u, chars.data, &out), 0);
	cr_assert_eq(out.len, 2 * UNICODE_MAX_CHARS + 3);
	cr_assert_str_eq(out.data + out.len - 5, "é…");
	buf_release(&chars);
	buf_release(&out);
}

Test(unicode, marks_tell_strings_apart)
{
	struct unicode u = {.chars = 60, .kind = 1, .bytes = 60};
	uint8_t text[256];
	uint64_t mark;

	memset(text, 'a', sizeof(text));
	mark = unicode_mark(&u, text);
	cr_assert_neq(mark, 0);
	for (size_t i = 0; i < sizeof(text); i++) {
		text[i] = 'b';
		cr_assert_eq(unicode_mark(&u, text) == mark, i >= 60, "character %zu", i);
		text[i] = 'a';
	}
	u.chars = u.bytes = 61;
	cr_assert_neq(unicode_mark(&u, text), mark);
	u.chars = u.bytes = 200; /* the first characters count */
	mark = unicode_mark(&u, text);
	text[127] = 'b';
	cr_assert_neq(unicode_mark(&u, text), mark);
	text[127] = 'a';
	text[128] = 'b';
	cr_assert_eq(unicode_mark(&u, text), mark);
	mark = 0;
	u = (struct unicode){.chars = 30, .kind = 2, .bytes = 60};
	cr_assert_neq(unicode_mark(&u, text), mark);
	u = (struct unicode){.kind = 1};
	cr_assert_neq(unicode_mark(&u, text), 0);
}
