/* From an instruction to a line, for every line table CPython 3.8 - 3.15 has. Pure. */
#ifndef SCRY_PYTHON_LINETABLE_H
#define SCRY_PYTHON_LINETABLE_H

#include "python/layout.h"

#define LINETABLE_MAX (1u << 20) /* bytes of a table that are looked at */

/*
 * The line of the instruction at byte offset `addr` in the code (for PREV_INSTR the offset of
 * prev_instr, -2 in a new frame: gives the first line). 0 when the table has no line for it, is
 * damaged, or ends before.
 */
uint32_t linetable_line(enum layout_lines format, const void *table, size_t len,
			uint32_t firstlineno, int64_t addr);

#endif
