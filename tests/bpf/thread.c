/* Which thread state the kernel side takes, and which it refuses. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "tests/support/capture.h"

#define ADDR(p) ((uint64_t)(uintptr_t)(p))

static struct capture c;
static struct fake_world *w;

static void start(void)
{
	capture_init(&c, NULL);
	w = c.target.w;
}

static void stop(void)
{
	capture_release(&c);
}

TestSuite(bpf_thread, .init = start, .fini = stop);

/* The state that the next sample has, and how it was found. */
static uint64_t found(uint32_t how)
{
	const uint32_t by = EVENT_BY_GIL | EVENT_BY_MAP | EVENT_BY_WALK;

	cr_assert(capture_next(&c, CAPTURE_SAMPLE, c.target.pid));
	cr_assert_eq(c.sample.flags & by, how, "flags %x", c.sample.flags);
	return c.sample.tstate;
}

Test(bpf_thread, holder_of_the_gil)
{
	w->interp[0].counter = 1234;
	w->interp[0].generation = 5678;
	cr_assert_eq(found(EVENT_BY_GIL), ADDR(&w->tstate[0]));
	cr_assert_eq(c.sample.flags, EVENT_BY_GIL | EVENT_HOLDS_GIL | EVENT_COUNTER |
					     EVENT_GENERATION | EVENT_WALK_END);
	cr_assert_eq(c.sample.interp, ADDR(&w->interp[0]));
	cr_assert_eq(c.sample.runtime, ADDR(w));
	cr_assert_eq(c.sample.gil_holder, ADDR(&w->tstate[0]));
	cr_assert_eq(c.sample.counter, 1234);
	cr_assert_eq(c.sample.generation, 5678);
	w->interp[0].gc = 1;
	found(EVENT_BY_GIL);
	cr_assert(c.sample.flags & EVENT_GC);
}

/* In C code without the GIL, nobody else has taken it. */
Test(bpf_thread, last_holder_of_the_gil)
{
	w->interp[0].gil.locked = 0;
	cr_assert_eq(found(EVENT_BY_GIL), ADDR(&w->tstate[0]));
	cr_assert_eq(c.sample.flags & EVENT_HOLDS_GIL, 0);
}

Test(bpf_thread, map_when_another_holds_the_gil)
{
	w->interp[0].gil.holder = 0xdead000;
	cr_assert_eq(bpf_thread_set(c.bpf, c.target.pid, pthread_self(), ADDR(&w->tstate[0])), 0);
	cr_assert_eq(found(EVENT_BY_MAP), ADDR(&w->tstate[0]));
	cr_assert_eq(c.sample.flags & EVENT_HOLDS_GIL, 0);
	cr_assert_eq(c.sample.gil_holder, 0xdead000);
}

Test(bpf_thread, list_when_the_map_is_stale)
{
	faketarget_link(&c.target, 1, 0)->thread_id = 1;
	w->interp[0].gil.holder = 0;
	cr_assert_eq(bpf_thread_set(c.bpf, c.target.pid, pthread_self(), ADDR(&w->tstate[1])), 0);
	cr_assert_eq(found(EVENT_BY_WALK), ADDR(&w->tstate[0]));
	cr_assert_eq(c.sample.flags & (EVENT_LIST_CUT | EVENT_LIST_FAILED), 0);
}

/* What a freed state looks like: thread_id is still there, the list links to it no more. */
Test(bpf_thread, state_that_the_list_does_not_link_to)
{
	faketarget_link(&c.target, 1, 0)->thread_id = 1;
	w->tstate[1].next = 0;
	cr_assert_eq(bpf_thread_set(c.bpf, c.target.pid, pthread_self(), ADDR(&w->tstate[0])), 0);
	cr_assert_eq(found(0), 0);
	cr_assert(c.sample.flags & EVENT_LIST_ENDED);
	cr_assert_eq(c.count, 0);
	cr_assert_eq(c.sample.interp, ADDR(&w->interp[0]));
}

Test(bpf_thread, head_of_the_list_that_is_another)
{
	w->interp[0].threads = ADDR(&w->tstate[1]);
	w->tstate[1].thread_id = 1;
	cr_assert_eq(found(0), 0);
}

Test(bpf_thread, list_without_the_thread)
{
	w->tstate[0].thread_id++;
	cr_assert_eq(found(0), 0);
	cr_assert_eq(c.sample.flags & (EVENT_LIST_ENDED | EVENT_LIST_CUT | EVENT_LIST_FAILED),
		     EVENT_LIST_ENDED);
}

Test(bpf_thread, list_in_a_circle)
{
	w->tstate[0].thread_id++;
	w->tstate[0].next = ADDR(&w->tstate[0]);
	cr_assert_eq(found(0), 0);
	cr_assert_eq(c.sample.flags & (EVENT_LIST_ENDED | EVENT_LIST_CUT | EVENT_LIST_FAILED),
		     EVENT_LIST_CUT);
}

static void walk_failed(void)
{
	cr_assert_eq(found(0), 0);
	cr_assert_eq(c.sample.flags & (EVENT_LIST_ENDED | EVENT_LIST_CUT | EVENT_LIST_FAILED),
		     EVENT_LIST_FAILED);
}

Test(bpf_thread, list_into_nowhere)
{
	w->tstate[0].thread_id++;
	w->tstate[0].next = 0x10;
	walk_failed();
}

/* The walk stands on memory that was freed and is something else by now: no end of the list. */
Test(bpf_thread, list_over_a_freed_state)
{
	faketarget_link(&c.target, 1, 0)->thread_id = 1;
	w->tstate[0].thread_id++;
	found(0);
	cr_assert(c.sample.flags & EVENT_LIST_ENDED);
	w->tstate[1].interp = 0x1111;
	walk_failed();
}

/* Its neighbour is being taken out of the list: thread_id fits, the link does not hold. */
Test(bpf_thread, state_whose_neighbour_is_going)
{
	faketarget_link(&c.target, 1, 0)->thread_id = 1;
	w->interp[0].gil.holder = 0;
	w->tstate[0].prev = ADDR(&w->tstate[2]);
	walk_failed();
	/* the map may still know it */
	cr_assert_eq(bpf_thread_set(c.bpf, c.target.pid, pthread_self(), ADDR(&w->tstate[0])), 0);
	walk_failed();
	w->tstate[0].prev = ADDR(&w->tstate[1]);
	cr_assert_eq(found(EVENT_BY_MAP), ADDR(&w->tstate[0]));
}

/* The page of _PyRuntime is not there, as in a child that fork has just made. */
Test(bpf_thread, runtime_that_cannot_be_read)
{
	w->tstate[0].thread_id++;
	c.entry.runtime = 0x10;
	cr_assert_eq(bpf_target_set(c.bpf, &c.entry), 0);
	walk_failed();
}

/* A thread being born carries its creator's thread_id and sits at the head of the list. */
Test(bpf_thread, creator_before_the_one_being_born)
{
	w->interp[0].gil.holder = 0;
	faketarget_push(&c.target, false);
	faketarget_link(&c.target, 1, 0);
	cr_assert_eq(found(EVENT_BY_WALK), ADDR(&w->tstate[0]));
	/* both have a frame: the older one */
	w->tstate[1].frame = w->tstate[0].frame;
	cr_assert_eq(found(EVENT_BY_WALK), ADDR(&w->tstate[0]));
	/* only the young one has: it is running */
	w->tstate[0].frame = 0;
	cr_assert_eq(found(EVENT_BY_WALK), ADDR(&w->tstate[1]));
	/* the GIL knows best */
	w->interp[0].gil.holder = ADDR(&w->tstate[0]);
	cr_assert_eq(found(EVENT_BY_GIL), ADDR(&w->tstate[0]));
}

static void second_interpreter(void)
{
	faketarget_push(&c.target, false);
	faketarget_link(&c.target, 1, 1)->frame = w->tstate[0].frame;
	w->interp[1].next = w->head;
	w->head = ADDR(&w->interp[1]);
}

Test(bpf_thread, two_interpreters_one_gil)
{
	second_interpreter();
	cr_assert_eq(found(EVENT_BY_GIL), ADDR(&w->tstate[0]));
	cr_assert(c.sample.flags & EVENT_MANY_INTERPS);
	cr_assert(c.sample.flags & EVENT_HOLDS_GIL);
	w->interp[0].gil.holder = ADDR(&w->tstate[1]);
	cr_assert_eq(found(EVENT_BY_GIL), ADDR(&w->tstate[1]));
	cr_assert_eq(c.sample.interp, ADDR(&w->interp[1]));
}

/* The main interpreter's GIL was last held by this thread, which now runs in the other one. */
Test(bpf_thread, two_interpreters_two_gils)
{
	second_interpreter();
	w->interp[1].gil_ptr = ADDR(&w->interp[1].gil);
	w->interp[0].gil.locked = 0;
	w->interp[1].gil.holder = ADDR(&w->tstate[1]);
	w->interp[1].gil.locked = 1;
	cr_assert_eq(found(EVENT_BY_WALK), ADDR(&w->tstate[1]));
	cr_assert(c.sample.flags & EVENT_HOLDS_GIL);
	/* a map entry for the state that does not run is not believed */
	cr_assert_eq(bpf_thread_set(c.bpf, c.target.pid, pthread_self(), ADDR(&w->tstate[0])), 0);
	cr_assert_eq(found(EVENT_BY_WALK), ADDR(&w->tstate[1]));
	cr_assert_eq(bpf_thread_set(c.bpf, c.target.pid, pthread_self(), ADDR(&w->tstate[1])), 0);
	cr_assert_eq(found(EVENT_BY_MAP), ADDR(&w->tstate[1]));
	/* in C code, with neither GIL: the older one that has a frame */
	w->interp[1].gil.locked = 0;
	cr_assert_eq(found(EVENT_BY_WALK), ADDR(&w->tstate[0]));
}

Test(bpf_thread, unreadable_frame_hop)
{
	struct target_layout l = faketarget_layout();

	l.frame_hop = 8;
	capture_know(&c, &l);
	w->tstate[0].frame = 0x10;
	cr_assert_eq(found(EVENT_BY_GIL), ADDR(&w->tstate[0]));
	cr_assert(c.sample.flags & EVENT_TSTATE_FAILED);
	cr_assert_eq(c.sample.flags & EVENT_WALK_END, 0);
}

Test(bpf_thread, frame_behind_a_hop)
{
	struct target_layout l = faketarget_layout();
	struct fake_frame *frame = faketarget_push(&c.target, false);
	uint64_t *cframe = faketarget_alloc(&c.target, 16, 8);

	cframe[1] = ADDR(frame);
	w->tstate[0].frame = ADDR(cframe);
	l.frame_hop = 8;
	faketarget_do(&c.target, FAKE_TOUCH, NULL, 0);
	capture_know(&c, &l);
	found(EVENT_BY_GIL);
	cr_assert_eq(c.sample.frame, ADDR(frame));
	cr_assert_not_null(capture_find(&c, EVENT_FRAME, frame, sizeof(*frame)));
}
