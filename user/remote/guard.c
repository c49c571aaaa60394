/*
 * Run code so that a system call of it that never comes back costs a thread, not the program.
 *
 * A read of another process's memory faults its pages in. Behind such a page there may be somebody
 * in user space (userfaultfd, a FUSE or network file system) who never answers; the reader sleeps
 * in the kernel, and no signal that leaves the program alive wakes it. Asking first whether a page
 * is there proves nothing, the target changes it before the read; a thread that reads on behalf of
 * the others costs two switches for every read, to guard against what nearly never happens.
 *
 * So the code that reads makes the call itself, and when the call is overdue another thread carries
 * on with its *stack*:
 *
 *	thread A   loop ─ drain ─ walk ─ guard_syscall ─╮ in the kernel … (may be for ever)
 *	supervisor      looks every limit/4 … overdue: takes the call, starts B
 *	thread B                                        ╰─ returns -ETIMEDOUT to walk ─ drain ─ loop
 *
 * While A is in the kernel nothing of it runs in user space: its stack and the registers that a
 * function must keep, saved on that stack, are all there is to its code, and B takes them as a
 * coroutine would be resumed. Who owns the stack is decided by one word: A sets it to the call's
 * number, and the compare-and-swap back to idle (A, returning) or to "abandoned" (the supervisor)
 * succeeds for one of them. If A loses, it ends then and there by a bare exit system call, with no
 * use of its stack: that is why the call is in assembly (guard_switch.c). Its signals are blocked,
 * as a handler would run on that stack.
 *
 * The kernel may still write what A was reading when the page comes at last, or even read the
 * arguments first when A lost the processor just before the call. All of that lies in the area of A
 * (guard_area), which A takes with it; B has its own. The price is one copy of what was read.
 *
 * The normal path pays, beside that copy, two stores and one compare-and-swap in the thread's own
 * cache: no system call, no clock (the supervisor counts its own looks at an unchanged number).
 * Measured through procmem.c against process_vm_readv alone, p50 of 4,000 in turns: 8 bytes 1.67 →
 * 1.74 µs, three pieces of 2,600 bytes 2.51 → 2.66, 16 KiB 2.67 → 3.07, 300 pieces of 256 bytes 104
 * → 106. The supervisor wakes up four times in a limit: 4 Hz.
 *
 * What is not the stack stays behind with A: thread-local storage. errno is the one of B after an
 * overdue call, so no errno is kept across one; a C library lock that knows its owner (stdio) must
 * not be held across one. malloc and mutexes do not care. Shadow stacks (CET, GCS) would; glibc
 * switches them on only where asked.
 *
 * The number of threads that hang is bounded; when it is reached, an overdue call is waited for,
 * and procmem.c reads by /proc/PID/mem, where userfaultfd pages are an error instead of a wait.
 *
 * At exit the kernel ends the threads that hang in userfaultfd. One whose request a FUSE server has
 * taken and never answers can't be ended by anybody: the program has done its work and closed its
 * files then, but stays as a zombie until the server answers or ends. (target/mounts.h keeps us
 * from opening such files.)
 */
#include "remote/guard.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "remote/guard_switch.h"

#define GUARD_LOOKS 4 /* in a row that see the same call before it is overdue */

/* A thread that carries the code, or has carried it. */
struct carrier {
	struct guard_switch call;
	uint64_t serial; /* of the last call, counted in twos; the carrier's own */
	struct guard *guard;
	struct carrier *next;
	void *area;
	pthread_t thread;
	sem_t go;     /* posted when `take` is decided */
	void *take;   /* the stack to carry on with; NULL: not needed after all */
	void *home;   /* where its own stack stood when it left it */
	bool hanging; /* given up; has not come back as far as the supervisor has seen */
	bool joined;
};

struct guard {
	uint64_t limit_ns;
	struct carrier
		*now; /* changed by the supervisor while the code that reads it stands still */
	struct carrier *all;
	void *area; /* outside of guard_run */
	uint32_t abandoned, hanging;
	sem_t done;
	int (*fn)(void *arg);
	void *arg;
	int result;
};

static void carrier_free(struct carrier *c)
{
	if (c->area != MAP_FAILED)
		munmap(c->area, GUARD_AREA);
	sem_destroy(&c->go);
	free(c);
}

static struct carrier *carrier_new(struct guard *g)
{
	struct carrier *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->guard = g;
	sem_init(&c->go, 0, 0);
	c->area =
		mmap(NULL, GUARD_AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->area == MAP_FAILED) {
		carrier_free(c);
		return NULL;
	}
	return c;
}

/* With every signal blocked: see above. */
static int carrier_start(struct carrier *c, void *(*fn)(void *))
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&c->thread, NULL, fn, c);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

/* The first carrier: its stack is the one that all others carry on with. */
static void *run_first(void *arg)
{
	struct carrier *first = arg, *last;
	struct guard *g = first->guard;
	void *left;

	g->result = g->fn(g->arg);
	last = g->now;
	sem_post(&g->done);
	if (last != first) /* this is another thread by now, which goes home to its own stack */
		guard_switch_to(&left, last->home, 0);
	return NULL;
}

static void *run_next(void *arg)
{
	struct carrier *c = arg;

	while (sem_wait(&c->go))
		;
	if (c->take)
		guard_switch_to(&c->home, c->take, -ETIMEDOUT);
	return NULL;
}

/* Takes the call away from the current carrier, unless it comes back just now. */
static void take_over(struct guard *g, uint64_t word)
{
	struct carrier *stuck = g->now, *next = carrier_new(g);

	/* first the thread, as there is no way back once the call is taken */
	if (!next)
		return;
	if (carrier_start(next, run_next)) {
		carrier_free(next);
		return;
	}
	if (!__atomic_compare_exchange_n(&stuck->call.word, &word, GUARD_SWITCH_ABANDONED, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		sem_post(&next->go);
		pthread_join(next->thread, NULL);
		carrier_free(next);
		return;
	}
	stuck->hanging = true;
	next->next = g->all;
	g->all = next;
	g->now = next;
	__atomic_add_fetch(&g->hanging, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&g->abandoned, 1, __ATOMIC_RELAXED);
	next->take = stuck->call.sp;
	sem_post(&next->go);
}

/* Notices those that came back after all. */
static void count_hanging(struct guard *g)
{
	for (struct carrier *c = g->all; c; c = c->next) {
		if (!c->hanging || !__atomic_load_n(&c->call.gone, __ATOMIC_ACQUIRE))
			continue;
		c->hanging = false;
		munmap(c->area, GUARD_AREA);
		c->area = MAP_FAILED;
		__atomic_sub_fetch(&g->hanging, 1, __ATOMIC_RELAXED);
	}
}

/* Waits for the end of the code, at most so long. */
static bool wait_done(struct guard *g, uint64_t ns)
{
	uint64_t until = clock_mono() + ns;
	struct timespec ts = {.tv_sec = (time_t)(until / NSEC_PER_SEC),
			      .tv_nsec = (long)(until % NSEC_PER_SEC)};
	int err;

	do
		err = sem_clockwait(&g->done, CLOCK_MONOTONIC, &ts) ? errno : 0;
	while (err == EINTR);
	return !err;
}

/* Looks, not the clock, are counted: after SIGSTOP or a suspend everybody gets time to go on. */
static void supervise(struct guard *g)
{
	uint64_t seen = 0;
	unsigned int looks = 0;

	while (!wait_done(g, g->limit_ns / GUARD_LOOKS)) {
		uint64_t word = __atomic_load_n(&g->now->call.word, __ATOMIC_ACQUIRE);

		if (g->hanging)
			count_hanging(g);
		if (!(word & 1) || word != seen) {
			seen = word;
			looks = 1;
			continue;
		}
		if (++looks > GUARD_LOOKS && !guard_full(g)) {
			take_over(g, word);
			seen = 0;
		}
	}
}

/* Joins and frees the carriers that are no more; those that hang stay as they are. */
static void reap(struct guard *g)
{
	struct carrier **at = &g->all;

	count_hanging(g);
	while (*at) {
		struct carrier *c = *at;

		if (c->hanging) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		if (!c->joined)
			pthread_join(c->thread, NULL);
		carrier_free(c);
	}
}

int guard_run(struct guard *g, int (*fn)(void *arg), void *arg, int *ret)
{
	struct carrier *first = carrier_new(g);
	int err;

	if (!first)
		return -ENOMEM;
	g->fn = fn;
	g->arg = arg;
	g->now = first;
	err = carrier_start(first, run_first);
	if (err) {
		g->now = NULL;
		carrier_free(first);
		return err;
	}
	first->next = g->all;
	g->all = first;
	supervise(g);
	/* the last one first: it may stand on the stack of another */
	pthread_join(g->now->thread, NULL);
	g->now->joined = true;
	g->now = NULL;
	reap(g);
	*ret = g->result;
	return 0;
}

long guard_syscall(struct guard *g, long nr, const long args[6])
{
	long regs[7] = {nr, args[0], args[1], args[2], args[3], args[4], args[5]};
	struct carrier *c = g->now;
	long r;

	if (c) {
		c->serial += 2;
		return guard_switch_call(&c->call, regs, c->serial | 1);
	}
	r = syscall(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
	return r < 0 ? -errno : r;
}

void *guard_area(struct guard *g)
{
	return g->now ? g->now->area : g->area;
}

bool guard_full(const struct guard *g)
{
	return __atomic_load_n(&g->hanging, __ATOMIC_RELAXED) >= GUARD_MAX_ABANDONED;
}

uint32_t guard_abandoned(const struct guard *g)
{
	return __atomic_load_n(&g->abandoned, __ATOMIC_RELAXED);
}

int guard_new(uint64_t limit_ns, struct guard **ret)
{
	struct guard *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	g->area =
		mmap(NULL, GUARD_AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (g->area == MAP_FAILED) {
		free(g);
		return -ENOMEM;
	}
	g->limit_ns = limit_ns;
	sem_init(&g->done, 0, 0);
	*ret = g;
	return 0;
}

void guard_free(struct guard *g)
{
	if (!g)
		return;
	reap(g);
	munmap(g->area, GUARD_AREA);
	g->area = NULL;
	if (g->all)
		return;
	sem_destroy(&g->done);
	free(g);
}
