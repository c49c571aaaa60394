/* The stack of a sample that was recorded without frames, read from a fake memory. */
#include <criterion/criterion.h>
#include <errno.h>
#include "collect/seed.h"
#include "tests/support/fakestack.h"

#define DEPTH 4

static struct layout l;
static struct fakepython python;
static struct mem *m;
static struct reader *r;
static struct seed s;
static struct event_sample e;

/* Two threads; the first is sampled. gil_of: as in struct fakepython. */
static void build(unsigned int gil_of)
{
	struct discover_found f;

	l = fakestack_layout(12);
	python = (struct fakepython){&l, 1, 2, false, gil_of};
	m = fakepython_new(&python);
	fakemem_add_u64(m, fakestack_gil(&l) + l.gil.switch_number, FAKESTACK_SWITCHES);
	fakestack_add(m, &l, 0, DEPTH, 0);
	fakestack_add(m, &l, 1, DEPTH, 10);
	f = fakestack_found(&python);
	r = reader_new(&f, m);
	cr_assert_not_null(r);
	cr_assert_eq(seed_init(&s), 0);
	e = (struct event_sample){.tstate = fakepython_state(0),
				  .task.thread_ptr = FAKEPYTHON_THREAD_ID};
}

static void demolish(void)
{
	seed_release(&s);
	reader_free(r);
	mem_free(m);
}

/* The calls that it took. */
static uint64_t read_seed(void)
{
	uint64_t calls = m->stats.calls;

	cr_assert_eq(seed_read(&s, r, &e), 0);
	return m->stats.calls - calls;
}

static void is_stack(size_t n)
{
	cr_assert_eq(s.n, n);
	for (size_t i = 0; i < n; i++) {
		cr_assert_eq(s.frames[i].code, fakestack_code((unsigned int)(n - 1 - i)));
		cr_assert(s.ids[i].ok);
	}
}

Test(seed_read, a_thread_that_stood_still_is_read_once)
{
	build(2);
	read_seed();
	cr_assert_eq(read_seed(), 1);
	cr_assert_eq(s.outcome, OUTCOME_READ);
	is_stack(DEPTH);
	demolish();
}

Test(seed_read, one_that_may_have_run_is_read_twice)
{
	build(1);
	read_seed();
	cr_assert_eq(read_seed(), 2);
	cr_assert_eq(s.outcome, OUTCOME_UNPROVEN);
	is_stack(DEPTH);
	demolish();
}

Test(seed_read, readings_that_differ_are_made_again)
{
	raddr_t leaf;

	build(1);
	read_seed();
	/* the leaf returns between the first and the second reading */
	leaf = fakestack_at(&l, 0, DEPTH - 2);
	fakemem_change(m, (struct fakemem_when){.call = m->stats.calls + 1},
		       fakepython_state(0) + 0x1000 + l.tstate.frame_hop, &leaf, sizeof(leaf));
	cr_assert_eq(read_seed(), 3);
	cr_assert_eq(s.outcome, OUTCOME_UNPROVEN);
	is_stack(DEPTH - 1);
	/* and between any two */
	for (uint64_t i = 0; i < 1000; i++) {
		leaf = fakestack_at(&l, 0, DEPTH - 1 - i % 2);
		fakemem_change(m, (struct fakemem_when){.call = m->stats.calls + i},
			       fakepython_state(0) + 0x1000 + l.tstate.frame_hop, &leaf,
			       sizeof(leaf));
	}
	cr_assert_leq(read_seed(), 20);
	cr_assert_eq(s.outcome, OUTCOME_MISSED);
	cr_assert_eq(s.n, 0);
	demolish();
}

Test(seed_read, what_is_not_there_any_more)
{
	build(2);
	read_seed();
	fakestack_leaf(m, &l, 0, 0);
	read_seed();
	cr_assert_eq(s.outcome, OUTCOME_NATIVE);
	fakemem_add_u64(m, fakepython_interp(0) + l.interp.threads_head, fakepython_state(1));
	fakemem_add_u64(m, fakepython_state(1) + l.tstate.prev, 0);
	read_seed();
	cr_assert_eq(s.outcome, OUTCOME_GONE, "the state is in no list");
	fakemem_state(m, -ESRCH);
	read_seed();
	cr_assert_eq(s.outcome, OUTCOME_GONE);
	e.tstate = 0;
	read_seed();
	cr_assert_eq(s.outcome, OUTCOME_MISSED);
	e.flags = EVENT_LIST_ENDED;
	read_seed();
	cr_assert_eq(s.outcome, OUTCOME_NATIVE);
	demolish();
}
