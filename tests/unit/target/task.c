/* Tests of target/task.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/task.h"
#include "tests/support/child.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "ffffffffffffffffffffffffffffffff00000000000000000000000000000000"
#define ID32 "0123456789abcdef0123456789abcdef"
#define TAIL                                                                                       \
	" S 7 8 9 0 -1 4194560 100 0 0 0 11 22 0 0 20 0 33 0 4455 6677 88 18446744073709551615 "   \
	"94000 95000 140737488347136 0 0 0 0 4096 0 0 0 0 17 0 0 0 0 0 0 1 2 3 4 5 6 7 0\n"

static int parse(const char *text, struct task_stat *ret)
{
	return task_parse_stat(text, strlen(text), ret);
}

Test(task, stat)
{
	struct task_stat t;

	cr_assert_eq(parse("42 (python3)" TAIL, &t), 0);
	cr_assert_str_eq(t.comm, "python3");
	cr_assert_eq(t.state, 'S');
	cr_assert_eq(t.ppid, 7);
	cr_assert_eq(t.utime, 11);
	cr_assert_eq(t.stime, 22);
	cr_assert_eq(t.threads, 33);
	cr_assert_eq(t.start_ticks, 4455);
	cr_assert_eq(t.image.start_code, 94000);
	cr_assert_eq(t.image.start_stack, 140737488347136);
}

Test(task, stat_names_may_hold_anything)
{
	struct task_stat t;
	char long_name[512] = "1 (";

	cr_assert_eq(parse("42 (a) R 1 (b)\n2)" TAIL, &t), 0);
	cr_assert_str_eq(t.comm, "a) R 1 (b)\n2");
	cr_assert_eq(t.ppid, 7);
	cr_assert_eq(parse("42 ()" TAIL, &t), 0);
	cr_assert_str_eq(t.comm, "");
	memset(long_name + 3, 'x', 200);
	memcpy(long_name + 203, ")" TAIL, sizeof(")" TAIL));
	cr_assert_eq(parse(long_name, &t), 0);
	cr_assert_eq(strlen(t.comm), sizeof(t.comm) - 1);
}

Test(task, stat_hostile)
{
	static const char good[] = "42 (python3)" TAIL;
	static char endless[5000];
	struct task_stat t;

	cr_assert_eq(parse("", &t), -EINVAL);
	cr_assert_eq(parse("42 )a(" TAIL, &t), -EINVAL);
	cr_assert_eq(parse("42 (a)", &t), -EINVAL);
	cr_assert_eq(parse("42 (a) R", &t), -EINVAL);
	cr_assert_eq(parse("42 (a) R x" TAIL, &t), -EINVAL);
	cr_assert_eq(parse("42 (a) R 99999999999", &t), -EINVAL);
	/* cut off anywhere before the last field wanted ends */
	for (size_t n = 0; n <= (size_t)(strstr(good, "140737") - good); n++)
		cr_assert_eq(task_parse_stat(good, n, &t), -EINVAL, "%zu", n);
	memset(endless, '1', sizeof(endless));
	memcpy(endless, "42 (a) R ", 9);
	cr_assert_eq(task_parse_stat(endless, sizeof(endless), &t), -EINVAL);
}

Test(task, this_process)
{
	struct task_stat t, of_thread;
	uint64_t cpu, runs;
	char comm[32], small[4];
	struct buf b;
	uid_t uid;
	pid_t ns;

	prctl(PR_SET_NAME, ") R 1 \n(");
	cr_assert_eq(task_stat(getpid(), 0, &t), 0);
	cr_assert_str_eq(t.comm, ") R 1 \n(");
	cr_assert_eq(t.ppid, getppid());
	cr_assert(t.image.start_code && t.image.start_stack);
	cr_assert_eq(task_stat(getpid(), gettid(), &of_thread), 0);
	cr_assert_eq(of_thread.image.start_code, t.image.start_code);
	cr_assert_eq(task_schedstat(getpid(), gettid(), &cpu, &runs), 0);
	cr_assert(cpu > 0 && runs > 0);
	cr_assert_eq(task_comm(getpid(), gettid(), comm, sizeof(comm)), 0);
	cr_assert_str_eq(comm, ") R 1 \n(");
	cr_assert_eq(task_comm(getpid(), gettid(), small, sizeof(small)), 0);
	cr_assert_str_eq(small, ") R");
	cr_assert_eq(task_uid(getpid(), &uid), 0);
	cr_assert_eq(uid, geteuid());
	cr_assert_eq(task_nspid(getpid(), gettid(), &ns), 0);
	cr_assert_eq(ns, gettid());
	buf_init(&b);
	cr_assert_eq(task_status(getpid(), 0, "Nope", &b), -ENOENT);
	cr_assert_eq(task_status(getpid(), 0, "Uid", &b), 0);
	cr_assert_eq((uid_t)strtol(b.data, NULL, 10), getuid());
	buf_release(&b);
}

static void *wait_for_ever(void *arg)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
	return arg;
}

/* A process that goes on without its first thread. */
static pid_t start_headless(void)
{
	pid_t pid = fork();
	pthread_t thread;

	if (!pid) {
		if (!pthread_create(&thread, NULL, wait_for_ever, NULL))
			syscall(SYS_exit, 0);
		_exit(1);
	}
	return pid;
}

Test(task, a_process_may_outlive_its_first_thread, .timeout = 60)
{
	struct task_stat mine, first, other;
	pid_t pid = start_headless(), tid = 0;

	do
		cr_assert_eq(task_stat(pid, 0, &first), 0);
	while (!task_ended(&first));
	cr_assert_eq(task_stat(getpid(), 0, &mine), 0);
	cr_assert_eq(task_stat_process(pid, &other, &tid), 0);
	cr_assert_neq(tid, pid);
	cr_assert_not(task_ended(&other));
	cr_assert_eq(memcmp(&mine.image, &other.image, sizeof(mine.image)), 0);
	cr_assert_eq(other.start_ticks, first.start_ticks);
	cr_assert_eq(task_tgid(tid, &tid), 0);
	cr_assert_eq(tid, pid);
	kill(pid, SIGKILL);
	while (!task_stat_process(pid, &other, NULL))
		;
	cr_assert_eq(task_stat_process(pid, &other, NULL), -ESRCH, "a zombie");
	waitpid(pid, NULL, 0);
	cr_assert_eq(task_stat_process(pid, &other, NULL), -ESRCH);
	cr_assert_eq(task_stat_process(getpid(), &other, &tid), 0);
	cr_assert_eq(tid, getpid());
}

Test(task, image_ids_are_inherited)
{
	struct task_stat mine, childs;
	uint64_t ignored;
	pid_t pid = child_start(child_stuck_page, NULL, &ignored);

	cr_assert_eq(task_stat(getpid(), 0, &mine), 0);
	cr_assert_eq(task_stat(pid, 0, &childs), 0);
	cr_assert_eq(memcmp(&mine.image, &childs.image, sizeof(mine.image)), 0);
	cr_assert_eq(childs.ppid, getpid());
	child_end(pid);
	cr_assert_eq(task_stat(pid, 0, &childs), -ESRCH);
	cr_assert_eq(task_stat(getpid(), pid, &childs), -ESRCH);
}

Test(task, command_lines, .timeout = 60)
{
	struct buf b;
	pid_t pid, self = getpid();
	char byte;
	int go[2];

	cr_assert_eq(pipe(go), 0);
	pid = fork();
	if (!pid) {
		close(go[0]);
		child_dies_with(self);
		fcntl(go[1], F_SETFD, FD_CLOEXEC);
		execl("/bin/sh", "a b", "-c", "kill -STOP $$", "", "0", "", NULL);
		_exit(1);
	}
	close(go[1]);
	cr_assert_eq(read(go[0], &byte, 1), 0); /* closed by the exec */
	buf_init(&b);
	buf_puts(&b, ">");
	cr_assert_eq(task_cmdline(pid, 100, &b), 0);
	cr_assert_str_eq(b.data, ">a b -c kill -STOP $$  0");
	buf_reset(&b);
	cr_assert_eq(task_cmdline(pid, 5, &b), 0);
	cr_assert_str_eq(b.data, "a b -");
	child_end(pid);
	cr_assert_eq(task_cmdline(pid, 100, &b), -ESRCH);
	cr_assert_str_eq(b.data, "a b -");
	buf_release(&b);
}

struct search {
	pid_t id;
	int calls;
};

static int is_it(pid_t id, void *arg)
{
	struct search *s = arg;

	s->calls++;
	return id == s->id ? 5 : 0;
}

Test(task, each)
{
	struct search process = {.id = getpid()}, thread = {.id = gettid()}, none = {.id = -1};

	cr_assert_eq(task_each_process(is_it, &process), 5);
	cr_assert_eq(task_each_process(is_it, &none), 0);
	cr_assert_geq(none.calls, process.calls);
	cr_assert_eq(task_each_thread(getpid(), is_it, &thread), 5);
	cr_assert_eq(task_each_thread(INT32_MAX, is_it, &thread), -ESRCH);
}

Test(task, container_ids)
{
	static const struct {
		const char *text, *id;
	} cases[] = {
		{"0::/docker/" ID "\n", ID},
		{"0::/system.slice/docker-" ID ".scope\n", ID},
		{"12:cpu,cpuacct:/docker/" ID "\n11:memory:/docker/" ID "\n", ID},
		{"0::/kubepods/burstable/pod0123456789abcdef0123456789abcdef/" ID, ID},
		{"0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-"
		 "pod12345678_1234_1234_1234_123456789abc.slice/cri-containerd-" ID ".scope\n",
		 ID},
		{"0::/kubepods.slice/kubepods-pod1.slice/crio-" ID ".scope/container\n", ID},
		{"0::/kubepods-burstable-pod1.slice:cri-containerd:" ID "\n", ID},
		{"0::/../../../kubepods-burstable.slice/cri-containerd-" ID ".scope\n", ID},
		{"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID
		 ".scope/container\n",
		 ID},
		{"0::/docker/" OTHER "/kubelet/kubepods/besteffort/pod1/" ID "\n", ID},
		{"0::/system.slice/docker-" OTHER ".scope/kubelet.slice/cri-containerd-" ID
		 ".scope\n",
		 ID},
		{"0::/docker/" OTHER "/kubepods.slice/crio-conmon-" ID ".scope\n", OTHER},
		{"0::/ecs/ffffffffffffffffffffffffffffffff/" ID32 "-1234567890\n",
		 ID32 "-1234567890"},
		{"0::/ecs/" OTHER "/" ID "\n", ID},
		{"0::/docker/" ID " (deleted)\n", ID},
		{"12:pids:/\n0::/docker/" ID "\n", ID},
		{"0::/docker/" ID "/system.slice/cron.service\n", ID},
		/* none */
		{"", NULL},
		{"0::/\n", NULL},
		{"0::/kubepods.slice/crio-conmon-" ID ".scope\n", NULL},
		{"0::/machine.slice/libpod-conmon-" ID ".scope\n", NULL},
		{"0::/lxc/web1\n0::/default/redis\n", NULL},
		{"0::/docker/buildkit/w4jq2f0sc3o5nq1nhq2r0i8lg\n", NULL},
		{"0::/docker/" ID "0\n", NULL},
		{"0::/docker/a" ID "\n", NULL},
		{"0::/docker/x" ID "\n", NULL},
		{"0::/docker/" ID32 "\n", NULL},
		{"0::/docker/" ID32 "-\n", NULL},
		{"0::/docker/" ID32 "-12ab\n", NULL},
		{"0::/docker/0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF\n",
		 NULL},
		{"0::/system.slice/run-r" ID32 ".scope\n", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char id[80] = "untouched";
		int err = task_container(cases[i].text, id, sizeof(id));

		cr_expect_eq(err, cases[i].id ? 0 : -ENOENT, "%s: %d", cases[i].text, err);
		cr_expect_str_eq(id, cases[i].id ? cases[i].id : "untouched", "%s gave %s",
				 cases[i].text, id);
	}
}

Test(task, container_id_needs_room)
{
	char id[65];

	cr_assert_eq(task_container("0::/docker/" ID "\n", id, 64), -ENOSPC);
	cr_assert_eq(task_container("0::/docker/" ID "\n", id, 65), 0);
	cr_assert_str_eq(id, ID);
	cr_assert_eq(task_container_of(INT32_MAX, id, sizeof(id)), -ESRCH);
}
