/*
 * Run a command: held before its exec until the recording is ready, as the user who called sudo.
 *
 * Parent and child share two pipes. The child takes on the user, then reads one byte of `go`, then
 * execs; `fate` is closed by exec, so what the parent reads of it is either nothing (it runs) or
 * what failed. The child stays in our process group: the terminal's signals reach both.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/num.h"
#include "cli/launch.h"

#define MAX_ID 0xfffffffeu /* the last uid; the one above means "none" */
#define PASSWD_BYTES 16384

/* Written into `fate`. */
struct launch_failure {
	bool exec; /* else taking on the user failed */
	int err;
};

struct user {
	bool change;
	uid_t uid;
	gid_t gid;
	char name[64], home[4096]; /* empty name: no entry in the user database */
};

/* The user database's entry, where there is one. */
static void look_up(struct user *u, bool want_gid)
{
	struct passwd pw, *found = NULL;
	char *bytes = malloc(PASSWD_BYTES);

	if (bytes && getpwuid_r(u->uid, &pw, bytes, PASSWD_BYTES, &found) == 0 && found) {
		snprintf(u->name, sizeof(u->name), "%s", pw.pw_name);
		snprintf(u->home, sizeof(u->home), "%s", pw.pw_dir);
		if (want_gid)
			u->gid = pw.pw_gid;
	}
	free(bytes);
}

static int sudo_caller(struct user *ret, struct buf *ret_text)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
	uint64_t v;

	memset(ret, 0, sizeof(*ret));
	if (geteuid() != 0 || !uid)
		return 0;
	if (num_u64(uid, 0, MAX_ID, &v) != 0) {
		buf_printf(ret_text, "SUDO_UID '%.32s' is no user id; --as-root runs it as root",
			   uid);
		return -EINVAL;
	}
	ret->uid = (uid_t)v;
	ret->gid = (gid_t)v;
	if (ret->uid == 0)
		return 0;
	look_up(ret, !gid);
	if (gid && num_u64(gid, 0, MAX_ID, &v) != 0) {
		buf_printf(ret_text, "SUDO_GID '%.32s' is no group id; --as-root runs it as root",
			   gid);
		return -EINVAL;
	}
	if (gid)
		ret->gid = (gid_t)v;
	ret->change = true;
	return 0;
}

/* In the child. */
static int become(const struct user *u)
{
	int err;

	if (!u->change)
		return 0;
	err = u->name[0] ? initgroups(u->name, u->gid) : setgroups(1, &u->gid);
	if (err || setresgid(u->gid, u->gid, u->gid) || setresuid(u->uid, u->uid, u->uid))
		return -errno;
	if (setuid(0) == 0) /* must be impossible now */
		return -EPERM;
	setenv("HOME", u->home[0] ? u->home : "/", 1);
	if (u->name[0]) {
		setenv("USER", u->name, 1);
		setenv("LOGNAME", u->name, 1);
	} else {
		unsetenv("USER");
		unsetenv("LOGNAME");
	}
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	unsetenv("SUDO_USER");
	unsetenv("SUDO_COMMAND");
	return 0;
}

static _Noreturn void child(const struct launch_options *o, const struct user *u, int go, int fate)
{
	struct launch_failure failure = {false, 0};
	ssize_t n;
	char byte;

	failure.err = -become(u);
	if (failure.err == 0 && o->stdout_taken && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		failure.err = errno;
	if (failure.err == 0) {
		do
			n = read(go, &byte, 1);
		while (n < 0 && errno == EINTR);
		if (n != 1) /* scry has ended or given up */
			_exit(STATUS_LAUNCH);
		sigaction(SIGPIPE, o->pipe_action, NULL);
		sigaction(SIGXFSZ, o->size_action, NULL);
		sigprocmask(SIG_SETMASK, o->mask, NULL);
		execvp(o->argv[0], o->argv);
		failure.exec = true;
		failure.err = errno;
	}
	n = write(fate, &failure, sizeof(failure));
	_exit(n < 0 ? STATUS_INTERNAL : STATUS_LAUNCH);
}

enum status launch_start(struct launch *l, const struct launch_options *o, struct buf *ret_text)
{
	int go[2] = {-1, -1}, fate[2] = {-1, -1};
	struct user u = {0};

	memset(l, 0, sizeof(*l));
	l->go = l->fate = -1;
	if (!o->as_root && sudo_caller(&u, ret_text))
		return STATUS_LAUNCH;
	if (pipe2(go, O_CLOEXEC) || pipe2(fate, O_CLOEXEC) || (l->pid = fork()) < 0) {
		buf_printf(ret_text, "can't start %.256s: %s", o->argv[0], strerror(errno));
		l->pid = 0;
		for (int i = 0; i < 2; i++) {
			close(go[i]);
			close(fate[i]);
		}
		return STATUS_LAUNCH;
	}
	if (l->pid == 0) {
		close(go[1]);
		close(fate[0]);
		child(o, &u, go[0], fate[1]);
	}
	close(go[0]);
	close(fate[1]);
	l->go = go[1];
	l->fate = fate[0];
	return STATUS_OK;
}

static void close_pipes(struct launch *l)
{
	if (l->go >= 0)
		close(l->go);
	if (l->fate >= 0)
		close(l->fate);
	l->go = l->fate = -1;
}

enum status launch_go(struct launch *l, const char *name, struct buf *ret_text)
{
	struct launch_failure failure;
	ssize_t n;

	/* a child that has ended already makes it EPIPE; what it said is in the other pipe */
	do
		n = write(l->go, "", 1);
	while (n < 0 && errno == EINTR);
	do
		n = read(l->fate, &failure, sizeof(failure));
	while (n < 0 && errno == EINTR);
	close_pipes(l);
	if (n != sizeof(failure))
		return STATUS_OK;
	launch_wait(l);
	if (!failure.exec) {
		buf_printf(ret_text, "can't run %.256s as the user who called sudo: %s", name,
			   strerror(failure.err));
		return STATUS_LAUNCH;
	}
	buf_printf(ret_text, "can't run %.256s: %s", name,
		   failure.err == ENOENT ? "command not found" : strerror(failure.err));
	return failure.err == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUNNABLE;
}

bool launch_ended(const struct launch *l)
{
	siginfo_t info = {0};

	/* it fails when there is no such child (any more) */
	return waitid(P_PID, (id_t)l->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
	       info.si_pid == l->pid;
}

int launch_wait(struct launch *l)
{
	int status = 0;
	pid_t pid;

	do
		pid = waitpid(l->pid, &status, 0);
	while (pid < 0 && errno == EINTR);
	l->pid = 0;
	if (pid < 0)
		return STATUS_LAUNCH;
	return WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

void launch_cancel(struct launch *l)
{
	if (l->pid <= 0)
		return;
	close_pipes(l);
	launch_wait(l);
}
