/* The files that commands write. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "cli/outfile.h"

const char *outfile_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard output" : path;
}

const char *outfile_reason(int err)
{
	switch (err) {
	case ELOOP:
		return "it is a symbolic link, which scry does not write through";
	case EISDIR:
		return "it is a directory";
	case ENOENT:
		return "there is no such directory, or none where files can be made";
	case EEXIST:
		return "it is no file that can be replaced";
	default:
		return strerror(err);
	}
}

enum status outfile_create(struct outfile *o, const char *path, struct buf *ret_text)
{
	struct stat before, after;
	bool existed = lstat(path, &before) == 0 && S_ISREG(before.st_mode);

	memset(o, 0, sizeof(*o));
	o->path = path;
	if (strcmp(path, "-") == 0)
		o->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		o->fd = file_create(path);
	if (o->fd < 0) {
		int err = strcmp(path, "-") == 0 ? errno : -o->fd;

		o->fd = -1;
		buf_printf(ret_text, "can't write %s: %s", outfile_name(path), outfile_reason(err));
		return err == EACCES || err == EPERM ? STATUS_PERMISSION : STATUS_CREATE;
	}
	if (strcmp(path, "-") != 0 && fstat(o->fd, &after) == 0 && S_ISREG(after.st_mode)) {
		o->created = true;
		o->dev = after.st_dev;
		o->ino = after.st_ino;
		o->aside = existed;
		o->aside_ino = before.st_ino;
	}
	return STATUS_OK;
}

void outfile_discard(struct outfile *o)
{
	struct stat st;
	struct buf old;

	outfile_close(o);
	if (!o->created || lstat(o->path, &st) || st.st_dev != o->dev || st.st_ino != o->ino)
		return;
	buf_init(&old);
	buf_printf(&old, "%s.old", o->path);
	if (o->aside && !old.failed && lstat(old.data, &st) == 0 && st.st_dev == o->dev &&
	    st.st_ino == o->aside_ino)
		rename(old.data, o->path);
	else
		unlink(o->path);
	buf_release(&old);
	o->created = false;
}

void outfile_close(struct outfile *o)
{
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
}
