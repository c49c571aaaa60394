/* Write a file whole or not at all: what was there before stays until the new one is complete. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/outfile.h"
#include "cli/replace.h"

/* A new file in path's folder that has no name yet: whatever ends us, nothing is left of it. */
static int create_unnamed(struct replace *r)
{
	const char *slash = strrchr(r->path, '/');
	struct buf folder;
	int fd = -1;

	buf_init(&folder);
	buf_printf(&folder, "%.*s", slash ? (int)(slash - r->path) + 1 : 1, slash ? r->path : ".");
	buf_printf(&r->temp, "%s.%d", r->path, getpid());
	if (!folder.failed && !r->temp.failed && access("/proc/self/fd", X_OK) == 0)
		fd = open(folder.data, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	buf_release(&folder);
	r->unnamed = fd >= 0;
	if (!r->unnamed)
		buf_reset(&r->temp);
	return fd;
}

/* Gives it the one in r->temp. Without that there is nothing to take away. */
static int give_name(struct replace *r)
{
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(r->f));
	if (linkat(AT_FDCWD, path, AT_FDCWD, r->temp.data, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	err = -errno;
	buf_reset(&r->temp);
	return err;
}

/* Where the file system has no files without names: one beside path, of a name that is not taken,
 * with the mode that open() would give. */
static int create_beside(struct replace *r)
{
	int fd = create_unnamed(r);
	mode_t mask;

	if (fd >= 0)
		return fd;
	buf_printf(&r->temp, "%s.XXXXXX", r->path);
	if (r->temp.failed)
		return -ENOMEM;
	fd = mkostemp(r->temp.data, O_CLOEXEC);
	if (fd < 0)
		return -errno;
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
	if (fflush(r->f) && (!err || err == -EIO))
		err = -errno;
	if (failed && !err)
		err = -EIO;
	if (!err && r->unnamed)
		err = give_name(r);
	else if (r->unnamed)
		buf_reset(&r->temp);
	errno = EIO;
	if (fclose(r->f) && !err)
		err = -errno;
	if (r->temp.len) {
		if (!err && rename(r->temp.data, r->path))
			err = -errno;
		if (err)
			unlink(r->temp.data);
	}
	buf_release(&r->temp);
	if (!err)
		return STATUS_OK;
	if (err != -EPIPE)
		buf_printf(ret_text, "can't write %s: %s", outfile_name(r->path), strerror(-err));
	return err == -ENOMEM ? STATUS_INTERNAL : STATUS_WRITE;
}
