/* Tests of python/reader.h: a process that links more thread states than it has threads. */
#include <criterion/criterion.h>
#include "python/reader.h"
#include "tests/support/fakepython.h"

#define STATES 3000u

static enum reader_status look_for(struct reader *r, uint64_t thread_ptr)
{
	struct reader_thread t = {.thread_ptr = thread_ptr};

	cr_assert_eq(reader_read(r, &t, 1), 0);
	return t.status;
}

Test(reader_hostile, states_that_no_thread_has)
{
	struct fakepython p = {layout_table(11), 1, STATES, false, 0};
	struct discover_found f = {
		.layout = *p.layout,
		.runtime = FAKEPYTHON_RUNTIME,
		.main_interp = fakepython_interp(0),
		.gil = FAKEPYTHON_RUNTIME + p.layout->runtime.gil,
	};
	struct mem *m = fakepython_new(&p);
	struct reader *r = reader_new(&f, m);
	const struct thread_state *v;
	size_t n = 0;

	reader_expect(r, 2);
	cr_assert_eq(reader_list(r, &v, &n), 0);
	cr_assert_eq(n, READER_STATES_MORE + 4);
	cr_assert_eq(look_for(r, FAKEPYTHON_THREAD_ID + STATES - 1), READER_FAILED,
		     "it may be behind");
	cr_assert_eq(look_for(r, 1), READER_FAILED);
	reader_expect(r, STATES);
	cr_assert_eq(reader_list(r, &v, &n), 0);
	cr_assert_eq(n, STATES);
	cr_assert_eq(look_for(r, 1), READER_NO_STATE);
	reader_free(r);
	mem_free(m);
}
