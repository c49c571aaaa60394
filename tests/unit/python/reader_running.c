/* A stack that changes while it is read: what two copies of it hold is one that was. */
#include <criterion/criterion.h>
#include "python/reader.h"
#include "tests/support/fakestack.h"

#define DEPTH 5
#define LASTI 77
#define PIECES 24 /* more than one call has */

static struct layout l;
static struct mem *m;
static struct reader *r;
static struct reader_thread t;

/* One thread, which the GIL's words say nothing of, as often read as the reader needs to learn. */
static void build(uint32_t minor)
{
	struct fakepython p = {&l, 1, 1, false, 1};
	struct discover_found f;

	l = fakestack_layout(minor);
	m = fakepython_new(&p);
	fakemem_add_u64(m, fakestack_gil(&l) + l.gil.switch_number, FAKESTACK_SWITCHES);
	if (l.interp.gc_collecting != LAYOUT_NONE)
		fakemem_add_u32(m, fakepython_interp(0) + l.interp.gc_collecting, 0);
	fakestack_add(m, &l, 0, DEPTH, 0);
	f = fakestack_found(&p);
	r = reader_new(&f, m);
	cr_assert_not_null(r);
	t = (struct reader_thread){.thread_ptr = FAKEPYTHON_THREAD_ID, .runs = true};
	for (int i = 0; i < 3; i++)
		cr_assert_eq(reader_read(r, &t, 1), 0);
	cr_assert(t.steady && !t.still);
}

static void demolish(void)
{
	reader_free(r);
	mem_free(m);
}

/* Just before this piece of the next call the leaf returns and the root goes on, both at once. */
static void change_at(size_t piece)
{
	struct fakemem_when when = {m->stats.calls, piece};
	raddr_t leaf = fakestack_at(&l, 0, DEPTH - 2);
	uint32_t lasti = LASTI;

	fakemem_change(m, when, fakepython_state(0) + l.tstate.frame, &leaf, sizeof(leaf));
	fakemem_change(m, when, fakestack_at(&l, 0, 0) + l.frame.instr, &lasti, sizeof(lasti));
}

Test(reader_running, objects_are_found_twice)
{
	for (uint32_t minor = 8; minor <= 10; minor++) {
		unsigned int torn = 0;

		for (size_t piece = 0; piece < PIECES; piece++) {
			const struct walk_frame *root;
			uint64_t calls;

			build(minor);
			change_at(piece);
			calls = m->stats.calls;
			cr_assert_eq(reader_read(r, &t, 1), 0);
			cr_assert_eq(m->stats.calls - calls, 1);
			root = reader_frames(r) + t.first + t.n - 1;
			if (t.steady)
				cr_assert_eq(t.n == DEPTH, root->instr != LASTI, "3.%u: piece %zu",
					     minor, piece);
			torn += !t.steady;
			demolish();
		}
		cr_assert(torn > 2 && torn < PIECES / 2, "3.%u: %u", minor, torn);
	}
}

/* The leaf may go on within its code; who does not run is read once. */
Test(reader_running, leaf_that_goes_on)
{
	uint64_t pieces, twice;
	uint32_t lasti = LASTI;

	build(9);
	fakemem_change(m, (struct fakemem_when){m->stats.calls, 10},
		       fakestack_at(&l, 0, DEPTH - 1) + l.frame.instr, &lasti, sizeof(lasti));
	pieces = m->stats.segments;
	cr_assert_eq(reader_read(r, &t, 1), 0);
	cr_assert(t.steady);
	twice = m->stats.segments - pieces;
	t.runs = false;
	pieces = m->stats.segments;
	cr_assert_eq(reader_read(r, &t, 1), 0);
	cr_assert_not(t.steady);
	cr_assert_lt(m->stats.segments - pieces, twice);
	demolish();
}
