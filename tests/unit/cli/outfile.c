/* Tests of cli/outfile.c. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "cli/outfile.h"

static char folder[] = "/tmp/scry-outfile-XXXXXX";
static struct buf text;

static void setup(void)
{
	cr_assert_not_null(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
	buf_init(&text);
}

static void teardown(void)
{
	static const char *const names[] = {"data", "data.old", "link", "sub", "fifo"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		remove(names[i]);
	cr_assert_eq(chdir("/"), 0);
	rmdir(folder);
	buf_release(&text);
}

TestSuite(outfile, .init = setup, .fini = teardown);

static void put(const char *name, const char *content)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	cr_assert_geq(fd, 0);
	cr_assert_eq(file_write(fd, content, strlen(content)), 0);
	close(fd);
}

static void expect(const char *name, const char *content)
{
	struct buf b;

	buf_init(&b);
	cr_expect_eq(file_read(name, 1000, &b), 0, "%s", name);
	cr_expect_str_eq(b.data ? b.data : "", content, "%s: %s", name, b.data);
	buf_release(&b);
}

Test(outfile, keeps_what_was_there_as_old)
{
	struct outfile o;
	struct stat st;

	put("data", "first");
	put("data.old", "zeroth");
	cr_assert_eq(outfile_create(&o, "data", &text), STATUS_OK);
	cr_expect_eq(write(o.fd, "second", 6), 6);
	outfile_close(&o);
	expect("data", "second");
	expect("data.old", "first");
	cr_assert_eq(stat("data", &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0600);
}

Test(outfile, discard_puts_it_back)
{
	struct outfile o;

	put("data", "first");
	cr_assert_eq(outfile_create(&o, "data", &text), STATUS_OK);
	outfile_discard(&o);
	expect("data", "first");
	cr_expect_neq(access("data.old", F_OK), 0);
	outfile_discard(&o);
	expect("data", "first");
}

Test(outfile, discard_removes_what_was_created)
{
	struct outfile o;

	cr_assert_eq(outfile_create(&o, "data", &text), STATUS_OK);
	cr_expect_eq(access("data", F_OK), 0);
	outfile_discard(&o);
	cr_expect_neq(access("data", F_OK), 0);
}

Test(outfile, discard_spares_what_others_put_there)
{
	struct outfile o;

	cr_assert_eq(outfile_create(&o, "data", &text), STATUS_OK);
	put("data.new", "other");
	cr_assert_eq(rename("data.new", "data"), 0);
	outfile_discard(&o);
	expect("data", "other");
}

Test(outfile, refuses)
{
	static const struct {
		const char *path;
		enum status status;
		const char *text;
	} cases[] = {
		{"link", STATUS_CREATE, "can't write link: it is a symbolic link"},
		{"sub", STATUS_CREATE, "can't write sub: it is a directory"},
		{"none/x", STATUS_CREATE,
		 "can't write none/x: there is no such directory, or none where files can be made"},
		{"data/x", STATUS_CREATE, "can't write data/x: Not a directory"},
	};

	put("data", "first");
	cr_assert_eq(symlink("data", "link"), 0);
	cr_assert_eq(mkdir("sub", 0700), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct outfile o;

		buf_reset(&text);
		cr_expect_eq(outfile_create(&o, cases[i].path, &text), cases[i].status);
		cr_expect_eq(strncmp(text.data, cases[i].text, strlen(cases[i].text)), 0, "%s",
			     text.data);
		outfile_discard(&o);
	}
	expect("data", "first");
}

Test(outfile, devices_are_written_as_they_are)
{
	struct outfile o;

	cr_assert_eq(outfile_create(&o, "/dev/null", &text), STATUS_OK);
	cr_expect_not(o.created);
	outfile_discard(&o);
	cr_expect_eq(access("/dev/null", F_OK), 0);
}
