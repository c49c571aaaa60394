/*
 * What the GIL says of a thread while memory is read: that it ran no Python.
 *
 * A thread runs Python only while it holds the GIL. Taking it stores `locked`, and where the last
 * holder was another thread, the new last_holder and switch_number + 1. So where last_holder and
 * switch_number are the same in two reads, no other thread than that holder has run between them,
 * and every other thread's frames stood still. Of the last holder nothing is known: it may drop the
 * GIL and take it again, and no word changes.
 */
#ifndef SCRY_PYTHON_WITNESS_H
#define SCRY_PYTHON_WITNESS_H

#include <stdbool.h>
#include "python/layout.h"
#include "remote/addr.h"

/* The words of one GIL at one moment. */
struct witness {
	bool ok; /* they were read */
	bool locked;
	raddr_t last_holder;
	uint64_t switch_number;
};

/* Where the words are: behind the GIL's address, this far and this long. */
void witness_place(const struct layout *l, uint32_t *ret_offset, uint32_t *ret_len);
/* bytes: what lies there; NULL: it could not be read. Pure. */
struct witness witness_decode(const struct layout *l, const void *bytes);
/* No Python ran in this thread between the two; a free-threaded build has no GIL to tell. */
bool witness_still(const struct witness *a, const struct witness *b, raddr_t tstate);
/* It held the GIL at both moments. */
bool witness_holds(const struct witness *a, const struct witness *b, raddr_t tstate);
/* Whether an address lies in the GIL's struct, where threads that wait for it sleep in futex. */
bool witness_futex(const struct layout *l, raddr_t gil, raddr_t futex);

#endif
