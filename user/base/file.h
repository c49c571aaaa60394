/* Read small files whole, and create output files as a program run by root must. */
#ifndef SCRY_BASE_FILE_H
#define SCRY_BASE_FILE_H

#include "base/buf.h"

/* Appends the whole of a file (also of /proc) to b; -EFBIG past max bytes, else -errno. */
int file_read(const char *path, size_t max, struct buf *b);

/*
 * Opens path for writing, mode 0600. An existing regular file is renamed to path.old first. A
 * device or a pipe is opened as it is. A symbolic link is not followed (-ELOOP), a directory is
 * -EISDIR. Returns the descriptor or -errno.
 */
int file_create(const char *path);
/* Writes all of it, also across short writes and EINTR; 0 or -errno. */
int file_write(int fd, const void *p, size_t n);

#endif
