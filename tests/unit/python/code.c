/* Heads of code objects: live, freed and made up; instructions to offsets. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include "base/buf.h"
#include "base/file.h"
#include "python/code.h"
#include "python/debug_offsets.h"

#define ADDR 0x7f1234560010
#define UNITS 40

static struct layout offsets(const char *version)
{
	struct layout l = {0};
	struct buf path, b;

	buf_init(&path);
	buf_init(&b);
	buf_printf(&path, "tests/golden/python/debug_offsets-%s.bin", version);
	cr_assert_eq(file_read(path.data, DEBUG_OFFSETS_MAX, &b), 0);
	cr_assert_eq(debug_offsets_parse(b.data, b.len, &l), 0);
	buf_release(&path);
	buf_release(&b);
	return l;
}

#define LAYOUTS 11

static struct layout layout_at(size_t i)
{
	static const char *const golden[] = {"3.13.18",	 "3.14.10",  "3.15.2",
					     "3.13.18t", "3.14.10t", "3.15.2t"};

	return i < 5 ? *layout_table((uint32_t)i + 8) : offsets(golden[i - 5]);
}

static void put(uint8_t *head, uint32_t at, uint64_t v, size_t width)
{
	if (at != LAYOUT_NONE)
		memcpy(head + at, &v, width);
}

static void make_head(const struct layout *l, uint8_t *head)
{
	memset(head, 0, CODE_MAX);
	put(head, l->object.refcnt, 3, l->free_threaded ? 4 : 8);
	put(head, l->object.type, 0x7f1111110000, 8);
	if (!l->object_frames)
		put(head, l->object.size, UNITS, 8);
	put(head, l->code.filename, 0x7f2222220000, 8);
	put(head, l->code.name, 0x7f3333330000, 8);
	put(head, l->code.qualname, 0x7f4444440008, 8);
	put(head, l->code.lines, 0x7f5555550000, 8);
	put(head, l->code.firstlineno, 77, 4);
	put(head, l->code.version, 4321, 4);
}

Test(code, heads)
{
	for (size_t i = 0; i < LAYOUTS; i++) {
		struct layout l = layout_at(i);
		uint8_t head[CODE_MAX];
		struct code c;

		make_head(&l, head);
		cr_assert_eq(code_head(&l, ADDR, head, l.code.size, &c), 0, "layout %zu", i);
		cr_assert(c.alive);
		cr_assert_eq(c.type, 0x7f1111110000);
		cr_assert_eq(c.filename, 0x7f2222220000);
		cr_assert_eq(c.name, 0x7f3333330000);
		cr_assert_eq(c.lines, 0x7f5555550000);
		cr_assert_eq(c.firstlineno, 77);
		cr_assert_eq(c.version, l.minor < 12 ? 0 : 4321);
		cr_assert_eq(c.qualname, l.minor < 11 ? 0 : 0x7f4444440008);
		cr_assert_eq(c.bytecode, l.minor < 11 ? 0 : ADDR + l.code.bytecode);
		cr_assert_eq(c.bytecode_len, l.minor < 11 ? 0 : 2 * UNITS);
	}
}

Test(code, what_is_no_code)
{
	for (size_t i = 0; i < LAYOUTS; i++) {
		struct layout l = layout_at(i);
		uint32_t pointers[] = {l.object.type, l.code.filename, l.code.name, l.code.lines,
				       l.code.qualname};
		uint8_t head[CODE_MAX];
		struct code c;

		make_head(&l, head);
		cr_assert_eq(code_head(&l, ADDR, head, l.code.size - 1, &c), -EINVAL);
		cr_assert_eq(code_head(&l, 0, head, l.code.size, &c), -EINVAL);
		cr_assert_eq(code_head(&l, ADDR + 1, head, l.code.size, &c), -EINVAL);
		for (size_t j = 0; j < ARRAY_SIZE(pointers); j++) {
			if (pointers[j] == LAYOUT_NONE)
				continue;
			make_head(&l, head);
			put(head, pointers[j], 0, 8);
			cr_assert_eq(code_head(&l, ADDR, head, sizeof(head), &c), -EINVAL);
			put(head, pointers[j], 0x7f1111110001, 8);
			cr_assert_eq(code_head(&l, ADDR, head, sizeof(head), &c), -EINVAL);
		}
		if (l.object_frames)
			continue;
		make_head(&l, head);
		put(head, l.object.size, 0, 8);
		cr_assert_eq(code_head(&l, ADDR, head, sizeof(head), &c), -EINVAL);
		put(head, l.object.size, UINT64_MAX, 8);
		cr_assert_eq(code_head(&l, ADDR, head, sizeof(head), &c), -EINVAL);
	}
}

static bool alive(const struct layout *l, uint64_t word)
{
	uint8_t head[CODE_MAX];
	struct code c;

	make_head(l, head);
	put(head, 0, word, 8);
	cr_assert_eq(code_head(l, ADDR, head, sizeof(head), &c), 0);
	return c.alive;
}

Test(code, reference_counts)
{
	for (size_t i = 0; i < 8; i++) {
		struct layout l = layout_at(i);

		cr_assert(alive(&l, 1));
		cr_assert(alive(&l, 999999999));  /* deep-frozen in 3.11 */
		cr_assert(alive(&l, 0xffffffff)); /* immortal in 3.12, 3.13 */
		cr_assert(alive(&l, 3u << 30));	  /* immortal in 3.14 */
		cr_assert_eq(alive(&l, 5ull << 48 | 3u << 30), l.minor >= 14); /* static */
		cr_assert_not(alive(&l, 0));
		cr_assert_not(alive(&l, 0x7f1234567890)); /* a link */
		cr_assert_not(alive(&l, 0x555555abcdef)); /* in the heap */
		cr_assert_not(
			alive(&l, 0x7f1234560010 >> 12)); /* the last link, as glibc writes it */
		cr_assert_not(alive(&l, 0xdddddddddddddddd)); /* the debug allocator's filling */
		cr_assert_not(alive(&l, UINT64_MAX));
	}
}

static bool alive_shared(const struct layout *l, uint32_t local, int64_t shared)
{
	uint8_t head[CODE_MAX];
	struct code c;

	make_head(l, head);
	put(head, l->object.refcnt, local, 4);
	put(head, l->object.refcnt_shared, (uint64_t)shared, 8);
	cr_assert_eq(code_head(l, ADDR, head, sizeof(head), &c), 0);
	return c.alive;
}

Test(code, reference_counts_without_a_gil)
{
	for (size_t i = 8; i < LAYOUTS; i++) {
		struct layout l = layout_at(i);
		int64_t deferred = INT64_MAX / 8;

		cr_assert(alive_shared(&l, 1, 0));
		cr_assert(alive_shared(&l, UINT32_MAX, 0)); /* immortal */
		cr_assert(alive_shared(&l, 0, 2 << 2 | 3)); /* merged */
		cr_assert(alive_shared(&l, 3, -2 * 4));
		cr_assert(alive_shared(&l, 1, deferred << 2));
		cr_assert(alive_shared(&l, 0, (deferred - 1) << 2 | 1));
		cr_assert_not(alive_shared(&l, 0, 0));
		cr_assert_not(alive_shared(&l, 0, 3)); /* merged to nothing */
		cr_assert_not(alive_shared(&l, 2, -2 * 4));
		cr_assert_not(alive_shared(&l, 0, 0x7f1234567890ll << 4));
		cr_assert_not(alive_shared(&l, 0, INT64_MIN));
		cr_assert_not(alive_shared(&l, 0, INT64_MAX));
	}
}

Test(code, offsets)
{
	struct code c = {.bytecode = 0x7f0000001000, .bytecode_len = 80};
	struct layout l = *layout_table(9);

	cr_assert_eq(code_offset(&l, &c, 12), 12);
	cr_assert_eq(code_offset(&l, &c, (uint32_t)-1), -1);
	cr_assert_eq(code_offset(&l, &c, UINT64_MAX), -1);
	l = *layout_table(10);
	cr_assert_eq(code_offset(&l, &c, 12), 24);
	cr_assert_eq(code_offset(&l, &c, INT32_MAX), 2ll * INT32_MAX);
	cr_assert_eq(code_offset(&l, &c, (uint32_t)-1), -1);
	l = *layout_table(11);
	cr_assert_eq(code_offset(&l, &c, c.bytecode), 0);
	cr_assert_eq(code_offset(&l, &c, c.bytecode - 2), -2); /* a new frame */
	cr_assert_eq(code_offset(&l, &c, c.bytecode + 78), 78);
	cr_assert_eq(code_offset(&l, &c, c.bytecode + 80), -1);
	cr_assert_eq(code_offset(&l, &c, c.bytecode + 1), -1);
	cr_assert_eq(code_offset(&l, &c, c.bytecode - 4), -1);
	l = offsets("3.15.2");
	cr_assert_eq(code_offset(&l, &c, c.bytecode), 0);
	cr_assert_eq(code_offset(&l, &c, c.bytecode - 2), -1);
	cr_assert_eq(code_offset(&l, &c, 0), -1);
	cr_assert_eq(code_offset(&l, &c, UINT64_MAX), -1);
}
