/* Where in its code a frame is, and which line that is. */
#ifndef SCRY_SYMBOL_PYCODE_LINE_H
#define SCRY_SYMBOL_PYCODE_LINE_H

#include "symbol/pycode.h"
#include "symbol/pycode_table.h"

/* Byte offset of the query's instruction in the entry's code; -1: it is elsewhere. */
int64_t pycode_line_offset(const struct layout *l, const struct pycode_entry *e,
			   const struct pycode_query *q);
/* The query's frame, its id in names; INTERN_NONE: out of memory. The entry remembers some. */
uint32_t pycode_line_frame(struct names *names, const struct layout *l, struct pycode_entry *e,
			   const struct pycode_query *q);

#endif
