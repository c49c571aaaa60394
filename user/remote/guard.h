/* Run code so that a system call of it that never comes back costs a thread, not the program. */
#ifndef SCRY_REMOTE_GUARD_H
#define SCRY_REMOTE_GUARD_H

#include <stdbool.h>
#include "base/compiler.h"

/*
 * For the caller:
 *
 *	guard_new(GUARD_LIMIT_NS, &g);
 *	guard_run(g, loop, arg, &result);	// result = loop(arg)
 *	guard_free(g);
 *
 * and inside of loop, readers made by procmem_new_guarded(pid, g, &mem). Nothing else changes: a
 * read that is overdue returns -ETIMEDOUT where it was called. guard.c says how. What to know:
 * - loop runs in a thread of its own with every signal blocked; the thread that called guard_run
 *   takes them. A handler that sets a flag, a signalfd and waitpid work; EINTR does not happen.
 * - What belongs to a thread is set before guard_run: priority, affinity, namespaces, capabilities.
 *   A child that loop starts has all signals blocked until it unblocks them, and must not rely on
 *   PR_SET_PDEATHSIG: the thread that started it may end.
 * - Only the thread that runs loop uses g.
 * - Reads made outside of guard_run are not guarded: they wait for ever.
 */
#define GUARD_LIMIT_NS 1000000000ULL /* overdue: a read of pages in swap is far below */
#define GUARD_MAX_ABANDONED 8	     /* threads that hang at one time */
#define GUARD_AREA (3u << 20)

struct guard;

int guard_new(uint64_t limit_ns, struct guard **ret);
/* Accepts NULL. What threads that still hang may touch is not freed. */
void guard_free(struct guard *g);
/* 0, or -errno when the thread could not be started. */
int guard_run(struct guard *g, int (*fn)(void *arg), void *arg, int *ret);

/*
 * Makes a system call; what it says, -errno, or -ETIMEDOUT when it was overdue and given up. It may
 * still happen after that: everything that it reads or writes must lie in guard_area() as it was
 * before the call, and be copied from there when the call has come back.
 */
long guard_syscall(struct guard *g, long nr, const long args[6]);
/* GUARD_AREA bytes, page-aligned, for calls that guard_syscall makes now. Ask again for each. */
void *guard_area(struct guard *g);
/* GUARD_MAX_ABANDONED threads hang: the next overdue call is waited for. */
bool guard_full(const struct guard *g);
uint32_t guard_abandoned(const struct guard *g); /* calls given up, ever */

#endif
