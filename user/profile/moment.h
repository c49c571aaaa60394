/* What each thread of some processes does at one moment: a sink that keeps one stack a thread. */
#ifndef SCRY_PROFILE_MOMENT_H
#define SCRY_PROFILE_MOMENT_H

#include <uthash.h>
#include "profile/sink.h"

struct moment_thread {
	struct thread_info info; /* ids of the recorder's; strings of moment.names */
	char letter;		 /* its state in /proc, as of the end; 0: not known */
	bool answered;		 /* it had a sample; what follows is of the best one */
	bool holds_gil;
	enum run_state run;
	enum outcome outcome;
	uint32_t stack;	   /* of moment.names; STACK_EMPTY: no frame and no marker */
	UT_hash_handle hh; /* by tid */
	UT_hash_handle by_id;
};

struct moment_process {
	struct process_info info;      /* strings of moment.names */
	uint32_t reason;	       /* string: why it has no threads here; 0: it has */
	struct moment_thread *threads; /* uthash by tid */
};

struct moment {
	struct sink sink;
	struct names *names; /* its own: it outlives the recorders that it was given to */
	struct moment_process *processes;
	size_t n, cap;
	struct moment_thread *by_id; /* of the recorder that writes now */
	uint64_t time;		     /* CLOCK_REALTIME ns, when it began; 0: not yet */
};

int moment_init(struct moment *m); /* 0 or -ENOMEM; released in both cases */
void moment_release(struct moment *m);

/*
 * May be the sink of several recorders, one after the other: of a thread the best answer is kept,
 * proven before cut, cut before unproven, and of equal ones the first.
 */
struct sink *moment_sink(struct moment *m);
/* A process that can't be looked at. 0 or -ENOMEM. */
int moment_refuse(struct moment *m, uint32_t pid, const char *reason);
/* A thread that /proc shows: its name counts if it had no sample. 0 or -ENOMEM. */
int moment_note(struct moment *m, size_t process, uint32_t tid, const char *name, char letter);
/* The thread's stack is all that can be had: proven, or proven that it has none. */
bool moment_settled(const struct moment_process *p, uint32_t tid);
/* Orders processes by their start, parents before children, and threads by tid, the first first. */
void moment_sort(struct moment *m);
/* "running", "runnable", "sleeping", "blocked", "stopped", "ended" or "unknown". */
const char *moment_state(const struct moment_thread *t);

#endif
