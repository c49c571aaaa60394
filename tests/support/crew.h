/* A child whose threads do what they are told to, for tests of what is seen of threads. */
#ifndef SCRY_SUPPORT_CREW_H
#define SCRY_SUPPORT_CREW_H

#include <stdint.h>
#include <sys/types.h>

enum crew_job {
	CREW_SLEEP, /* in nanosleep */
	CREW_SPIN,
	CREW_FUTEX, /* waits on its own `word` */
	CREW_VFORK, /* in D until its child is gone */
	CREW_ECHO,  /* reads a byte from `ask`, writes one to `answer`, for ever */
	CREW_CHURN, /* starts a thread and joins it, for ever */
};

#define CREW_MAX 256

struct crew_hand {
	enum crew_job job;
	volatile pid_t tid;
	volatile uint64_t thread_ptr;
	volatile uint32_t word;
	volatile uint64_t turns;
};

struct crew {
	pid_t pid;
	int ask[2], answer[2];
	uint32_t n;
	struct crew_hand hands[CREW_MAX]; /* the first one is the main thread */
};

/* Shared with the child, which runs n threads and dies with the test. flags: of clone(2), 0 or
 * CLONE_NEWPID. Returns when all of them have said who they are. */
struct crew *crew_start(const enum crew_job *jobs, uint32_t n, int flags);
void crew_end(struct crew *c);

#endif
