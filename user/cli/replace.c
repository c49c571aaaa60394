/* Write a file whole or not at all: what was there before stays until the new one is complete. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/outfile.h"
#include "cli/replace.h"

static const char *volatile unfinished;

/* Without it half a file would be left behind. */
static void on_signal(int sig)
{
	if (unfinished)
		unlink(unfinished);
	raise(sig); /* SA_RESETHAND: it ends the program as it would have */
}

/* What is ignored, as by nohup, still is. */
static void set_unfinished(const char *path)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction old;

	unfinished = path;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		struct sigaction act = {.sa_flags = SA_RESETHAND};

		act.sa_handler = path ? on_signal : SIG_DFL;
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &act, NULL);
	}
}

/* A new file beside path, of a name that is not taken, with the mode that open() would give. */
static int create_beside(struct replace *r)
{
	mode_t mask;
	int fd;

	buf_printf(&r->temp, "%s.XXXXXX", r->path);
	if (r->temp.failed)
		return -ENOMEM;
	fd = mkostemp(r->temp.data, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	set_unfinished(r->temp.data);
	mask = umask(0);
	umask(mask);
	if (fchmod(fd, 0666 & ~mask)) {
		/* a file system without modes: nothing is lost */
		return fd;
	}
	return fd;
}

static int open_output(struct replace *r)
{
	struct stat st;
	int fd;

	if (strcmp(r->path, "-") == 0) {
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return fd < 0 ? -errno : fd;
	}
	if (lstat(r->path, &st)) {
		if (errno != ENOENT)
			return -errno;
		return create_beside(r);
	}
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (S_ISREG(st.st_mode))
		return create_beside(r);
	fd = open(r->path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

enum status replace_begin(struct replace *r, const char *path, struct buf *ret_text)
{
	int fd;

	memset(r, 0, sizeof(*r));
	r->path = path;
	buf_init(&r->temp);
	fd = open_output(r);
	if (fd >= 0 && !(r->f = fdopen(fd, "w"))) {
		int err = errno == EINVAL ? EBADF : errno; /* EINVAL: it can only be read */

		close(fd);
		fd = -err;
	}
	if (fd >= 0)
		return STATUS_OK;
	buf_printf(ret_text, "can't write %s: %s", outfile_name(path), outfile_reason(-fd));
	buf_release(&r->temp);
	return fd == -EACCES || fd == -EPERM ? STATUS_PERMISSION : STATUS_CREATE;
}

enum status replace_end(struct replace *r, int err, struct buf *ret_text)
{
	bool failed = ferror(r->f);

	/* what could not be written is tried again here: errno says why it can't */
	errno = EIO;
	if (fclose(r->f) && (!err || err == -EIO))
		err = -errno;
	if (failed && !err)
		err = -EIO;
	if (r->temp.len) {
		if (!err && rename(r->temp.data, r->path))
			err = -errno;
		if (err)
			unlink(r->temp.data);
		set_unfinished(NULL);
	}
	buf_release(&r->temp);
	if (!err)
		return STATUS_OK;
	if (err != -EPIPE)
		buf_printf(ret_text, "can't write %s: %s", outfile_name(r->path), strerror(-err));
	return err == -ENOMEM ? STATUS_INTERNAL : STATUS_WRITE;
}
