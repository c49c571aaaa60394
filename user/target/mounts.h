/* What kind of file system a device number of a process's mappings stands for. */
#ifndef SCRY_TARGET_MOUNTS_H
#define SCRY_TARGET_MOUNTS_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/compiler.h"

/*
 * The type of the file system with this device (as in struct map) in the text of a mountinfo file.
 * Pure. 0, -ENOENT or -ENOSPC (size).
 */
int mounts_type(const char *text, uint32_t dev, char *buf, size_t size);
/*
 * Whether opening or reading a file on this device may never come back: a file system that a user's
 * process (FUSE) or another machine answers for, or one that the process does not show (mounted and
 * detached). Asking touches no file system. A device of blocks is never one of these.
 */
bool mounts_may_hang(pid_t pid, uint32_t dev);

#endif
