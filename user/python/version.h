/* Which version of CPython a process runs, by the texts and numbers that the interpreter keeps. */
#ifndef SCRY_PYTHON_VERSION_H
#define SCRY_PYTHON_VERSION_H

#include <stdbool.h>
#include "base/compiler.h"

#define VERSION_TEXT_MAX 256  /* bytes of the text of sys.version that are looked at */
#define VERSION_FORMAT_MAX 24 /* bytes that version_format() needs */

/*
 * Pure: the first text in the form of sys.version, as in "3.8.18 (default, Aug 8 2026) \n[GCC".
 * True when there is one: *ret_at is where it starts, *ret PY_VERSION_HEX.
 */
bool version_find(const void *bytes, size_t len, size_t *ret_at, uint32_t *ret);
/* Whether a number read from Py_Version can be one. */
bool version_plausible(uint64_t hex);
/* "3.14.10", "3.15.0rc1", or "3.9" when only the minor is known. */
void version_format(uint32_t hex, uint32_t minor, char *buf, size_t size);

#endif
