/* The names of what a thread can be doing. */
#include <errno.h>
#include <string.h>
#include "profile/run_state.h"

static const char *const names[RUN_MAX] = {
	[RUN_UNKNOWN] = "unknown",   [RUN_ON_CPU] = "on_cpu",	[RUN_RUNNABLE] = "runnable",
	[RUN_SLEEPING] = "sleeping", [RUN_GIL] = "gil_wait",	[RUN_GC] = "gc",
	[RUN_BLOCKED] = "blocked",   [RUN_STOPPED] = "stopped",
};

const char *run_state_name(enum run_state s)
{
	return (unsigned int)s < RUN_MAX ? names[s] : "?";
}

int run_state_parse(const char *name, enum run_state *ret)
{
	for (unsigned int s = 0; s < RUN_MAX; s++) {
		if (strcmp(names[s], name) == 0) {
			*ret = (enum run_state)s;
			return 0;
		}
	}
	return -EINVAL;
}
