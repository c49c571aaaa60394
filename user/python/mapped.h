/* What the mappings of a file still hold of it, for when the file itself can't be opened. */
#ifndef SCRY_PYTHON_MAPPED_H
#define SCRY_PYTHON_MAPPED_H

#include <stdbool.h>
#include "python/image.h"
#include "remote/mem.h"

#define MAPPED_MAX (64u << 20) /* bytes of an image that are read at most */

/*
 * Copies the mapped pages into fd at their file offsets and undoes the loader's relocation of the
 * dynamic section: enough of the file for its symbols, not for its sections. 0 or -errno.
 */
int mapped_copy(struct mem *m, const struct image *image, int fd);
/*
 * Searches the writable mappings for the cookie of 3.13+; *ret is its file offset. 0, -ENOENT or a
 * class of mem.h.
 */
int mapped_cookie(struct mem *m, const struct image *image, uint64_t *ret);

#endif
