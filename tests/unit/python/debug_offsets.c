/* _Py_DebugOffsets of released builds, and of hostile ones. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include "base/buf.h"
#include "base/bytes.h"
#include "base/file.h"
#include "python/debug_offsets.h"

static struct buf table(const char *version)
{
	struct buf path, b;

	buf_init(&path);
	buf_init(&b);
	buf_printf(&path, "tests/golden/python/debug_offsets-%s.bin", version);
	cr_assert_eq(file_read(path.data, DEBUG_OFFSETS_MAX, &b), 0, "%s", path.data);
	buf_release(&path);
	return b;
}

static void put_word(struct buf *b, size_t word, uint64_t v)
{
	cr_assert_leq(8 * word + 16, b->len);
	memcpy(b->data + 8 + 8 * word, &v, sizeof(v));
}

static const struct expected {
	const char *version;
	uint32_t minor, next_version, holder, thread_id, chunk, code_version, bytecode, hash, data;
	bool free_threaded;
} expected[] = {
	{"3.13.0", 13, 17000, 8, 152, 232, 92, 200, 24, 56, false},
	{"3.13.18", 13, 17000, 8, 152, 232, 92, 200, 24, 56, false},
	{"3.14.10", 14, 14256, 8, 152, 232, 92, 208, 24, 56, false},
	{"3.15.2", 15, 14264, 8, 176, 256, 92, 208, 24, 56, false},
	{"3.13.18t", 13, 20092, 16, 152, 232, 108, 216, 40, 72, true},
	{"3.14.10t", 14, 20052, 16, 152, 232, 108, 232, 40, 72, true},
	{"3.15.2t", 15, 20004, 16, 176, 256, 108, 232, 40, 72, true},
};

Test(debug_offsets, released_builds)
{
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		const struct expected *e = &expected[i];
		struct buf b = table(e->version);
		struct layout l;

		cr_assert_eq(debug_offsets_parse(b.data, b.len, &l), 0, "%s", e->version);
		cr_assert_eq(l.minor, e->minor);
		cr_assert_eq(l.version >> 16, 0x300u + e->minor);
		cr_assert_eq(l.free_threaded, e->free_threaded);
		cr_assert_eq(l.interp.next_version, e->next_version, "%s", e->version);
		cr_assert_eq(l.proof, LAYOUT_PROOF_COUNTER);
		cr_assert_eq(l.gil.last_holder, e->holder);
		cr_assert_eq(l.gil.switch_number, e->holder + 16);
		cr_assert_eq(l.tstate.thread_id, e->thread_id);
		cr_assert_eq(l.tstate.datastack_chunk, e->chunk);
		cr_assert_eq(l.code.version, e->code_version);
		cr_assert_eq(l.code.bytecode, e->bytecode);
		cr_assert_eq(l.str.hash, e->hash);
		cr_assert_eq(l.str.compact_data, e->data);
		cr_assert_eq(l.str.kind_shift, e->free_threaded && e->minor > 13 ? 8 : 2);
		cr_assert_eq(layout_check(&l), 0);
		/* the same bytes and more, as read from _PyRuntime */
		buf_put(&b, "\377\377\377\377\377\377\377\377", 8);
		cr_assert_eq(debug_offsets_parse(b.data, b.len, &l), 0);
		buf_release(&b);
	}
}

Test(debug_offsets, values_of_3_15)
{
	struct buf b = table("3.15.2");
	struct layout l;

	cr_assert_eq(debug_offsets_parse(b.data, b.len, &l), 0);
	cr_assert_eq(l.runtime.interp_head, 936);
	cr_assert_eq(l.runtime.main_interp, 944);
	cr_assert_eq(l.interp.threads_head, 7336);
	cr_assert_eq(l.interp.gc_collecting, 7512);
	cr_assert_eq(l.interp.generation, 7944);
	cr_assert_eq(l.interp.gil_ptr, 16);
	cr_assert_eq(l.tstate.frame, 72);
	cr_assert_eq(l.tstate.base_frame, 80);
	cr_assert_eq(l.tstate.native_thread_id, 184);
	cr_assert_eq(l.frame.instr, 56);
	cr_assert_eq(l.frame.owner, 74);
	cr_assert_eq(l.frame.owner_entry, 3);
	cr_assert_eq(l.frame.tlbc_index, LAYOUT_NONE);
	cr_assert_eq(l.code.lines, 136);
	cr_assert_eq(l.code.flags, 48);
	cr_assert_eq(l.interp.modules, 7592);
	cr_assert_eq(l.type.flags, 168);
	cr_assert_eq(l.type.basicsize, 32);
	cr_assert_eq(l.type.dictoffset, 288);
	cr_assert_eq(l.type.cached_keys, 888);
	cr_assert_eq(l.dict.keys, 32);
	cr_assert_eq(l.dict.values, 40);
	cr_assert_eq(l.str.state, 32);
	cr_assert_eq(l.bytes.data, 32);
	buf_release(&b);
}

Test(debug_offsets, what_it_is_not)
{
	struct buf b = table("3.14.10");
	struct layout l = {0};

	cr_assert_eq(debug_offsets_parse("", 0, &l), -ENOENT);
	cr_assert_eq(debug_offsets_parse("xdebugpz________", 16, &l), -ENOENT);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		struct buf cut = table(expected[i].version);

		for (size_t len = 8; len < cut.len; len++)
			cr_assert_eq(debug_offsets_parse(cut.data, len, &l), -EINVAL,
				     "%s cut at %zu", expected[i].version, len);
		buf_release(&cut);
	}
	put_word(&b, 0, 0x031000f0); /* 3.16.0 */
	cr_assert_eq(debug_offsets_parse(b.data, b.len, &l), -EOPNOTSUPP);
	cr_assert_eq(l.version, 0x031000f0);
	put_word(&b, 0, 0x030e00b1); /* 3.14.0b1: its table was not final */
	cr_assert_eq(debug_offsets_parse(b.data, b.len, &l), -EOPNOTSUPP);
	put_word(&b, 0, 0x040e00f0);
	cr_assert_eq(debug_offsets_parse(b.data, b.len, &l), -EOPNOTSUPP);
	put_word(&b, 0, UINT64_MAX);
	cr_assert_eq(debug_offsets_parse(b.data, b.len, &l), -EINVAL);
	put_word(&b, 0, 0x030f02f0); /* 3.15 with 3.14's table */
	cr_assert_eq(debug_offsets_parse(b.data, b.len, &l), -EINVAL);
	buf_release(&b);
}

/* What 3.13 and 3.14 do not tell of types is as far from what they do as in their headers. */
Test(debug_offsets, types_of_3_13_and_3_14)
{
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		struct buf b = table(expected[i].version);
		uint32_t more = expected[i].free_threaded ? 16 : 0;
		struct layout l;

		cr_assert_eq(debug_offsets_parse(b.data, b.len, &l), 0);
		cr_assert_eq(l.type.flags, 168 + more);
		cr_assert_eq(l.type.basicsize, 32 + more);
		cr_assert_eq(l.type.dictoffset, 288 + more);
		if (l.minor < 15)
			cr_assert_eq(l.type.cached_keys, 880 + more);
		cr_assert_eq(l.dict.keys, 32 + more);
		buf_release(&b);
	}
}

/* The free-threaded flag is believed only with object heads that fit it. */
Test(debug_offsets, free_threading_must_fit)
{
	struct buf b = table("3.14.10"), t = table("3.14.10t");
	struct layout l;

	put_word(&b, 1, 1);
	cr_assert_eq(debug_offsets_parse(b.data, b.len, &l), -EINVAL);
	put_word(&b, 1, 2);
	cr_assert_eq(debug_offsets_parse(b.data, b.len, &l), -EINVAL);
	put_word(&t, 1, 0);
	cr_assert_eq(debug_offsets_parse(t.data, t.len, &l), -EINVAL);
	buf_release(&b);
	buf_release(&t);
}

/* Another build of a known version: the place of the counter is not guessed. */
Test(debug_offsets, counter_of_another_build)
{
	struct buf b = table("3.14.10");
	struct layout l;

	put_word(&b, 2, 332632); /* the debug build of the same version */
	put_word(&b, 5, 225880);
	cr_assert_eq(debug_offsets_parse(b.data, b.len, &l), 0);
	cr_assert_eq(l.interp.next_version, 14272);
	put_word(&b, 5, 300000);
	cr_assert_eq(debug_offsets_parse(b.data, b.len, &l), 0);
	cr_assert_eq(l.interp.next_version, LAYOUT_NONE);
	cr_assert_eq(l.proof, LAYOUT_PROOF_VERSION);
	put_word(&b, 5, 225864);
	put_word(&b, 2, 316616);
	put_word(&b, 19, 8000); /* the generation is 8 bytes further on */
	cr_assert_eq(debug_offsets_parse(b.data, b.len, &l), 0);
	cr_assert_eq(l.interp.next_version, LAYOUT_NONE);
	buf_release(&b);
}

/* Every word in turn replaced: what is accepted has passed layout_check(). */
Test(debug_offsets, hostile_words)
{
	static const uint64_t poison[] = {0,	     1,		 3,	     7,
					  8,	     4096,	 65528,	     0xffffff,
					  0x1000000, UINT32_MAX, 1ull << 63, UINT64_MAX};
	unsigned int refused = 0, accepted = 0;

	for (size_t v = 0; v < ARRAY_SIZE(expected); v++) {
		struct buf b = table(expected[v].version);

		for (size_t word = 1; word < b.len / 8 - 1; word++) {
			uint64_t was = bytes_load64(b.data + 8 + 8 * word);

			for (size_t i = 0; i < ARRAY_SIZE(poison); i++) {
				struct layout l;

				put_word(&b, word, poison[i]);
				if (debug_offsets_parse(b.data, b.len, &l) != 0) {
					refused++;
					continue;
				}
				cr_assert_eq(layout_check(&l), 0);
				accepted++;
			}
			put_word(&b, word, was);
		}
		buf_release(&b);
	}
	cr_assert_gt(refused, accepted);
}
