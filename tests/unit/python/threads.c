/* Listing thread states: every version, several interpreters, lists that change or lie. */
#include <criterion/criterion.h>
#include <errno.h>
#include "python/threads.h"
#include "tests/support/fakepython.h"

static struct discover_found found_of(const struct fakepython *p)
{
	const struct layout *l = p->layout;

	return (struct discover_found){
		.layout = *l,
		.runtime = FAKEPYTHON_RUNTIME,
		.main_interp = fakepython_interp(p->interps - 1),
		.gil = l->runtime.gil == LAYOUT_NONE ? FAKEPYTHON_GIL
						     : FAKEPYTHON_RUNTIME + l->runtime.gil,
	};
}

Test(threads, every_version_lists_all_states_in_order)
{
	for (uint32_t minor = 8; minor <= 12; minor++) {
		struct fakepython p = {layout_table(minor), 2, 3, true, 5};
		struct discover_found f = found_of(&p);
		struct mem *m = fakepython_new(&p);
		struct thread_state v[8];
		size_t n, total;

		cr_assert_eq(threads_list(m, &f, v, 8, &n, &total), 0);
		cr_assert_eq(n, 6, "3.%u: %zu", minor, n);
		cr_assert_eq(total, 6);
		for (unsigned int i = 0; i < 6; i++) {
			cr_assert_eq(v[i].addr, fakepython_state(i));
			cr_assert_eq(v[i].interp, fakepython_interp(i / 3));
			cr_assert_eq(v[i].thread_id, FAKEPYTHON_THREAD_ID + i);
			cr_assert_eq(v[i].native_id, minor < 11 ? 0 : FAKEPYTHON_NATIVE_ID + i);
			cr_assert_eq(v[i].frame, fakepython_frame(i), "3.%u frame %u", minor, i);
			cr_assert_eq(v[i].holds_gil, i == 4, "3.%u gil %u", minor, i);
		}
		mem_free(m);
	}
}

Test(threads, more_than_there_is_room_for_are_counted)
{
	struct fakepython p = {layout_table(11), 2, 50, false, 0};
	struct discover_found f = found_of(&p);
	struct mem *m = fakepython_new(&p);
	struct thread_state v[8];
	size_t n, total;

	cr_assert_eq(threads_list(m, &f, v, 8, &n, &total), 0);
	cr_assert_eq(n, 8);
	cr_assert_eq(total, 100);
	cr_assert_eq(v[7].frame, 0);
	mem_free(m);
}

Test(threads, without_a_total_it_stops_when_full)
{
	struct fakepython p = {layout_table(10), 1, 50, false, 0};
	struct discover_found f = found_of(&p);
	struct mem *m = fakepython_new(&p);
	struct thread_state v[4];
	size_t n;

	cr_assert_eq(threads_list(m, &f, v, 4, &n, NULL), 0);
	cr_assert_eq(n, 4);
	cr_assert_lt(m->stats.calls, 10);
	mem_free(m);
}

Test(threads, no_interpreter_is_an_empty_list)
{
	struct fakepython p = {layout_table(12), 0, 0, false, 0};
	struct discover_found f = found_of(&(struct fakepython){layout_table(12), 1, 0, false, 0});
	struct mem *m = fakepython_new(&p);
	struct thread_state v[4];
	size_t n = 7, total = 7;

	cr_assert_eq(threads_list(m, &f, v, 4, &n, &total), 0);
	cr_assert_eq(n, 0);
	cr_assert_eq(total, 0);
	mem_free(m);
}

Test(threads, cycles_end)
{
	struct fakepython p = {layout_table(9), 2, 3, false, 0};
	const struct layout *l = p.layout;
	struct discover_found f = found_of(&p);
	struct mem *m = fakepython_new(&p);
	struct thread_state v[16];
	size_t n, total;

	/* the last state of the first list leads back to the first one, which does not lead to it
	 */
	fakemem_add_u64(m, fakepython_state(2) + l->tstate.next, fakepython_state(0));
	/* the last interpreter leads back to the first */
	fakemem_add_u64(m, fakepython_interp(1) + l->interp.next, fakepython_interp(0));
	cr_assert_eq(threads_list(m, &f, v, 16, &n, &total), 0);
	cr_assert_eq(n, 6, "each interpreter is listed once");
	cr_assert_eq(total, 6);
	for (size_t i = 0; i < 6; i++)
		cr_assert_eq(v[i].addr, fakepython_state((unsigned int)i));
	mem_free(m);
}

Test(threads, a_true_ring_ends_at_the_limit)
{
	struct fakepython p = {layout_table(9), 1, 2, false, 0};
	const struct layout *l = p.layout;
	struct discover_found f = found_of(&p);
	struct mem *m = fakepython_new(&p);
	struct thread_state v[4];
	size_t n, total;

	/* prev fits for all but the head, so the second turn is refused there */
	fakemem_add_u64(m, fakepython_state(1) + l->tstate.next, fakepython_state(0));
	fakemem_add_u64(m, fakepython_state(0) + l->tstate.prev, fakepython_state(1));
	cr_assert_eq(threads_list(m, &f, v, 4, &n, &total), 0);
	cr_assert_eq(n, 0);
	mem_free(m);
}

Test(threads, a_list_that_changed_is_read_again)
{
	struct fakepython p = {layout_table(8), 1, 3, false, 0};
	const struct layout *l = p.layout;
	struct discover_found f = found_of(&p);
	struct mem *m = fakepython_new(&p);
	raddr_t good = fakepython_state(0), bad = 0x1234560;
	struct thread_state v[4];
	size_t n, total;

	/* the second state's link is torn until the third state would be read */
	fakemem_add(m, fakepython_state(1) + l->tstate.prev, &bad, sizeof(bad));
	fakemem_change(m, (struct fakemem_when){.call = 5}, fakepython_state(1) + l->tstate.prev,
		       &good, sizeof(good));
	cr_assert_eq(threads_list(m, &f, v, 4, &n, &total), 0);
	cr_assert_eq(n, 3);
	cr_assert_eq(total, 3);
	mem_free(m);
}

Test(threads, a_state_that_is_gone_does_not_cost_the_others)
{
	struct fakepython p = {layout_table(8), 2, 3, false, 0};
	struct discover_found f = found_of(&p);
	struct mem *m = fakepython_new(&p);
	struct thread_state v[8];
	size_t n, total;

	fakemem_hole(m, fakepython_state(1), 512);
	cr_assert_eq(threads_list(m, &f, v, 8, &n, &total), 0);
	cr_assert_eq(n, 4);
	cr_assert_eq(v[0].addr, fakepython_state(0));
	cr_assert_eq(v[1].addr, fakepython_state(3));
	mem_free(m);
}

Test(threads, a_class_that_holds_for_all_is_returned)
{
	static const int classes[] = {-ESRCH, -EPERM, -ETIMEDOUT};

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		struct fakepython p = {layout_table(12), 1, 3, true, 0};
		struct discover_found f = found_of(&p);
		struct thread_state v[4];
		size_t n = 9, total = 9;

		for (uint64_t call = 0; call < 6; call++) {
			struct mem *m = fakepython_new(&p);

			fakemem_die(m, (struct fakemem_when){.call = call}, classes[i]);
			cr_assert_eq(threads_list(m, &f, v, 4, &n, &total), classes[i], "call %lu",
				     (unsigned long)call);
			cr_assert_eq(n, 9);
			mem_free(m);
		}
	}
}
