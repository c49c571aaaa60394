/* Tests of remote/mem.c and of the fake memory itself. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tests/support/fakemem.h"

Test(mem, reads_across_regions_and_counts)
{
	struct mem *m = fakemem_new();
	char buf[8];
	uint64_t v64 = 0;
	uint32_t v32 = 0;

	fakemem_add(m, 0x1000, "abcd", 4);
	fakemem_add(m, 0x1004, "efgh", 4);
	fakemem_add_u64(m, 0x2ff8, 0x1122334455667788);
	cr_assert_eq(mem_read(m, 0x1002, buf, 4), 0);
	cr_assert_eq(memcmp(buf, "cdef", 4), 0);
	cr_assert_eq(mem_read_u64(m, 0x2ff8, &v64), 0);
	cr_assert_eq(v64, 0x1122334455667788);
	cr_assert_eq(mem_read_u32(m, 0x2ffc, &v32), 0);
	cr_assert_eq(v32, 0x11223344);
	cr_assert_eq(mem_read_u64(m, 0x2ff9, &v64), -EFAULT);
	cr_assert_eq(mem_read_u32(m, 0xffe, &v32), -EFAULT);
	cr_assert_eq(v64, 0x1122334455667788, "untouched on failure");
	cr_assert_eq(v32, 0x11223344, "untouched on failure");
	cr_assert_eq(mem_read(m, 0x1000, buf, (size_t)UINT32_MAX + 1), -EINVAL);
	cr_assert_eq(mem_read(m, 0x1006, buf, 4), 0);
	cr_assert_eq(memcmp(buf, "gh\0\0", 4), 0, "the rest of a page is there");
	cr_assert_eq(m->stats.calls, 6);
	cr_assert_eq(m->stats.segments, 6);
	cr_assert_eq(m->stats.bytes, 20);
	cr_assert_eq(m->stats.failed, 2);
	cr_assert_eq(mem_readv(m, NULL, 0), 0);
	cr_assert_eq(m->stats.calls, 6);
	mem_free(m);
	mem_free(NULL);
}

Test(mem, failures_by_class)
{
	struct mem *m = fakemem_new();
	char a[4], b[4], c[4];
	struct mem_seg segs[] = {
		{.addr = 0x1000, .len = 4, .buf = a},
		{.addr = 0x2000, .len = 4, .buf = b},
		{.addr = 0x1000, .len = 4, .buf = c},
	};

	fakemem_add(m, 0x1000, "abcd", 4);
	cr_assert_eq(mem_readv(m, segs, 3), 0);
	cr_assert_eq(segs[0].status, 0);
	cr_assert_eq(segs[1].status, -EFAULT);
	cr_assert_eq(segs[2].status, 0, "one bad piece costs no other");
	fakemem_hole(m, 0x1003, 1);
	cr_assert_eq(mem_read(m, 0x1000, a, 4), -EFAULT);
	cr_assert_eq(mem_read(m, 0x1000, a, 3), 0);
	fakemem_fail(m, 0x2000, 0x1000, -ETIMEDOUT);
	cr_assert_eq(mem_read(m, 0x1000, a, 3), 0);
	cr_assert_eq(mem_read(m, 0x2ffc, a, 4), -ETIMEDOUT);
	cr_assert_eq(mem_read(m, 0x1000, a, 3), -ETIMEDOUT, "set aside from then on");
	fakemem_state(m, 0);
	cr_assert_eq(mem_read(m, 0x1000, a, 3), 0);
	mem_free(m);
}

Test(mem, changes_between_pieces_and_between_calls)
{
	struct mem *m = fakemem_new();
	char a[2], b[2];
	struct mem_seg segs[] = {
		{.addr = 0x1000, .len = 2, .buf = a},
		{.addr = 0x1000, .len = 2, .buf = b},
	};

	fakemem_add(m, 0x1000, "ab", 2);
	fakemem_change(m, (struct fakemem_when){.call = 0, .piece = 1}, 0x1001, "X", 1);
	fakemem_change(m, (struct fakemem_when){.call = 1}, 0x1000, "Y", 1);
	fakemem_die(m, (struct fakemem_when){.call = 2, .piece = 1}, -ESRCH);
	cr_assert_eq(mem_readv(m, segs, 2), 0);
	cr_assert_eq(memcmp(a, "ab", 2), 0);
	cr_assert_eq(memcmp(b, "aX", 2), 0);
	cr_assert_eq(mem_readv(m, segs, 2), 0);
	cr_assert_eq(memcmp(a, "YX", 2), 0);
	cr_assert_eq(mem_readv(m, segs, 2), -ESRCH);
	cr_assert_eq(segs[0].status, 0);
	cr_assert_eq(segs[1].status, -ESRCH);
	mem_free(m);
}

Test(mem, the_last_addresses)
{
	struct mem *m = fakemem_new();
	char buf[8];

	fakemem_add(m, UINT64_MAX - 1, "yz", 2);
	cr_assert_eq(mem_read(m, UINT64_MAX - 1, buf, 2), 0);
	cr_assert_eq(mem_read(m, UINT64_MAX - 1, buf, 3), -EFAULT);
	mem_free(m);
}
