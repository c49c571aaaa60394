/* Tests of base/buf.c. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/buf.h"

Test(buf, appends_and_terminates)
{
	struct buf b;

	buf_init(&b);
	cr_assert_null(b.data);
	buf_puts(&b, "ab");
	buf_putc(&b, 'c');
	buf_printf(&b, "%d-%s", 42, "x");
	buf_put(&b, NULL, 0);
	cr_assert_str_eq(b.data, "abc42-x");
	cr_assert_eq(b.len, 7);
	buf_reset(&b);
	cr_assert_eq(b.len, 0);
	cr_assert_str_eq(b.data, "");
	buf_release(&b);
	buf_release(NULL);
	cr_assert_null(b.data);
}

Test(buf, grows_over_many_appends)
{
	struct buf b;

	buf_init(&b);
	for (int i = 0; i < 100000; i++)
		buf_putc(&b, (char)('a' + i % 26));
	cr_assert_eq(b.len, 100000);
	for (int i = 0; i < 100000; i++)
		cr_assert_eq(b.data[i], (char)('a' + i % 26));
	cr_assert_eq(b.data[100000], '\0');
	buf_release(&b);
}

Test(buf, failure_sticks_until_reset)
{
	struct buf b;

	buf_init(&b);
	buf_puts(&b, "keep");
	cr_assert_null(buf_grow(&b, SIZE_MAX));
	cr_assert(b.failed);
	buf_puts(&b, "lost");
	buf_printf(&b, "%d", 1);
	cr_assert_str_eq(b.data, "keep");
	buf_reset(&b);
	cr_assert_not(b.failed);
	buf_puts(&b, "again");
	cr_assert_str_eq(b.data, "again");
	buf_release(&b);
}

Test(buf, integers_are_little_endian)
{
	static const uint8_t want[] = {0xfe, 4, 3, 2, 1, 8, 7, 6, 5, 4, 3, 2, 1};
	struct buf b;

	buf_init(&b);
	buf_u8(&b, 0xfe);
	buf_u32(&b, 0x01020304);
	buf_u64(&b, 0x0102030405060708);
	cr_assert_eq(b.len, sizeof(want));
	cr_assert_eq(memcmp(b.data, want, sizeof(want)), 0);
	buf_release(&b);
}

Test(buf, varints)
{
	static const uint8_t want[] = {0,    0x7f, 0x80, 1,    0xff, 0xff, 0xff, 0xff, 0xff,
				       0xff, 0xff, 0xff, 0xff, 1,    1,	   2,	 0xff, 0xff,
				       0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
	struct buf b;

	buf_init(&b);
	buf_uleb(&b, 0);
	buf_uleb(&b, 127);
	buf_uleb(&b, 128);
	buf_uleb(&b, UINT64_MAX);
	buf_sleb(&b, -1);
	buf_sleb(&b, 1);
	buf_sleb(&b, INT64_MIN);
	cr_assert_eq(b.len, sizeof(want));
	cr_assert_eq(memcmp(b.data, want, sizeof(want)), 0);
	buf_release(&b);
}
