/* Open one perf event on every CPU and run the sampling program at its overflows. */
#ifndef SCRY_COLLECT_PERF_H
#define SCRY_COLLECT_PERF_H

#include <stdbool.h>
#include "base/buf.h"

#define PERF_EVENT_DEFAULT "cpu-clock"

struct perf_options {
	const char *event; /* a name that perf_known() knows */
	uint64_t freq;	   /* samples a second and CPU; 0: use period */
	uint64_t period;   /* one sample each so many; nanoseconds for clocks */
	int prog_fd;
	const char *online; /* NULL: the kernel's list of CPUs; tests have their own */
};

struct perf;

bool perf_known(const char *event);
bool perf_is_clock(const char *event); /* its period is nanoseconds */
void perf_names(struct buf *b);	       /* "cpu-clock, task-clock, ..." */

/* Opens, disabled, on all CPUs that are online. `err` gets one line that says what is missing and
 * what to do. 0 or -errno. */
int perf_open(struct perf **ret, const struct perf_options *o, struct buf *err);
void perf_close(struct perf *p);
/* p NULL, here and below: a recording without events; nothing happens, and the CPUs are those that
 * are online. */
int perf_enable(struct perf *p);
int perf_disable(struct perf *p);
/* Follows CPUs that went or came; call it once a second. How many changed, or -errno. */
int perf_rescan(struct perf *p);
uint32_t perf_cpus(const struct perf *p); /* CPUs sampled now */
/* How often the event should have led to a sample, all CPUs: its count by its period. */
uint64_t perf_asked(const struct perf *p);

#endif
