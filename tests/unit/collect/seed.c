/* The frames of a sample, out of pieces as the kernel side records them. */
#include <criterion/criterion.h>
#include <string.h>
#include "collect/seed.h"

#define CHUNK 0x7f0000001000ULL
#define FRAME_SIZE 80

/* As 3.11 lays frames out: a byte before the owner tells those that C code entered. */
static struct layout interp_layout(enum layout_proof proof)
{
	struct layout l;

	memset(&l, 0xff, sizeof(l));
	l.object_frames = false;
	l.proof = proof;
	l.frame.size = FRAME_SIZE;
	l.frame.code = 0;
	l.frame.previous = 8;
	l.frame.instr = 56;
	l.frame.owner = 70;
	l.frame.owner_entry = LAYOUT_NONE;
	return l;
}

static void put(uint8_t *p, uint64_t code, uint64_t previous)
{
	memset(p, 0, FRAME_SIZE);
	memcpy(p, &code, 8);
	memcpy(p + 8, &previous, 8);
	p[69] = 1;
}

static void decode(const struct layout *l, const struct assembled *a, struct seed *s)
{
	struct snapshot *scratch = snapshot_new();

	cr_assert_eq(seed_init(s), 0);
	cr_assert_eq(seed_decode(s, l, a, scratch), 0);
	snapshot_free(scratch);
}

static struct event_sample sample(uint64_t frame, uint32_t flags)
{
	return (struct event_sample){.tstate = 0x1000, .frame = frame, .flags = flags};
}

Test(seed, whole_chain_in_the_copy_is_exact)
{
	_Alignas(8) uint8_t b[2 * FRAME_SIZE];
	struct layout l = interp_layout(LAYOUT_PROOF_COUNTER);
	struct event_sample e = sample(CHUNK + FRAME_SIZE, EVENT_COUNTER | EVENT_WALK_END);
	struct assembled_piece p = {CHUNK, b, sizeof(b), EVENT_CHUNK};
	struct assembled a = {.sample = &e, .pieces = &p, .count = 1};
	struct seed s;

	e.counter = 77;
	put(b + FRAME_SIZE, 0x5000, CHUNK);
	put(b, 0x5100, 0);
	decode(&l, &a, &s);
	cr_assert_eq(s.outcome, OUTCOME_EXACT);
	cr_assert_eq(s.n, 2);
	cr_assert_eq(s.frames[0].code, 0x5000);
	cr_assert(s.ids[0].ok);
	cr_assert_eq(s.ids[0].version, 77);
	cr_assert(s.one_id);
	seed_release(&s);
}

Test(seed, counter_proves_nothing_with_several_interpreters)
{
	_Alignas(8) uint8_t b[FRAME_SIZE];
	struct layout l = interp_layout(LAYOUT_PROOF_COUNTER);
	struct event_sample e = sample(CHUNK, EVENT_COUNTER | EVENT_MANY_INTERPS);
	struct assembled_piece p = {CHUNK, b, sizeof(b), EVENT_CHUNK};
	struct assembled a = {.sample = &e, .pieces = &p, .count = 1};
	struct seed s;

	put(b, 0x5000, 0);
	decode(&l, &a, &s);
	cr_assert_not(s.ids[0].ok);
	seed_release(&s);
}

Test(seed, states_may_be_run_by_others_with_several_interpreters_up_to_312)
{
	_Alignas(8) uint8_t b[FRAME_SIZE];
	struct layout l = interp_layout(LAYOUT_PROOF_VERSION);
	struct event_sample e = sample(CHUNK, EVENT_MANY_INTERPS);
	struct assembled_piece p = {CHUNK, b, sizeof(b), EVENT_CHUNK};
	struct assembled a = {.sample = &e, .pieces = &p, .count = 1};
	struct seed s;

	put(b, 0x5000, 0);
	l.minor = 12;
	decode(&l, &a, &s);
	cr_assert_eq(s.outcome, OUTCOME_UNPROVEN);
	seed_release(&s);
	l.minor = 13;
	decode(&l, &a, &s);
	cr_assert_eq(s.outcome, OUTCOME_EXACT);
	seed_release(&s);
}

Test(seed, cold_end_elsewhere_is_cut_and_nothing_at_all_is_missed)
{
	_Alignas(8) uint8_t b[FRAME_SIZE];
	struct layout l = interp_layout(LAYOUT_PROOF_COUNTER);
	struct event_sample e = sample(CHUNK, EVENT_COUNTER);
	struct assembled_piece p = {CHUNK, b, sizeof(b), EVENT_CHUNK};
	struct assembled a = {.sample = &e, .pieces = &p, .count = 1};
	struct seed s;

	put(b, 0x5000, 0x7f0000100000ULL);
	decode(&l, &a, &s);
	cr_assert_eq(s.outcome, OUTCOME_CUT);
	cr_assert_eq(s.n, 1);
	seed_release(&s);
	a.count = 0;
	decode(&l, &a, &s);
	cr_assert_eq(s.outcome, OUTCOME_MISSED);
	seed_release(&s);
}

Test(seed, identities_are_matched_by_frame_and_code)
{
	_Alignas(8) uint8_t b[2 * FRAME_SIZE];
	struct layout l = interp_layout(LAYOUT_PROOF_VERSION);
	struct event_sample e = sample(CHUNK + FRAME_SIZE, EVENT_WALK_END);
	struct event_identity ids[] = {
		{.frame = CHUNK + FRAME_SIZE, .code = 0x5000, .version = 5, .ok = 1},
		{.frame = CHUNK, .code = 0x9999, .version = 6, .ok = 1}, /* not the frame's code */
	};
	struct assembled_piece p[] = {
		{CHUNK, b, sizeof(b), EVENT_CHUNK},
		{0, (const uint8_t *)ids, sizeof(ids), EVENT_IDENTITY},
	};
	struct assembled a = {.sample = &e, .pieces = p, .count = 2};
	struct seed s;

	put(b + FRAME_SIZE, 0x5000, CHUNK);
	put(b, 0x5100, 0);
	decode(&l, &a, &s);
	cr_assert_eq(s.outcome, OUTCOME_EXACT);
	cr_assert(s.ids[0].ok);
	cr_assert_eq(s.ids[0].version, 5);
	cr_assert_not(s.ids[1].ok);
	seed_release(&s);
}

Test(seed, object_frames_come_as_identities_and_end_only_by_the_flag)
{
	struct layout l = interp_layout(LAYOUT_PROOF_NAME);
	struct event_sample e = sample(0x4000, EVENT_WALK_END);
	struct event_identity ids[] = {
		{.frame = 0x4000, .code = 0x5000, .lasti = 12, .name_hash = 9, .ok = 1},
		{.frame = 0x4800, .code = 0x5100, .lasti = -1, .name_hash = 8, .ok = 1},
	};
	struct assembled_piece p[] = {
		{0, (const uint8_t *)&ids[0], sizeof(ids[0]), EVENT_IDENTITY},
		{0, (const uint8_t *)&ids[1], sizeof(ids[1]), EVENT_IDENTITY},
	};
	struct assembled a = {.sample = &e, .pieces = p, .count = 2};
	struct seed s;

	l.object_frames = true;
	decode(&l, &a, &s);
	cr_assert_eq(s.outcome, OUTCOME_EXACT);
	cr_assert_eq(s.n, 2);
	cr_assert_eq(s.frames[1].instr, (uint64_t)-1);
	cr_assert_eq(s.ids[0].name_hash, 9);
	seed_release(&s);
	e.flags = EVENT_WALK_MAX;
	decode(&l, &a, &s);
	cr_assert_eq(s.outcome, OUTCOME_CUT);
	seed_release(&s);
}

Test(seed, no_thread_state_is_native_only_when_the_list_was_complete)
{
	struct layout l = interp_layout(LAYOUT_PROOF_COUNTER);
	struct event_sample e = {.flags = EVENT_LIST_ENDED};
	struct assembled a = {.sample = &e};
	struct seed s;

	decode(&l, &a, &s);
	cr_assert_eq(s.outcome, OUTCOME_NATIVE);
	seed_release(&s);
	e.flags = EVENT_LIST_CUT;
	decode(&l, &a, &s);
	cr_assert_eq(s.outcome, OUTCOME_MISSED);
	seed_release(&s);
	e = sample(0, 0);
	decode(&l, &a, &s);
	cr_assert_eq(s.outcome, OUTCOME_NATIVE);
	seed_release(&s);
}

Test(seed, frames_behind_the_kernels_last_step_are_named_by_their_code)
{
	_Alignas(8) uint8_t b[3 * FRAME_SIZE];
	struct layout l = interp_layout(LAYOUT_PROOF_VERSION);
	struct event_sample e = sample(CHUNK + 2 * FRAME_SIZE, EVENT_WALK_MAX);
	struct event_identity id = {
		.frame = CHUNK + 2 * FRAME_SIZE, .code = 0x5000, .version = 5, .ok = 1};
	struct assembled_piece p[] = {
		{CHUNK, b, sizeof(b), EVENT_CHUNK},
		{0, (const uint8_t *)&id, sizeof(id), EVENT_IDENTITY},
	};
	struct assembled a = {.sample = &e, .pieces = p, .count = 2};
	struct seed s;

	put(b + 2 * FRAME_SIZE, 0x5000, CHUNK + FRAME_SIZE);
	put(b + FRAME_SIZE, 0x5000, CHUNK);
	put(b, 0x5100, 0);
	decode(&l, &a, &s);
	cr_assert_eq(s.outcome, OUTCOME_EXACT);
	cr_assert(s.ids[1].ok);
	cr_assert_eq(s.ids[1].version, 5);
	cr_assert_not(s.ids[2].ok); /* its code object was in no frame that the kernel noted */
	seed_release(&s);
}
