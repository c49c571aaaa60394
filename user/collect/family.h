/* Which processes a recording wants: those asked for with -p, and their descendants. */
#ifndef SCRY_COLLECT_FAMILY_H
#define SCRY_COLLECT_FAMILY_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/compiler.h"

struct family;

/* n 0: every process of the machine is wanted. NULL when out of memory. */
struct family *family_new(const pid_t *pids, size_t n, bool inherit);
void family_free(struct family *f);
/*
 * Is pid wanted? ppid 0: not known. A process whose parent was seen to be wanted stays wanted when
 * the parent ends. scry itself never is.
 */
bool family_wants(struct family *f, pid_t pid, pid_t ppid);
/* Is pid a descendant of `of`, or it itself, as the parents are now? */
bool family_descends(pid_t pid, pid_t of);
/* Is one of the processes asked for still there? */
bool family_alive(const struct family *f);

#endif
