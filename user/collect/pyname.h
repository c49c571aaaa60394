/* The names that Python has for the threads of a process, and which of them were asked for. */
#ifndef SCRY_COLLECT_PYNAME_H
#define SCRY_COLLECT_PYNAME_H

#include "collect/targets.h"
#include "collect/threadname.h"

struct pyname;

void pyname_free(struct pyname *v); /* of one process; accepts NULL */
/* Appends the name. 0; or it is not known: see threading_name(), or -EBUSY, looks at this process
 * have taken too long: not now. */
int pyname_read(struct process *p, const struct targets_who *who, struct buf *out);
/*
 * Is the kernel's name of the thread one that was asked for, or Python's? That one is read when the
 * thread is met, and now and then as long as it is young: it may still be given its name.
 * *ret_settled (may be NULL): the answer will be the same.
 */
bool pyname_wants(const struct threadname *n, struct process *p, const struct targets_who *who,
		  bool *ret_settled);

#endif
