/* A child whose threads do what they are told to, for tests of what is seen of threads. */
#include "tests/support/crew.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/child.h"

static struct crew *crew; /* of the child */

static void *born(void *arg)
{
	return arg;
}

static void work(struct crew_hand *h)
{
	struct timespec day = {.tv_sec = 86400};
	pthread_t t;
	pid_t self;
	char c;

	switch (h->job) {
	case CREW_SLEEP:
		nanosleep(&day, NULL);
		break;
	case CREW_SPIN:
		h->turns++;
		break;
	case CREW_FUTEX:
		syscall(SYS_futex, &h->word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
		break;
	case CREW_VFORK:
		self = getpid();
		if (!vfork()) {
			child_dies_with(self);
			for (;;)
				pause();
		}
		break;
	case CREW_ECHO:
		if (read(crew->ask[0], &c, 1) == 1)
			h->turns += (uint64_t)write(crew->answer[1], &c, 1);
		break;
	case CREW_CHURN:
		if (!pthread_create(&t, NULL, born, NULL))
			pthread_join(t, NULL);
		h->turns++;
		break;
	}
}

static void *hand(void *arg)
{
	struct crew_hand *h = arg;

	h->thread_ptr = (uint64_t)pthread_self();
	h->tid = (pid_t)syscall(SYS_gettid);
	for (;;)
		work(h);
	return NULL;
}

static void child(struct crew *c, pid_t parent)
{
	pthread_attr_t attr;
	pthread_t t;

	child_dies_with(parent);
	crew = c;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (uint32_t i = 1; i < c->n; i++)
		if (pthread_create(&t, &attr, hand, &c->hands[i]))
			child_exit(1);
	hand(&c->hands[0]);
}

struct crew *crew_start(const enum crew_job *jobs, uint32_t n, int flags)
{
	struct crew *c =
		mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid, parent = getpid();

	cr_assert_neq(c, MAP_FAILED);
	cr_assert_leq(n, CREW_MAX);
	c->n = n;
	for (uint32_t i = 0; i < n; i++)
		c->hands[i].job = jobs[i];
	cr_assert_eq(pipe2(c->ask, O_CLOEXEC), 0);
	cr_assert_eq(pipe2(c->answer, O_CLOEXEC), 0);
	pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
	cr_assert_geq(pid, 0);
	if (!pid) {
		child(c, parent);
		child_exit(1);
	}
	c->pid = pid;
	for (uint32_t i = 0; i < n; i++)
		while (!c->hands[i].tid)
			sched_yield();
	return c;
}

void crew_end(struct crew *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	close(c->ask[0]);
	close(c->ask[1]);
	close(c->answer[0]);
	close(c->answer[1]);
	munmap(c, sizeof(*c));
}
