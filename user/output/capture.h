/* scry.data: write and read a recording. The format is described in docs/scry.data.md. */
#ifndef SCRY_OUTPUT_CAPTURE_H
#define SCRY_OUTPUT_CAPTURE_H

#include "profile/profile.h"

/* A sink that writes to fd (which it closes at release). Flushed by tick() once a second. */
struct sink *capture_writer_new(int fd);
/* -errno of the first write that failed, 0 if none; bytes written so far. */
int capture_writer_error(const struct sink *s, uint64_t *ret_bytes);
void capture_writer_free(struct sink *s);

/*
 * Reads what is whole of a recording, also one whose writer was killed. *ret is made here, and left
 * alone on failure. 0, or -errno of reading, or -ENOMSG (not a scry recording), -EPROTONOSUPPORT (a
 * newer version), -EBADMSG (damaged before the first sample). *ret_skipped: bytes at the end that
 * were damaged or cut and left out.
 */
int capture_read(int fd, struct profile *ret, uint64_t *ret_skipped);

#endif
