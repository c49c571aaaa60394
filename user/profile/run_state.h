/* What the thread of a sample was doing. */
#ifndef SCRY_PROFILE_RUN_STATE_H
#define SCRY_PROFILE_RUN_STATE_H

/* The order is part of the recording's format. */
enum run_state {
	RUN_UNKNOWN, /* recordings of events that are not clocks */
	RUN_ON_CPU,
	RUN_RUNNABLE, /* it waited for a CPU */
	RUN_SLEEPING,
	RUN_GIL,     /* it waited for the GIL */
	RUN_GC,	     /* it was on a CPU, collecting garbage */
	RUN_BLOCKED, /* it waited in the kernel, where no signal reaches it */
	RUN_STOPPED, /* by a signal or a debugger */
	RUN_MAX,
};

const char *run_state_name(enum run_state s);		    /* "on_cpu", … */
int run_state_parse(const char *name, enum run_state *ret); /* 0 or -EINVAL */

#endif
