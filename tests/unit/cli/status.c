/* Tests of cli/status.c. */
#include <criterion/criterion.h>
#include "cli/status.h"

Test(status, every_error_has_its_own)
{
	for (int i = SESSION_OK; i <= SESSION_INTERNAL; i++)
		for (int j = i + 1; j <= SESSION_INTERNAL; j++)
			cr_expect_neq(status_of_session((enum session_error)i),
				      status_of_session((enum session_error)j));
	cr_expect_eq(status_of_session(SESSION_OK), 0);
}
