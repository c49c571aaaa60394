/* A recording in memory: what formats and reports read, and nothing else. */
#ifndef SCRY_PROFILE_PROFILE_H
#define SCRY_PROFILE_PROFILE_H

#include "profile/sample.h"
#include "profile/sink.h"

struct profile {
	struct recording recording;
	struct summary summary;
	bool complete; /* the recording was ended properly; else summary counts what is there */
	struct names *names;
	struct process_info *processes;
	size_t n_processes;
	struct thread_info *threads;
	size_t n_threads;
	struct sample *samples;
	size_t n_samples;
	struct stats *stats; /* by process id, as far as they came */
	size_t n_stats, cap_stats;
	struct stats others; /* of STATS_OTHERS */
	bool has_stats;
	uint64_t end_mono; /* of the last sample or tick */
};

int profile_init(struct profile *p); /* 0 or -ENOMEM */
void profile_release(struct profile *p);
/*
 * Ids must follow on each other, and what they refer to must be there: else -EINVAL. 0 or -ENOMEM.
 * Each also counts itself in the summary.
 */
int profile_add_process(struct profile *p, const struct process_info *v);
int profile_add_thread(struct profile *p, const struct thread_info *v);
int profile_add_sample(struct profile *p, const struct sample *v);
/* How many samples there are: one that stands for more counts as so many. */
uint64_t profile_count(const struct profile *p);
/* Forgets the samples of other states than those of this bit mask; the summary stays. */
void profile_keep_states(struct profile *p, uint32_t states);
/* Adds up what comes for one process (or STATS_OTHERS). 0, -EINVAL or -ENOMEM. */
int profile_add_stats(struct profile *p, uint32_t process, const struct stats *v);
/* What was counted, with a row for each process; rows and *ret empty if nothing was. 0 or -ENOMEM.
 */
int profile_stats(const struct profile *p, struct stats_table *ret);

#endif
