/* Tests of profile/outcome.c. */
#include <criterion/criterion.h>
#include <errno.h>

#include "profile/sample.h"

Test(outcome, names_can_be_parsed_back)
{
	enum outcome o;

	for (int i = 0; i < OUTCOME_MAX; i++) {
		cr_assert_eq(outcome_parse(outcome_name((enum outcome)i), &o), 0);
		cr_assert_eq((int)o, i);
	}
	cr_assert_eq(outcome_parse("Exact", &o), -EINVAL);
	cr_assert_eq(outcome_parse("", &o), -EINVAL);
	cr_assert_str_eq(outcome_name((enum outcome)99), "?");
	cr_assert_str_eq(outcome_name(OUTCOME_CUT), "cut");
}
