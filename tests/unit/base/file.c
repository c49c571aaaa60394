/* Tests of base/file.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static char dir[64];

static void enter(void)
{
	snprintf(dir, sizeof(dir), "/tmp/scry-unit-XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
	cr_assert_eq(chdir(dir), 0);
}

static void leave(void)
{
	static const char *const names[] = {"f", "f.old", "link", "fifo"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unlink(names[i]);
	rmdir("d");
	cr_assert_eq(chdir("/"), 0);
	cr_assert_eq(rmdir(dir), 0);
}

TestSuite(file, .init = enter, .fini = leave);

static void put(const char *name, const char *text)
{
	int fd = file_create(name);

	cr_assert_geq(fd, 0);
	cr_assert_eq(file_write(fd, text, strlen(text)), 0);
	close(fd);
}

static void expect(const char *name, const char *text)
{
	struct buf b;

	buf_init(&b);
	cr_assert_eq(file_read(name, 1 << 20, &b), 0);
	cr_assert_str_eq(b.data, text);
	buf_release(&b);
}

Test(file, an_existing_file_becomes_old)
{
	struct stat st;

	put("f", "one");
	put("f", "two");
	expect("f", "two");
	expect("f.old", "one");
	put("f", "three");
	expect("f.old", "two");
	cr_assert_eq(stat("f", &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0600);
}

Test(file, what_is_not_a_file)
{
	int fd, rd;

	put("f", "safe");
	cr_assert_eq(symlink("f", "link"), 0);
	cr_assert_eq(file_create("link"), -ELOOP);
	expect("f", "safe");
	cr_assert_eq(mkdir("d", 0700), 0);
	cr_assert_eq(file_create("d"), -EISDIR);
	cr_assert_eq(file_create("none/f"), -ENOENT);
	fd = file_create("/dev/null");
	cr_assert_geq(fd, 0);
	cr_assert_eq(file_write(fd, "x", 1), 0);
	close(fd);
	cr_assert_eq(mkfifo("fifo", 0600), 0);
	rd = open("fifo", O_RDONLY | O_NONBLOCK);
	fd = file_create("fifo");
	cr_assert_geq(fd, 0);
	cr_assert_eq(file_write(fd, "x", 1), 0);
	close(fd);
	close(rd);
}

Test(file, a_full_device_is_an_error)
{
	int fd = file_create("/dev/full");

	cr_assert_geq(fd, 0);
	cr_assert_eq(file_write(fd, "x", 1), -ENOSPC);
	close(fd);
	cr_assert_eq(file_write(-1, "x", 1), -EBADF);
	cr_assert_eq(file_write(-1, "x", 0), 0);
}

Test(file, read_is_bounded)
{
	struct buf b;

	put("f", "0123456789");
	buf_init(&b);
	cr_assert_eq(file_read("none", 10, &b), -ENOENT);
	buf_puts(&b, "x");
	cr_assert_eq(file_read("f", 9, &b), -EFBIG);
	cr_assert_str_eq(b.data, "x");
	cr_assert_eq(b.len, 1);
	cr_assert_eq(file_read("f", 10, &b), 0);
	cr_assert_str_eq(b.data, "x0123456789");
	cr_assert_eq(file_read(".", 10, &b), -EISDIR);
	cr_assert_eq(file_read("/dev/zero", 100000, &b), -EFBIG);
	cr_assert_eq(b.len, 11);
	buf_release(&b);
}

Test(file, reads_all_of_proc)
{
	struct buf b;

	buf_init(&b);
	cr_assert_eq(file_read("/proc/self/smaps", SIZE_MAX, &b), 0);
	cr_assert_gt(b.len, 5000);
	cr_assert_eq(b.data[b.len], '\0');
	cr_assert_eq(b.data[b.len - 1], '\n');
	buf_release(&b);
}
