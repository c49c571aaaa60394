/* Reading stacks from a fake memory: how many calls, what comes, and what proves it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include "python/reader.h"
#include "tests/support/fakestack.h"

#define DEPTH 5

struct world {
	struct fakepython p;
	struct layout l;
	struct mem *m;
	struct reader *r;
	struct reader_thread v[8];
};

/* Threads with stacks of DEPTH frames; thread i runs code objects from 10 * i on. */
static void build(struct world *w, uint32_t minor, unsigned int interps, unsigned int states,
		  unsigned int gil_of)
{
	struct discover_found f;

	*w = (struct world){.l = fakestack_layout(minor)};
	w->p = (struct fakepython){&w->l, interps, states, false, gil_of};
	w->m = fakepython_new(&w->p);
	for (unsigned int i = 0; i < interps; i++) {
		if (w->l.interp.next_version != LAYOUT_NONE)
			fakemem_add_u32(w->m, fakepython_interp(i) + w->l.interp.next_version, 900);
		if (w->l.interp.gc_collecting != LAYOUT_NONE)
			fakemem_add_u32(w->m, fakepython_interp(i) + w->l.interp.gc_collecting, 0);
	}
	fakemem_add_u64(w->m, fakestack_gil(&w->l) + w->l.gil.switch_number, FAKESTACK_SWITCHES);
	for (unsigned int i = 0; i < interps * states; i++) {
		fakestack_add(w->m, &w->l, i, DEPTH, 10 * i);
		if (i < ARRAY_SIZE(w->v))
			w->v[i].thread_ptr = FAKEPYTHON_THREAD_ID + i;
	}
	f = fakestack_found(&w->p);
	w->r = reader_new(&f, w->m);
	cr_assert_not_null(w->r);
}

static void demolish(struct world *w)
{
	reader_free(w->r);
	mem_free(w->m);
}

/* Reads n threads; the calls that it took. */
static uint64_t read_all(struct world *w, size_t n)
{
	uint64_t calls = w->m->stats.calls;

	cr_assert_eq(reader_read(w->r, w->v, n), 0);
	return w->m->stats.calls - calls;
}

/* The stack of thread i is the one that build() made, with `more` frames on its leaf. */
static void is_stack(const struct world *w, size_t i, size_t n)
{
	const struct reader_thread *t = &w->v[i];
	const struct walk_frame *f = reader_frames(w->r) + t->first;
	const struct identity *id = reader_ids(w->r) + t->first;

	cr_assert_eq(t->status, READER_STACK, "thread %zu: status %d", i, t->status);
	cr_assert_eq(t->n, n, "thread %zu: %zu frames", i, t->n);
	for (size_t k = 0; k < n; k++) {
		unsigned int frame = (unsigned int)(n - 1 - k), code = 10 * (unsigned int)i + frame;
		const struct identity *this = id + (t->one_id ? 0 : k);

		cr_assert_eq(f[k].addr, fakestack_at(&w->l, (unsigned int)i, frame));
		cr_assert_eq(f[k].code, fakestack_code(code));
		cr_assert(this->ok, "3.%u: frame %zu is not identified", w->l.minor, k);
		cr_assert_eq(this->interp, t->interp);
		if (this->proof == LAYOUT_PROOF_COUNTER)
			cr_assert_eq(this->version, 900);
		if (this->proof == LAYOUT_PROOF_VERSION)
			cr_assert_eq(this->version, FAKEPYTHON_VERSION + code);
		if (this->proof == LAYOUT_PROOF_NAME) {
			cr_assert_eq(this->name_hash, 0x1000 + code);
			cr_assert_neq(this->file_mark, 0);
		}
	}
}

Test(reader, every_version_takes_one_call_once_it_has_learned)
{
	for (uint32_t minor = 8; minor <= 13; minor++) {
		struct world w;
		const struct reader_stats *s;

		build(&w, minor, 1, 3, 2);
		cr_assert_gt(read_all(&w, 3), 1);
		read_all(&w, 3);
		for (int i = 0; i < 5; i++)
			cr_assert_eq(read_all(&w, 3), 1, "3.%u", minor);
		for (size_t i = 0; i < 3; i++) {
			is_stack(&w, i, DEPTH);
			cr_assert_eq(w.v[i].holds_gil, i == 1);
			cr_assert_eq(w.v[i].still, i != 1, "3.%u thread %zu", minor, i);
			cr_assert_not(w.v[i].gc);
			cr_assert_eq(w.v[i].interp, fakepython_interp(0));
		}
		s = reader_get_stats(w.r);
		cr_assert_eq(s->reads, 7);
		cr_assert_eq(s->walks, 21);
		cr_assert_eq(s->gil_witness, 14);
		cr_assert_geq(s->batches_complete, 5);
		demolish(&w);
	}
}

Test(reader, threads_are_found_by_any_name)
{
	struct world w;

	build(&w, 12, 1, 3, 0);
	w.v[0].thread_ptr = 0;
	w.v[0].tstate = fakepython_state(0);
	w.v[1].thread_ptr = 0;
	w.v[1].ns_tid = FAKEPYTHON_NATIVE_ID + 1;
	read_all(&w, 3);
	for (size_t i = 0; i < 3; i++)
		is_stack(&w, i, DEPTH);
	w.v[0].tstate = fakepython_state(7);
	w.v[1].ns_tid = FAKEPYTHON_NATIVE_ID + 8;
	w.v[2].thread_ptr = FAKEPYTHON_THREAD_ID + 9;
	read_all(&w, 3);
	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(w.v[i].status, READER_NO_STATE, "%zu: %d", i, w.v[i].status);
	demolish(&w);
}

/* --- predictions that do not hold --- */

Test(reader, a_leaf_that_moved_within_the_slack_costs_nothing)
{
	struct world w;

	build(&w, 13, 1, 2, 0);
	read_all(&w, 2);
	read_all(&w, 2);
	fakestack_add(w.m, &w.l, 1, DEPTH + 4, 10);
	cr_assert_eq(read_all(&w, 2), 1);
	is_stack(&w, 0, DEPTH);
	is_stack(&w, 1, DEPTH + 4);
	fakestack_add(w.m, &w.l, 1, DEPTH - 3, 10);
	cr_assert_eq(read_all(&w, 2), 1);
	is_stack(&w, 1, DEPTH - 3);
	fakestack_add(w.m, &w.l, 1, DEPTH + 40, 10);
	cr_assert_eq(read_all(&w, 2), 2, "deeper than that: one call more");
	is_stack(&w, 1, DEPTH + 40);
	cr_assert_eq(reader_get_stats(w.r)->chunk.wrong, 1);
	cr_assert_eq(read_all(&w, 2), 1);
	demolish(&w);
}

Test(reader, a_leaf_elsewhere_is_read_through_and_learned)
{
	for (uint32_t minor = 8; minor <= 13; minor++) {
		raddr_t leaf = 0x600000000ul; /* a generator's frame, or a new object */
		struct world w;
		struct reader_hits leafs;

		build(&w, minor, 1, 2, 0);
		read_all(&w, 2);
		read_all(&w, 2);
		read_all(&w, 2);
		leafs = reader_get_stats(w.r)->leaf;
		fakestack_frame(w.m, &w.l, leaf, fakestack_at(&w.l, 0, DEPTH - 1),
				fakestack_code(3), 1);
		fakestack_leaf(w.m, &w.l, 0, leaf);
		cr_assert_eq(read_all(&w, 2), 2, "3.%u", minor);
		cr_assert_eq(w.v[0].status, READER_STACK);
		cr_assert_eq(w.v[0].n, DEPTH + 1);
		cr_assert_eq(reader_frames(w.r)[w.v[0].first].addr, leaf);
		cr_assert(reader_ids(w.r)[w.v[0].first].ok);
		is_stack(&w, 1, DEPTH);
		cr_assert_eq(reader_get_stats(w.r)->leaf.wrong, leafs.wrong + 1);
		cr_assert_eq(read_all(&w, 2), 1);
		demolish(&w);
	}
}

/* The stack goes on in a second chunk, as when the first has no room for a frame. */
static void push_chunk(struct world *w)
{
	static const uint8_t zero[FAKESTACK_CHUNK_SIZE];
	raddr_t first = FAKESTACK_CHUNK, second = FAKESTACK_CHUNK + 0x40000,
		state = fakepython_state(0);
	raddr_t leaf = fakestack_at(&w->l, 0, DEPTH - 1), at = second + 24;

	fakemem_add_u64(w->m, first + 16, (leaf + 160 - first - 24) / 8); /* top */
	fakemem_add(w->m, second, zero, sizeof(zero));
	fakemem_add_u64(w->m, second, first);
	fakestack_frame(w->m, &w->l, at, leaf, fakestack_code(2), 0);
	fakestack_leaf(w->m, &w->l, 0, at);
	fakemem_add_u64(w->m, state + w->l.tstate.datastack_chunk, second);
	fakemem_add_u64(w->m, state + w->l.tstate.datastack_chunk + 8, at + 160);
	fakemem_add_u64(w->m, state + w->l.tstate.datastack_chunk + 16, second + sizeof(zero));
}

Test(reader, a_new_chunk_is_read_through_and_learned)
{
	for (uint32_t minor = 11; minor <= 13; minor++) {
		struct world w;

		build(&w, minor, 1, 2, 0);
		read_all(&w, 2);
		read_all(&w, 2);
		push_chunk(&w);
		cr_assert_eq(read_all(&w, 2), 2);
		cr_assert_eq(w.v[0].status, READER_STACK);
		cr_assert_eq(w.v[0].n, DEPTH + 1);
		cr_assert_eq(read_all(&w, 2), 1);
		cr_assert_eq(w.v[0].n, DEPTH + 1);
		fakestack_add(w.m, &w.l, 0, DEPTH, 0);
		cr_assert_eq(read_all(&w, 2), 1, "back in the first one");
		is_stack(&w, 0, DEPTH);
		demolish(&w);
		/* whoever meets both for the first time */
		build(&w, minor, 1, 2, 0);
		push_chunk(&w);
		read_all(&w, 2);
		cr_assert_eq(w.v[0].n, DEPTH + 1);
		demolish(&w);
	}
}

Test(reader, a_chunk_that_can_not_be_read_whole_is_read_by_frames)
{
	struct world w;

	build(&w, 12, 1, 2, 0);
	read_all(&w, 2);
	read_all(&w, 2);
	fakemem_hole(w.m, FAKESTACK_CHUNK, 16);
	read_all(&w, 2);
	is_stack(&w, 0, DEPTH);
	is_stack(&w, 1, DEPTH);
	cr_assert_eq(read_all(&w, 2), 2, "the chunk is asked for by each read, in vain");
	fakemem_hole(w.m, fakestack_at(&w.l, 0, 1), 16);
	read_all(&w, 2);
	cr_assert_eq(w.v[0].status, READER_FAILED, "a frame of it is not there");
	is_stack(&w, 1, DEPTH);
	demolish(&w);
}

/* --- threads that come and go --- */

static void link_states(struct world *w, unsigned int a, unsigned int b)
{
	fakemem_add_u64(w->m, fakepython_state(a) + w->l.tstate.next, fakepython_state(b));
	fakemem_add_u64(w->m, fakepython_state(b) + w->l.tstate.prev, fakepython_state(a));
}

Test(reader, a_thread_state_that_was_freed_is_no_thread_any_more)
{
	for (uint32_t minor = 8; minor <= 13; minor++) {
		struct world w;

		build(&w, minor, 1, 3, 0);
		read_all(&w, 3);
		/* its bytes all stay, as they do when memory is freed */
		link_states(&w, 0, 2);
		read_all(&w, 3);
		is_stack(&w, 0, DEPTH);
		cr_assert_eq(w.v[1].status, READER_NO_STATE, "3.%u: %d", minor, w.v[1].status);
		is_stack(&w, 2, DEPTH);
		/* and the first of the list */
		fakemem_add_u64(w.m, fakepython_interp(0) + w.l.interp.threads_head,
				fakepython_state(2));
		fakemem_add_u64(w.m, fakepython_state(2) + w.l.tstate.prev, 0);
		read_all(&w, 3);
		cr_assert_eq(w.v[0].status, READER_NO_STATE);
		is_stack(&w, 2, DEPTH);
		demolish(&w);
	}
}

Test(reader, a_thread_state_of_another_thread_now)
{
	struct world w;

	build(&w, 12, 1, 3, 0);
	read_all(&w, 3);
	fakemem_add_u64(w.m, fakepython_state(1) + w.l.tstate.thread_id, 0x7f0000009000ul);
	read_all(&w, 3);
	cr_assert_eq(w.v[1].status, READER_NO_STATE);
	w.v[1].thread_ptr = 0x7f0000009000ul;
	read_all(&w, 3);
	is_stack(&w, 1, DEPTH);
	w.v[1].tstate = fakepython_state(1);
	w.v[1].thread_ptr = FAKEPYTHON_THREAD_ID + 1;
	read_all(&w, 3);
	cr_assert_eq(w.v[1].status, READER_FAILED,
		     "a state was named, and it is not this thread's");
	is_stack(&w, 2, DEPTH);
	demolish(&w);
}

Test(reader, odd_threads_cost_the_others_nothing)
{
	for (uint32_t minor = 8; minor <= 13; minor++) {
		struct world w;
		raddr_t leaf;

		build(&w, minor, 1, 5, 3);
		fakestack_leaf(w.m, &w.l, 0, 0); /* just born */
		leaf = fakestack_at(&w.l, 1, DEPTH - 1);
		fakestack_frame(w.m, &w.l, fakestack_at(&w.l, 1, 0), leaf, fakestack_code(10), 0);
		fakestack_leaf(w.m, &w.l, 3, 0x99000);	    /* points to nothing */
		fakemem_hole(w.m, fakestack_code(42), 256); /* a code object that is gone */
		for (int i = 0; i < 3; i++) {
			read_all(&w, 5);
			cr_assert_eq(w.v[0].status, READER_NO_FRAMES);
			cr_assert_eq(w.v[1].status, READER_FAILED, "a ring of frames");
			is_stack(&w, 2, DEPTH);
			cr_assert(w.v[2].holds_gil);
			cr_assert_eq(w.v[3].status, READER_FAILED);
			cr_assert_eq(w.v[4].status, READER_STACK, "3.%u %d", minor, w.v[4].status);
			cr_assert_eq(w.v[4].one_id, minor == 13);
			if (!w.v[4].one_id)
				cr_assert_not(reader_ids(w.r)[w.v[4].first + 2].ok);
			cr_assert(reader_ids(w.r)[w.v[4].first].ok);
		}
		demolish(&w);
	}
}

Test(reader, a_process_that_ends_is_a_class_for_all)
{
	struct world w;

	build(&w, 12, 1, 3, 0);
	read_all(&w, 3);
	fakemem_die(w.m, (struct fakemem_when){.call = w.m->stats.calls, .piece = 3}, -ESRCH);
	cr_assert_eq(reader_read(w.r, w.v, 3), -ESRCH);
	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(w.v[i].status, READER_FAILED);
	demolish(&w);
}

/* --- the witness --- */

/* The GIL changes hands just before each piece of the only call in turn. */
Test(reader, a_switch_between_any_two_pieces_breaks_the_witness)
{
	for (uint32_t minor = 8; minor <= 13; minor++) {
		size_t pieces, unproven = 0;
		uint64_t number = FAKESTACK_SWITCHES, before;
		struct world w;

		build(&w, minor, 1, 3, 2);
		read_all(&w, 3);
		read_all(&w, 3);
		before = w.m->stats.segments;
		cr_assert_eq(read_all(&w, 3), 1);
		pieces = w.m->stats.segments - before;
		for (size_t at = 0; at <= pieces; at++) {
			struct fakemem_when when = {.call = w.m->stats.calls, .piece = at};

			number += 2; /* it went away and came back: only the number tells */
			fakemem_change(w.m, when, fakestack_gil(&w.l) + w.l.gil.switch_number,
				       &number, sizeof(number));
			cr_assert_eq(read_all(&w, 3), 1);
			is_stack(&w, 0, DEPTH);
			cr_assert_not(w.v[1].still);
			cr_assert_eq(w.v[0].still, w.v[2].still);
			/* before the first piece, or after the last */
			if (at == 0 || at == pieces)
				cr_assert(w.v[0].still, "3.%u: %zu of %zu", minor, at, pieces);
			unproven += !w.v[0].still;
		}
		/* but for the interpreter's words, which may be read before the GIL's */
		cr_assert_geq(unproven, pieces - 4, "3.%u: %zu of %zu", minor, unproven, pieces);
		demolish(&w);
	}
}

Test(reader, without_a_gil_nothing_is_proven)
{
	struct world w;
	struct discover_found f;

	build(&w, 13, 1, 3, 2);
	reader_free(w.r);
	w.l.free_threaded = true;
	f = fakestack_found(&w.p);
	f.gil = 0;
	w.r = reader_new(&f, w.m);
	read_all(&w, 3);
	for (size_t i = 0; i < 3; i++) {
		is_stack(&w, i, DEPTH);
		cr_assert_not(w.v[i].still || w.v[i].holds_gil);
	}
	cr_assert_not(reader_is_gil(w.r, 40));
	demolish(&w);
}

Test(reader, what_is_read_through_stays_inside_of_the_witness)
{
	struct world w;
	uint64_t number = FAKESTACK_SWITCHES + 1;
	struct fakemem_when second = {0};

	build(&w, 13, 1, 3, 2);
	read_all(&w, 3);
	read_all(&w, 3);
	read_all(&w, 3);
	fakestack_add(w.m, &w.l, 0, DEPTH + 40, 0);
	second.call = w.m->stats.calls + 1;
	fakemem_change(w.m, second, fakestack_gil(&w.l) + w.l.gil.switch_number, &number, 8);
	cr_assert_eq(read_all(&w, 3), 2);
	is_stack(&w, 0, DEPTH + 40);
	cr_assert_not(w.v[0].still, "it was completed by the second call");
	cr_assert(w.v[2].still, "this one by the first");
	demolish(&w);
}

/* --- interpreters --- */

Test(reader, several_interpreters_identify_by_each_code_object)
{
	for (uint32_t minor = 8; minor <= 13; minor++) {
		struct world w;

		build(&w, minor, 3, 2, 3);
		read_all(&w, 6);
		read_all(&w, 6);
		cr_assert_eq(read_all(&w, 6), 1);
		for (size_t i = 0; i < 6; i++) {
			is_stack(&w, i, DEPTH);
			cr_assert_eq(w.v[i].interp, fakepython_interp((unsigned int)i / 2));
			cr_assert_eq(w.v[i].still, i != 2, "they share the GIL");
			cr_assert_neq(reader_ids(w.r)[w.v[i].first].proof, LAYOUT_PROOF_COUNTER);
		}
		demolish(&w);
	}
}

Test(reader, an_interpreter_that_is_made_later_is_seen)
{
	struct world w;
	struct layout *l = &w.l;
	raddr_t head;

	build(&w, 13, 2, 1, 0);
	/* the first of the list is not there yet */
	head = FAKEPYTHON_RUNTIME + l->runtime.interp_head;
	fakemem_add_u64(w.m, head, fakepython_interp(1));
	fakemem_add_u64(w.m, fakepython_state(0) + l->tstate.thread_id, FAKEPYTHON_THREAD_ID + 1);
	read_all(&w, 2);
	read_all(&w, 2);
	cr_assert_eq(w.v[0].status, READER_NO_STATE);
	is_stack(&w, 1, DEPTH);
	cr_assert_eq(reader_ids(w.r)[w.v[1].first].proof, LAYOUT_PROOF_COUNTER);
	/* the same thread goes on in the new interpreter, and holds the GIL there */
	fakemem_add_u64(w.m, head, fakepython_interp(0));
	fakemem_add_u64(w.m, fakestack_gil(l) + l->gil.last_holder, fakepython_state(0));
	fakemem_add_u32(w.m, fakestack_gil(l) + l->gil.locked, 1);
	read_all(&w, 2);
	cr_assert_eq(w.v[1].interp, fakepython_interp(0));
	cr_assert(w.v[1].holds_gil && !w.v[1].foreign);
	cr_assert_eq(reader_ids(w.r)[w.v[1].first].proof, LAYOUT_PROOF_VERSION);
	/* it comes back: the oldest that has a frame */
	fakemem_add_u32(w.m, fakestack_gil(l) + l->gil.locked, 0);
	cr_assert_eq(read_all(&w, 2), 2);
	cr_assert_eq(w.v[1].interp, fakepython_interp(1));
	cr_assert(w.v[1].foreign, "nothing says which of the two is the inner one");
	demolish(&w);
}

Test(reader, lists_are_given_as_they_are_now)
{
	struct world w;
	const struct thread_state *v;
	size_t n;
	uint64_t calls;

	build(&w, 12, 1, 40, 7);
	cr_assert_eq(reader_list(w.r, &v, &n), 0);
	cr_assert_eq(n, 40);
	cr_assert(v[6].holds_gil);
	cr_assert_eq(v[3].frame, fakestack_at(&w.l, 3, DEPTH - 1));
	calls = w.m->stats.calls;
	cr_assert_eq(reader_list(w.r, &v, &n), 0);
	cr_assert_eq(w.m->stats.calls - calls, 2, "all that is known, and the CFrames");
	link_states(&w, 4, 9);
	cr_assert_eq(reader_list(w.r, &v, &n), 0);
	cr_assert_eq(n, 36);
	cr_assert_eq(v[5].addr, fakepython_state(9));
	cr_assert(reader_is_gil(w.r, FAKEPYTHON_GIL + 40));
	cr_assert_not(reader_is_gil(w.r, FAKEPYTHON_GIL + 4000));
	demolish(&w);
}
