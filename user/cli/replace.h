/* Write a file whole or not at all: what was there before stays until the new one is complete. */
#ifndef SCRY_CLI_REPLACE_H
#define SCRY_CLI_REPLACE_H

#include <stdbool.h>
#include <stdio.h>
#include "base/buf.h"
#include "cli/status.h"

struct replace {
	FILE *f; /* to be written to */
	/* the rest is private */
	const char *path;
	struct buf temp; /* the name it has until it is path's; empty: written in place */
	bool unnamed;	 /* it has none at all until it is complete */
};

/*
 * path: "-" is standard output; devices and pipes are written as they are; symbolic links are not
 * followed. STATUS_OK, STATUS_CREATE or STATUS_PERMISSION with a text.
 */
enum status replace_begin(struct replace *r, const char *path, struct buf *ret_text);
/*
 * err: 0, or the -errno that writing failed with. STATUS_OK or STATUS_WRITE; there is no text when
 * a reader closed its pipe.
 */
enum status replace_end(struct replace *r, int err, struct buf *ret_text);

#endif
