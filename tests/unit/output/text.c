/* Tests of output/text.c. */
#include <criterion/criterion.h>
#include <string.h>

#include "output/text.h"

static void check_escape(const char *in, size_t n, const char *also, const char *want)
{
	struct buf b = {0};

	buf_puts(&b, "");
	text_escape(&b, in, n, also);
	cr_assert_str_eq(b.data ? b.data : "", want, "%s", b.data);
	buf_release(&b);
}

#define ESCAPES(in, want) check_escape(in, sizeof(in) - 1, ";", want)

Test(text, escapes_what_breaks_lines_and_terminals)
{
	ESCAPES("plain <locals>.f (x)", "plain <locals>.f (x)");
	ESCAPES("a;b", "a\\x3bb");
	check_escape("a;b", 3, "", "a;b");
	ESCAPES("a\nb\rc\td", "a\\nb\\x0dc\\x09d");
	ESCAPES("nul\0!", "nul\\x00!");
	ESCAPES("\x1b[31m\x7f", "\\x1b[31m\\x7f");
	ESCAPES("back\\slash\\n", "back\\\\slash\\\\n");
	ESCAPES("\xc2\x9b", "\\x9b"); /* C1 as a character */
	ESCAPES("\x9b!", "\\x9b!");   /* and as a byte */
	ESCAPES("\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x8d", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x8d");
	ESCAPES("\xe2\x80\xa8", "\xe2\x80\xa8");    /* no control character */
	ESCAPES("\xed\xb2\x80", "\\xed\\xb2\\x80"); /* a surrogate */
	ESCAPES("\xc0\xaf", "\\xc0\\xaf");	    /* overlong */
	ESCAPES("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
	ESCAPES("cut \xe2\x82", "cut \\xe2\\x82");
}

Test(text, decodes_strict_utf8)
{
	static const struct {
		const char *s;
		size_t n, len;
		uint32_t c;
	} cases[] = {
		{"A", 1, 1, 'A'},
		{"\xc3\xa9", 2, 2, 0xe9},
		{"\xe2\x82\xac", 3, 3, 0x20ac},
		{"\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff},
		{"\xc3", 1, 0, 0},
		{"\x80", 1, 0, 0},
		{"\xe0\x80\x80", 3, 0, 0},
		{"\xed\xa0\x80", 3, 0, 0},
		{"\xff", 1, 0, 0},
		{"\xf0\x80\x80\x80", 4, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t c = 0;

		cr_assert_eq(text_decode(cases[i].s, cases[i].n, &c), cases[i].len, "case %zu", i);
		cr_assert_eq(c, cases[i].c, "case %zu", i);
	}
}

Test(text, replaces_what_is_not_utf8)
{
	struct buf b = {0};

	text_utf8(&b, "a\xff\xc3\xa9\xe2\x82", 6);
	cr_assert_str_eq(b.data, "a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd");
	buf_release(&b);
}
