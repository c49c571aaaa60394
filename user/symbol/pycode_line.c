/* Where in its code a frame is, and which line that is. */
#include "symbol/pycode_line.h"

#include "python/code.h"
#include "python/linetable.h"

int64_t pycode_line_offset(const struct layout *l, const struct pycode_entry *e,
			   const struct pycode_query *q)
{
	struct code copy;
	int64_t offset;

	if (q->tlbc && q->tlbc < e->n_tlbc && e->tlbc[q->tlbc]) {
		copy = e->head;
		copy.bytecode = e->tlbc[q->tlbc];
		offset = code_offset(l, &copy, q->instr);
		if (offset >= 0)
			return offset;
	}
	return code_offset(l, &e->head, q->instr);
}

uint32_t pycode_line_frame(struct names *names, const struct layout *l, struct pycode_entry *e,
			   const struct pycode_query *q)
{
	int64_t offset = pycode_line_offset(l, e, q);
	struct pycode_line *kept = &e->lines[(uint64_t)offset / 2 % PYCODE_LINES];
	struct frame f = {.kind = FRAME_PYTHON, .func = e->func, .file = e->file};

	if (kept->offset == offset)
		return kept->frame;
	f.firstline = e->head.firstlineno;
	if (e->has_table)
		f.line = linetable_line(l->lines, e->table, e->table_len, e->head.firstlineno,
					offset);
	kept->frame = names_frame(names, &f);
	kept->offset = kept->frame == INTERN_NONE ? PYCODE_NO_OFFSET : offset;
	return kept->frame;
}
