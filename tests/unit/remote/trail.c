/* Tests of remote/trail.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include "base/bytes.h"
#include "remote/trail.h"
#include "tests/support/fakemem.h"

Test(trail, holds_until_a_step_changes)
{
	struct mem *m = fakemem_new();
	struct trail t;

	fakemem_add_u64(m, 0x1000, 0x2000);
	fakemem_add_u64(m, 0x2000, 7);
	trail_begin(&t, m);
	cr_assert_eq(trail_read_u64(&t, trail_read_u64(&t, 0x1000)), 7);
	cr_assert(trail_holds(&t));
	cr_assert_eq(m->stats.calls, 3, "all is read again in one call");
	fakemem_add_u64(m, 0x1000, 0x3000);
	cr_assert_not(trail_holds(&t));
	cr_assert_eq(t.error, -EAGAIN);
	fakemem_add_u64(m, 0x1000, 0x2000);
	cr_assert_not(trail_holds(&t), "an error remains");
	trail_begin(&t, m);
	trail_read_u64(&t, 0x1000);
	fakemem_hole(m, 0x1000, 8);
	cr_assert_not(trail_holds(&t));
	mem_free(m);
}

Test(trail, ends_at_the_first_error)
{
	struct mem *m = fakemem_new();
	struct trail t;

	fakemem_add_u64(m, 0x1000, 1);
	trail_begin(&t, m);
	cr_assert_eq(trail_read_u64(&t, 0x5000), 0);
	cr_assert_eq(t.error, -EFAULT);
	cr_assert_null(trail_read(&t, 0x1000, 8));
	cr_assert_eq(m->stats.calls, 1);
	cr_assert_not(trail_holds(&t));
	fakemem_state(m, -ESRCH);
	trail_begin(&t, m);
	cr_assert_null(trail_read(&t, 0x1000, 8));
	cr_assert_eq(t.error, -ESRCH);
	trail_begin(&t, NULL);
	cr_assert_null(trail_read(&t, 0x1000, 8));
	cr_assert_eq(t.error, -ESRCH);
	mem_free(m);
}

Test(trail, has_bounds)
{
	struct mem *m = fakemem_new();
	struct trail t;

	fakemem_add_u64(m, 0x1000, 1);
	trail_begin(&t, m);
	for (size_t i = 0; i < TRAIL_STEPS; i++)
		cr_assert_not_null(trail_read(&t, 0x1000, 8));
	cr_assert_null(trail_read(&t, 0x1000, 8));
	cr_assert_eq(t.error, -ENOSPC);
	trail_begin(&t, m);
	cr_assert_not_null(trail_read(&t, 0x1000, TRAIL_BYTES));
	cr_assert_null(trail_read(&t, 0x1000, 1));
	trail_begin(&t, m);
	cr_assert_null(trail_read(&t, 0x1000, TRAIL_BYTES + 1));
	cr_assert_null(trail_read(&t, 0x1000, SIZE_MAX));
	mem_free(m);
}
