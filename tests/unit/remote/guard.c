/* Tests of remote/guard.c: calls given up, with a pipe nobody writes to as what never answers. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "remote/guard.h"

#define LIMIT (200 * NSEC_PER_MSEC)

struct state {
	struct guard *g;
	int pipes[GUARD_MAX_ABANDONED + 1][2];
	size_t n;
	long results[GUARD_MAX_ABANDONED + 1];
	uint64_t took;
	size_t threads; /* at the start: the test's, and Criterion's own */
};

static size_t threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	size_t n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

static void start(struct state *s, uint64_t limit)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->pipes); i++)
		cr_assert_eq(pipe(s->pipes[i]), 0);
	s->threads = threads();
	cr_assert_eq(guard_new(limit, &s->g), 0);
}

static long read_pipe(struct state *s, size_t i)
{
	char *area = guard_area(s->g);
	long r = guard_syscall(s->g, SYS_read, (long[6]){s->pipes[i][0], (long)area, 1});

	return r == 1 ? *area : r;
}

static void wait_for_threads(size_t n)
{
	uint64_t end = clock_mono() + 10 * NSEC_PER_SEC;

	while (threads() != n && clock_mono() < end)
		usleep(1000);
	cr_assert_eq(threads(), n);
}

static int plain(void *arg)
{
	struct state *s = arg;

	cr_assert_eq(write(s->pipes[0][1], "x", 1), 1);
	cr_assert_eq(read_pipe(s, 0), 'x');
	cr_assert_eq(guard_syscall(s->g, SYS_close, (long[6]){-1}), -EBADF);
	cr_assert_eq(guard_syscall(s->g, SYS_getppid, (long[6]){0}), getppid());
	return 42;
}

Test(guard, passes_calls_through)
{
	struct state s = {0};
	int result = 0;

	start(&s, LIMIT);
	plain(&s); /* outside of guard_run */
	cr_assert_eq(guard_run(s.g, plain, &s, &result), 0);
	cr_assert_eq(result, 42);
	cr_assert_eq(guard_run(s.g, plain, &s, &result), 0, "as often as one likes");
	cr_assert_eq(guard_abandoned(s.g), 0);
	wait_for_threads(s.threads);
	guard_free(s.g);
	guard_free(NULL);
}

/* Deep in the stack, with locals that live in registers and on the stack. */
static long deep(struct state *s, size_t i, int depth)
{
	volatile char mark[64];
	long below, a = depth * 3, b = depth * 5, c = depth * 7, d = depth * 11;

	memset((char *)mark, depth, sizeof(mark));
	below = depth ? deep(s, i, depth - 1) : read_pipe(s, i);
	for (size_t k = 0; k < sizeof(mark); k++)
		if (mark[k] != (char)depth)
			return 1;
	return a + b + c + d == depth * 26 ? below : 2;
}

static int stuck(void *arg)
{
	struct state *s = arg;
	uint64_t start = clock_mono();

	for (size_t i = 0; i < s->n; i++)
		s->results[i] = deep(s, i, 100);
	s->took = clock_mono() - start;
	return 7;
}

Test(guard, carries_on_behind_a_call_that_never_comes_back, .timeout = 60)
{
	struct state s = {.n = 3};
	int result = 0;

	start(&s, LIMIT);
	cr_assert_eq(guard_run(s.g, stuck, &s, &result), 0);
	cr_assert_eq(result, 7);
	for (size_t i = 0; i < s.n; i++)
		cr_assert_eq(s.results[i], -ETIMEDOUT);
	cr_assert_geq(s.took, s.n * LIMIT * 3 / 4);
	cr_assert_eq(guard_abandoned(s.g), 3);
	wait_for_threads(s.threads + 3);
	/* the guard can run something else meanwhile */
	s.pipes[0][0] = s.pipes[4][0];
	s.pipes[0][1] = s.pipes[4][1];
	cr_assert_eq(guard_run(s.g, plain, &s, &result), 0);
	cr_assert_eq(result, 42);
	for (size_t i = 1; i < s.n; i++)
		cr_assert_eq(write(s.pipes[i][1], "x", 1), 1);
	wait_for_threads(s.threads + 1);
	close(s.pipes[0][1]);
	guard_free(s.g); /* one hangs: what it needs stays */
}

/* One comes back late while the code goes on, on the stack of the thread that is gone. */
static int late(void *arg)
{
	struct state *s = arg;

	s->results[0] = deep(s, 0, 50);
	cr_assert_eq(write(s->pipes[0][1], "x", 1), 1);
	wait_for_threads(s->threads + 1);
	s->results[1] = deep(s, 1, 50);
	cr_assert_eq(write(s->pipes[1][1], "x", 1), 1);
	wait_for_threads(s->threads + 1);
	cr_assert_eq(write(s->pipes[2][1], "z", 1), 1);
	s->results[2] = deep(s, 2, 50);
	return 0;
}

Test(guard, a_late_return_touches_nothing, .timeout = 60)
{
	struct state s = {0};
	int result = 1;

	start(&s, LIMIT);
	cr_assert_eq(guard_run(s.g, late, &s, &result), 0);
	cr_assert_eq(result, 0);
	cr_assert_eq(s.results[0], -ETIMEDOUT);
	cr_assert_eq(s.results[1], -ETIMEDOUT);
	cr_assert_eq(s.results[2], 'z');
	wait_for_threads(s.threads);
	guard_free(s.g);
}

/* All that may hang do; the last call is waited for until one of them comes back. */
static int full(void *arg)
{
	struct state *s = arg;
	size_t last = GUARD_MAX_ABANDONED;

	stuck(arg);
	cr_assert(guard_full(s->g));
	cr_assert_eq(threads(), s->threads + 1 + GUARD_MAX_ABANDONED);
	if (!fork()) {
		usleep(LIMIT * 3 / 1000);
		write(s->pipes[last][1], "y", 1);
		_exit(0);
	}
	s->results[last] = read_pipe(s, last);
	return 0;
}

Test(guard, at_most_so_many_threads_hang, .timeout = 60)
{
	struct state s = {.n = GUARD_MAX_ABANDONED};
	int result = 1;

	start(&s, LIMIT / 4);
	cr_assert_eq(guard_run(s.g, full, &s, &result), 0);
	for (size_t i = 0; i < s.n; i++)
		cr_assert_eq(s.results[i], -ETIMEDOUT);
	cr_assert_eq(s.results[s.n], 'y');
	cr_assert_eq(guard_abandoned(s.g), GUARD_MAX_ABANDONED);
	wait_for_threads(s.threads + GUARD_MAX_ABANDONED);
	for (size_t i = 0; i < s.n; i++)
		cr_assert_eq(write(s.pipes[i][1], "x", 1), 1);
	wait_for_threads(s.threads);
	guard_free(s.g);
}
