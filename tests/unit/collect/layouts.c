/* Layouts as the kernel side needs them: all that are known fit, and what does not is refused. */
#include <criterion/criterion.h>
#include <errno.h>
#include "base/buf.h"
#include "base/file.h"
#include "collect/layouts.h"
#include "python/debug_offsets.h"

static struct layout golden(const char *version)
{
	struct layout l;
	struct buf path, b;

	buf_init(&path);
	buf_init(&b);
	buf_printf(&path, "tests/golden/python/debug_offsets-%s.bin", version);
	cr_assert_eq(file_read(path.data, DEBUG_OFFSETS_MAX, &b), 0, "%s", path.data);
	cr_assert_eq(debug_offsets_parse(b.data, b.len, &l), 0, "%s", version);
	buf_release(&path);
	buf_release(&b);
	return l;
}

/* Every word that the programs look at lies in what they read of its struct. */
static void check(const struct layout *l, const char *name)
{
	struct target_layout t;

	cr_assert_eq(layouts_to_kernel(l, &t), 0, "%s", name);
	cr_expect_geq(t.tstate_read, t.tstate_interp + 8, "%s", name);
	cr_expect_geq(t.tstate_read, t.tstate_thread_id + 8, "%s", name);
	cr_expect_geq(t.tstate_read, t.tstate_frame + 8, "%s", name);
	if (t.tstate_chunk != TARGET_NONE)
		cr_expect_geq(t.tstate_read, t.tstate_chunk + 16, "%s", name);
	cr_expect_eq(t.tstate_read % 8, 0, "%s", name);
	cr_expect_geq(t.frame_size, t.frame_code + 8, "%s", name);
	cr_expect_geq(t.frame_size, t.frame_previous + 8, "%s", name);
	cr_expect_leq(t.code_from, t.code_firstlineno, "%s", name);
	cr_expect_geq(t.code_from + t.code_len, t.code_name + 8, "%s", name);
}

Test(layouts, every_known_build_fits)
{
	static const char *const versions[] = {"3.13.0",   "3.13.18",  "3.14.10", "3.15.2",
					       "3.13.18t", "3.14.10t", "3.15.2t"};

	for (uint32_t minor = 8; minor <= 12; minor++)
		check(layout_table(minor), "of a table");
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct layout l = golden(versions[i]);

		check(&l, versions[i]);
	}
}

/* A target writes its own table: it may pass layout_check() and still be more than programs read.
 */
Test(layouts, what_programs_do_not_read_is_refused)
{
	struct layout good = golden("3.14.10"), l = good;
	struct target_layout t = {.tstate_read = 7};

	l.tstate.size = 4096;
	l.tstate.frame = 2048;
	cr_assert_eq(layout_check(&l), 0);
	cr_expect_eq(layouts_to_kernel(&l, &t), -EINVAL);
	l = good;
	l.tstate.size = 4096;
	l.tstate.interp = 1024;
	cr_assert_eq(layout_check(&l), 0);
	cr_expect_eq(layouts_to_kernel(&l, &t), -EINVAL);
	l = good;
	l.frame.size = TARGET_FRAME_MAX + 8;
	cr_assert_eq(layout_check(&l), 0);
	cr_expect_eq(layouts_to_kernel(&l, &t), -EINVAL);
	cr_expect_eq(t.tstate_read, 7, "left alone");
}
