/* Tests of collect/wall_look.c. */
#include <criterion/criterion.h>
#include "collect/process.h"
#include "collect/wall_look.h"

#define MS 1000000ull

Test(wall_look, time_is_cut_where_looks_were)
{
	struct process p = {.wall_seen = 100 * MS};
	struct wall_look l = wall_look_at(&p, 107 * MS, 0);

	cr_expect_eq(l.begin, 100 * MS);
	cr_expect_eq(l.ticks, 1);
	cr_expect_eq(l.before_ticks, 0);
	wall_look_before(&l, 5, 105 * MS);
	cr_expect_eq(l.ticks, 6);
	cr_expect_eq(l.before_ticks, 5);
	cr_expect_eq(l.before_time, 105 * MS);
	l = wall_look_at(&p, 109 * MS, 0);
	cr_expect_eq(l.begin, 107 * MS);
	wall_look_before(&l, 3, 107 * MS);
	cr_expect_eq(l.before_ticks, 0, "they were before the look before");
}

Test(wall_look, a_new_process_was_there_since_the_last_tick)
{
	struct process p = {0};

	cr_expect_eq(wall_look_at(&p, 50 * MS, 48 * MS).begin, 48 * MS);
	p = (struct process){0};
	cr_expect_eq(wall_look_at(&p, 50 * MS, 51 * MS).begin, 50 * MS, "not before it begins");
}

Test(wall_look, without_looks_a_change_was_in_the_middle)
{
	struct process p = {.wall_seen = 100 * MS};
	struct wall_look l = wall_look_at(&p, 201 * MS, 0);

	wall_look_guess(&l, MS);
	cr_expect_eq(l.ticks, 101);
	cr_expect_eq(l.before_ticks, 50);
	cr_expect_eq(l.before_time, 150 * MS);
	l = wall_look_at(&p, 201 * MS + 10, 0);
	wall_look_guess(&l, MS);
	cr_expect_eq(l.ticks, 1);
	cr_expect_eq(l.before_ticks, 0);
}

/* Rounded look by look it would be 20 a second. */
Test(wall_look, without_looks_there_was_one_tick_a_period)
{
	struct process p = {.wall_seen = 1000 * MS};
	uint64_t ticks = 0, time;

	for (time = 1100 * MS; time <= 11000 * MS; time += 100 * MS) {
		struct wall_look l = wall_look_at(&p, time, 0);

		wall_look_guess(&l, 1000 * MS / 15);
		ticks += l.ticks;
	}
	cr_expect_eq(ticks, 150);
}
