/* The files that commands write. */
#ifndef SCRY_CLI_OUTFILE_H
#define SCRY_CLI_OUTFILE_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/buf.h"
#include "cli/status.h"

struct outfile {
	const char *path; /* as the user wrote it; "-": standard output */
	int fd;		  /* -1: none, or handed on */
	bool created;	  /* path is a regular file that we made */
	dev_t dev;
	ino_t ino;
	bool aside; /* a file was there before and is path.old now */
	ino_t aside_ino;
};

/*
 * Creates path as file_create() does. On failure ret_text says why and path is as it was.
 * STATUS_OK, STATUS_CREATE or STATUS_PERMISSION.
 */
enum status outfile_create(struct outfile *o, const char *path, struct buf *ret_text);
/* Nothing was written after all: removes what was created, puts what was there before back. */
void outfile_discard(struct outfile *o);
void outfile_close(struct outfile *o);
/* Why it can't be written, by errno. */
const char *outfile_reason(int err);
/* What people call it: the path, or "standard output". */
const char *outfile_name(const char *path);

#endif
