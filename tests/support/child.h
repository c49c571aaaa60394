/* Child processes of a test: memory to read from outside, and pages that never arrive. */
#ifndef SCRY_SUPPORT_CHILD_H
#define SCRY_SUPPORT_CHILD_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Forks a child that runs fn(arg) and then waits to be killed; returns when fn has. It dies with
 * the test. What fn returns is *ret; the test's memory up to here is at the same addresses there.
 */
pid_t child_start(uint64_t (*fn)(void *arg), void *arg, uint64_t *ret);
/* For the child of a fork, first of all: it dies with its parent, also when that was killed before
 * this call. */
void child_dies_with(pid_t parent);
/* Kills it and waits until it is gone. */
void child_end(pid_t pid);
/* A Python (CHILD_PYTHON; the test is skipped without) that waits; it runs when this returns. */
#define CHILD_PYTHON "/usr/bin/python3"
pid_t child_python(int *ret_end);
void child_python_end(pid_t pid, int end);
/* Ends a forked child at once, without the leak checker: it hangs on /proc, and fails as another
 * user or in another pid namespace. */
_Noreturn void child_exit(int status);
/*
 * Forks a child that is pid 1 of a new pid namespace, which the caller's next children are in too:
 * call it in a process of its own. Runs inside(link); `link` gives the namespace's number (8
 * bytes), asked from outside, as scry is told of its own.
 */
pid_t child_in_namespace(void (*inside)(int link));
/*
 * For fn: a page of this process that userfaultfd delivers to nobody who asks, or 0 where the
 * kernel refuses (the test is to be skipped then).
 */
uint64_t child_stuck_page(void *arg);
/* For fn: starts *(uint32_t *)arg threads that sleep, and says how many it could. */
uint64_t child_threads(void *arg);

#endif
