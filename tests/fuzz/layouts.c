/* Layouts for fuzzers to choose from. */
#include "fuzz/layouts.h"

void layouts_get(uint8_t choice, struct layout *ret)
{
	const struct layout *l = layout_table(8 + choice % 7);

	*ret = l ? *l : *layout_table(12);
	if (l)
		return;
	ret->minor = 14;
	ret->instr = LAYOUT_INSTR_PTR;
	if (choice % 7 != 6)
		return;
	ret->free_threaded = true;
	ret->object.size = 32;
	ret->object.type = 24;
	ret->object.refcnt = 12;
	ret->object.refcnt_shared = 16;
	ret->str.length = 32;
	ret->str.hash = 40;
	ret->str.state = 48;
	ret->str.kind_shift = 8;
	ret->str.ascii_data = 56;
	ret->str.compact_data = ret->str.legacy_data = 72;
}
