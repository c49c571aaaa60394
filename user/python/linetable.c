/*
 * From an instruction to a line.
 *
 * Three formats, each a list of steps from the start of the code on:
 *
 * - lnotab (3.8, 3.9): {bytes, signed line delta}. The line before a step holds up to its end, the
 *   last one to the end of the code.
 * - linetable (3.10): {bytes, signed line delta}. The line *after* the delta holds for the step; a
 *   delta of -128: the step has no line.
 * - locations (3.11+): first byte 1cccclll, code and length - 1 in 2-byte units. Then, by code,
 *   0 - 9 one byte (columns), 10 - 12 two bytes (line delta code - 10), 13 a signed varint (line
 *   delta), 14 one signed and three plain varints, 15 nothing and no line. Bytes behind the first
 *   have bit 7 clear.
 *
 * Lines are sums of what the target says: 64 bits hold LINETABLE_MAX of the largest deltas, and
 * only a sum that is a line (1 to INT32_MAX) is handed out.
 */
#include "base/bytes.h"
#include "python/linetable.h"

#define LNOTAB_STEP 2
#define NO_LINE_310 (-128)
#define NEW_FRAME_310 (-1) /* and anything below: no instruction has run */
#define UNIT 2
#define VARINT_MAX 6 /* bytes: 36 bits, more than any int */

static uint32_t as_line(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static uint32_t lnotab_line(struct bytes *b, int64_t line, int64_t addr)
{
	int64_t at = 0;

	while (b->len >= LNOTAB_STEP) {
		at += bytes_u8(b);
		if (at > addr)
			break;
		line += (int8_t)bytes_u8(b);
	}
	return as_line(line);
}

static uint32_t linetable310_line(struct bytes *b, int64_t line, int64_t addr)
{
	int64_t end = 0;

	if (addr <= NEW_FRAME_310)
		return as_line(line);
	while (b->len >= LNOTAB_STEP) {
		int8_t delta;

		end += bytes_u8(b);
		delta = (int8_t)bytes_u8(b);
		if (delta != NO_LINE_310)
			line += delta;
		if (end > addr)
			return delta == NO_LINE_310 ? 0 : as_line(line);
	}
	return 0;
}

/* Six bits a byte, low ones first; bit 6: another byte follows. */
static uint64_t varint(struct bytes *b)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < VARINT_MAX; i++) {
		uint8_t byte = bytes_u8(b);

		v |= (uint64_t)(byte & 63) << (6 * i);
		if (!(byte & 64))
			return v;
	}
	b->bad = true;
	return 0;
}

static int64_t signed_varint(struct bytes *b)
{
	uint64_t v = varint(b);

	return v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

/* One entry's line delta; leaves b at the next entry. */
static int64_t location_delta(struct bytes *b, unsigned int code)
{
	int64_t delta = 0;

	if (code >= 10 && code <= 12)
		delta = code - 10;
	else if (code == 13 || code == 14)
		delta = signed_varint(b);
	while (!b->bad && b->len && !(*b->p & 0x80)) /* a bad reader does not move on */
		bytes_u8(b);
	return delta;
}

static uint32_t location_line(struct bytes *b, int64_t line, int64_t addr)
{
	int64_t end = 0;

	if (addr == -UNIT)
		return as_line(line);
	if (addr < 0)
		return 0;
	while (b->len) {
		uint8_t first = bytes_u8(b);
		unsigned int code = first >> 3 & 15;

		if (!(first & 0x80))
			return 0;
		end += ((first & 7) + 1) * UNIT;
		line += location_delta(b, code);
		if (b->bad)
			return 0;
		if (end > addr)
			return code == 15 ? 0 : as_line(line);
	}
	return 0;
}

uint32_t linetable_line(enum layout_lines format, const void *table, size_t len,
			uint32_t firstlineno, int64_t addr)
{
	struct bytes b = bytes_of(table, MIN(len, LINETABLE_MAX));
	int64_t line = (int32_t)firstlineno;

	switch (format) {
	case LAYOUT_LNOTAB:
		return lnotab_line(&b, line, addr);
	case LAYOUT_LINETABLE_310:
		return linetable310_line(&b, line, addr);
	case LAYOUT_LOCATIONS:
		return location_line(&b, line, addr);
	}
	return 0;
}
