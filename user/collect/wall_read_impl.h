/* What wall_read.c (reading) and wall_hold.c (standing still) share; for no one else. */
#ifndef SCRY_COLLECT_WALL_READ_IMPL_H
#define SCRY_COLLECT_WALL_READ_IMPL_H

#include "collect/wall_hold.h"
#include "collect/wall_read.h"

/* A thread to be read. */
struct job {
	size_t i; /* in the roster */
	struct sched_facts facts;
	uint64_t cpu_ns; /* wall_read_ran() at the look */
	uint32_t ticks;	 /* how many they are */
	uint64_t print;	 /* of the frames of this round's first read; 0: there was but one */
};

struct wall_read {
	struct tasks *tasks;
	struct pipeline *pipeline;
	bool live;
	bool gil_only; /* samples of threads that hold the GIL, and no others */
	bool cpu_only; /* of threads that are on a CPU; without BPF */
	bool exclude_idle;
	struct wall_look look;
	struct job *jobs; /* by tid */
	size_t n_jobs, cap_jobs;
	struct reader_thread *asked; /* beside jobs */
	size_t cap_asked;
	struct process **unsettled;
	size_t n_unsettled, cap_unsettled;
};

/* What the samples of a thread have in common, and its state. */
struct sample wall_hold_sample(const struct process *p, const struct roster_thread *th,
			       enum run_state state);
enum run_state wall_hold_state(const struct roster_thread *th, const struct sched_facts *f);
/* At the next drain stacks of the process get their names. 0 or -ENOMEM. */
int wall_hold_settling(struct wall_read *r, struct process *p);
int wall_hold_before(struct wall_read *r, struct process *p, struct roster_thread *th,
		     uint32_t *ret_ticks);
/* For roster_tell(): the time on a CPU, where CPUs have ticks of their own. */
static inline uint64_t wall_read_ran(const struct wall_read *r, uint64_t cpu_ns)
{
	return r->live ? cpu_ns : 0;
}

#endif
