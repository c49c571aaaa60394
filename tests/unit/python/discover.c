/* Finding CPython in real processes of this machine; versions and builds are left to live tests. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "python/discover.h"
#include "python/threads.h"
#include "remote/procmem.h"
#include "tests/support/child.h"

static enum discover_why look(struct discover *d, pid_t pid, struct discover_found *f)
{
	struct mem *m = NULL;
	enum discover_why why;

	if (procmem_new(pid, &m))
		return DISCOVER_GONE;
	why = discover_process(d, pid, m, f);
	cr_assert_eq(why, f->why);
	mem_free(m);
	return why;
}

Test(discover, this_machine_has_python)
{
	struct discover_found first, second;
	struct thread_state v[4];
	struct mem *m;
	size_t n = 0, total = 0;
	int fd;
	pid_t pid = child_python(&fd);
	struct discover *d = discover_new();

	cr_assert_eq(look(d, pid, &first), DISCOVER_OK, "%s", discover_reason(first.why));
	cr_assert_geq(first.minor, LAYOUT_MINOR_MIN);
	cr_assert_eq(first.version >> 16, 0x300 | first.minor);
	cr_assert_neq(first.types.code, 0);
	cr_assert_neq(first.types.function, 0);
	cr_assert_neq(first.path[0], 0);
	/* the second look comes from the cache and says the same */
	cr_assert_eq(look(d, pid, &second), DISCOVER_OK);
	cr_assert(layout_equal(&first.layout, &second.layout));
	cr_assert_eq(first.runtime, second.runtime);
	cr_assert_str_eq(first.how, second.how);
	cr_assert_eq(procmem_new(pid, &m), 0);
	cr_assert_eq(threads_list(m, &first, v, ARRAY_SIZE(v), &n, &total), 0);
	cr_assert_eq(n, 1);
	cr_assert_eq(total, 1);
	cr_assert_neq(v[0].frame, 0);
	if (v[0].native_id)
		cr_assert_eq(v[0].native_id, (uint64_t)pid);
	mem_free(m);
	child_python_end(pid, fd);
	discover_free(d);
}

Test(discover, a_program_in_c_is_not_python)
{
	struct discover *d = discover_new();
	struct discover_found f;
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	cr_assert_eq(look(d, pid, &f), DISCOVER_NOT_PYTHON, "%s", discover_reason(f.why));
	cr_assert_eq(look(d, pid, &f), DISCOVER_NOT_PYTHON);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cr_assert_eq(look(d, pid, &f), DISCOVER_GONE);
	discover_free(d);
}

Test(discover, a_zombie_is_gone)
{
	struct discover *d = discover_new();
	struct discover_found f;
	siginfo_t info;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	cr_assert_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	cr_assert_eq(look(d, pid, &f), DISCOVER_GONE, "%s", discover_reason(f.why));
	waitpid(pid, NULL, 0);
	discover_free(d);
}

Test(discover, every_reason_has_words)
{
	for (int why = DISCOVER_OK; why <= DISCOVER_STUCK; why++) {
		cr_assert_gt(strlen(discover_reason((enum discover_why)why)), 8, "%d", why);
		cr_assert_str_neq(discover_reason((enum discover_why)why), "unknown");
	}
	cr_assert_str_eq(discover_reason((enum discover_why)99), "unknown");
}
