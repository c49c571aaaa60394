/* Tests of collect/roster.c. */
#include <criterion/criterion.h>
#include "collect/roster.h"

static struct sched_facts facts(uint32_t tid, uint64_t start)
{
	return (struct sched_facts){.pid = 1, .tid = tid, .start = start, .runs = 5, .cpu_ns = 70};
}

/* Gives each thread an id of its own, to be found again. */
static void mark(struct roster *r)
{
	for (size_t i = 0; i < r->n; i++)
		r->v[i].id = 100 + r->v[i].tid;
}

Test(roster, starts_unknown)
{
	struct sched_facts f[] = {facts(3, 1), facts(4, 1)};
	struct roster r = {0};

	cr_assert_eq(roster_follow(&r, f, 2), 0);
	cr_assert_eq(r.n, 2);
	for (size_t i = 0; i < 2; i++) {
		cr_expect_eq(r.v[i].tid, f[i].tid);
		cr_expect_eq(r.v[i].id, ROSTER_NONE);
		cr_expect_eq(r.v[i].stack, ROSTER_NONE);
		cr_expect_eq(r.v[i].ticket, ROSTER_NONE);
		cr_expect_eq(r.v[i].told, 0);
		cr_expect_eq(r.v[i].untold, 0);
		cr_expect(r.v[i].fresh);
		cr_expect_not(roster_unchanged(&r.v[i], &f[i]));
	}
	roster_release(&r);
	cr_expect_eq(r.n, 0);
}

/* Threads are born before, between and behind others, and end anywhere. */
Test(roster, follows_births_and_deaths)
{
	struct sched_facts a[] = {facts(10, 1), facts(20, 1), facts(30, 1)};
	struct sched_facts b[] = {facts(5, 2), facts(10, 1), facts(15, 2), facts(30, 1),
				  facts(40, 2)};
	struct sched_facts c[] = {facts(15, 2)};
	struct roster r = {0};

	cr_assert_eq(roster_follow(&r, a, 3), 0);
	mark(&r);
	cr_assert_eq(roster_follow(&r, b, 5), 0);
	cr_assert_eq(r.n, 5);
	for (size_t i = 0; i < 5; i++) {
		bool known = b[i].tid == 10 || b[i].tid == 30;

		cr_expect_eq(r.v[i].tid, b[i].tid);
		cr_expect_eq(r.v[i].id, known ? 100 + b[i].tid : ROSTER_NONE);
	}
	mark(&r);
	cr_assert_eq(roster_follow(&r, c, 1), 0);
	cr_assert_eq(r.n, 1);
	cr_expect_eq(r.v[0].id, 115);
	cr_assert_eq(roster_follow(&r, NULL, 0), 0);
	cr_expect_eq(r.n, 0);
	cr_assert_eq(roster_follow(&r, a, 3), 0);
	cr_expect_eq(r.v[0].id, ROSTER_NONE);
	roster_release(&r);
}

/* The same id with another start is another thread, also when nothing else has changed. */
Test(roster, a_reused_tid_is_new)
{
	struct sched_facts a[] = {facts(10, 1), facts(20, 1)}, b[] = {facts(10, 1), facts(20, 2)};
	struct roster r = {0};

	cr_assert_eq(roster_follow(&r, a, 2), 0);
	mark(&r);
	cr_assert_eq(roster_follow(&r, b, 2), 0);
	cr_expect_eq(r.v[0].id, 110);
	cr_expect_eq(r.v[1].id, ROSTER_NONE);
	cr_expect_eq(r.v[1].start, 2);
	roster_release(&r);
}

/* What is the same stays in its place, and nothing is allocated. */
Test(roster, an_equal_set_moves_nothing)
{
	struct sched_facts a[] = {facts(10, 1), facts(20, 1)};
	struct roster r = {0};
	const struct roster_thread *v;

	cr_assert_eq(roster_follow(&r, a, 2), 0);
	v = r.v;
	for (int i = 0; i < 10; i++) {
		a[0].runs++;
		cr_assert_eq(roster_follow(&r, a, 2), 0);
		cr_expect_eq(r.v, v);
	}
	cr_expect_null(r.spare);
	roster_release(&r);
}

Test(roster, unchanged)
{
	struct sched_facts f = facts(10, 1);
	struct roster_thread t = {.tid = 10, .start = 1, .runs = 5, .cpu_ns = 70};

	t.stack = 7;
	t.ticket = ROSTER_NONE;
	cr_expect(roster_unchanged(&t, &f));
	t.stack = STACK_EMPTY;
	cr_expect(roster_unchanged(&t, &f));
	t.stack = ROSTER_NONE;
	cr_expect_not(roster_unchanged(&t, &f));
	t.ticket = 0;
	cr_expect(roster_unchanged(&t, &f));
	f.runs++;
	cr_expect_not(roster_unchanged(&t, &f));
	f.runs--;
	f.cpu_ns++;
	cr_expect_not(roster_unchanged(&t, &f));
}

Test(roster, has)
{
	struct sched_facts f[100];
	struct roster r = {0};

	cr_expect_not(roster_has(&r, 1));
	for (uint32_t i = 0; i < 100; i++)
		f[i] = facts(2 * i + 1, 1);
	for (size_t n = 0; n <= 100; n += 33) {
		cr_assert_eq(roster_follow(&r, f, n), 0);
		for (uint32_t tid = 0; tid < 202; tid++)
			cr_expect_eq(roster_has(&r, tid), tid % 2 == 1 && tid < 2 * n, "%u of %zu",
				     tid, n);
	}
	roster_release(&r);
}

/* What its samples tell is the time off the CPU, in whatever pieces it is looked at. */
Test(roster, time_off_the_cpu_is_told_once)
{
	struct roster_thread t = {.told = 1000, .told_cpu = 70};

	cr_expect_eq(roster_untold(&t, 1100, 100), 70);
	cr_expect_eq(roster_tell(&t, 1100, 100), 70);
	cr_expect_eq(roster_tell(&t, 1100, 100), 0, "it is told");
	cr_expect_eq(roster_untold(&t, 1200, 200), 0, "it ran all the time");
	cr_expect_eq(roster_tell(&t, 1300, 200), 100, "no look between them is missing");
	cr_expect_eq(roster_tell(&t, 1250, 200), 0, "one that came late");
	cr_expect_eq(t.told, 1300);
	cr_expect_eq(roster_tell(&t, 1310, 300), 0, "clocks differ");
}
