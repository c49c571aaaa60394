/* Tests of target/ns.c. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

#include "target/ns.h"

Test(ns, this_process)
{
	struct ns_self self;
	char link[64] = "", want[64];

	cr_assert_eq(ns_self(&self), 0);
	cr_assert_gt(readlink("/proc/self/ns/pid", link, sizeof(link) - 1), 0);
	snprintf(want, sizeof(want), "pid:[%lu]", self.pid_inode);
	cr_assert_str_eq(link, want);
}
