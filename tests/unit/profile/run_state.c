/* Tests of profile/run_state.c. */
#include <criterion/criterion.h>
#include <errno.h>

#include "profile/run_state.h"

Test(run_state, names_can_be_parsed_back)
{
	enum run_state s;

	for (int i = 0; i < RUN_MAX; i++) {
		cr_assert_eq(run_state_parse(run_state_name((enum run_state)i), &s), 0);
		cr_assert_eq((int)s, i);
	}
	cr_assert_eq(run_state_parse("sleep", &s), -EINVAL);
	cr_assert_eq(run_state_parse("", &s), -EINVAL);
	cr_assert_str_eq(run_state_name((enum run_state)99), "?");
	cr_assert_str_eq(run_state_name(RUN_GIL), "gil_wait");
}
