/* Every CPython process of the machine, as `scry ps` shows it. */
#ifndef SCRY_COLLECT_CENSUS_H
#define SCRY_COLLECT_CENSUS_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/compiler.h"

/* One process that has a CPython runtime mapped. The texts live as long as the call. */
struct census_process {
	pid_t pid;
	const char *reason;  /* why it can't be profiled; NULL: it can be */
	const char *version; /* "" when not known */
	bool debug_build, free_threaded;
	const char *how;  /* how the runtime was found */
	const char *path; /* the file that holds it, as mapped */
};

/* Processes that are not listed. */
struct census_others {
	size_t not_python;
	size_t denied; /* whether they are Python could not be seen */
};

typedef int (*census_fn)(const struct census_process *p, void *arg);

/*
 * Calls fn for each, by ascending pid, until it returns something other than 0, which is returned.
 * 0, -ENOMEM, or a failure to list /proc.
 */
int census_take(census_fn fn, void *arg, struct census_others *ret);

#endif
