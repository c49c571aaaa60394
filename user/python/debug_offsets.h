/* Read a layout out of _Py_DebugOffsets, the table that 3.13+ carries at the start of _PyRuntime.
 */
#ifndef SCRY_PYTHON_DEBUG_OFFSETS_H
#define SCRY_PYTHON_DEBUG_OFFSETS_H

#include "python/layout.h"

#define DEBUG_OFFSETS_MAX 1024 /* bytes of the table that are read at most */
#define DEBUG_OFFSETS_COOKIE "xdebugpy"
#define DEBUG_OFFSETS_COOKIE_LEN 8

/*
 * Pure: the first bytes of _PyRuntime to a checked layout. What the table lacks (refcount, hash,
 * co_version, the interpreter's next_version, switch_number) comes from each minor's internal
 * headers. -ENOENT no cookie; -EOPNOTSUPP a version (in ret->version) that scry does not know;
 * -EINVAL damaged.
 */
int debug_offsets_parse(const void *bytes, size_t len, struct layout *ret);

#endif
