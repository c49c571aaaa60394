/* Tests of cli/replace.c. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "cli/replace.h"

static char folder[] = "/tmp/scry-replace-XXXXXX";
static struct buf text;

static void setup(void)
{
	cr_assert_not_null(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
	buf_init(&text);
}

static void teardown(void)
{
	remove("data");
	remove("link");
	cr_assert_eq(chdir("/"), 0);
	/* fails, and with it the test, when a temporary file was left */
	cr_expect_eq(rmdir(folder), 0);
	buf_release(&text);
}

TestSuite(replace, .init = setup, .fini = teardown);

static void expect(const char *name, const char *content)
{
	struct buf b;

	buf_init(&b);
	cr_expect_eq(file_read(name, 1000, &b), 0, "%s", name);
	cr_expect_str_eq(b.data ? b.data : "", content, "%s: %s", name, b.data);
	buf_release(&b);
}

static void put(const char *content)
{
	struct replace r;

	cr_assert_eq(replace_begin(&r, "data", &text), STATUS_OK);
	fputs(content, r.f);
	cr_assert_eq(replace_end(&r, 0, &text), STATUS_OK);
}

Test(replace, whole)
{
	struct replace r;
	struct stat st;

	umask(027);
	put("first");
	expect("data", "first");
	cr_assert_eq(stat("data", &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0640);
	cr_assert_eq(replace_begin(&r, "data", &text), STATUS_OK);
	fputs("second", r.f);
	fflush(r.f);
	expect("data", "first");
	cr_expect_eq(replace_end(&r, 0, &text), STATUS_OK);
	expect("data", "second");
}

Test(replace, not_at_all)
{
	struct replace r;

	put("first");
	cr_assert_eq(replace_begin(&r, "data", &text), STATUS_OK);
	fputs("second", r.f);
	cr_expect_eq(replace_end(&r, -ENOSPC, &text), STATUS_WRITE);
	cr_expect_str_eq(text.data, "can't write data: No space left on device");
	expect("data", "first");
}

Test(replace, full_device)
{
	struct replace r;

	cr_assert_eq(replace_begin(&r, "/dev/full", &text), STATUS_OK);
	for (int i = 0; i < 10000; i++)
		fputs("more than a buffer", r.f);
	cr_expect_eq(replace_end(&r, 0, &text), STATUS_WRITE);
	cr_expect_str_eq(text.data, "can't write /dev/full: No space left on device");
}

Test(replace, refuses)
{
	struct replace r;

	put("first");
	cr_assert_eq(symlink("data", "link"), 0);
	cr_expect_eq(replace_begin(&r, "link", &text), STATUS_CREATE);
	cr_expect_eq(replace_begin(&r, "/tmp", &text), STATUS_CREATE);
	cr_expect_eq(replace_begin(&r, "none/data", &text), STATUS_CREATE);
	expect("data", "first");
}
