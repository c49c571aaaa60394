/* What this machine allows a profiler: each thing is tried, not looked up by kernel version. */
#ifndef SCRY_COLLECT_PROBE_H
#define SCRY_COLLECT_PROBE_H

#include <stdbool.h>
#include "base/buf.h"

/* What does not work without it. */
enum probe_need {
	PROBE_BETTER, /* nothing; something is slower, or less complete */
	PROBE_BPF,    /* to record the whole machine, except without BPF (--no-bpf) */
	PROBE_ALWAYS, /* to record the whole machine in any way */
};

struct probe {
	const char *name;
	enum probe_need need;
	const char *cost; /* what its lack costs */
	const char *cure; /* what to do */
	/* Tries it: true when it is there. Appends what was seen, a few words without a newline. */
	bool (*run)(struct buf *ret_seen);
};

/* All of them, in the order in which they are to be read; ends with a NULL name. */
const struct probe *probe_list(void);

#endif
