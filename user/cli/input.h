/* Read a recording for a command. */
#ifndef SCRY_CLI_INPUT_H
#define SCRY_CLI_INPUT_H

#include "base/buf.h"
#include "cli/status.h"
#include "profile/profile.h"

/*
 * "-" is standard input. On failure ret_text says why. On success ret_text may hold a warning: what
 * of the file could not be read. ret is for profile_release() in any case.
 */
enum status input_read(const char *path, struct profile *ret, struct buf *ret_text);

#endif
