/* Layouts: the tables hold, are what the headers say, and a damaged one is refused. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/file.h"
#include "python/layout.h"

Test(layout, tables_are_there_and_hold)
{
	for (uint32_t minor = 8; minor <= 12; minor++) {
		const struct layout *l = layout_table(minor);

		cr_assert_not_null(l, "3.%u", minor);
		cr_assert_eq(l->minor, minor);
		cr_assert_eq(layout_check(l), 0, "3.%u", minor);
		cr_assert(layout_equal(l, l));
	}
	cr_assert_null(layout_table(7));
	cr_assert_null(layout_table(13));
	cr_assert_null(layout_table(0));
	cr_assert_null(layout_table(UINT32_MAX));
}

/* Numbers that other tools agree on, so that a broken generator shows. */
Test(layout, tables_have_known_numbers)
{
	cr_assert_eq(layout_table(8)->runtime.gil + layout_table(8)->gil.locked, 1168);
	cr_assert_eq(layout_table(9)->interp.id, 24);
	cr_assert_eq(layout_table(10)->frame.instr, 96);
	cr_assert_eq(layout_table(11)->runtime.size, 166688);
	cr_assert_eq(layout_table(11)->tstate.datastack_chunk, 296);
	cr_assert_eq(layout_table(11)->frame.owner, 69);
	cr_assert_eq(layout_table(12)->interp.gil_ptr, 384);
	cr_assert_eq(layout_table(12)->code.version, 92);
	cr_assert_eq(layout_table(12)->str.compact_data, 56);
	cr_assert_eq(layout_table(8)->interp.modules, 56);
	cr_assert_eq(layout_table(9)->type.cached_keys, 864);
	cr_assert_eq(layout_table(12)->type.cached_keys, 880);
}

/* One word after the other replaced: whatever passes must differ and still be within its struct. */
Test(layout, damaged_fields_are_refused)
{
	static const uint32_t poison[] = {0xfffffffe, 0x80000000, 1 << 21, 3, LAYOUT_NONE};
	size_t from = offsetof(struct layout, runtime), to = offsetof(struct layout, str.has_ready);
	unsigned int refused = 0;

	for (uint32_t minor = 8; minor <= 12; minor++) {
		for (size_t at = from; at < to; at += sizeof(uint32_t)) {
			for (size_t i = 0; i < 3; i++) {
				struct layout l = *layout_table(minor);

				memcpy((char *)&l + at, &poison[i], sizeof(uint32_t));
				cr_assert_eq(layout_check(&l), -EINVAL, "3.%u at %zu: %x", minor,
					     at, poison[i]);
				cr_assert_not(layout_equal(&l, layout_table(minor)));
				refused++;
			}
		}
	}
	cr_assert_gt(refused, 500);
}

Test(layout, missing_and_foreign_fields_are_refused)
{
	struct layout l = *layout_table(12);

	l.tstate.thread_id = LAYOUT_NONE;
	cr_assert_eq(layout_check(&l), -EINVAL);
	l = *layout_table(12);
	l.frame.instr = l.frame.size; /* ends behind the frame */
	cr_assert_eq(layout_check(&l), -EINVAL);
	l = *layout_table(12);
	l.frame.instr = l.frame.size - 4;
	cr_assert_eq(layout_check(&l), -EINVAL);
	l = *layout_table(10);
	l.frame.owner = 40; /* frame objects have none */
	cr_assert_eq(layout_check(&l), -EINVAL);
	l = *layout_table(12);
	l.minor = 11;
	cr_assert_eq(layout_check(&l), -EINVAL);
	l = *layout_table(12);
	l.free_threaded = true;
	cr_assert_eq(layout_check(&l), -EINVAL);
	l = *layout_table(12);
	l.proof = LAYOUT_PROOF_COUNTER; /* no counter is known */
	cr_assert_eq(layout_check(&l), -EINVAL);
	l = *layout_table(12);
	l.version = 0x030b02f0; /* 3.11 */
	cr_assert_eq(layout_check(&l), -EINVAL);
	l.version = 0x030c01f0;
	cr_assert_eq(layout_check(&l), 0);
	cr_assert_not(layout_equal(&l, layout_table(12)));
}

/* The table in the tree is what the generator makes, where the headers are on the machine. */
Test(layout, table_is_what_the_headers_say, .timeout = 120)
{
	static const char *const versions[] = {"3.8.18", "3.9.18", "3.10.13", "3.11.7", "3.12.1"};
	struct buf command, made, kept;
	const char *root = getenv("PYENV_ROOT");
	FILE *out;

	buf_init(&command);
	buf_init(&made);
	buf_init(&kept);
	buf_puts(&command, "tests/tools/layout-tables");
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		size_t from = command.len;

		buf_printf(&command, " %s/versions/%s/include/python%.*s",
			   root ? root : "/root/.pyenv", versions[i],
			   (int)(strrchr(versions[i], '.') - versions[i]), versions[i]);
		if (access(command.data + from + 1, R_OK) != 0)
			cr_skip_test("no headers in %s", command.data + from + 1);
	}
	out = popen(command.data, "r");
	cr_assert_not_null(out);
	for (char line[256]; fgets(line, sizeof(line), out);)
		buf_puts(&made, line);
	cr_assert_eq(pclose(out), 0);
	cr_assert_eq(file_read("user/python/layout_table.c", 1 << 20, &kept), 0);
	cr_assert_str_eq(made.data, kept.data, "run tests/tools/layout-tables again");
	buf_release(&command);
	buf_release(&made);
	buf_release(&kept);
}
