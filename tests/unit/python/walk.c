/* The frame walk over snapshots that were made by hand. */
#include <criterion/criterion.h>
#include <string.h>
#include "python/walk.h"

#define BASE 0x7f0000001000ULL
#define SIZE 80

/* As 3.13: code 0, previous 8, instr_ptr 56, owner 70, entry frames from 3 on. */
static struct layout layout(void)
{
	struct layout l;

	memset(&l, 0xff, sizeof(l));
	l.object_frames = false;
	l.frame.size = SIZE;
	l.frame.code = 0;
	l.frame.previous = 8;
	l.frame.instr = 56;
	l.frame.owner = 70;
	l.frame.owner_entry = 3;
	l.frame.tlbc_index = LAYOUT_NONE;
	return l;
}

static void put(uint8_t *p, uint64_t code, uint64_t previous, uint64_t instr, uint8_t owner)
{
	memset(p, 0, SIZE);
	memcpy(p, &code, 8);
	memcpy(p + 8, &previous, 8);
	memcpy(p + 56, &instr, 8);
	p[70] = owner;
}

static void walk(uint8_t *bytes, size_t len, raddr_t from, struct walk_frame *v, size_t max,
		 struct walk_result *r)
{
	struct layout l = layout();
	struct snapshot *s = snapshot_new();

	cr_assert_eq(snapshot_add(s, BASE, bytes, len), 0);
	walk_frames(&l, s, from, v, max, r);
	snapshot_free(s);
}

Test(walk, complete_chain_passes_over_entry_frames)
{
	uint8_t b[4 * SIZE];
	struct walk_frame v[8];
	struct walk_result r;

	put(b + 2 * SIZE, 0x5001, BASE + SIZE, 0x6002, 0); /* a tag in the code pointer */
	put(b + SIZE, 0x9999, BASE, 0, 3);
	put(b, 0x5100, BASE + 3 * SIZE, 0x6100, 0);
	put(b + 3 * SIZE, 0x9999, 0, 0, 3);
	walk(b, sizeof(b), BASE + 2 * SIZE, v, 8, &r);
	cr_assert_eq(r.end, WALK_ROOT);
	cr_assert_eq(r.n, 2);
	cr_assert_eq(r.steps, 4);
	cr_assert_eq(v[0].code, 0x5000);
	cr_assert_eq(v[0].instr, 0x6002);
	cr_assert_eq(v[0].addr, BASE + 2 * SIZE);
	cr_assert_eq(v[1].code, 0x5100);
}

Test(walk, frame_that_is_not_there_is_named)
{
	uint8_t b[SIZE];
	struct walk_frame v[8];
	struct walk_result r;

	put(b, 0x5000, BASE + 4096, 0, 0);
	walk(b, sizeof(b), BASE, v, 8, &r);
	cr_assert_eq(r.end, WALK_MISSING);
	cr_assert_eq(r.next, BASE + 4096);
	cr_assert_eq(r.n, 1);
}

Test(walk, half_a_frame_is_missing)
{
	uint8_t b[SIZE];
	struct walk_frame v[8];
	struct walk_result r;

	put(b, 0x5000, 0, 0, 0);
	walk(b, 70, BASE, v, 8, &r); /* the owner is not there */
	cr_assert_eq(r.end, WALK_MISSING);
	cr_assert_eq(r.n, 0);
}

Test(walk, cycle_ends)
{
	uint8_t b[2 * SIZE];
	struct walk_frame v[8];
	struct walk_result r;

	put(b, 0x5000, BASE + SIZE, 0, 0);
	put(b + SIZE, 0, BASE, 0, 0);
	walk(b, sizeof(b), BASE, v, 8, &r);
	cr_assert_eq(r.end, WALK_CYCLE);
	cr_assert_eq(r.n, 0, "nothing of it is kept");
}

Test(walk, generator_that_is_being_entered_is_no_root)
{
	uint8_t b[SIZE];
	struct walk_frame v[8];
	struct walk_result r;

	/* 3.12+: the thread state points to it already, its `previous` is not there yet */
	put(b, 0x5000, 0, 0, 1);
	walk(b, sizeof(b), BASE, v, 8, &r);
	cr_assert_eq(r.end, WALK_BROKEN);
	put(b, 0x5000, 0, 0, 0);
	walk(b, sizeof(b), BASE, v, 8, &r);
	cr_assert_eq(r.end, WALK_BROKEN, "from 3.12 on only an entry frame is one");
}

Test(walk, root_of_3_11_was_entered_by_c)
{
	struct layout l = layout();
	struct snapshot *s = snapshot_new();
	uint8_t b[3 * SIZE];
	struct walk_frame v[8];
	struct walk_result r;

	l.frame.owner_entry = LAYOUT_NONE;
	put(b, 0x5000, 0, 0, 0);
	put(b + SIZE, 0x5000, 0, 0, 0);
	b[SIZE + 69] = 1; /* is_entry */
	put(b + 2 * SIZE, 0x5000, 0, 0, 1);
	b[2 * SIZE + 69] = 1;
	cr_assert_eq(snapshot_add(s, BASE, b, sizeof(b)), 0);
	walk_frames(&l, s, BASE, v, 8, &r);
	cr_assert_eq(r.end, WALK_BROKEN);
	walk_frames(&l, s, BASE + SIZE, v, 8, &r);
	cr_assert_eq(r.end, WALK_ROOT);
	walk_frames(&l, s, BASE + 2 * SIZE, v, 8, &r);
	cr_assert_eq(r.end, WALK_BROKEN, "a generator");
	snapshot_free(s);
}

Test(walk, unaligned_frame_is_broken)
{
	uint8_t b[SIZE];
	struct walk_frame v[8];
	struct walk_result r;

	put(b, 0x5000, BASE + 4, 0, 0);
	walk(b, sizeof(b), BASE, v, 8, &r);
	cr_assert_eq(r.end, WALK_BROKEN);
	cr_assert_eq(r.n, 1);
}

Test(walk, more_frames_than_asked_for)
{
	uint8_t b[3 * SIZE];
	struct walk_frame v[2];
	struct walk_result r;

	put(b + 2 * SIZE, 0x5000, BASE + SIZE, 0, 0);
	put(b + SIZE, 0x5100, BASE, 0, 0);
	put(b, 0x5200, 0, 0, 0);
	walk(b, sizeof(b), BASE + 2 * SIZE, v, 2, &r);
	cr_assert_eq(r.end, WALK_TOO_DEEP);
	cr_assert_eq(r.n, 2);
	cr_assert_eq(r.next, BASE);
}

Test(walk, no_frame_is_a_complete_empty_stack)
{
	uint8_t b[SIZE] = {0};
	struct walk_frame v[2];
	struct walk_result r;

	walk(b, sizeof(b), 0, v, 2, &r);
	cr_assert_eq(r.end, WALK_ROOT);
	cr_assert_eq(r.n, 0);
}
