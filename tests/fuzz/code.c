/* Fuzz heads of code objects and instruction pointers. */
#include <stdlib.h>
#include "base/bytes.h"
#include "fuzz/layouts.h"
#include "python/code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bytes b = bytes_of(data, len);
	struct layout l;
	struct code c;
	uint64_t instr;
	int64_t at;

	layouts_get(bytes_u8(&b), &l);
	instr = bytes_u64(&b);
	if (b.bad || code_head(&l, 0x7f0000001000, b.p, b.len, &c) != 0)
		return 0;
	at = code_offset(&l, &c, instr);
	if (!l.object_frames && (at < -2 || at >= c.bytecode_len))
		abort();
	at = code_offset(&l, &c, c.bytecode + instr % 4096);
	if (!l.object_frames && (at < -1 || at >= c.bytecode_len))
		abort();
	return 0;
}
