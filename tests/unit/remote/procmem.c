/* Tests of remote/procmem.c on child processes: what can be read, what fails, and how. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "remote/procmem.h"
#include "tests/support/child.h"

#define PAGE 4096u
#define PAGES 1024u

/* PAGES pages, each filled with its number's low byte; page 3 is not mapped, page 5 not readable.
 */
static uint64_t pages(void *arg)
{
	uint8_t *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	(void)arg;
	for (size_t i = 0; i < PAGES; i++)
		memset(p + i * PAGE, (int)i, PAGE);
	munmap(p + 3 * PAGE, PAGE);
	mprotect(p + 5 * PAGE, PAGE, PROT_NONE);
	return (uintptr_t)p;
}

static bool all(const uint8_t *p, size_t n, uint8_t v)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != v)
			return false;
	return true;
}

static void check_pieces(struct mem *m, raddr_t at)
{
	static uint8_t bytes[8][2 * PAGE];
	struct mem_seg segs[] = {
		{.addr = at + PAGE, .len = PAGE, .buf = bytes[0]},
		{.addr = at + 3 * PAGE - 8, .len = 16, .buf = bytes[1]}, /* ends in the hole */
		{.addr = at + 4 * PAGE, .len = 10, .buf = bytes[2]},
		{.addr = 0, .len = 8, .buf = bytes[3]},
		{.addr = UINT64_MAX - 3, .len = 8, .buf = bytes[4]},
		{.addr = 0xffff888000000000, .len = 8, .buf = bytes[5]},
		{.addr = at + 6 * PAGE, .len = 0, .buf = bytes[6]},
		{.addr = at + 7 * PAGE + 1, .len = 100, .buf = bytes[7]},
	};
	static const int want[] = {0, -EFAULT, 0, -EFAULT, -EFAULT, -EFAULT, 0, 0};

	memset(bytes, 0xee, sizeof(bytes));
	cr_assert_eq(mem_readv(m, segs, ARRAY_SIZE(segs)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(segs); i++)
		cr_assert_eq(segs[i].status, want[i], "piece %zu: %d", i, segs[i].status);
	cr_assert(all(bytes[0], PAGE, 1) && bytes[0][PAGE] == 0xee);
	cr_assert(all(bytes[2], 10, 4) && bytes[2][10] == 0xee);
	cr_assert(all(bytes[7], 100, 7) && bytes[7][100] == 0xee);
}

Test(procmem, pieces_behind_a_bad_one_are_read, .timeout = 60)
{
	struct mem *m;
	uint64_t at;
	pid_t pid = child_start(pages, NULL, &at);

	cr_assert_eq(procmem_new(pid, &m), 0);
	check_pieces(m, at);
	cr_assert_leq(m->stats.calls, 6);
	mem_free(m);
	child_end(pid);
}

Test(procmem, many_pieces_in_few_calls, .timeout = 60)
{
	enum { N = 2500 };
	static struct mem_seg segs[N];
	static uint8_t bytes[N][16];
	struct mem *m;
	uint64_t at;
	pid_t pid = child_start(pages, NULL, &at);

	cr_assert_eq(procmem_new(pid, &m), 0);
	for (size_t i = 0; i < N; i++)
		segs[i] = (struct mem_seg){.addr = at + (6 + i % 1000) * PAGE + i % 64,
					   .len = 16,
					   .status = 1,
					   .buf = bytes[i]};
	cr_assert_eq(mem_readv(m, segs, N), 0);
	cr_assert_eq(m->stats.calls, 3);
	for (size_t i = 0; i < N; i++)
		cr_assert(!segs[i].status && all(bytes[i], 16, (uint8_t)(6 + i % 1000)));
	cr_assert_eq(m->stats.segments, N);
	cr_assert_eq(m->stats.bytes, N * 16);
	mem_free(m);
	child_end(pid);
}

Test(procmem, large_pieces, .timeout = 60)
{
	size_t n = (PAGES - 6) * PAGE;
	uint8_t *bytes = malloc(n + PAGE);
	struct mem *m;
	uint64_t at;
	pid_t pid = child_start(pages, NULL, &at);

	cr_assert_eq(procmem_new(pid, &m), 0);
	cr_assert_eq(mem_read(m, at + 6 * PAGE, bytes, n), 0);
	for (size_t i = 6; i < PAGES; i++)
		cr_assert(all(bytes + (i - 6) * PAGE, PAGE, (uint8_t)i));
	cr_assert_eq(mem_read(m, at + 5 * PAGE, bytes, n + PAGE), -EFAULT);
	mem_free(m);
	child_end(pid);
	free(bytes);
}

Test(procmem, the_dead, .timeout = 60)
{
	struct mem *m, *by_number;
	uint64_t at, v;
	pid_t pid = child_start(pages, NULL, &at);

	cr_assert_eq(procmem_new(pid, &m), 0);
	cr_assert_eq(mem_read_u64(m, at, &v), 0);
	cr_assert_eq(kill(pid, SIGKILL), 0);
	cr_assert_eq(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	cr_assert_eq(mem_read_u64(m, at, &v), -ESRCH, "a zombie");
	cr_assert_eq(procmem_new(pid, &by_number), 0);
	cr_assert_eq(mem_read_u64(by_number, at, &v), -ESRCH);
	mem_free(by_number);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	cr_assert_eq(mem_read_u64(m, at, &v), -ESRCH);
	cr_assert_eq(procmem_new(pid, &by_number), -ESRCH);
	mem_free(m);
}

static void *stay(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* The first thread of this process ends, another one goes on. */
static uint64_t leave_first(void *arg)
{
	pthread_t thread;

	pthread_create(&thread, NULL, stay, NULL);
	return pages(arg);
}

static void read_line(pid_t pid, const char *name, char *text, int size)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	f = fopen(path, "r");
	cr_assert_not_null(f);
	text[0] = '\0';
	fgets(text, size, f);
	fclose(f);
}

static void wait_for_state(pid_t pid, char state)
{
	char text[512], c = 0;

	while (c != state) {
		read_line(pid, "stat", text, sizeof(text));
		cr_assert_eq(sscanf(strrchr(text, ')'), ") %c", &c), 1);
	}
}

static void on_signal(int sig)
{
	(void)sig;
	syscall(SYS_exit, 0);
}

Test(procmem, a_process_whose_first_thread_has_ended, .timeout = 60)
{
	uint64_t at, v = 0;
	struct mem *m;
	pid_t pid;

	signal(SIGUSR1, on_signal);
	pid = child_start(leave_first, NULL, &at);
	cr_assert_eq(procmem_new(pid, &m), 0);
	cr_assert_eq(syscall(SYS_tgkill, pid, pid, SIGUSR1), 0);
	wait_for_state(pid, 'Z');
	cr_assert_eq(mem_read_u64(m, at + PAGE, &v), 0);
	cr_assert_eq(v, 0x0101010101010101);
	child_end(pid);
	cr_assert_eq(mem_read_u64(m, at + PAGE, &v), -ESRCH);
	mem_free(m);
}

/* From here on process_vm_readv gives this error in this process. */
static void forbid(int err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned int)err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = ARRAY_SIZE(code), .filter = code};

	cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	cr_assert_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), 0);
}

static void check_by_file(int err)
{
	static uint8_t bytes[3 << 20];
	struct mem *m;
	uint64_t at, v;
	pid_t pid = child_start(pages, NULL, &at);

	forbid(err);
	cr_assert_eq(procmem_new(pid, &m), 0);
	check_pieces(m, at);
	cr_assert_eq(mem_read(m, at + 6 * PAGE, bytes, sizeof(bytes)), 0);
	cr_assert(all(bytes + sizeof(bytes) - PAGE, PAGE, (uint8_t)(5 + sizeof(bytes) / PAGE)));
	child_end(pid);
	cr_assert_eq(mem_read_u64(m, at + PAGE, &v), -ESRCH);
	mem_free(m);
}

Test(procmem, by_file_where_the_call_is_missing, .timeout = 60)
{
	check_by_file(ENOSYS);
}

Test(procmem, by_file_where_the_call_is_forbidden, .timeout = 60)
{
	check_by_file(EPERM);
}

static uint64_t nothing(void *arg)
{
	(void)arg;
	return 0;
}

/* Another program by the same number: its first page is read by the file opened before. */
Test(procmem, by_file_across_an_exec, .timeout = 60)
{
	uint8_t magic[4] = {0};
	struct mem *m;
	char text[64];
	uint64_t at;
	pid_t pid, self = getpid();
	int go[2];

	cr_assert_eq(pipe(go), 0);
	pid = fork();
	if (!pid) {
		child_dies_with(self);
		cr_assert_eq(read(go[0], text, 1), 1);
		execl("/bin/sleep", "sleep", "100", NULL);
		_exit(1);
	}
	forbid(ENOSYS);
	cr_assert_eq(procmem_new(pid, &m), 0);
	cr_assert_eq(mem_read(m, (uintptr_t)&nothing, magic, 4), 0);
	cr_assert_eq(write(go[1], "x", 1), 1);
	do
		read_line(pid, "comm", text, sizeof(text));
	while (strcmp(text, "sleep\n"));
	do { /* the name comes before the program is mapped */
		read_line(pid, "maps", text, sizeof(text));
		at = strtoull(text, NULL, 16);
	} while (mem_read(m, at, magic, 4) || memcmp(magic, "\177ELF", 4));
	mem_free(m);
	child_end(pid);
}

/* As somebody who may not; in a process of its own, since nobody could end the child after that. */
static int read_as_nobody(pid_t pid, uint64_t at)
{
	struct mem *m;
	uint64_t v;
	int ok;

	if (setresuid(65534, 65534, 65534) || procmem_new(pid, &m))
		return 1;
	ok = mem_read_u64(m, at + PAGE, &v) == -EPERM && mem_read_u64(m, at, &v) == -EPERM &&
	     m->stats.failed == 2;
	mem_free(m);
	return !ok;
}

Test(procmem, denied, .timeout = 60)
{
	int status = -1;
	uint64_t at;
	pid_t pid, nobody;

	if (geteuid())
		cr_skip_test("needs root to give it up");
	pid = child_start(pages, NULL, &at);
	nobody = fork();
	if (!nobody)
		_exit(read_as_nobody(pid, at));
	cr_assert_eq(waitpid(nobody, &status, 0), nobody);
	cr_assert(WIFEXITED(status) && !WEXITSTATUS(status));
	child_end(pid);
}
