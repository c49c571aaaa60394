/* Tests of remote/batch.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "remote/batch.h"
#include "tests/support/fakemem.h"

static size_t want(struct batch *b, raddr_t addr, uint32_t len)
{
	size_t i = SIZE_MAX;

	cr_assert_eq(batch_want(b, addr, len, &i), 0);
	return i;
}

Test(batch, one_call_for_all_pieces)
{
	struct mem *m = fakemem_new();
	struct batch *b = batch_new();
	struct snapshot *s = snapshot_new();
	size_t one, bad, two;

	fakemem_add(m, 0x1000, "0123456789", 10);
	one = want(b, 0x1000, 3);
	bad = want(b, 0x5000, 8);
	two = want(b, 0x1005, 5);
	cr_assert_null(batch_at(b, one), "not read yet");
	cr_assert_eq(batch_status(b, one), -EAGAIN);
	cr_assert_eq(batch_run(b, m), 0);
	cr_assert_eq(m->stats.calls, 1);
	cr_assert_eq(memcmp(batch_at(b, one), "012", 3), 0);
	cr_assert_null(batch_at(b, bad));
	cr_assert_eq(batch_status(b, bad), -EFAULT);
	cr_assert_eq(memcmp(batch_at(b, two), "56789", 5), 0);
	cr_assert_null(batch_at(b, 3));
	cr_assert_eq(batch_status(b, 3), -EINVAL);
	cr_assert_eq(batch_into(b, s), 0);
	cr_assert_eq(snapshot_at(s, 0x1005, 5), batch_at(b, two));
	cr_assert_null(snapshot_at(s, 0x5000, 1));
	batch_reset(b);
	cr_assert_null(batch_at(b, one));
	cr_assert_eq(want(b, 0x1001, 1), 0);
	batch_free(b);
	batch_free(NULL);
	snapshot_free(s);
	mem_free(m);
}

Test(batch, a_second_run_reads_what_is_new_and_moves_nothing)
{
	static const uint8_t big[200000] = {7};
	struct mem *m = fakemem_new();
	struct batch *b = batch_new();
	const void *first;

	fakemem_add(m, 0x100000, big, sizeof(big));
	want(b, 0x100000, 100);
	cr_assert_eq(batch_run(b, m), 0);
	first = batch_at(b, 0);
	want(b, 0x100000, sizeof(big));
	cr_assert_eq(batch_run(b, m), 0);
	cr_assert_eq(m->stats.segments, 2);
	cr_assert_eq(batch_at(b, 0), first);
	cr_assert_eq(*(const uint8_t *)first, 7);
	cr_assert_eq(*(const uint8_t *)batch_at(b, 1), 7);
	cr_assert_eq(batch_run(b, m), 0, "nothing to do");
	cr_assert_eq(m->stats.calls, 2);
	for (int i = 0; i < 3; i++) {
		batch_reset(b);
		want(b, 0x100000, sizeof(big));
		cr_assert_eq(batch_run(b, m), 0);
		cr_assert_eq(*(const uint8_t *)batch_at(b, 0), 7);
	}
	batch_free(b);
	mem_free(m);
}

Test(batch, a_class_that_holds_for_all)
{
	struct mem *m = fakemem_new();
	struct batch *b = batch_new();

	fakemem_add(m, 0x1000, "ab", 2);
	fakemem_die(m, (struct fakemem_when){.call = 0, .piece = 1}, -ESRCH);
	want(b, 0x1000, 1);
	want(b, 0x1001, 1);
	cr_assert_eq(batch_run(b, m), -ESRCH);
	cr_assert_eq(*(const char *)batch_at(b, 0), 'a');
	cr_assert_eq(batch_status(b, 1), -ESRCH);
	batch_free(b);
	mem_free(m);
}

Test(batch, is_bounded)
{
	struct batch *b = batch_new();
	size_t i;

	cr_assert_eq(batch_want(b, 0, UINT32_MAX, &i), -ENOSPC);
	cr_assert_eq(batch_want(b, 0, BATCH_MAX_BYTES, &i), 0);
	cr_assert_eq(batch_want(b, 0, 1, &i), -ENOSPC);
	batch_reset(b);
	for (size_t n = 0; n < SNAPSHOT_MAX_SPANS; n++)
		cr_assert_eq(batch_want(b, 0, 1, &i), 0);
	cr_assert_eq(batch_want(b, 0, 1, &i), -ENOSPC);
	batch_free(b);
}

Test(batch, what_several_need_is_asked_for_once)
{
	struct mem *m = fakemem_new();
	struct batch *b = batch_new();
	static const uint8_t bytes[4096];
	size_t first[300], i;

	for (size_t k = 0; k < ARRAY_SIZE(first); k++)
		fakemem_add(m, 0x10000 * k, bytes, 16);
	for (int turn = 0; turn < 3; turn++) {
		batch_reset(b);
		for (size_t k = 0; k < ARRAY_SIZE(first); k++)
			cr_assert_eq(batch_once(b, 0x10000 * k, 8, &first[k]), 0);
		for (size_t k = 0; k < ARRAY_SIZE(first); k++) {
			cr_assert_eq(batch_once(b, 0x10000 * k, 8, &i), 0);
			cr_assert_eq(i, first[k]);
		}
		cr_assert_eq(batch_once(b, 0x10000, 16, &i), 0);
		cr_assert_eq(i, ARRAY_SIZE(first), "another length is another piece");
		cr_assert_eq(want(b, 0x10000, 8), ARRAY_SIZE(first) + 1,
			     "a second look is one too");
		m->stats.segments = 0;
		cr_assert_eq(batch_run(b, m), 0);
		cr_assert_eq(m->stats.segments, ARRAY_SIZE(first) + 1,
			     "the longer one holds the other");
	}
	batch_free(b);
	mem_free(m);
}

/* The bytes change between pieces of a call and between calls: each piece has those of its time. */
Test(batch, pieces_are_read_in_order)
{
	struct mem *m = fakemem_new();
	struct batch *b = batch_new();
	struct snapshot *s = snapshot_new();

	fakemem_add(m, 0x1000, "a", 1);
	fakemem_change(m, (struct fakemem_when){.call = 0, .piece = 1}, 0x1000, "b", 1);
	fakemem_change(m, (struct fakemem_when){.call = 1, .piece = 0}, 0x1000, "c", 1);
	want(b, 0x1000, 1);
	want(b, 0x1000, 1);
	cr_assert_eq(batch_run(b, m), 0);
	cr_assert_eq(batch_into(b, s), 0);
	cr_assert_eq(*(const char *)batch_at(b, 0), 'a');
	cr_assert_eq(*(const char *)batch_at(b, 1), 'b');
	cr_assert_eq(*(const char *)snapshot_at(s, 0x1000, 1), 'b');
	want(b, 0x1000, 1);
	cr_assert_eq(batch_run(b, m), 0);
	cr_assert_eq(snapshot_count(s), 2);
	cr_assert_eq(batch_into(b, s), 0);
	cr_assert_eq(snapshot_count(s), 3, "only what is new");
	cr_assert_eq(*(const char *)snapshot_at(s, 0x1000, 1), 'c');
	cr_assert_eq(*(const char *)batch_at(b, 0), 'a', "and what was there stays");
	batch_free(b);
	snapshot_free(s);
	mem_free(m);
}

/* --- neighbours --- */

static size_t near(struct batch *b, raddr_t addr, uint32_t len)
{
	size_t i = SIZE_MAX;

	cr_assert_eq(batch_near(b, addr, len, &i), 0);
	return i;
}

Test(batch, neighbours_are_read_as_one)
{
	struct mem *m = fakemem_new();
	struct batch *b = batch_new();
	size_t i[6];

	fakemem_add(m, 0x1000, "0123456789abcdef", 16);
	fakemem_add(m, 0x1800, "x", 1);
	fakemem_add(m, 0x3000, "y", 1);
	for (int turn = 0; turn < 3; turn++) {
		batch_reset(b);
		i[0] = near(b, 0x3000, 1);
		i[1] = near(b, 0x1004, 8);
		i[2] = near(b, 0x1800, 1);
		i[3] = near(b, 0x1000, 6);
		i[4] = near(b, 0x1004, 8);
		i[5] = near(b, 0x1000, turn == 1 ? 2 : 3);
		m->stats.segments = m->stats.bytes = 0;
		cr_assert_eq(batch_run(b, m), 0);
		cr_assert_eq(m->stats.segments, 2);
		cr_assert_eq(m->stats.bytes, 0x801 + 1);
		cr_assert_eq(*(const char *)batch_at(b, i[0]), 'y');
		cr_assert_eq(memcmp(batch_at(b, i[1]), "456789ab", 8), 0);
		cr_assert_eq(*(const char *)batch_at(b, i[2]), 'x');
		cr_assert_eq(memcmp(batch_at(b, i[3]), "012345", 6), 0);
		cr_assert_eq(batch_at(b, i[4]), batch_at(b, i[1]));
		cr_assert_eq(memcmp(batch_at(b, i[5]), "012", 2), 0);
	}
	batch_free(b);
	mem_free(m);
}

/* What is asked for and not read (no memory, no room) is no plan for what is asked for later. */
Test(batch, a_plan_is_of_what_was_read)
{
	struct mem *m = fakemem_new();
	struct batch *b = batch_new();

	fakemem_add(m, 0x1000, "1", 1);
	fakemem_add(m, 0x5000, "5", 1);
	fakemem_add(m, 0x9000, "9", 1);
	near(b, 0x1000, 1);
	near(b, 0x9000, 1);
	cr_assert_eq(batch_run(b, m), 0);
	batch_reset(b);
	near(b, 0x5000, 1);
	batch_reset(b);
	near(b, 0x5000, 1);
	near(b, 0x9000, 1);
	cr_assert_eq(batch_run(b, m), 0);
	cr_assert_eq(*(const char *)batch_at(b, 0), '5');
	cr_assert_eq(*(const char *)batch_at(b, 1), '9');
	batch_reset(b);
	near(b, 0x1000, 1);
	batch_reset(b);
	m->stats.segments = 0;
	cr_assert_eq(batch_run(b, m), 0);
	cr_assert_eq(m->stats.segments, 0, "nothing was asked for");
	batch_free(b);
	mem_free(m);
}

Test(batch, neighbours_stay_between_what_has_a_place)
{
	struct mem *m = fakemem_new();
	struct batch *b = batch_new();
	struct snapshot *s = snapshot_new();

	fakemem_add(m, 0x1000, "aaaa", 4);
	fakemem_change(m, (struct fakemem_when){.call = 0, .piece = 1}, 0x1000, "bbbb", 4);
	fakemem_change(m, (struct fakemem_when){.call = 0, .piece = 2}, 0x1000, "cccc", 4);
	fakemem_change(m, (struct fakemem_when){.call = 0, .piece = 3}, 0x1000, "dddd", 4);
	want(b, 0x1000, 1);
	near(b, 0x1002, 2);
	near(b, 0x1000, 1);
	want(b, 0x1000, 1);
	near(b, 0x1003, 1);
	cr_assert_eq(batch_run(b, m), 0);
	for (size_t i = 0; i < 5; i++)
		cr_assert_eq(*(const char *)batch_at(b, i), "abbcd"[i], "piece %zu", i);
	cr_assert_eq(batch_into(b, s), 0);
	cr_assert_eq(snapshot_count(s), 4, "as it was read");
	cr_assert_eq(*(const char *)snapshot_at(s, 0x1003, 1), 'd');
	batch_free(b);
	snapshot_free(s);
	mem_free(m);
}

/* Pages 1 to 3; the second one is bad. Whoever reads it too must not take the others' data. */
Test(batch, a_bad_page_costs_its_neighbours_nothing_but_a_call)
{
	static const uint8_t page[4096] = {7};
	struct mem *m = fakemem_new();
	struct batch *b = batch_new();
	size_t before, bad, behind, again;

	for (raddr_t at = 0x1000; at < 0x4000; at += sizeof(page))
		fakemem_add(m, at, page, sizeof(page));
	fakemem_hole(m, 0x2000, sizeof(page));
	cr_assert_eq(batch_once(b, 0x1ff0, 16, &before), 0);
	cr_assert_eq(batch_once(b, 0x2700, 16, &bad), 0);
	cr_assert_eq(batch_once(b, 0x3000, 16, &behind), 0);
	cr_assert_eq(batch_run(b, m), 0);
	cr_assert_eq(m->stats.segments, 2, "a gap of a page is none");
	cr_assert_eq(batch_status(b, before), -ENODATA);
	cr_assert_eq(batch_status(b, bad), -ENODATA);
	cr_assert_null(batch_at(b, before));
	cr_assert_eq(*(const uint8_t *)batch_at(b, behind), 7);
	cr_assert_eq(batch_once(b, 0x1ff0, 16, &again), 0);
	cr_assert_neq(again, before);
	cr_assert_eq(batch_once(b, 0x1ff0, 16, &before), 0);
	cr_assert_eq(again, before, "asked for by itself once");
	cr_assert_eq(batch_once(b, 0x2700, 16, &bad), 0);
	cr_assert_eq(batch_run(b, m), 0);
	cr_assert_not_null(batch_at(b, before));
	cr_assert_eq(batch_status(b, bad), -EFAULT);
	cr_assert_eq(batch_once(b, 0x2700, 16, &again), 0);
	cr_assert_eq(again, bad, "it is bad itself: no more");
	cr_assert_eq(m->stats.calls, 2);
	batch_free(b);
	mem_free(m);
}

/* Addresses and lengths come from a target, which may choose them. */
Test(batch, what_goes_around_the_end_of_memory_joins_nothing)
{
	static const uint8_t bytes[64];
	struct mem *m = fakemem_new();
	struct batch *b = batch_new();
	size_t low, around, again;

	fakemem_add(m, 0x1000, bytes, sizeof(bytes));
	low = near(b, 0x1000, sizeof(bytes));
	cr_assert_eq(batch_once(b, -(raddr_t)8, 0x1028, &around), 0);
	cr_assert_eq(batch_run(b, m), 0);
	cr_assert_not_null(batch_at(b, low));
	cr_assert_null(batch_at(b, around));
	cr_assert_eq(batch_status(b, around), -EFAULT);
	cr_assert_eq(batch_once(b, -(raddr_t)8, 0x1028, &again), 0);
	cr_assert_eq(again, around);
	batch_free(b);
	mem_free(m);
}

Test(batch, neighbours_without_end_are_several_segments)
{
	static const uint8_t bytes[1 << 20];
	struct mem *m = fakemem_new();
	struct batch *b = batch_new();

	fakemem_add(m, 0x100000, bytes, sizeof(bytes));
	for (raddr_t at = 0; at < sizeof(bytes); at += 1024)
		near(b, 0x100000 + at, 1024);
	near(b, UINT64_MAX - 2, 8);
	near(b, UINT64_MAX, 1);
	cr_assert_eq(batch_run(b, m), 0);
	cr_assert_eq(m->stats.segments, 16 + 1);
	cr_assert_eq(batch_at(b, 1023), (const uint8_t *)batch_at(b, 960) + 63 * 1024);
	cr_assert_null(batch_at(b, 1024));
	batch_free(b);
	mem_free(m);
}
