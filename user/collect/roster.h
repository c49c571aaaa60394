/* The threads of one process as wall-clock mode knows them: an array in the order of a pass. */
#ifndef SCRY_COLLECT_ROSTER_H
#define SCRY_COLLECT_ROSTER_H

#include <stdbool.h>
#include "profile/sample.h"
#include "target/sched.h"

#define ROSTER_NONE UINT32_MAX

struct roster_thread {
	uint32_t tid;
	uint32_t id; /* thread_info.id; ROSTER_NONE: not met yet */
	uint32_t ns_tid;
	bool looked;	     /* for thread_ptr (pointers.h) */
	uint64_t thread_ptr; /* from pointers_find(); 0: not known */
	uint64_t start;	     /* boottime ns: with tid it names one thread */
	/* its last proven stack, and the facts that were there before it was read */
	uint64_t runs, cpu_ns;
	uint32_t stack;	 /* ROSTER_NONE: not named yet, or none */
	uint32_t ticket; /* of the pipeline, until it is named; ROSTER_NONE: none */
	uint8_t outcome; /* enum outcome of it */
	bool waits_gil, holds_gil;
	bool fresh;	/* it had no sample at the look before, which may not have had it */
	bool dropped;	/* that look was at a time that no sample is to tell */
	bool wanted;	/* its name is one that was asked for */
	uint64_t named; /* boottime ns: when its name was last looked at */
	/* its time that samples of wall ticks have told: up to when, and how much it had run by
	 * then */
	uint64_t told, told_cpu;
	uint64_t untold; /* ns off the CPU since, as of the last look; never more than that */
	uint64_t seen;	 /* sched_facts.runs at the last tick that looked at it */
	/* ticks since its last sample at which it stood there still; their time: of the last one */
	uint64_t held_weight, held_time;
	uint32_t held_ticks;
	uint8_t held_state; /* enum run_state: of these, and of its last sample */
};

struct roster {
	struct roster_thread *v; /* by tid */
	size_t n, cap;
	struct roster_thread *spare; /* what the next change of the set is written to */
	size_t cap_spare;
};

void roster_release(struct roster *r);
/*
 * After it v[i] is the thread of f[i] (n facts of one process, by tid). Who is there still keeps
 * what is known of him; who has gone is forgotten. 0 or -ENOMEM, and then nothing changed.
 */
int roster_follow(struct roster *r, const struct sched_facts *f, size_t n);
bool roster_is_of(const struct roster *r, const struct sched_facts *f, size_t n); /* no change */
bool roster_has(const struct roster *r, uint32_t tid);
/* A proven stack is known (or on its way), and the thread has not run since: it stands there still.
 */
bool roster_unchanged(const struct roster_thread *t, const struct sched_facts *f);

/*
 * How long it was off the CPU since what its samples have told, up to `time` (monotonic ns), when
 * it had run for cpu_ns. All of the time, on the CPU too, when cpu_ns is always 0.
 */
uint64_t roster_untold(const struct roster_thread *t, uint64_t time, uint64_t cpu_ns);
/* Now it is told. → how long that was */
uint64_t roster_tell(struct roster_thread *t, uint64_t time, uint64_t cpu_ns);

#endif
