/* What the scheduler says of a thread at one moment. */
#ifndef SCRY_TARGET_SCHED_H
#define SCRY_TARGET_SCHED_H

#include <stdbool.h>
#include "base/compiler.h"

enum sched_state {
	SCHED_ON_CPU,	/* runs, or would if scry had not just taken its CPU */
	SCHED_RUNNABLE, /* waits for a CPU */
	SCHED_SLEEPING, /* in a system call that a signal ends */
	SCHED_BLOCKED,	/* uninterruptible (D) */
	SCHED_STOPPED,	/* by a signal or a tracer */
	SCHED_DEAD,
};

struct sched_facts {
	uint32_t pid, tid; /* in scry's pid namespace */
	uint32_t ns_tid;   /* in the thread's own innermost one; 0: not known */
	enum sched_state state;
	bool live; /* from the kernel itself: cpu_ns is exact, but for one that runs, and thread_ptr
		      known; else /proc */
	bool displaced;	     /* SCHED_ON_CPU, but does not run: scry took its CPU */
	uint64_t start;	     /* of the thread, CLOCK_BOOTTIME ns (/proc: to a clock tick) */
	uint64_t runs;	     /* how often it was put on a CPU, or taken off one; ever the same kind
				for one source */
	uint64_t cpu_ns;     /* on a CPU so far */
	uint64_t thread_ptr; /* pthread_self; 0: not known */
	uint64_t futex; /* user address it sleeps on in futex(2); 0: it does not, or not known */
};

/* Surely: from /proc, of what is ready to run it is a guess whether it does. */
bool sched_off_cpu(const struct sched_facts *f);
/* Of one thread at two moments: did it not run in between, and at neither of them? */
bool sched_stood_still(const struct sched_facts *a, const struct sched_facts *b);

/* The kernel's task_struct.__state | exit_state of a thread that is on no CPU. */
enum sched_state sched_kernel_state(uint32_t state);
/*
 * Without the kernel's help, from /proc, all but ns_tid and thread_ptr. What is ready to run is
 * SCHED_ON_CPU: /proc does not tell whether it does. 0, -ESRCH or another -errno.
 */
int sched_read(uint32_t pid, uint32_t tid, struct sched_facts *ret);
/* Parses /proc/PID/task/TID/syscall: was it off its CPU, and the futex it sleeps on. 0, -EINVAL. */
int sched_parse_syscall(const char *text, bool *ret_off_cpu, uint64_t *ret_futex);

#endif
