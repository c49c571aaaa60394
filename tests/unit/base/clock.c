/* Tests of base/clock.c. */
#include <criterion/criterion.h>
#include <time.h>

#include "base/clock.h"

Test(clock, clocks_tell_their_own_time)
{
	uint64_t mono = clock_mono(), boot = clock_boot(), cpu = clock_cpu_self();

	cr_assert_leq(mono, clock_mono());
	cr_assert_geq(clock_boot(), boot);
	cr_assert_geq(boot + NSEC_PER_MSEC, mono); /* boot time counts suspend too */
	cr_assert_leq(clock_real() / NSEC_PER_SEC, (uint64_t)time(NULL) + 1);
	cr_assert_geq(clock_real() / NSEC_PER_SEC + 1, (uint64_t)time(NULL));
	while (clock_cpu_self() == cpu)
		;
	cr_assert_gt(clock_cpu_self(), cpu);
}

Test(clock, idle_time_is_that_of_the_machine)
{
	uint64_t idle = clock_idle();

	cr_assert_gt(idle, 0);
	cr_assert_eq(idle % (10 * NSEC_PER_MSEC), 0);
	cr_assert_geq(clock_idle(), idle);
}
