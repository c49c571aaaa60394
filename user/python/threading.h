/* The names that Python's threading module has for threads. */
#ifndef SCRY_PYTHON_THREADING_H
#define SCRY_PYTHON_THREADING_H

#include "base/buf.h"
#include "python/discover.h"

#define THREADING_NAME_CHARS 256 /* of a name; what is longer ends in U+2026 */

/* What is known of one process. All zeroes at first. */
struct threading {
	raddr_t globals;      /* of the module; 0: not found yet */
	uint64_t next, pause; /* monotonic ns: when it may be looked for again, and after that */
};

/*
 * Appends the name of the thread with this pthread_self and kernel id (in its own pid namespace).
 * Only a thread of the main interpreter that `threading` has made, or has met, has one. 0; -ENOENT:
 * it has none that is proven; -EAGAIN: it changes just now; -ENOMEM, or a class of mem.h.
 */
int threading_name(struct threading *g, const struct discover_found *f, struct mem *m,
		   uint64_t thread_ptr, uint32_t ns_tid, struct buf *out);

#endif
