/* What would steer a terminal does not get through, and nothing else is changed. */
#include <criterion/criterion.h>
#include <string.h>
#include "base/plain.h"

static void check(const char *text, size_t n, const char *expected)
{
	struct buf b;

	buf_init(&b);
	buf_puts(&b, "> ");
	plain_put(&b, text, n);
	cr_assert_not(b.failed);
	cr_expect_str_eq(b.data + 2, expected);
	cr_expect_eq(b.len, 2 + strlen(expected));
	buf_release(&b);
}

Test(plain, control_characters_become_question_marks)
{
	check("a\033[31m\x7f\n\r\tb", 11, "a?[31m????b");
	check("a\0b", 3, "a?b");
	check("", 0, "");
}

/* U+009B begins a sequence as ESC [ does, U+0080 and U+009F are the ends of the range. */
Test(plain, c1_controls_count_too)
{
	check("x\xc2\x9b"
	      "2Jy",
	      6, "x?2Jy");
	check("\xc2\x80\xc2\x9f", 4, "??");
}

Test(plain, other_text_stays)
{
	const char *text = "\xc2\xa0 \xc3\xbc \xe2\x82\xac \xf0\x9f\x90\x8d ~";

	check(text, strlen(text), text);
	check("\xc2", 1, "\xc2");	  /* cut in the middle: the rest may follow */
	check("\xff\x9b", 2, "\xff\x9b"); /* no UTF-8: for a terminal no C1 either */
}

Test(plain, string_stays_a_string)
{
	char s[] = "ab\xc2\x9b\033"
		   "c";

	plain_string(s);
	cr_expect_str_eq(s, "ab??c");
}
