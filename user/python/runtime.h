/* Whether a _PyRuntime lies at an address of a process, and which build of CPython it belongs to.
 */
#ifndef SCRY_PYTHON_RUNTIME_H
#define SCRY_PYTHON_RUNTIME_H

#include "python/discover.h"

/* What the file says about the runtime that is looked at. */
struct runtime_hint {
	raddr_t addr;		 /* where _PyRuntime should be */
	uint64_t size;		 /* of its symbol or section; 0 not known */
	uint32_t version;	 /* PY_VERSION_HEX (runtime_by_version); 0 not known */
	struct code_types types; /* symbols */
};

/*
 * Both fill version, minor, layout, runtime, main_interp, gil and types of *ret, and return
 * what discover_process() is to say. What they accept has passed layout_check() and the round trip
 * runtime → interpreter → thread state → interpreter; where a thread has frames, their code objects
 * are code objects too.
 *
 * 3.13+, by _Py_DebugOffsets; DISCOVER_NOT_PYTHON: no cookie, but an older runtime may be there.
 */
enum discover_why runtime_by_table(struct mem *m, const struct runtime_hint *h,
				   struct discover_found *ret);
/* Up to 3.12, by the tables of layout.h: of h->version, else of the build with h->size. */
enum discover_why runtime_by_version(struct mem *m, const struct runtime_hint *h,
				     struct discover_found *ret);
/* The class of mem.h that a read ended with, in discovery's words; -EFAULT is DISCOVER_INVALID. */
enum discover_why runtime_why(int error);

#endif
