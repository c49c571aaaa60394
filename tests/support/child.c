/* Child processes of a test: memory to read from outside, and pages that never arrive. */
#include "tests/support/child.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void child_dies_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() && getppid() != parent) /* 0: it is outside of our pid namespace */
		child_exit(0);
}

static void child_main(uint64_t (*fn)(void *arg), void *arg, int fd, pid_t parent)
{
	uint64_t v;

	child_dies_with(parent);
	v = fn(arg);
	if (write(fd, &v, sizeof(v)) != (ssize_t)sizeof(v))
		_exit(1);
	close(fd);
	for (;;)
		pause();
}

pid_t child_start(uint64_t (*fn)(void *arg), void *arg, uint64_t *ret)
{
	pid_t pid, parent = getpid();
	int fds[2];

	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid)
		child_main(fn, arg, fds[1], parent);
	close(fds[1]);
	cr_assert_eq(read(fds[0], ret, sizeof(*ret)), (ssize_t)sizeof(*ret));
	close(fds[0]);
	return pid;
}

void child_end(pid_t pid)
{
	cr_assert_eq(kill(pid, SIGKILL), 0);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

uint64_t child_stuck_page(void *arg)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register reg = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	void *p;

	(void)arg;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
		return 0;
	p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return 0;
	reg.range.start = (uintptr_t)p;
	reg.range.len = page;
	return ioctl(fd, UFFDIO_REGISTER, &reg) ? 0 : (uintptr_t)p;
}

_Noreturn void child_exit(int status)
{
	syscall(SYS_exit_group, status);
	__builtin_unreachable();
}

pid_t child_python(int *ret_end)
{
	int in[2], out[2];
	pid_t pid;
	char c;

	if (access(CHILD_PYTHON, X_OK))
		cr_skip_test("needs " CHILD_PYTHON);
	cr_assert_eq(pipe2(in, O_CLOEXEC), 0);
	cr_assert_eq(pipe2(out, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(CHILD_PYTHON, CHILD_PYTHON, "-IS", "-c",
		      "import os; os.write(1, b'x'); os.read(0, 1)", (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	cr_assert_eq(read(out[0], &c, 1), 1, CHILD_PYTHON " did not start");
	close(out[0]);
	*ret_end = in[1];
	return pid;
}

void child_python_end(pid_t pid, int end)
{
	close(end);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

pid_t child_in_namespace(void (*inside)(int link))
{
	struct stat st;
	uint64_t inode;
	char path[64];
	int link[2];
	pid_t pid;

	cr_assert_eq(pipe(link), 0);
	cr_assert_eq(unshare(CLONE_NEWPID), 0);
	pid = fork();
	if (!pid) {
		inside(link[0]);
		child_exit(0);
	}
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	cr_assert_eq(stat(path, &st), 0);
	inode = st.st_ino;
	cr_assert_eq(write(link[1], &inode, sizeof(inode)), 8);
	return pid;
}

static void *sleeper(void *arg)
{
	(void)arg;
	pause();
	return NULL;
}

uint64_t child_threads(void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;
	uint64_t made;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (made = 0; made < *(const uint32_t *)arg; made++)
		if (pthread_create(&thread, &attr, sleeper, NULL))
			break;
	return made;
}
