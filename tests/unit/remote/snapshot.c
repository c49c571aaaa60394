/* Tests of remote/snapshot.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "remote/snapshot.h"

static const uint8_t bytes[4096];

Test(snapshot, one_span_must_hold_it_all)
{
	struct snapshot *s = snapshot_new();

	cr_assert_null(snapshot_at(s, 0x1000, 1));
	cr_assert_eq(snapshot_add(s, 0x1000, bytes, 16), 0);
	cr_assert_eq(snapshot_add(s, 0x1010, bytes + 100, 16), 0);
	cr_assert_eq(snapshot_at(s, 0x1000, 16), bytes);
	cr_assert_eq(snapshot_at(s, 0x1008, 8), bytes + 8);
	cr_assert_eq(snapshot_at(s, 0x101f, 1), bytes + 115);
	cr_assert_null(snapshot_at(s, 0x100f, 2));
	cr_assert_null(snapshot_at(s, 0xfff, 2));
	cr_assert_null(snapshot_at(s, 0x1020, 1));
	cr_assert_null(snapshot_at(s, 0x1000, SIZE_MAX));
	snapshot_reset(s);
	cr_assert_null(snapshot_at(s, 0x1000, 16));
	snapshot_free(s);
	snapshot_free(NULL);
}

Test(snapshot, the_last_added_wins)
{
	struct snapshot *s = snapshot_new();

	snapshot_add(s, 0x1000, bytes, 64);
	snapshot_add(s, 0x1010, bytes + 1000, 8);
	cr_assert_eq(snapshot_at(s, 0x1010, 8), bytes + 1000);
	cr_assert_eq(snapshot_at(s, 0x1010, 9), bytes + 16, "only the first holds nine");
	snapshot_add(s, 0x1000, bytes + 2000, 64);
	cr_assert_eq(snapshot_at(s, 0x1010, 8), bytes + 2016);
	snapshot_free(s);
}

Test(snapshot, limits)
{
	struct snapshot *s = snapshot_new();

	cr_assert_eq(snapshot_add(s, UINT64_MAX - 3, bytes, 8), -EINVAL);
	cr_assert_eq(snapshot_add(s, 0x1000, bytes, 0), 0);
	cr_assert_null(snapshot_at(s, 0x1000, 0));
	for (raddr_t i = 0; i < SNAPSHOT_MAX_SPANS; i++)
		cr_assert_eq(snapshot_add(s, i * 16, bytes + i % 4000, 16), 0);
	cr_assert_eq(snapshot_add(s, 0x1000, bytes, 16), -ENOSPC);
	for (raddr_t i = 0; i < SNAPSHOT_MAX_SPANS; i++)
		cr_assert_eq(snapshot_at(s, i * 16 + 4, 8), bytes + i % 4000 + 4);
	snapshot_free(s);
}

struct model {
	raddr_t addr;
	size_t len;
	const uint8_t *p;
};

static const void *model_at(const struct model *v, size_t n, raddr_t addr, size_t len)
{
	while (n--)
		if (v[n].addr <= addr && addr + len <= v[n].addr + v[n].len)
			return v[n].p + (addr - v[n].addr);
	return NULL;
}

/* Overlapping spans, added and looked up in turns, against the plain definition. */
Test(snapshot, agrees_with_a_list_searched_backwards)
{
	static struct model model[2000];
	struct snapshot *s = snapshot_new();
	size_t found = 0;

	srand(1);
	for (size_t n = 0; n < ARRAY_SIZE(model); n++) {
		struct model *m = &model[n];

		m->addr = (raddr_t)(rand() % 20000);
		m->len = 1 + (size_t)(rand() % (n % 50 ? 40 : 3000));
		m->p = bytes + rand() % 1000;
		cr_assert_eq(snapshot_add(s, m->addr, m->p, m->len), 0);
		for (int i = 0; i < 20; i++) {
			raddr_t addr = (raddr_t)(rand() % 20000);
			size_t len = 1 + (size_t)(rand() % 30);
			const void *want = model_at(model, n + 1, addr, len);

			cr_assert_eq(snapshot_at(s, addr, len), want);
			found += want != NULL;
		}
	}
	cr_assert_gt(found, 1000);
	snapshot_free(s);
}

Test(snapshot, a_view_is_the_whole_span_and_notes_that_it_was_used)
{
	struct snapshot *s = snapshot_new();
	struct snapshot_view v;

	snapshot_add(s, 0x1000, bytes, 64);
	snapshot_add(s, 0x2000, bytes + 100, 64);
	cr_assert_eq(snapshot_count(s), 2);
	cr_assert_not(snapshot_find(s, 0x1030, 32, &v));
	cr_assert_not(snapshot_used(s, 0));
	cr_assert(snapshot_find(s, 0x2010, 8, &v));
	cr_assert_eq(v.addr, 0x2000);
	cr_assert_eq(v.end, 0x2040);
	cr_assert_eq(v.bytes, bytes + 100);
	cr_assert(snapshot_used(s, 1));
	cr_assert_not(snapshot_used(s, 0));
	cr_assert_not(snapshot_used(s, 2));
	snapshot_reset(s);
	snapshot_add(s, 0x1000, bytes, 64);
	cr_assert_not(snapshot_used(s, 0));
	snapshot_free(s);
}

/* The order of the time before is taken when it fits, and only then. */
Test(snapshot, the_same_spans_again_and_others)
{
	struct snapshot *s = snapshot_new();

	for (int turn = 0; turn < 6; turn++) {
		raddr_t step = turn % 3 == 2 ? 48 : 32; /* twice the same, then others */

		snapshot_reset(s);
		for (raddr_t i = 0; i < 500; i++)
			snapshot_add(s, 0x1000 + (i * 7919 % 500) * step, bytes + i,
				     turn % 2 ? 16 : 24);
		for (raddr_t i = 0; i < 500; i++) {
			raddr_t at = 0x1000 + (i * 7919 % 500) * step;

			cr_assert_eq(snapshot_at(s, at, 16), bytes + i);
			cr_assert_eq(snapshot_at(s, at, 20), turn % 2 ? NULL : bytes + i);
		}
	}
	snapshot_free(s);
}

/* One span at a time, and a lookup after each, as when a walk is read through. */
Test(snapshot, ten_thousand_spans_that_come_one_by_one, .timeout = 20)
{
	struct snapshot *s = snapshot_new();

	for (raddr_t i = 0; i < 10000; i++) {
		raddr_t at = (i * 7919 % 10000) * 16;

		snapshot_add(s, at, bytes + i % 4000, 16);
		cr_assert_eq(snapshot_at(s, at + 8, 8), bytes + i % 4000 + 8);
		cr_assert_eq(snapshot_at(s, 7919 % 10000 * 16, 8), i ? bytes + 1 : NULL);
	}
	snapshot_free(s);
}
