/* Fuzz _Py_DebugOffsets; seeds: tests/golden/python/debug_offsets-*.bin. */
#include <stdlib.h>
#include <string.h>
#include "python/code.h"
#include "python/debug_offsets.h"
#include "python/unicode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t object[CODE_MAX];
	struct layout l;
	struct code c;
	struct unicode u;

	if (debug_offsets_parse(data, len, &l) != 0)
		return 0;
	if (layout_check(&l) != 0)
		abort();
	/* whatever was accepted is read plainly */
	memset(object, 0x48, sizeof(object));
	code_head(&l, 0x7f0000001000, object, l.code.size, &c);
	unicode_head(&l, 0x7f0000001000, object, UNICODE_HEAD, &u);
	return 0;
}
