/* Tests of remote/predict.c: what is asked for, what is kept, and the counts. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "remote/predict.h"
#include "tests/support/fakemem.h"

static struct mem *m;
static struct batch *b;
static struct snapshot *s;
static struct predict p;
static struct predict_hits hits[PREDICT_KINDS];

static void setup(void)
{
	static const uint8_t bytes[4096];

	m = fakemem_new();
	b = batch_new();
	s = snapshot_new();
	for (raddr_t at = 0x1000; at < 0x9000; at += sizeof(bytes))
		fakemem_add(m, at, bytes, sizeof(bytes));
}

static void teardown(void)
{
	predict_release(&p);
	snapshot_free(s);
	batch_free(b);
	mem_free(m);
}

TestSuite(predict, .init = setup, .fini = teardown);

struct touch {
	raddr_t addr;
	uint32_t len;
};

/* One read of a walk that looks at these places: as a reader does it. The calls it took. */
static uint64_t read_once(unsigned int kind, const struct touch *v, size_t n)
{
	uint64_t calls = m->stats.calls;
	bool missing = true;
	int n_runs = 0;

	batch_reset(b);
	snapshot_reset(s);
	cr_assert_eq(predict_ask(&p, b), 0);
	while (missing) {
		missing = false;
		cr_assert_eq(batch_run(b, m), 0);
		cr_assert_eq(batch_into(b, s), 0);
		if (!n_runs++)
			cr_assert_eq(predict_into(&p, b, s), 0);
		for (size_t i = 0; i < n; i++)
			if (!snapshot_at(s, v[i].addr, v[i].len))
				missing |= !predict_need(&p, kind, v[i].addr, v[i].len, b);
	}
	predict_seen(&p, s);
	predict_settle(&p, b, hits);
	return m->stats.calls - calls;
}

static void expect(unsigned int kind, uint64_t right, uint64_t wrong, uint64_t unused)
{
	cr_assert_eq(hits[kind].right, right, "right %lu", (unsigned long)hits[kind].right);
	cr_assert_eq(hits[kind].wrong, wrong, "wrong %lu", (unsigned long)hits[kind].wrong);
	cr_assert_eq(hits[kind].unused, unused, "unused %lu", (unsigned long)hits[kind].unused);
}

Test(predict, a_second_copy_is_read_behind_the_first)
{
	static const struct touch v[] = {{0x1000, 16}, {0x4100, 88}, {0x8208, 8}};
	static const struct touch other = {0x6000, 8};
	uint64_t call;

	read_once(2, v, 3);
	read_once(3, &other, 1);
	batch_reset(b);
	snapshot_reset(s);
	cr_assert_eq(predict_ask(&p, b), 0);
	cr_assert_eq(predict_ask_again(&p, b, 1u << 2), 0);
	call = m->stats.calls;
	/* 0x1000 0x4100 0x6000 0x8208 | 0x1000 0x4100 0x8208 */
	fakemem_change(m, (struct fakemem_when){call, 2}, 0x1000, "late", 4);
	fakemem_change(m, (struct fakemem_when){call, 2}, 0x8208, "late", 4);
	fakemem_change(m, (struct fakemem_when){call, 6}, 0x8208, "then", 4);
	cr_assert_eq(batch_run(b, m), 0);
	cr_assert_eq(predict_into(&p, b, s), 0);
	cr_assert_eq(*(const uint8_t *)snapshot_at(s, 0x1000, 16), 0);
	cr_assert_eq(memcmp(snapshot_at(s, 0x8208, 8), "late", 4), 0);
	snapshot_reset(s);
	cr_assert_eq(predict_into_again(&p, b, s), 0);
	cr_assert_eq(memcmp(snapshot_at(s, 0x1000, 16), "late", 4), 0);
	cr_assert_eq(*(const uint8_t *)snapshot_at(s, 0x4100, 88), 0);
	cr_assert_eq(memcmp(snapshot_at(s, 0x8208, 8), "then", 4), 0);
	cr_assert_null(snapshot_at(s, 0x6000, 8), "of the other kind there is one copy");
}

Test(predict, what_was_missed_comes_in_one_call_the_next_time)
{
	static const struct touch v[] = {{0x1000, 16}, {0x4100, 88}, {0x8208, 8}};

	cr_assert_eq(read_once(2, v, 3), 1);
	expect(2, 0, 0, 0);
	cr_assert_eq(p.n, 3);
	for (uint64_t i = 1; i < 10; i++) {
		cr_assert_eq(read_once(2, v, 3), 1);
		expect(2, 3 * i, 0, 0);
	}
	cr_assert_eq(m->stats.segments, 30);
	expect(1, 0, 0, 0);
}

Test(predict, what_shall_be_longer_is_so_the_next_time)
{
	static const struct touch v = {0x1000, 16};

	read_once(2, &v, 1);
	for (uint32_t len = 16; len <= 64; len += 48) {
		batch_reset(b);
		snapshot_reset(s);
		cr_assert_eq(predict_ask(&p, b), 0);
		cr_assert_eq(batch_run(b, m), 0);
		predict_fit(&p, 2, 0x1000, 64);
		cr_assert_eq(predict_into(&p, b, s), 0);
		cr_assert_not_null(snapshot_at(s, 0x1000, len));
		cr_assert_null(snapshot_at(s, 0x1000, len + 1), "no more than was read");
		predict_seen(&p, s);
		predict_settle(&p, b, hits);
	}
}

Test(predict, what_stops_paying_is_dropped)
{
	static const struct touch before[] = {{0x1000, 16}, {0x1100, 88}};
	static const struct touch after[] = {{0x1000, 16}, {0x1200, 88}};

	read_once(0, before, 2);
	cr_assert_eq(read_once(0, after, 2), 2, "the leaf has moved");
	expect(0, 1, 1, 1);
	for (int i = 1; i < PREDICT_PATIENCE; i++) {
		cr_assert_eq(p.n, 3);
		cr_assert_eq(read_once(0, after, 2), 1);
	}
	cr_assert_eq(p.n, 2);
	expect(0, 1 + 2 * (PREDICT_PATIENCE - 1), 1, PREDICT_PATIENCE);
	cr_assert_eq(read_once(0, after, 2), 1);
	expect(0, 1 + 2 * PREDICT_PATIENCE, 1, PREDICT_PATIENCE);
}

Test(predict, what_comes_back_in_time_stays)
{
	static const struct touch a[] = {{0x1000, 16}}, c[] = {{0x1100, 16}};

	read_once(0, a, 1);
	read_once(0, c, 1);
	for (int i = 0; i < 40; i++)
		cr_assert_eq(read_once(0, i % (PREDICT_PATIENCE - 1) ? a : c, 1), 1);
	cr_assert_eq(p.n, 2);
}

Test(predict, what_can_not_be_read_is_dropped_at_once)
{
	static const struct touch v[] = {{0x1000, 16}, {0x4100, 88}};
	static const struct touch hole[] = {{0xa000, 16}};

	read_once(0, v, 2);
	fakemem_hole(m, 0x4100, 8);
	cr_assert_eq(read_once(0, v, 1), 1);
	expect(0, 1, 0, 1);
	cr_assert_eq(p.n, 1);
	cr_assert_eq(read_once(0, hole, 1), 2, "asked for once, and no more in the same read");
	cr_assert_eq(p.n, 1);
	cr_assert_eq(predict_need(&p, 0, 0xa000, 16, b), -EFAULT);
}

Test(predict, a_piece_that_became_longer_takes_the_place_of_the_shorter)
{
	static const struct touch small[] = {{0x1000, 100}}, large[] = {{0x1000, 200}};

	read_once(3, small, 1);
	cr_assert_eq(read_once(3, large, 1), 2);
	cr_assert_eq(p.n, 1);
	cr_assert_eq(p.v[0].len, 200);
	cr_assert_eq(read_once(3, small, 1), 1, "it holds the shorter one");
	expect(3, 1, 1, 0);
}

Test(predict, lengths_grow_at_once_and_shrink_slowly)
{
	static const struct touch v[] = {{0x1000, 100}};

	read_once(0, v, 1);
	predict_fit(&p, 0, 0x1000, 900);
	cr_assert_eq(p.v[0].len, 900);
	predict_fit(&p, 0, 0x1000, 100);
	cr_assert_eq(p.v[0].len, 700);
	for (int i = 0; i < 40; i++)
		predict_fit(&p, 0, 0x1000, 100);
	cr_assert_eq(p.v[0].len, 100);
	predict_fit(&p, 0, 0x2000, 5);
	cr_assert_eq(p.v[0].len, 100);
}

Test(predict, a_snapshot_of_its_own_notes_what_was_looked_at)
{
	static const struct touch v[] = {{0x1000, 16}, {0x1100, 16}};
	struct snapshot *own = snapshot_new();

	read_once(0, v, 2);
	batch_reset(b);
	cr_assert_eq(predict_ask(&p, b), 0);
	cr_assert_eq(batch_run(b, m), 0);
	cr_assert_eq(predict_into(&p, b, own), 0);
	cr_assert_not_null(snapshot_at(own, 0x1100, 8));
	predict_seen(&p, own);
	snapshot_reset(own);
	predict_settle(&p, b, hits);
	expect(0, 1, 0, 1);
	cr_assert_eq(p.v[0].idle, 1);
	cr_assert_eq(p.v[1].idle, 0);
	snapshot_free(own);
}

Test(predict, two_that_need_the_same_ask_for_it_once)
{
	static const struct touch v[] = {{0x1000, 16}, {0x4100, 16}};
	struct predict q = {0};

	read_once(0, v, 2);
	for (size_t i = 0; i < 2; i++)
		cr_assert_eq(predict_need(&q, 1, v[i].addr, v[i].len, b), 0);
	batch_reset(b);
	cr_assert_eq(predict_ask(&p, b), 0);
	cr_assert_eq(predict_ask(&q, b), 0);
	m->stats.segments = 0;
	cr_assert_eq(batch_run(b, m), 0);
	cr_assert_eq(m->stats.segments, 2);
	cr_assert_eq(batch_at(b, q.v[1].index), batch_at(b, p.v[1].index));
	predict_release(&q);
}

Test(predict, neighbours_are_read_as_one_piece)
{
	static const struct touch v[] = {
		{0x1800, 88}, {0x1000, 16}, {0x1100, 88}, {0x5000, 16}, {0x5010, 16}};

	read_once(0, v, 2);
	for (size_t k = 2; k < 5; k++)
		cr_assert_eq(predict_need(&p, 1, v[k].addr, v[k].len, b), 0);
	m->stats.segments = m->stats.bytes = 0;
	cr_assert_eq(read_once(0, v, 5), 1);
	cr_assert_eq(m->stats.segments, 2, "%lu", (unsigned long)m->stats.segments);
	cr_assert_eq(m->stats.bytes, 0x858 + 32);
	expect(0, 2, 0, 0);
	expect(1, 3, 0, 0);
	for (int i = 0; i < PREDICT_PATIENCE; i++)
		read_once(0, v + 3, 2);
	cr_assert_eq(p.n, 2, "each piece pays for itself");
	cr_assert_eq(p.v[0].kind, 1);
}

/* Pages 1 to 3; the second one is bad. */
Test(predict, a_bad_page_costs_neighbours_a_call_once)
{
	static const struct touch v[] = {
		{0x1ff0, 16}, {0x2100, 16}, {0x2ff0, 16}, {0x3000, 16}, {0x3040, 16}};
	static const struct touch good[] = {{0x1ff0, 16}, {0x3000, 16}, {0x3040, 16}};

	read_once(0, v, 5);
	fakemem_hole(m, 0x2000, 0x1000);
	m->stats.segments = 0;
	cr_assert_eq(read_once(0, v, 5), 2);
	expect(0, 0, 5, 0);
	cr_assert_eq(p.n, 3, "what was asked for by itself and did not come is gone");
	m->stats.segments = 0;
	cr_assert_eq(read_once(0, good, 3), 1);
	cr_assert_eq(m->stats.segments, 2);
	expect(0, 3, 5, 0);
}

Test(predict, what_nobody_looked_at_gets_another_try_by_itself)
{
	static const uint8_t page[4096];
	static const struct touch v[] = {{0x1ff0, 16}, {0x2000, 16}, {0x2020, 16}};

	read_once(0, v, 3);
	fakemem_hole(m, 0x2000, 0x1000);
	cr_assert_eq(read_once(0, v, 1), 2);
	expect(0, 0, 1, 2);
	cr_assert_eq(p.n, 3);
	cr_assert_eq(read_once(0, v, 1), 1);
	expect(0, 1, 1, 4);
	cr_assert_eq(p.n, 1);
	/* only a while ago: its page is back before anybody has missed it */
	fakemem_add(m, 0x2000, page, sizeof(page));
	read_once(0, v, 3);
	fakemem_hole(m, 0x2000, 0x1000);
	read_once(0, v, 1);
	fakemem_add(m, 0x2000, page, sizeof(page));
	for (int i = 0; i < 3; i++)
		cr_assert_eq(read_once(0, v, 3), 1);
	m->stats.segments = 0;
	read_once(0, v, 3);
	cr_assert_eq(m->stats.segments, 1, "neighbours again");
}

Test(predict, a_full_batch_takes_what_it_can)
{
	size_t i;

	cr_assert_eq(batch_want(b, 0x1000, 1, &i), 0);
	for (raddr_t k = 0; k < 3; k++)
		cr_assert_eq(predict_need(&p, 0, 0x1000 + k * 0x1000, 64, b), 0);
	batch_reset(b);
	cr_assert_eq(batch_want(b, 0, BATCH_MAX_BYTES - 64, &i), 0);
	cr_assert_eq(predict_ask(&p, b), -ENOSPC);
	predict_settle(&p, b, hits);
	cr_assert_eq(p.n, 3, "what was not asked for is not judged");
	predict_release(&p);
	cr_assert_eq(p.n, 0);
}
