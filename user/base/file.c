/* Read small files whole, and create output files as a program run by root must. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_CHUNK 4096u
#define FILE_CREATE_TRIES 8 /* while somebody else creates and removes the same name */

static int read_all(int fd, size_t max, struct buf *b)
{
	size_t start = b->len;
	ssize_t n;

	do {
		size_t at = b->len, used = at - start;
		/* one byte more than allowed shows that there is more */
		size_t want = MIN(MAX(used, (size_t)FILE_CHUNK), max - used) + 1;
		char *p = buf_grow(b, want);

		if (!p)
			return -ENOMEM;
		do
			n = read(fd, p, want);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			return -errno;
		b->len = at + (size_t)n;
		b->data[b->len] = '\0';
		if (b->len - start > max)
			return -EFBIG;
	} while (n);
	return 0;
}

int file_read(const char *path, size_t max, struct buf *b)
{
	size_t start = b->len;
	int fd, err;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	err = read_all(fd, max, b);
	close(fd);
	if (err && b->data) {
		b->len = start;
		b->data[start] = '\0';
	}
	return err;
}

static int set_aside(const char *path)
{
	struct buf old;
	int err = 0;

	buf_init(&old);
	buf_printf(&old, "%s.old", path);
	if (old.failed)
		err = -ENOMEM;
	else if (rename(path, old.data) && errno != ENOENT)
		err = -errno;
	buf_release(&old);
	return err;
}

/* A device or a pipe, opened as it is; -EAGAIN when the name has become something else. */
static int open_special(const char *path)
{
	struct stat st;
	int fd, err;

	fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (S_ISREG(st.st_mode))
		err = -EAGAIN;
	else
		return fd;
	close(fd);
	return err;
}

static int create_once(const char *path)
{
	struct stat st;
	int fd, err;

	if (lstat(path, &st)) {
		if (errno != ENOENT)
			return -errno;
	} else if (S_ISLNK(st.st_mode)) {
		return -ELOOP;
	} else if (S_ISDIR(st.st_mode)) {
		return -EISDIR;
	} else if (!S_ISREG(st.st_mode)) {
		return open_special(path);
	} else {
		err = set_aside(path);
		if (err)
			return err;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno == EEXIST ? -EAGAIN : -errno;
	return fd;
}

int file_create(const char *path)
{
	int fd = -EAGAIN;

	for (int i = 0; i < FILE_CREATE_TRIES && fd == -EAGAIN; i++)
		fd = create_once(path);
	return fd == -EAGAIN ? -EEXIST : fd;
}

int file_write(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t done = write(fd, at, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		if (!done)
			return -EIO;
		at += done;
		n -= (size_t)done;
	}
	return 0;
}
