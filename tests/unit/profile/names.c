/* Tests of profile/names.c. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "profile/frame.h"

static uint32_t frame(struct names *n, const char *func, uint32_t line)
{
	struct frame f = {
		.kind = FRAME_PYTHON, .func = names_string(n, func, strlen(func)), .line = line};

	return names_frame(n, &f);
}

Test(names, starts_with_the_empty_string_and_stack)
{
	struct names *n = names_new();
	size_t len = 1;

	cr_assert_eq(names_strings(n), 1);
	cr_assert_eq(names_string(n, "", 0), 0);
	cr_assert_str_eq(names_string_at(n, 0, &len), "");
	cr_assert_eq(len, 0);
	cr_assert_eq(names_stacks(n), 1);
	cr_assert_eq(names_stack_depth(n, STACK_EMPTY), 0);
	cr_assert_eq(names_frames(n), 0);
	names_free(n);
	names_free(NULL);
}

Test(names, equal_things_have_equal_ids)
{
	struct names *n = names_new();
	uint32_t a = frame(n, "a", 1), b = frame(n, "a", 2), s, t, callers, leaf;

	cr_assert_neq(a, b);
	cr_assert_eq(frame(n, "a", 1), a);
	s = names_stack(n, STACK_EMPTY, a);
	t = names_stack(n, s, b);
	cr_assert_neq(s, t);
	cr_assert_eq(names_stack(n, STACK_EMPTY, a), s);
	cr_assert_eq(names_stack(n, s, b), t);
	cr_assert_neq(names_stack(n, t, a), names_stack(n, t, b));
	cr_assert_eq(names_stack_depth(n, t), 2);
	names_stack_at(n, t, &callers, &leaf);
	cr_assert_eq(callers, s);
	cr_assert_eq(leaf, b);
	cr_assert_eq(names_frame_at(n, b)->line, 2);
	cr_assert_eq(names_marker(n, "[gone]"), names_marker(n, "[gone]"));
	cr_assert_eq(names_frame_at(n, names_marker(n, "[gone]"))->kind, FRAME_MARKER);
	names_free(n);
}

Test(names, ids_that_do_not_exist_are_refused)
{
	struct names *n = names_new();
	struct frame f = {.kind = FRAME_PYTHON, .func = 7};
	uint32_t a = frame(n, "a", 1);

	cr_assert_eq(names_frame(n, &f), INTERN_NONE);
	f = (struct frame){.kind = FRAME_PYTHON, .file = INTERN_NONE};
	cr_assert_eq(names_frame(n, &f), INTERN_NONE);
	cr_assert_eq(names_stack(n, INTERN_NONE, a), INTERN_NONE);
	cr_assert_eq(names_stack(n, STACK_EMPTY, a + 1), INTERN_NONE);
	cr_assert_eq(names_stack(n, INTERN_NONE, INTERN_NONE), INTERN_NONE);
	cr_assert_eq(names_stacks(n), 1);
	names_free(n);
}

Test(names, stay_right_while_the_tables_grow)
{
	enum { N = 5000 };
	struct names *n = names_new();
	uint32_t stack = STACK_EMPTY, ids[N], stacks[N];
	char name[16];

	for (uint32_t i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		ids[i] = frame(n, name, i);
		stack = stacks[i] = names_stack(n, stack, ids[i]);
		cr_assert_eq(ids[i], i);
		cr_assert_eq(stack, i + 1);
	}
	stack = STACK_EMPTY;
	for (uint32_t i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		cr_assert_eq(frame(n, name, i), ids[i]);
		stack = names_stack(n, stack, ids[i]);
		cr_assert_eq(stack, stacks[i]);
	}
	cr_assert_eq(names_frames(n), N);
	cr_assert_eq(names_stacks(n), N + 1);
	cr_assert_eq(names_stack_depth(n, stack), N);
	names_free(n);
}

Test(names, a_string_past_the_limit_is_cut)
{
	static char s[NAMES_MAX_STRING + 10];
	struct names *n = names_new();
	size_t len;

	memset(s, 'x', sizeof(s));
	names_string_at(n, names_string(n, s, sizeof(s)), &len);
	cr_assert_eq(len, NAMES_MAX_STRING);
	names_free(n);
}
