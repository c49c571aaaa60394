/* The kernel's id of the thread that a thread pointer is of. */
#ifndef SCRY_PYTHON_NATIVEID_H
#define SCRY_PYTHON_NATIVEID_H

#include "remote/mem.h"

/*
 * Thread states tell it themselves since 3.11. Before, it is taken from the C library's own
 * structure, which the pointer (pthread_self) points to. *ret: in the thread's own namespace. 0,
 * -ENOENT (it is no such structure) or a class of mem.h.
 */
int nativeid_read(struct mem *m, raddr_t thread_ptr, uint32_t *ret);

#endif
