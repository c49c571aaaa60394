/* One look at some processes: what each of their threads does now. */
#ifndef SCRY_COLLECT_LOOK_H
#define SCRY_COLLECT_LOOK_H

#include "collect/session.h"
#include "profile/moment.h"

struct look_options {
	const pid_t *pids;
	size_t n_pids;
	bool children; /* what they have started, too */
	/* One of pids that can't be looked at, once each. */
	void (*refused)(enum session_error e, const char *why, void *arg);
	void *refused_arg;
};

/*
 * Fills *ret, which moment_init() has made, and sorts it. SESSION_OK: there is one of pids that
 * could be looked at, and *ret_text has a line only if running threads could not be proven, why.
 * Else a line that says what failed, as session_new(), unless it was told by `refused`.
 */
enum session_error look_take(const struct look_options *o, struct moment *ret,
			     struct buf *ret_text);

#endif
