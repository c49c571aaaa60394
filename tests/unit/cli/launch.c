/* Tests of cli/launch.c. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "cli/launch.h"

static char folder[] = "/tmp/scry-launch-XXXXXX";
static struct buf text;
static sigset_t mask;
static struct sigaction pipe_action = {.sa_handler = SIG_DFL};

static void setup(void)
{
	cr_assert_not_null(mkdtemp(folder));
	cr_assert_eq(chmod(folder, 0777), 0);
	cr_assert_eq(chdir(folder), 0);
	buf_init(&text);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
}

static void teardown(void)
{
	remove("out");
	cr_assert_eq(chdir("/"), 0);
	rmdir(folder);
	buf_release(&text);
}

TestSuite(launch, .init = setup, .fini = teardown);

/* Starts `sh -c script`, or a program without arguments when script is NULL. */
static enum status start(struct launch *l, const char *program, const char *script, bool as_root)
{
	static char name[256], option[] = "-c", code[512];
	static char *argv[] = {name, option, code, NULL};
	struct launch_options o = {
		.argv = argv,
		.as_root = as_root,
		.mask = &mask,
		.pipe_action = &pipe_action,
		.size_action = &pipe_action,
	};

	snprintf(name, sizeof(name), "%s", program);
	snprintf(code, sizeof(code), "%s", script ? script : "");
	argv[1] = script ? option : NULL;
	buf_reset(&text);
	return launch_start(l, &o, &text);
}

static int run(const char *program, const char *script, enum status *ret)
{
	struct launch l;

	*ret = start(&l, program, script, false);
	if (*ret != STATUS_OK)
		return -1;
	*ret = launch_go(&l, program, &text);
	return *ret == STATUS_OK ? launch_wait(&l) : -1;
}

static void expect_out(const char *content)
{
	struct buf b;

	buf_init(&b);
	cr_expect_eq(file_read("out", 1000, &b), 0);
	cr_expect_str_eq(b.data ? b.data : "", content, "%s", b.data);
	buf_release(&b);
}

Test(launch, statuses)
{
	enum status s;

	cr_expect_eq(run("sh", "exit 0", &s), 0);
	cr_expect_eq(run("sh", "exit 7", &s), 7);
	cr_expect_eq(run("sh", "kill -9 $$", &s), 128 + 9);
	cr_expect_eq(run("sh", "kill -PIPE $$", &s), 128 + 13);
	cr_expect_eq(s, STATUS_OK);
	run("scry-no-such-program", NULL, &s);
	cr_expect_eq(s, STATUS_NOT_FOUND);
	cr_expect_str_eq(text.data, "can't run scry-no-such-program: command not found");
	run("/tmp", NULL, &s);
	cr_expect_eq(s, STATUS_NOT_RUNNABLE);
	cr_expect_str_eq(text.data, "can't run /tmp: Permission denied");
}

Test(launch, waits_for_go)
{
	struct launch l;

	cr_assert_eq(start(&l, "sh", "echo ran > out", false), STATUS_OK);
	/* a shell of the same kind, started later, is done: ours had the time to run too */
	cr_assert_eq(system("sleep 0.1"), 0);
	cr_expect_neq(access("out", F_OK), 0);
	cr_expect_not(launch_ended(&l));
	cr_expect_eq(launch_go(&l, "sh", &text), STATUS_OK);
	cr_expect_eq(launch_wait(&l), 0);
	expect_out("ran\n");
}

Test(launch, cancel)
{
	struct launch l;

	cr_assert_eq(start(&l, "sh", "echo ran > out", false), STATUS_OK);
	launch_cancel(&l);
	cr_expect_eq(l.pid, 0);
	cr_expect_neq(access("out", F_OK), 0);
	launch_cancel(&l);
}

Test(launch, ended_is_not_reaped)
{
	struct launch l;

	cr_assert_eq(start(&l, "sh", "exit 3", false), STATUS_OK);
	cr_assert_eq(launch_go(&l, "sh", &text), STATUS_OK);
	while (!launch_ended(&l))
		usleep(1000);
	cr_expect(launch_ended(&l));
	cr_expect_eq(launch_wait(&l), 3);
}

#define SHOW_USER "{ id -u; id -g; echo $HOME; echo ${SUDO_UID-none}; } > out"

Test(launch, sudo_caller)
{
	enum status s;

	if (geteuid() != 0)
		return;
	setenv("SUDO_UID", "4711", 1);
	setenv("SUDO_GID", "4712", 1);
	cr_expect_eq(run("sh", SHOW_USER "; kill -0 1 2>/dev/null && echo root >> out", &s), 1);
	cr_expect_eq(s, STATUS_OK);
	expect_out("4711\n4712\n/\nnone\n");
}

Test(launch, as_root)
{
	struct launch l;

	if (geteuid() != 0)
		return;
	setenv("SUDO_UID", "4711", 1);
	setenv("SUDO_GID", "4712", 1);
	setenv("HOME", "/x", 1);
	cr_assert_eq(start(&l, "sh", SHOW_USER, true), STATUS_OK);
	cr_assert_eq(launch_go(&l, "sh", &text), STATUS_OK);
	cr_expect_eq(launch_wait(&l), 0);
	expect_out("0\n0\n/x\n4711\n");
}

Test(launch, sudo_caller_is_nonsense)
{
	static const char *const bad[] = {"", "-1", "root", "4294967295", "1 "};
	enum status s;

	if (geteuid() != 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		setenv("SUDO_UID", bad[i], 1);
		run("sh", "echo ran > out", &s);
		cr_expect_eq(s, STATUS_LAUNCH, "'%s'", bad[i]);
		cr_expect_eq(strncmp(text.data, "SUDO_UID", 8), 0, "%s", text.data);
		setenv("SUDO_UID", "4711", 1);
		setenv("SUDO_GID", bad[i], 1);
		run("sh", "echo ran > out", &s);
		cr_expect_eq(s, STATUS_LAUNCH, "'%s'", bad[i]);
		unsetenv("SUDO_GID");
	}
	cr_expect_neq(access("out", F_OK), 0);
}
