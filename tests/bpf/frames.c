/* The snapshot of the frame chain: chunks, frames outside, and what is told when it is not whole.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/capture.h"

#define ADDR(p) ((uint64_t)(uintptr_t)(p))
#define HOW                                                                                        \
	(EVENT_WALK_END | EVENT_WALK_MAX | EVENT_WALK_FULL | EVENT_WALK_FAILED | EVENT_CHUNK_FAILED)

static struct capture c;
static struct fake_world *w;

static void start(void)
{
	capture_init(&c, NULL);
	w = c.target.w;
}

static void start_with(uint32_t max_frames, enum target_seed seed)
{
	struct bpf_options o = {.max_frames = max_frames, .seed = seed};

	capture_init(&c, &o);
	w = c.target.w;
}

static void stop(void)
{
	capture_release(&c);
}

TestSuite(bpf_frames, .init = start, .fini = stop);
TestSuite(bpf_frames_options, .fini = stop);

static void take(uint32_t how)
{
	cr_assert(capture_next(&c, CAPTURE_SAMPLE, c.target.pid));
	cr_assert_eq(c.sample.flags & HOW, how, "flags %x", c.sample.flags);
}

static void touch_and_take(uint32_t how)
{
	faketarget_do(&c.target, FAKE_TOUCH, NULL, 0);
	take(how);
}

/* Was this memory sampled, as it is? In one piece or several. */
static void holds(uint32_t kind, const void *addr, size_t len)
{
	const char *p = addr;

	for (size_t i = 0; i < len; i += 8) {
		const void *bytes = capture_find(&c, kind, p + i, 8);

		cr_assert_not_null(bytes, "%p + %zu is not in the sample", addr, i);
		cr_assert_eq(memcmp(bytes, p + i, 8), 0);
	}
}

static void holds_used(const struct fake_chunk *chunk)
{
	holds(EVENT_CHUNK, chunk, sizeof(*chunk) + 8 * chunk->top);
}

Test(bpf_frames, none)
{
	take(EVENT_WALK_END);
	cr_assert_eq(c.sample.frame, 0);
	cr_assert_eq(c.sample.steps, 0);
	cr_assert_eq(c.count, 0);
}

Test(bpf_frames, one_chunk)
{
	struct fake_chunk *chunk = faketarget_chunk(&c.target, FAKE_CHUNK);
	struct fake_frame *leaf = NULL;

	for (int i = 0; i < 5; i++)
		leaf = faketarget_push(&c.target, true);
	touch_and_take(EVENT_WALK_END);
	cr_assert_eq(c.sample.steps, 5);
	cr_assert_eq(c.sample.frame, ADDR(leaf));
	cr_assert_eq(c.sample.top, w->tstate[0].top);
	cr_assert_eq(c.count, 1);
	cr_assert_eq(c.pieces[0].len, sizeof(*chunk) + 5 * FAKE_FRAME);
	holds(EVENT_CHUNK, chunk, c.pieces[0].len);
}

Test(bpf_frames, full_chunk)
{
	struct fake_chunk *chunk = faketarget_chunk(&c.target, FAKE_CHUNK);

	while (w->tstate[0].top + FAKE_FRAME <= ADDR(chunk) + FAKE_CHUNK)
		faketarget_push(&c.target, true);
	touch_and_take(EVENT_WALK_END);
	cr_assert_eq(c.sample.steps, (FAKE_CHUNK - sizeof(*chunk)) / FAKE_FRAME);
	cr_assert_eq(c.count, 1, "a whole chunk is one piece");
	holds(EVENT_CHUNK, chunk, w->tstate[0].top - ADDR(chunk));
}

Test(bpf_frames, generators_and_entry_frames_lie_outside)
{
	struct fake_frame *outside[3];

	faketarget_chunk(&c.target, FAKE_CHUNK);
	outside[0] = faketarget_push(&c.target, false);
	faketarget_push(&c.target, true);
	outside[1] = faketarget_push(&c.target, false);
	faketarget_push(&c.target, true);
	faketarget_push(&c.target, true);
	outside[2] = faketarget_push(&c.target, false);
	touch_and_take(EVENT_WALK_END);
	cr_assert_eq(c.sample.steps, 6);
	cr_assert_eq(capture_count(&c, EVENT_CHUNK), 1);
	cr_assert_eq(capture_count(&c, EVENT_FRAME), 3);
	for (int i = 0; i < 3; i++)
		holds(EVENT_FRAME, outside[i], FAKE_FRAME);
	cr_assert_eq(capture_count(&c, EVENT_IDENTITY), 0, "the counter proves this layout's");
}

static void fill_chunks(struct fake_chunk **chunks, int n)
{
	for (int i = 0; i < n; i++) {
		chunks[i] = faketarget_chunk(&c.target, FAKE_CHUNK);
		while (w->tstate[0].top + FAKE_FRAME <= ADDR(chunks[i]) + FAKE_CHUNK)
			faketarget_push(&c.target, true);
		if (i % 2)
			faketarget_push(&c.target, false);
	}
}

Test(bpf_frames_options, several_chunks)
{
	struct fake_chunk *chunks[3];
	uint32_t each = (FAKE_CHUNK - sizeof(struct fake_chunk)) / FAKE_FRAME;

	start_with(TARGET_MAX_FRAMES, TARGET_SEED_STACK);
	fill_chunks(chunks, 2);
	chunks[2] = faketarget_chunk(&c.target, FAKE_CHUNK);
	faketarget_push(&c.target, true);
	touch_and_take(EVENT_WALK_END);
	cr_assert_eq(c.sample.steps, 2 * each + 2);
	cr_assert_leq(capture_count(&c, EVENT_CHUNK), 4, "one is cut in two at most");
	cr_assert_leq(capture_count(&c, EVENT_FRAME), 2);
	holds(EVENT_CHUNK, chunks[2], sizeof(struct fake_chunk) + FAKE_FRAME);
	holds_used(chunks[1]);
	holds_used(chunks[0]);
}

/* What bounds the walk is frames that must be read one by one. */
Test(bpf_frames_options, many_frames_inside)
{
	struct fake_chunk *chunks[12];
	uint32_t each = (FAKE_CHUNK - sizeof(struct fake_chunk)) / FAKE_FRAME;

	start_with(16, TARGET_SEED_STACK);
	fill_chunks(chunks, 12);
	touch_and_take(EVENT_WALK_END);
	cr_assert_eq(c.sample.steps, 12 * each + 6);
	for (int i = 0; i < 11; i++)
		holds_used(chunks[i]);
	holds(EVENT_CHUNK, chunks[11], c.sample.top - ADDR(chunks[11]));
}

/* The most that a sample may hold finds room: nothing is cut for lack of it. */
Test(bpf_frames_options, everything_at_once)
{
	struct target_layout l = faketarget_layout();
	struct fake_frame *outside[480];
	struct fake_chunk *chunks[16];

	start_with(TARGET_MAX_FRAMES, TARGET_SEED_STACK);
	l.proof = TARGET_PROOF_VERSION;
	capture_know(&c, &l);
	for (size_t i = 0; i < ARRAY_SIZE(outside); i++)
		outside[i] = faketarget_push(&c.target, false);
	fill_chunks(chunks, 16);
	touch_and_take(EVENT_WALK_END);
	for (size_t i = 0; i < ARRAY_SIZE(outside); i++)
		holds(EVENT_FRAME, outside[i], FAKE_FRAME);
	for (int i = 0; i < 15; i++)
		holds_used(chunks[i]);
}

/* The kernel's walk ends, the copies go on: user space may walk further. */
Test(bpf_frames_options, chunks_beyond_the_last_step)
{
	struct fake_chunk *chunks[12];

	start_with(4, TARGET_SEED_STACK);
	fill_chunks(chunks, 12);
	touch_and_take(EVENT_WALK_MAX);
	cr_assert_eq(capture_count(&c, EVENT_FRAME), 4);
	for (int i = 0; i < 11; i++)
		holds_used(chunks[i]);
}

/* 256 KiB are copied at most: of a larger chunk its last part, the leaf's. */
Test(bpf_frames_options, chunk_larger_than_all_room)
{
	struct fake_chunk *chunk;
	uint64_t copied = 0;

	start_with(TARGET_MAX_FRAMES, TARGET_SEED_STACK);
	chunk = faketarget_chunk(&c.target, 1 << 20);
	while (w->tstate[0].top < ADDR(chunk) + (400 << 10))
		faketarget_push(&c.target, true);
	touch_and_take(EVENT_WALK_MAX);
	/* the rest is read one by one, and so are frames that the parts cut in two */
	cr_assert_eq(capture_count(&c, EVENT_FRAME), TARGET_MAX_FRAMES);
	cr_assert_gt(c.sample.steps, (256 << 10) / FAKE_FRAME);
	for (size_t i = 0; i < c.count; i++)
		copied += c.pieces[i].kind == EVENT_CHUNK ? c.pieces[i].len : 0;
	cr_assert_eq(copied, 256 << 10);
	cr_assert_eq(c.pieces[0].addr, c.sample.top - (256 << 10));
	holds(EVENT_CHUNK, (void *)(uintptr_t)(c.sample.top - 4096), 4096);
}

Test(bpf_frames_options, as_many_frames_outside_as_steps)
{
	struct fake_frame *frames[TARGET_MAX_FRAMES + 1];

	start_with(TARGET_MAX_FRAMES, TARGET_SEED_STACK);
	for (int i = 0; i < TARGET_MAX_FRAMES; i++)
		frames[i] = faketarget_push(&c.target, false);
	touch_and_take(EVENT_WALK_END);
	cr_assert_eq(capture_count(&c, EVENT_FRAME), TARGET_MAX_FRAMES);
	for (int i = 0; i < TARGET_MAX_FRAMES; i++)
		holds(EVENT_FRAME, frames[i], FAKE_FRAME);
	frames[TARGET_MAX_FRAMES] = faketarget_push(&c.target, false);
	touch_and_take(EVENT_WALK_MAX);
	cr_assert_eq(capture_count(&c, EVENT_FRAME), TARGET_MAX_FRAMES);
	holds(EVENT_FRAME, frames[TARGET_MAX_FRAMES], FAKE_FRAME);
	cr_assert_null(capture_find(&c, EVENT_FRAME, frames[0], FAKE_FRAME));
}

Test(bpf_frames, chain_in_a_circle)
{
	struct fake_frame *root;

	faketarget_chunk(&c.target, FAKE_CHUNK);
	root = faketarget_push(&c.target, true);
	root->previous = ADDR(faketarget_push(&c.target, true));
	touch_and_take(EVENT_WALK_MAX);
	cr_assert_eq(c.sample.steps, 4096);
}

/* An absent page is no end of the chain, and costs nothing but itself. */
Test(bpf_frames, absent_page_in_a_chunk)
{
	struct fake_chunk *chunk = faketarget_chunk(&c.target, FAKE_CHUNK);
	char *page = (char *)chunk + 4096;

	for (int i = 0; i < 150; i++)
		faketarget_push(&c.target, true);
	faketarget_do(&c.target, FAKE_TOUCH, NULL, 0);
	faketarget_do(&c.target, FAKE_DROP, page, 4096);
	take(EVENT_CHUNK_FAILED | EVENT_WALK_FAILED);
	cr_assert_eq(capture_count(&c, EVENT_CHUNK), 2);
	holds(EVENT_CHUNK, chunk, 4096);
	holds(EVENT_CHUNK, page + 4096, c.sample.top - ADDR(page) - 4096);
	cr_assert_null(capture_find(&c, EVENT_CHUNK, page, 8));
	cr_assert_gt(c.sample.steps, 40);
	cr_assert_lt(c.sample.steps, 110);
	faketarget_do(&c.target, FAKE_PROTECT, page + 4096, 8192);
	take(EVENT_CHUNK_FAILED | EVENT_WALK_FAILED);
	cr_assert_eq(c.sample.steps, 0);
	holds(EVENT_CHUNK, chunk, 4096);
	/* nor does an older frame in a register make a stack of what is left */
	w->held = ADDR(chunk->data) + 10 * FAKE_FRAME;
	take(EVENT_CHUNK_FAILED | EVENT_WALK_FAILED);
	cr_assert_eq(c.sample.flags & EVENT_EDGE, 0);
}

Test(bpf_frames, frame_that_is_not_there)
{
	struct fake_frame *root;

	faketarget_chunk(&c.target, FAKE_CHUNK);
	root = faketarget_push(&c.target, true);
	root->previous = 0x10;
	touch_and_take(EVENT_WALK_FAILED);
	cr_assert_eq(c.sample.steps, 1);
	cr_assert_eq(capture_count(&c, EVENT_FRAME), 0);
}

/* A generator that is being entered: current, but its `previous` is not stored yet. */
static struct fake_frame *enter_generator(int depth)
{
	struct fake_tstate *ts = &w->tstate[0];
	struct fake_frame *caller = NULL, *entered;

	faketarget_chunk(&c.target, FAKE_CHUNK);
	for (int i = 0; i < depth; i++)
		caller = faketarget_push(&c.target, true);
	ts->frame = 0;
	entered = faketarget_push(&c.target, false);
	entered->pad[1] = 0;
	return caller;
}

Test(bpf_frames, caller_out_of_a_register)
{
	struct fake_frame *caller = enter_generator(5);

	touch_and_take(0);
	cr_assert(c.sample.flags & EVENT_WALK_BROKEN);
	w->held = ADDR(caller);
	touch_and_take(EVENT_WALK_END);
	cr_assert(c.sample.flags & EVENT_EDGE);
	cr_assert_eq(c.sample.flags & EVENT_WALK_BROKEN, 0);
	cr_assert_eq(c.sample.frame, ADDR(caller));
	cr_assert_eq(c.sample.steps, 5);
}

/* A CFrame that is current and not filled (3.12): its word leads to an object, thus to `type`,
 * whose type is itself. */
Test(bpf_frames, caller_where_an_object_is_current)
{
	struct fake_frame *caller = enter_generator(5), *entered, *type;

	entered = (struct fake_frame *)(uintptr_t)w->tstate[0].frame;
	type = faketarget_push(&c.target, false);
	type->previous = ADDR(type);
	entered->previous = ADDR(type);
	w->tstate[0].frame = ADDR(entered);
	touch_and_take(0);
	cr_assert(c.sample.flags & EVENT_WALK_BROKEN);
	cr_assert_eq(c.sample.steps, 2);
	w->held = ADDR(caller);
	touch_and_take(EVENT_WALK_END);
	cr_assert(c.sample.flags & EVENT_EDGE);
	cr_assert_eq(c.sample.frame, ADDR(caller));
	cr_assert_eq(c.sample.steps, 5);
}

/* A call that has not stored `previous`: the memory holds an older frame that is alive too. */
Test(bpf_frames, caller_whose_place_a_stale_word_takes)
{
	struct fake_frame *module, *hot, *sub, *leaf;

	faketarget_chunk(&c.target, FAKE_CHUNK);
	module = faketarget_push(&c.target, true);
	hot = faketarget_push(&c.target, true);
	sub = faketarget_push(&c.target, true);
	leaf = faketarget_push(&c.target, true);
	leaf->previous = ADDR(hot);
	leaf->rest[5] = ADDR(&w->code) + FAKE_BYTECODE - 2; /* before its first instruction */
	w->held = ADDR(sub);
	touch_and_take(EVENT_WALK_END);
	cr_assert(c.sample.flags & EVENT_EDGE);
	cr_assert_eq(c.sample.frame, ADDR(sub));
	cr_assert_eq(c.sample.steps, 3);
	/* older ones are no callers */
	leaf->previous = ADDR(sub);
	w->held = ADDR(hot);
	touch_and_take(EVENT_WALK_END);
	cr_assert_eq(c.sample.frame, ADDR(leaf));
	w->held = ADDR(module);
	touch_and_take(EVENT_WALK_END);
	cr_assert_eq(c.sample.flags & EVENT_EDGE, 0);
	/* a frame that runs is not doubted */
	leaf->previous = ADDR(hot);
	leaf->rest[5] += 2;
	w->held = ADDR(sub);
	touch_and_take(EVENT_WALK_END);
	cr_assert_eq(c.sample.frame, ADDR(leaf));
}

/* Words that look like a caller and are none. */
Test(bpf_frames, register_that_is_no_caller)
{
	struct fake_frame *caller = enter_generator(5);
	struct fake_frame *popped = (struct fake_frame *)(uintptr_t)w->tstate[0].top;

	popped->previous = ADDR(caller);
	w->held = ADDR(popped);
	touch_and_take(0);
	cr_assert(c.sample.flags & EVENT_WALK_BROKEN);
	w->held = ADDR(caller) + 4;
	touch_and_take(0);
	caller->previous = ADDR(caller); /* as `type`, whose type is itself */
	w->held = ADDR(caller);
	touch_and_take(0);
	cr_assert_eq(c.sample.flags & EVENT_EDGE, 0);
}

/* A word of an object that is no frame may lead to one: a PyFrameObject's does. */
Test(bpf_frames, register_that_leads_to_a_frame)
{
	struct fake_frame *caller = enter_generator(5), *object;

	object = faketarget_alloc(&c.target, sizeof(*object), 8);
	object->previous = ADDR(caller);
	w->held = ADDR(object);
	touch_and_take(0);
	object->owner = 5; /* more than any entry frame has */
	touch_and_take(0);
	object->owner = 0;
	object->code = ADDR(&w->code);
	object->rest[5] = ADDR(&w->code) + FAKE_BYTECODE + 2 * w->code.head[2];
	touch_and_take(0);
	cr_assert_eq(c.sample.flags & EVENT_EDGE, 0);
	object->rest[5] -= 2; /* its last instruction */
	touch_and_take(EVENT_WALK_END);
	cr_assert_eq(c.sample.frame, ADDR(object));
}

/* Frames of another thread's data stack are no callers of ours, however deep. */
Test(bpf_frames, register_that_leads_to_another_thread)
{
	struct fake_frame *other[8], *caller;

	for (size_t i = 0; i < ARRAY_SIZE(other); i++)
		other[i] = faketarget_push(&c.target, false);
	w->tstate[0].frame = 0;
	caller = enter_generator(5);
	w->held = ADDR(other[7]);
	touch_and_take(0);
	cr_assert_eq(c.sample.flags & EVENT_EDGE, 0);
	w->held = ADDR(caller);
	touch_and_take(EVENT_WALK_END);
	cr_assert_eq(c.sample.frame, ADDR(caller));
	/* a generator of ours is one */
	other[7]->previous = ADDR(caller);
	w->held = ADDR(other[7]);
	touch_and_take(EVENT_WALK_END);
	cr_assert_eq(c.sample.frame, ADDR(other[7]));
	cr_assert_eq(c.sample.steps, 6);
}

/* CPython sets datastack_chunk before datastack_top when it pushes, after it when it pops. */
Test(bpf_frames, chunk_being_pushed)
{
	struct fake_chunk *old = faketarget_chunk(&c.target, FAKE_CHUNK);
	uint64_t top;

	for (int i = 0; i < 100; i++)
		faketarget_push(&c.target, true);
	top = w->tstate[0].top;
	faketarget_chunk(&c.target, FAKE_CHUNK);
	w->tstate[0].top = top;
	touch_and_take(EVENT_WALK_END);
	cr_assert_eq(c.sample.steps, 100);
	cr_assert_eq(capture_count(&c, EVENT_FRAME), 0);
	holds_used(old);
}

/* A header that can't be true: frames are still found one by one. */
Test(bpf_frames, broken_chunk_header)
{
	struct fake_chunk *chunk = faketarget_chunk(&c.target, 4 * FAKE_CHUNK);

	while (w->tstate[0].top - ADDR(chunk) <= FAKE_CHUNK)
		faketarget_push(&c.target, true);
	chunk->size = 8;
	touch_and_take(EVENT_WALK_END);
	cr_assert_eq(capture_count(&c, EVENT_FRAME), c.sample.steps);
	cr_assert_eq(capture_count(&c, EVENT_CHUNK), 0);
	chunk->size = 4 * FAKE_CHUNK;
	take(EVENT_WALK_END);
	cr_assert_eq(capture_count(&c, EVENT_FRAME), 0);
	w->tstate[0].chunk += 4;
	take(EVENT_WALK_END);
	cr_assert_eq(capture_count(&c, EVENT_FRAME), c.sample.steps);
}

Test(bpf_frames_options, seed_leaf)
{
	struct fake_frame *leaf;

	start_with(0, TARGET_SEED_LEAF);
	faketarget_chunk(&c.target, FAKE_CHUNK);
	faketarget_push(&c.target, true);
	leaf = faketarget_push(&c.target, true);
	touch_and_take(EVENT_WALK_MAX);
	cr_assert_eq(c.count, 1);
	holds(EVENT_FRAME, leaf, FAKE_FRAME);
}

Test(bpf_frames_options, seed_tstate)
{
	struct fake_frame *leaf;

	start_with(0, TARGET_SEED_TSTATE);
	faketarget_chunk(&c.target, FAKE_CHUNK);
	leaf = faketarget_push(&c.target, true);
	touch_and_take(0);
	cr_assert_eq(c.count, 0);
	cr_assert_eq(c.sample.frame, ADDR(leaf));
}
