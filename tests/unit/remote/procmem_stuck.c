/* Tests of remote/procmem.c with guard.c: pages behind a userfaultfd that nobody serves. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "remote/guard.h"
#include "remote/procmem.h"
#include "tests/support/child.h"

#define LIMIT (500 * NSEC_PER_MSEC)
#define STUCK (GUARD_MAX_ABANDONED + 2)

static const uint64_t mark = 0x1122334455667788;

struct state {
	struct guard *g;
	pid_t good, stuck[STUCK];
	uint64_t page[STUCK];
	size_t n;
};

static uint64_t nothing(void *arg)
{
	(void)arg;
	return 0;
}

static void start(struct state *s, size_t n)
{
	uint64_t ignored;

	s->n = n;
	s->good = child_start(nothing, NULL, &ignored);
	for (size_t i = 0; i < n; i++)
		s->stuck[i] = child_start(child_stuck_page, NULL, &s->page[i]);
	if (!s->page[0])
		cr_skip_test("userfaultfd is refused here");
	cr_assert_eq(guard_new(LIMIT, &s->g), 0);
}

static void end(struct state *s)
{
	for (size_t i = 0; i < s->n; i++)
		child_end(s->stuck[i]); /* which ends the waits, too */
	child_end(s->good);
	guard_free(s->g);
}

static struct mem *reader(struct state *s, pid_t pid)
{
	struct mem *m = NULL;

	cr_assert_eq(procmem_new_guarded(pid, s->g, &m), 0);
	return m;
}

static void good_is_read(struct mem *good)
{
	uint64_t v = 0, t = clock_mono();

	cr_assert_eq(mem_read_u64(good, (uintptr_t)&mark, &v), 0);
	cr_assert_eq(v, mark);
	cr_assert_lt(clock_mono() - t, NSEC_PER_SEC);
}

static int one_hangs(void *arg)
{
	struct state *s = arg;
	struct mem *good = reader(s, s->good), *bad = reader(s, s->stuck[0]);
	uint64_t v = 1, calls, t;
	struct mem_seg segs[] = {
		{.addr = (uintptr_t)&mark, .len = 8, .buf = &v},
		{.addr = s->page[0], .len = 8, .buf = &v},
		{.addr = (uintptr_t)&mark, .len = 8, .buf = &v},
	};

	cr_assert_eq(mem_read_u64(bad, (uintptr_t)&mark, &v), 0);
	cr_assert_eq(v, mark);
	good_is_read(good);
	t = clock_mono();
	cr_assert_eq(mem_readv(bad, segs, 3), -ETIMEDOUT);
	t = clock_mono() - t;
	cr_assert(t >= LIMIT * 3 / 4 && t < 2 * NSEC_PER_SEC, "%lu ms", t / NSEC_PER_MSEC);
	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(segs[i].status, -ETIMEDOUT);
	good_is_read(good);
	calls = bad->stats.calls;
	cr_assert_eq(mem_read_u64(bad, (uintptr_t)&mark, &v), -ETIMEDOUT, "set aside");
	cr_assert_eq(bad->stats.calls, calls);
	cr_assert_eq(guard_abandoned(s->g), 1);
	mem_free(bad);
	good_is_read(good);
	mem_free(good);
	return 0;
}

Test(procmem_stuck, a_read_that_hangs_costs_its_process_only, .timeout = 60)
{
	struct state s = {0};
	int result = 1;

	start(&s, 1);
	cr_assert_eq(guard_run(s.g, one_hangs, &s, &result), 0);
	cr_assert_eq(result, 0);
	end(&s);
}

/* More processes than threads may hang: the others are still read, these are refused at once. */
static int all_hang(void *arg)
{
	struct state *s = arg;
	struct mem *good = reader(s, s->good);
	uint64_t v;

	for (size_t i = 0; i < s->n; i++) {
		struct mem *bad = reader(s, s->stuck[i]);
		int want = i < GUARD_MAX_ABANDONED ? -ETIMEDOUT : -EFAULT;

		cr_assert_eq(mem_read_u64(bad, s->page[i], &v), want, "process %zu", i);
		mem_free(bad);
		good_is_read(good);
	}
	cr_assert_eq(guard_abandoned(s->g), GUARD_MAX_ABANDONED);
	mem_free(good);
	return 0;
}

Test(procmem_stuck, a_bounded_number_of_threads_hangs, .timeout = 60)
{
	struct state s = {0};
	int result = 1;

	start(&s, STUCK);
	cr_assert_eq(guard_run(s.g, all_hang, &s, &result), 0);
	cr_assert_eq(result, 0);
	end(&s);
}

static void leave_hanging(struct state *s)
{
	int result = 1;

	guard_run(s->g, one_hangs, s, &result);
	guard_free(s->g);
#ifdef __SANITIZE_ADDRESS__
	_exit(result); /* LeakSanitizer waits at exit until every thread has stopped: for ever */
#else
	exit(result);
#endif
}

Test(procmem_stuck, the_program_ends_while_a_thread_hangs, .timeout = 60)
{
	struct state s = {0};
	int status = -1;
	pid_t pid;

	start(&s, 1);
	pid = fork();
	if (!pid)
		leave_hanging(&s);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status) && !WEXITSTATUS(status));
	end(&s);
}
