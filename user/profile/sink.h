/* What a recorder writes samples into. */
#ifndef SCRY_PROFILE_SINK_H
#define SCRY_PROFILE_SINK_H

#include "profile/stats.h"

struct sink;

/*
 * Calls come in this order: begin, then processes, threads and samples (a process before its
 * threads, a thread before its samples), tick at least twice a second, stats before the end (once
 * for a process, or for STATS_OTHERS; only when asked for), end once. Ids of strings, frames and
 * stacks refer to `names`, which only grows: a sink that writes a file writes what is new since its
 * last write before a record that uses it. Each returns 0 or -errno, after which the recorder stops
 * and calls end(NULL).
 */
struct sink_ops {
	int (*begin)(struct sink *s, const struct recording *r);
	int (*process)(struct sink *s, const struct names *n, const struct process_info *p);
	int (*thread)(struct sink *s, const struct names *n, const struct thread_info *t);
	int (*sample)(struct sink *s, const struct names *n, const struct sample *v);
	int (*stats)(struct sink *s, uint32_t process, const struct stats *v);
	int (*tick)(struct sink *s, uint64_t mono, uint64_t real);
	int (*end)(struct sink *s, const struct summary *sum);
};

struct sink {
	const struct sink_ops *ops;
};

#endif
