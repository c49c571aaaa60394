/* Fuzz the line tables: the first bytes choose format, first line and address. */
#include <stdlib.h>
#include "base/bytes.h"
#include "python/linetable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bytes b = bytes_of(data, len);
	enum layout_lines format = bytes_u8(&b) % 3;
	uint32_t first = bytes_u32(&b);
	int64_t addr = (int32_t)bytes_u32(&b);

	if (b.bad)
		return 0;
	if (linetable_line(format, b.p, b.len, first, addr) > INT32_MAX)
		abort();
	linetable_line(format, b.p, b.len, first, INT64_MAX);
	return 0;
}
