/* The thread pointers of a process's threads, where neither the kernel nor Python tells them. */
#ifndef SCRY_COLLECT_POINTERS_H
#define SCRY_COLLECT_POINTERS_H

#include "collect/process.h"

/* Are they needed to know whose a thread state is? (before 3.11) */
bool pointers_needed(const struct process *p);
/* Fills those of the roster that are missing, not too often, if they are needed for that or for
 * `names` (pyname.h). 0 or -ENOMEM. */
int pointers_find(struct process *p, uint64_t now, bool names);

#endif
