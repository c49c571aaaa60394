/* Is the stack that a walk gets the one that ran, also when addresses are used again? */
#include <criterion/criterion.h>
#include <stdio.h>

#include "base/clock.h"
#include "symbol/walkcache.h"
#include "tests/support/fakecode.h"

#define CODE(i) (0x7f0000000040ul + 0x100000ul * (i))
#define INTERP 0x2000000ul
#define SOON 1000u
#define LATER (2 * NSEC_PER_SEC)
#define MAX_DEPTH 20000

static struct fakecache f;
static struct walkcache *c;
static struct walk_frame frames[MAX_DEPTH];
static struct identity ids[MAX_DEPTH];
static struct pycode_query queries[MAX_DEPTH];

static void object_at(raddr_t at, uint32_t version, const char *name)
{
	const struct fakecode o = {
		.addr = at, .version = version, .firstlineno = 10, .name = name, .file = "/f.py"};

	fakecode_put(f.mem, &f.layout, &o);
}

/* What a tick sees: frames (leaf first) in objects, all proven by one counter. */
static struct walkcache_frames tick(const unsigned int *objects, size_t n, uint32_t counter)
{
	for (size_t i = 0; i < n; i++) {
		struct pycode_query q = fakecode_query(&f.layout, CODE(objects[i]), 8);

		frames[i] = (struct walk_frame){
			.addr = 0x5000 + 64 * i, .code = q.code, .instr = q.instr};
		ids[i] = (struct identity){.proof = LAYOUT_PROOF_COUNTER,
					   .ok = true,
					   .version = counter,
					   .interp = INTERP};
	}
	return (struct walkcache_frames){.frames = frames, .ids = ids, .n = n};
}

static struct walkcache_walk take(uint32_t thread, const struct walkcache_frames *v)
{
	struct walkcache_walk w;

	cr_assert_eq(walkcache_take(c, thread, v, &w), 0);
	cr_assert_eq(w.hot + w.known, v->n);
	for (size_t i = 0; i < w.hot; i++)
		queries[w.first + i] = (struct pycode_query){.code = v->frames[i].code,
							     .instr = v->frames[i].instr,
							     .tlbc = v->frames[i].tlbc,
							     .id = v->ids[i]};
	return w;
}

static struct walkcache_stack stack_of(const struct walkcache_walk *w)
{
	struct walkcache_stack s;

	walkcache_name(c, w, queries + w->first, &s);
	cr_assert_eq(s.named + s.unnamed, w->hot + w->known);
	return s;
}

/* One tick in a drain of its own: how many frames had to be named; the stack as text, root first.
 */
static uint32_t sample_of(uint32_t thread, const struct walkcache_frames *v, uint64_t now,
			  const char *want)
{
	struct walkcache_walk w = take(thread, v);
	struct walkcache_stack s;
	char text[256] = "", more[256];
	uint32_t stack, frame;

	cr_assert_eq(pycode_resolve(f.cache, f.mem, queries + w.first, w.hot), 0);
	s = stack_of(&w);
	walkcache_settle(c, now);
	for (stack = s.stack; stack != STACK_EMPTY;) {
		names_stack_at(f.names, stack, &stack, &frame);
		snprintf(more, sizeof(more), "%s %s",
			 names_string_at(f.names, names_frame_at(f.names, frame)->func, NULL),
			 text);
		snprintf(text, sizeof(text), "%s", more);
	}
	cr_assert_str_eq(text, want, "%s, not %s", text, want);
	return w.hot;
}

static uint32_t sample(const struct walkcache_frames *v, uint64_t now, const char *want)
{
	return sample_of(1, v, now, want);
}

static void setup(void)
{
	fakecache_init(&f, 14);
	c = walkcache_new(f.names);
	cr_assert_not_null(c);
	object_at(CODE(0), 5, "main");
	object_at(CODE(1), 6, "step");
	object_at(CODE(2), 7, "inner");
	object_at(CODE(3), 8, "other");
}

static void teardown(void)
{
	walkcache_free(c);
	fakecache_release(&f);
}

TestSuite(walkcache, .init = setup, .fini = teardown);

static const unsigned int inner_step_main[] = {2, 1, 0}, other_step_main[] = {3, 1, 0},
			  inner_main[] = {2, 0}, inner_step[] = {2, 1};

Test(walkcache, only_what_differs_is_named)
{
	struct walkcache_frames v = tick(inner_step_main, 3, 20);

	cr_expect_eq(sample(&v, SOON, "main step inner "), 3);
	cr_expect_eq(sample(&v, SOON, "main step inner "), 0);
	v = tick(other_step_main, 3, 20);
	cr_expect_eq(sample(&v, SOON, "main step other "), 1);
	v = tick(inner_step_main + 1, 2, 20); /* it returned */
	cr_expect_eq(sample(&v, SOON, "main step "), 0);
	v = tick(inner_step_main, 3, 20);
	cr_expect_eq(sample(&v, SOON, "main step inner "), 1);
	v = tick(inner_main, 2, 20); /* the same frame on another caller */
	cr_expect_eq(sample(&v, SOON, "main inner "), 1);
	v = tick(inner_step, 2, 20); /* and the root is another */
	cr_expect_eq(sample(&v, SOON, "step inner "), 2);
	v = tick(inner_step, 2, 20);
	frames[0].instr += 8; /* another line */
	cr_expect_eq(sample(&v, SOON, "step inner "), 1);
	v = tick(inner_step, 2, 20);
	frames[1].tlbc = 1; /* another copy of the bytecode */
	cr_expect_eq(sample(&v, SOON, "step inner "), 2);
	v = tick(inner_step, 0, 20);
	cr_expect_eq(take(1, &v).hot, 0);
}

/* The heart: the address is that of before, the object is not. */
Test(walkcache, an_address_that_was_used_again_has_its_new_name)
{
	struct walkcache_frames v = tick(inner_step_main, 3, 20);

	cr_expect_eq(sample(&v, SOON, "main step inner "), 3);
	object_at(CODE(1), 20, "successor"); /* which raised the counter */
	v = tick(inner_step_main, 3, 21);
	cr_expect_eq(sample(&v, SOON, "main successor inner "), 3);
	cr_expect_eq(sample(&v, SOON, "main successor inner "), 0);
}

/* The generation alone is proof, however many were made; with another one it is not. */
Test(walkcache, by_generation)
{
	struct walkcache_frames v = tick(inner_step_main, 3, 20);

	for (size_t i = 0; i < 3; i++) {
		ids[i].has_generation = true;
		ids[i].generation = 4;
	}
	cr_expect_eq(sample(&v, SOON, "main step inner "), 3);
	for (size_t i = 0; i < 3; i++)
		ids[i].version = 30;
	cr_expect_eq(sample(&v, SOON, "main step inner "), 0);
	object_at(CODE(2), 31, "successor");
	for (size_t i = 0; i < 3; i++) {
		ids[i].version = 32;
		ids[i].generation = 5;
	}
	cr_expect_eq(sample(&v, SOON, "main step successor "), 3);
}

/* A counter of 0 (several interpreters, wrapped), or of another interpreter, is no proof. */
Test(walkcache, what_proves_nothing_is_not_compared)
{
	struct walkcache_frames v = tick(inner_step_main, 3, 20);

	cr_expect_eq(sample(&v, SOON, "main step inner "), 3);
	v = tick(inner_step_main, 3, 20);
	ids[2].interp = INTERP + 64;
	cr_expect_eq(take(1, &v).hot, 3);
	v = tick(inner_step_main, 3, 20);
	ids[1].ok = false;
	cr_expect_eq(take(2, &v).hot, 3);
	cr_expect_eq(take(2, &v).hot, 0); /* step has no name, whatever it is */
	ids[1].ok = true;
	cr_expect_eq(take(2, &v).hot, 2);
	v = tick(inner_step_main, 3, 0);
	cr_expect_eq(take(3, &v).hot, 3);
	v = tick(inner_step_main, 3, 20);
	cr_expect_eq(take(3, &v).hot, 3);
}

static struct walkcache_frames by_proof(enum layout_proof proof)
{
	struct walkcache_frames v = tick(inner_step_main, 3, 20);

	for (size_t i = 0; i < 3; i++)
		ids[i] = (struct identity){
			.proof = proof,
			.ok = true,
			.name_hash = 70 + i,
			.file_mark = 80,
			.filename = fakecode_file_at(CODE(i)),
			.firstlineno = 10,
			.version = (uint32_t)(proof == LAYOUT_PROOF_NAME ? 0 : 5 + i),
			.interp = INTERP};
	return v;
}

Test(walkcache, each_word_of_an_identity_counts)
{
	struct walkcache_frames v = by_proof(LAYOUT_PROOF_NAME);
	uint32_t thread = 10;

	take(thread, &v);
	cr_expect_eq(take(thread, &v).hot, 0);
	ids[1].name_hash++;
	cr_expect_eq(take(thread, &v).hot, 2);
	ids[1].file_mark++;
	cr_expect_eq(take(thread, &v).hot, 2);
	ids[1].filename += 64;
	cr_expect_eq(take(thread, &v).hot, 2);
	ids[1].firstlineno++;
	cr_expect_eq(take(thread, &v).hot, 2);
	cr_expect_eq(take(thread, &v).hot, 0);
	v = by_proof(LAYOUT_PROOF_VERSION);
	cr_expect_eq(take(thread, &v).hot, 3); /* another proof */
	cr_expect_eq(take(thread, &v).hot, 0);
	ids[1].version++;
	cr_expect_eq(take(thread, &v).hot, 2);
	ids[1].interp += 64;
	cr_expect_eq(take(thread, &v).hot, 2);
	ids[1].filename += 64;
	cr_expect_eq(take(thread, &v).hot, 2);
	ids[1].firstlineno++;
	cr_expect_eq(take(thread, &v).hot, 2);
	cr_expect_eq(take(thread, &v).hot, 0);
}

/* Of one drain: the second walk stands on frames that only the first one asks for. */
Test(walkcache, within_a_drain)
{
	struct walkcache_frames v = tick(inner_step_main, 3, 20);
	struct walkcache_walk a = take(1, &v), b, d, e;
	struct walkcache_stack s, t;

	v = tick(other_step_main, 3, 20);
	b = take(1, &v);
	d = take(1, &v);
	v = tick(inner_step_main, 3, 20);
	e = take(1, &v);
	cr_expect_eq(a.hot, 3);
	cr_expect_eq(b.hot, 1);
	cr_expect_eq(d.hot, 0);
	cr_expect_eq(e.hot, 1);
	cr_assert_eq(pycode_resolve(f.cache, f.mem, queries, 5), 0);
	s = stack_of(&a);
	t = stack_of(&b);
	cr_expect_neq(s.stack, t.stack);
	cr_expect_eq(stack_of(&d).stack, t.stack);
	cr_expect_eq(stack_of(&e).stack, s.stack);
	walkcache_settle(c, SOON);
	cr_expect_eq(sample(&v, SOON, "main step inner "), 0);
}

/* What has no name is asked for again, and counted for each walk that has it. */
Test(walkcache, unreadable_frames_are_not_kept)
{
	struct walkcache_frames v =
		tick(inner_step_main, 3, 6); /* step was made later: not proven */
	struct walkcache_walk a = take(1, &v), b = take(1, &v);
	struct walkcache_stack s;

	cr_expect_eq(b.hot, 0);
	cr_assert_eq(pycode_resolve(f.cache, f.mem, queries, 3), 0);
	s = stack_of(&a);
	cr_expect_eq(s.named, 1);
	cr_expect_eq(s.unnamed, 2);
	s = stack_of(&b);
	cr_expect_eq(s.named, 1);
	cr_expect_eq(s.unnamed, 2);
	walkcache_settle(c, SOON);
	cr_expect_eq(sample(&v, SOON, "main [unreadable] [unreadable] "), 2);
}

/* What the tick saw nothing of stays without a name, and counts, until a tick sees more. */
Test(walkcache, frames_that_nothing_can_name)
{
	struct walkcache_frames v = tick(inner_step_main, 3, 20);
	struct walkcache_walk w;

	ids[1].ok = false;
	cr_expect_eq(sample(&v, SOON, "main [unreadable] inner "), 3);
	cr_expect_eq(sample(&v, SOON, "main [unreadable] inner "), 0);
	w = take(1, &v);
	cr_expect_eq(stack_of(&w).unnamed, 1);
	ids[1].ok = true;
	cr_expect_eq(sample(&v, SOON, "main step inner "), 2);
	cr_expect_eq(sample(&v, SOON, "main step inner "), 0);
	ids[1].ok = false;
	cr_expect_eq(sample(&v, SOON, "main [unreadable] inner "), 2);
}

Test(walkcache, a_cut_stack_begins_with_its_marker)
{
	struct walkcache_frames v = tick(inner_step, 2, 20);

	cr_expect_eq(sample(&v, SOON, "step inner "), 2);
	v.cut = true;
	cr_expect_eq(sample(&v, SOON, "[truncated] step inner "), 2);
	cr_expect_eq(sample(&v, SOON, "[truncated] step inner "), 0);
	v.cut = false;
	cr_expect_eq(sample(&v, SOON, "step inner "), 2);
}

Test(walkcache, threads_are_apart_and_age)
{
	struct walkcache_frames v = tick(inner_step_main, 3, 20);

	cr_expect_eq(sample(&v, SOON, "main step inner "), 3);
	cr_expect_eq(sample_of(2, &v, SOON, "main step inner "), 3);
	cr_expect_eq(sample(&v, NSEC_PER_SEC / 2, "main step inner "), 0);
	cr_expect_eq(sample(&v, LATER, "main step inner "), 0); /* looked at at its end */
	cr_expect_eq(walkcache_bytes(c), 0);
	cr_expect_eq(sample(&v, LATER, "main step inner "), 3);
}

/* However deep stacks are and however many threads there are, memory has an end. */
Test(walkcache, bounded)
{
	static unsigned int objects[MAX_DEPTH];
	const struct walkcache_frames v = tick(objects, MAX_DEPTH, 20);
	uint32_t frame = names_marker(f.names, "f"), kept = 0;
	struct walkcache_walk w;
	struct walkcache_stack s;

	for (size_t i = 0; i < MAX_DEPTH; i++)
		queries[i] = (struct pycode_query){.ret_named = true, .ret_frame = frame};
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t thread = 0; thread < 100; thread++) {
			cr_assert_eq(walkcache_take(c, thread, &v, &w), 0);
			walkcache_name(c, &w, queries, &s);
			cr_assert_eq(names_stack_depth(f.names, s.stack), MAX_DEPTH);
			walkcache_settle(c, SOON);
			cr_assert_leq(walkcache_bytes(c), 8u << 20);
			kept += w.known != 0;
			cr_assert_leq(w.known, 8192);
		}
	}
	cr_expect_gt(kept, 5);
	cr_expect_lt(kept, 100); /* no room for all; the others are named every time */
	walkcache_settle(c, LATER);
	cr_expect_eq(walkcache_bytes(c), 0);
	walkcache_free(NULL);
}
