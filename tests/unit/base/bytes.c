/* Tests of base/bytes.c. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"

Test(bytes, reads_in_order)
{
	static const uint8_t in[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 'x', 'y'};
	struct bytes b = bytes_of(in, sizeof(in));

	cr_assert_eq(bytes_u8(&b), 1);
	cr_assert_eq(bytes_u16(&b), 0x0302);
	cr_assert_eq(bytes_u32(&b), 0x07060504);
	cr_assert_eq(bytes_u64(&b), 0x0f0e0d0c0b0a0908);
	cr_assert_eq(memcmp(bytes_take(&b, 2), "xy", 2), 0);
	cr_assert_eq(b.len, 0);
	cr_assert_not(b.bad);
	cr_assert_not_null(bytes_take(&b, 0));
	cr_assert_not(b.bad);
}

Test(bytes, past_the_end_is_bad_and_zero_from_then_on)
{
	static const uint8_t in[] = {1, 2, 3};
	struct bytes b = bytes_of(in, sizeof(in));

	cr_assert_eq(bytes_u32(&b), 0);
	cr_assert(b.bad);
	cr_assert_eq(b.len, 3); /* there would be a byte, but not after a failure */
	cr_assert_eq(bytes_u8(&b), 0);
	cr_assert_null(bytes_take(&b, 1));
	cr_assert_null(bytes_take(&b, 0));
	cr_assert_eq(bytes_uleb(&b), 0);
	b = bytes_of(NULL, 0);
	cr_assert_eq(bytes_u8(&b), 0);
	cr_assert(b.bad);
	b = bytes_of(in, sizeof(in));
	cr_assert_null(bytes_take(&b, SIZE_MAX));
	cr_assert(b.bad);
}

Test(bytes, varints_come_back)
{
	static const uint64_t values[] = {
		0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX >> 1, UINT64_MAX};
	struct buf out;
	struct bytes b;

	buf_init(&out);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		buf_uleb(&out, values[i]);
		buf_sleb(&out, (int64_t)values[i]);
		buf_sleb(&out, -(int64_t)(values[i] / 2));
	}
	b = bytes_of(out.data, out.len);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		cr_assert_eq(bytes_uleb(&b), values[i]);
		cr_assert_eq(bytes_sleb(&b), (int64_t)values[i]);
		cr_assert_eq(bytes_sleb(&b), -(int64_t)(values[i] / 2));
	}
	cr_assert_eq(b.len, 0);
	cr_assert_not(b.bad);
	buf_release(&out);
}

Test(bytes, hostile_varints)
{
	static const uint8_t endless[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
					  0x80, 0x80, 0x80, 0x80, 0x00};
	static const uint8_t wide[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2};
	struct bytes b;

	b = bytes_of(endless, sizeof(endless));
	cr_assert_eq(bytes_uleb(&b), 0);
	cr_assert(b.bad);
	b = bytes_of(wide, sizeof(wide));
	cr_assert_eq(bytes_uleb(&b), 0);
	cr_assert(b.bad);
	for (size_t n = 0; n < 9; n++) { /* cut off */
		b = bytes_of(wide, n);
		cr_assert_eq(bytes_uleb(&b), 0);
		cr_assert(b.bad);
	}
}

Test(bytes, loads_need_no_alignment)
{
	static const uint8_t in[] = {0, 1, 2, 3, 4, 5, 6, 7, 0xf8};

	cr_assert_eq(bytes_load16(in + 1), 0x0201);
	cr_assert_eq(bytes_load32(in + 1), 0x04030201);
	cr_assert_eq(bytes_load64(in + 1), 0xf807060504030201);
}
