/* Take records out of the BPF ring buffer. */
#ifndef SCRY_COLLECT_RING_H
#define SCRY_COLLECT_RING_H

#include <stdbool.h>
#include "base/compiler.h"

struct ring;

/* data is 8-byte aligned, read-only, and gone when the function returns. */
typedef void (*ring_fn)(void *arg, const void *data, size_t len);

int ring_open(struct ring **ret, int map_fd, ring_fn fn, void *arg); /* 0 or -errno */
void ring_close(struct ring *r);

/* r NULL, here and at ring_poll(), or `also`: a recording without BPF; it is only waited for. */
/* Waits, to the resolution of the machine's timers, until the kernel wakes us up (true), `also` has
 * something, a signal comes or the time is over. */
bool ring_wait(struct ring *r, struct ring *also, uint64_t ns);
/* Calls fn for what there is, without a system call. 0 or -errno. */
int ring_take(struct ring *r);
/*
 * Waits until the kernel wakes us up, a signal comes or the time (>= 0) is over, then calls fn for
 * every record there is, for about a tenth of a second at most. 1: there may be more, 0, or -errno.
 */
int ring_poll(struct ring *r, int timeout_ms);

#endif
