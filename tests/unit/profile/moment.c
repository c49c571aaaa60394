/* Tests of profile/moment.c: what is kept of many samples. */
#include <criterion/criterion.h>
#include <string.h>
#include "profile/moment.h"
#include "tests/support/fakeprofile.h"

/* A recording of one process and thread, and what of it the moment keeps. */
struct setup {
	struct profile p;
	struct moment m;
	uint32_t thread;
	uint32_t leaf[2]; /* stacks of one frame: "a" and "b" */
};

static void set_up(struct setup *s)
{
	const uint32_t frames[] = {0, 0};
	uint32_t f = frames[0];

	fakeprofile_init(&s->p);
	s->thread = fakeprofile_thread(&s->p, fakeprofile_process(&s->p, 70, "py"), 70, "main");
	f = fakeprofile_frame(&s->p, "a", "/x.py", 3, 1);
	s->leaf[0] = fakeprofile_stack(&s->p, &f, 1);
	f = fakeprofile_frame(&s->p, "b", "/x.py", 4, 1);
	s->leaf[1] = fakeprofile_stack(&s->p, &f, 1);
	cr_assert_eq(moment_init(&s->m), 0);
}

static void tear_down(struct setup *s)
{
	moment_release(&s->m);
	profile_release(&s->p);
}

static void replay(struct setup *s)
{
	cr_assert_eq(fakeprofile_replay(&s->p, moment_sink(&s->m), true), 0);
}

static const struct moment_thread *only(const struct setup *s)
{
	cr_assert_eq(s->m.n, 1);
	cr_assert_eq(HASH_COUNT(s->m.processes[0].threads), 1);
	return s->m.processes[0].threads;
}

/* The name of a stack's leaf. */
static const char *leaf_of(const struct setup *s, const struct moment_thread *t)
{
	uint32_t callers, frame;
	size_t len;

	names_stack_at(s->m.names, t->stack, &callers, &frame);
	return names_string_at(s->m.names, names_frame_at(s->m.names, frame)->func, &len);
}

static void sample(struct setup *s, int leaf, enum outcome o)
{
	fakeprofile_samples(&s->p, s->thread, s->leaf[leaf], o, 1, 1);
}

Test(moment, the_first_that_is_proven_is_kept)
{
	struct setup s;

	set_up(&s);
	sample(&s, 0, OUTCOME_EXACT);
	sample(&s, 1, OUTCOME_EXACT);
	sample(&s, 1, OUTCOME_READ);
	sample(&s, 1, OUTCOME_MISSED);
	replay(&s);
	cr_assert_eq(only(&s)->outcome, OUTCOME_EXACT);
	cr_assert_str_eq(leaf_of(&s, only(&s)), "a");
	cr_assert(moment_settled(&s.m.processes[0], 70));
	cr_assert_not(moment_settled(&s.m.processes[0], 71));
	tear_down(&s);
}

Test(moment, a_better_one_takes_the_place_of_a_worse_one)
{
	static const enum outcome order[] = {OUTCOME_MISSED, OUTCOME_GONE, OUTCOME_UNPROVEN,
					     OUTCOME_CUT, OUTCOME_READ};
	struct setup s;

	for (size_t i = 1; i < ARRAY_SIZE(order); i++) {
		set_up(&s);
		sample(&s, 0, order[i - 1]);
		replay(&s);
		cr_assert_not(moment_settled(&s.m.processes[0], 70));
		sample(&s, 1, order[i]);
		sample(&s, 0, order[i - 1]);
		replay(&s);
		cr_assert_eq(only(&s)->outcome, order[i]);
		cr_assert_str_eq(leaf_of(&s, only(&s)), "b");
		cr_assert_eq(moment_settled(&s.m.processes[0], 70), order[i] == OUTCOME_READ);
		tear_down(&s);
	}
}

Test(moment, another_image_of_a_pid_is_another_process)
{
	struct setup s;

	set_up(&s);
	sample(&s, 0, OUTCOME_READ);
	replay(&s);
	s.p.processes[0].start_stack++;
	s.p.n_samples = 0;
	replay(&s);
	cr_assert_not(only(&s)->answered);
	cr_assert_eq(only(&s)->stack, STACK_EMPTY);
	tear_down(&s);
}

Test(moment, what_proc_says_is_added)
{
	struct setup s;
	const struct moment_thread *t;
	size_t len;

	set_up(&s);
	sample(&s, 0, OUTCOME_READ);
	s.p.samples[0].state = RUN_SLEEPING;
	replay(&s);
	cr_assert_eq(moment_note(&s.m, 0, 9, "other", 'Z'), 0);
	cr_assert_eq(moment_note(&s.m, 0, 70, "renamed", 'D'), 0);
	moment_sort(&s.m);
	t = s.m.processes[0].threads;
	cr_assert_eq(t->info.tid, 70, "the first thread comes first");
	cr_assert_str_eq(names_string_at(s.m.names, t->info.name, &len), "main");
	cr_assert_str_eq(moment_state(t), "sleeping", "when its stack was read");
	t = t->hh.next;
	cr_assert_eq(t->info.tid, 9);
	cr_assert_str_eq(names_string_at(s.m.names, t->info.name, &len), "other");
	cr_assert_str_eq(moment_state(t), "ended");
	cr_assert_eq(t->outcome, OUTCOME_GONE);
	tear_down(&s);
}

Test(moment, states)
{
	static const struct {
		enum run_state run;
		char letter;
		const char *name;
	} cases[] = {
		{RUN_ON_CPU, 'T', "running"},	 {RUN_GC, 'S', "running"},
		{RUN_RUNNABLE, 'S', "runnable"}, {RUN_SLEEPING, 'S', "sleeping"},
		{RUN_SLEEPING, 'R', "sleeping"}, {RUN_GIL, 0, "sleeping"},
		{RUN_STOPPED, 'R', "stopped"},	 {RUN_BLOCKED, 'S', "blocked"},
		{RUN_UNKNOWN, 'R', "running"},	 {RUN_UNKNOWN, 'S', "sleeping"},
		{RUN_UNKNOWN, 'D', "blocked"},	 {RUN_UNKNOWN, 't', "stopped"},
		{RUN_UNKNOWN, 'X', "ended"},	 {RUN_UNKNOWN, 0, "unknown"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct moment_thread t = {.run = cases[i].run, .letter = cases[i].letter};

		cr_assert_str_eq(moment_state(&t), cases[i].name, "case %zu", i);
	}
}

Test(moment, a_refused_process_has_a_reason_until_it_is_seen)
{
	struct setup s;

	set_up(&s);
	cr_assert_eq(moment_refuse(&s.m, 70, "no"), 0);
	cr_assert_neq(s.m.processes[0].reason, 0);
	sample(&s, 0, OUTCOME_READ);
	replay(&s);
	cr_assert_eq(only(&s)->outcome, OUTCOME_READ);
	cr_assert_eq(s.m.processes[0].reason, 0);
	cr_assert_eq(moment_refuse(&s.m, 70, "no"), 0);
	cr_assert_null(s.m.processes[0].threads);
	tear_down(&s);
}

Test(moment, a_stack_of_any_depth_is_copied_whole)
{
	struct setup s;
	uint32_t stack = STACK_EMPTY, deep = 100000, f;

	set_up(&s);
	f = fakeprofile_frame(&s.p, "down", "/x.py", 2, 1);
	for (uint32_t i = 0; i < deep; i++)
		stack = names_stack(s.p.names, stack, f);
	fakeprofile_samples(&s.p, s.thread, stack, OUTCOME_READ, 1, 1);
	replay(&s);
	cr_assert_eq(names_stack_depth(s.m.names, only(&s)->stack), deep);
	tear_down(&s);
}

Test(moment, many_processes_and_threads)
{
	const struct fakeprofile_shape shape = {.seed = 5,
						.processes = 20,
						.threads = 60,
						.functions = 50,
						.stacks = 100,
						.depth = 9,
						.samples = 5000};
	struct profile p;
	struct moment m;
	size_t threads = 0;

	fakeprofile_random(&p, &shape);
	cr_assert_eq(moment_init(&m), 0);
	cr_assert_eq(fakeprofile_replay(&p, moment_sink(&m), true), 0);
	moment_sort(&m);
	for (size_t i = 0; i < m.n; i++) {
		threads += HASH_COUNT(m.processes[i].threads);
		cr_assert(!i || m.processes[i - 1].info.start_boottime <=
					m.processes[i].info.start_boottime);
	}
	cr_assert_eq(m.n, p.n_processes);
	cr_assert_eq(threads, p.n_threads);
	moment_release(&m);
	profile_release(&p);
}
