/* The programs load, on this kernel, within their budget, and say clearly why when they do not. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/bpf.h"
#include "collect/perf.h"
#include "tests/support/child.h"

#define VERIFIED_MAX 12000 /* about 2 us each at load time */

static struct bpf *loaded(uint32_t max_frames)
{
	struct bpf_options o = {.max_frames = max_frames};
	struct bpf *b = NULL;
	struct buf err;
	int rc;

	if (geteuid())
		cr_skip_test("needs root");
	buf_init(&err);
	rc = bpf_load(&b, &o, &err);
	cr_assert_eq(rc, 0, "%s", err.data);
	buf_release(&err);
	return b;
}

Test(bpf_load, verified_instructions)
{
	struct bpf *b = loaded(TARGET_MAX_FRAMES);
	struct bpf_usage u;

	cr_assert_eq(bpf_usage(b, &u), 0);
	cr_log_info("%u instructions verified", u.verified_insns);
	cr_assert_lt(u.verified_insns, VERIFIED_MAX);
	cr_assert_gt(u.map_bytes, 8 << 20, "the ring alone has 8 MiB");
	bpf_unload(b);
}

Test(bpf_load, maps_take_and_give)
{
	struct bpf *b = loaded(0);
	struct target t = {.pid = 12345, .state = TARGET_IGNORE};
	struct target_layout l = {.frame_size = 88};
	uint64_t n[EVENT_CTR_MAX];

	cr_assert_eq(bpf_target_set(b, &t), 0);
	cr_assert_eq(bpf_target_set(b, &t), 0, "again is no error");
	cr_assert_eq(bpf_target_del(b, 12345), 0);
	cr_assert_eq(bpf_target_del(b, 12345), -ENOENT);
	cr_assert_eq(bpf_thread_set(b, 1, 2, 3), 0);
	cr_assert_eq(bpf_thread_del(b, 1, 2), 0);
	cr_assert_eq(bpf_thread_del(b, 1, 2), -ENOENT);
	cr_assert_eq(bpf_layout_set(b, TARGET_MAX_LAYOUTS - 1, &l), 0);
	cr_assert_lt(bpf_layout_set(b, TARGET_MAX_LAYOUTS, &l), 0);
	cr_assert_eq(bpf_counters(b, n), 0);
	for (int i = 0; i < EVENT_CTR_MAX; i++)
		cr_assert_eq(n[i], 0);
	bpf_unload(b);
}

/* In a child, since a user id is not given back. */
Test(bpf_load, refusal_is_explained)
{
	struct bpf_options o = {0};
	struct perf_options p = {.event = "cpu-clock", .freq = 100, .prog_fd = -1};
	struct perf *perf = NULL;
	struct bpf *b = NULL;
	struct buf err;
	int status;
	pid_t pid;

	if (geteuid())
		cr_skip_test("needs root");
	pid = fork();
	if (pid) {
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		cr_assert(WIFEXITED(status));
		cr_assert_eq(WEXITSTATUS(status), 0);
		return;
	}
	if (setuid(65534))
		child_exit(1);
	buf_init(&err);
	if (bpf_load(&b, &o, &err) >= 0 || !strstr(err.data, "CAP_BPF"))
		child_exit(2);
	buf_reset(&err);
	if (perf_open(&perf, &p, &err) >= 0 || !strstr(err.data, "perf_event_paranoid"))
		child_exit(3);
	child_exit(0);
}
