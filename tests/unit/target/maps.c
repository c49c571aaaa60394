/* Tests of target/maps.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/maps.h"
#include "tests/support/child.h"

Test(maps, the_fields)
{
	char text[] =
		"00400000-00401000 r--p 00000000 fe:01 1234                       /usr/bin/x y\n"
		"00401000-00500000 r-xp 00001000 fe:01 1234                       /usr/bin/x y "
		"(deleted)\n"
		"00600000-00601000 ---p 00000000 00:00 0 \n"
		"7f0000000000-7f0000001000 rw-s 123456789000 103:fffff 18446744073709551615 "
		"/a\\012b\\134\n"
		"7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  "
		"[vsyscall]";
	struct maps m;

	cr_assert_eq(maps_parse(text, &m), 0);
	cr_assert_eq(m.n, 6);
	cr_assert(m.v[0].read && !m.v[0].write && !m.v[0].exec && !m.v[0].deleted);
	cr_assert_eq(m.v[0].start, 0x400000);
	cr_assert_eq(m.v[0].end, 0x401000);
	cr_assert_eq(m.v[0].dev, 0xfeu << 20 | 1);
	cr_assert_eq(m.v[0].inode, 1234);
	cr_assert_str_eq(m.v[0].path, "/usr/bin/x y");
	cr_assert(m.v[1].exec && m.v[1].deleted);
	cr_assert_eq(m.v[1].offset, 0x1000);
	cr_assert_str_eq(m.v[1].path, "/usr/bin/x y");
	cr_assert(!m.v[2].read && !m.v[2].inode);
	cr_assert_str_eq(m.v[2].path, "");
	cr_assert_eq(m.v[3].offset, 0x123456789000);
	cr_assert_eq(m.v[3].inode, UINT64_MAX);
	cr_assert_eq(m.v[3].dev, 0x103u << 20 | 0xfffff);
	cr_assert_str_eq(m.v[3].path, "/a\nb\\134");
	cr_assert_str_eq(m.v[4].path, "[stack]");
	cr_assert_eq(m.v[5].end, 0xffffffffff601000);
	maps_release(&m);
	maps_release(NULL);
}

Test(maps, find)
{
	char text[] =
		"1000-2000 r--p 0 00:00 0\n2000-3000 rw-p 0 00:00 0\n5000-6000 r-xp 0 00:00 0\n";
	struct maps m;

	cr_assert_eq(maps_parse(text, &m), 0);
	cr_assert_eq(m.n, 3);
	cr_assert_null(maps_find(&m, 0xfff));
	cr_assert_eq(maps_find(&m, 0x1000), &m.v[0]);
	cr_assert_eq(maps_find(&m, 0x1fff), &m.v[0]);
	cr_assert_eq(maps_find(&m, 0x2000), &m.v[1]);
	cr_assert_null(maps_find(&m, 0x3000));
	cr_assert_eq(maps_find(&m, 0x5fff), &m.v[2]);
	cr_assert_null(maps_find(&m, UINT64_MAX));
	maps_release(&m);
	cr_assert_null(maps_find(&m, 0x1000));
}

Test(maps, hostile_lines_are_left_out)
{
	char text[] = "\n"
		      "x\n"
		      "1000\n"
		      "1000-\n"
		      "1000-2000\n"
		      "1000-2000 r--p\n"
		      "1000-2000 r-\n"
		      "1000-2000 r--p 0 00:00\n"
		      "1000-2000 r--p 0 00:00 \n"
		      "1000-2000 r--p 0 00:00 12x\n"
		      "1000-2000 r--p 0 1000:00 0\n"
		      "1000-2000 r--p 0 00:100000 0\n"
		      "2000-1000 r--p 0 00:00 0\n"
		      "1000-1000 r--p 0 00:00 0\n"
		      "10000000000000000-20000000000000000 r--p 0 00:00 0\n"
		      "1000-2000 r--p 0 00:00 99999999999999999999\n"
		      " 1000-2000 r--p 0 00:00 0\n"
		      "3000-4000 r--p 0 00:00 0 good\n"
		      "3fff-5000 r--p 0 00:00 0 overlaps\n"
		      "1000-2000 r--p 0 00:00 0 goes back\n"
		      "4000-5000 r--p 0 00:00 0  (deleted)\n";
	struct maps m;

	cr_assert_eq(maps_parse(text, &m), 0);
	cr_assert_eq(m.n, 2);
	cr_assert_str_eq(m.v[0].path, "good");
	cr_assert_str_eq(m.v[1].path, "(deleted)", "a name, since nothing is before it");
	maps_release(&m);
	cr_assert_eq(maps_parse(text + sizeof(text) - 1, &m), 0);
	cr_assert_eq(m.n, 0);
	maps_release(&m);
}

static int a_variable;

Test(maps, of_this_process)
{
	const struct map *code, *data;
	struct maps m;
	struct stat st;

	cr_assert_eq(maps_read(getpid(), &m), 0);
	code = maps_find(&m, (uintptr_t)&maps_read);
	data = maps_find(&m, (uintptr_t)&a_variable);
	cr_assert(code && code->exec && !code->write && code->inode);
	cr_assert(data && data->write && !data->exec);
	cr_assert_eq(stat("/proc/self/exe", &st), 0);
	cr_assert_eq(code->inode, st.st_ino);
	cr_assert(strstr(code->path, "unit"), "%s", code->path);
	maps_release(&m);
}

static void *stay(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static uint64_t two_threads(void *arg)
{
	pthread_t thread;

	(void)arg;
	pthread_create(&thread, NULL, stay, NULL);
	return 0;
}

static void end_thread(int sig)
{
	(void)sig;
	syscall(SYS_exit, 0);
}

Test(maps, of_a_process_whose_first_thread_has_ended, .timeout = 60)
{
	struct maps m;
	uint64_t ignored;
	int err;
	pid_t pid;

	signal(SIGUSR1, end_thread);
	pid = child_start(two_threads, NULL, &ignored);
	cr_assert_eq(syscall(SYS_tgkill, pid, pid, SIGUSR1), 0);
	for (int i = 0; i < 100; i++) { /* while it ends and when it has */
		err = maps_read(pid, &m);
		cr_assert_eq(err, 0);
		cr_assert_not_null(maps_find(&m, (uintptr_t)&maps_read));
		maps_release(&m);
		usleep(1000);
	}
	child_end(pid);
	cr_assert_eq(maps_read(pid, &m), -ESRCH);
	maps_release(&m);
}

Test(maps, of_nobody)
{
	struct maps m;

	cr_assert_eq(maps_read(INT32_MAX, &m), -ESRCH);
	maps_release(&m);
	if (!geteuid()) { /* kthreadd, where this is not a container */
		int err = maps_read(2, &m);

		cr_assert(err == -ESRCH || !err);
		maps_release(&m);
		cr_assert_eq(setresuid(65534, 65534, 65534), 0);
		err = maps_read(1, &m);
		cr_assert(err == -EACCES || err == -EPERM, "%d", err);
		maps_release(&m);
	}
}
