/* Files already looked at: whether they hold a CPython runtime, and where. */
#ifndef SCRY_PYTHON_BINARY_H
#define SCRY_PYTHON_BINARY_H

#include <sys/types.h>
#include "python/image.h"
#include "remote/mem.h"
#include "target/elfsym.h"

#define BINARY_MAX 16384 /* files that are remembered; more: all are forgotten */

/* A file that may hold a runtime. */
struct binary {
	struct elfsym_file elf;
	bool from_memory;	/* the file could not be opened: read from its mappings */
	bool has_cookie;	/* no symbol and no section, but the cookie of 3.13+ */
	uint64_t cookie_offset; /* in the file */
	uint64_t version_text;	/* file address of the text of sys.version; 0 not known yet */
};

struct binary_cache;

struct binary_cache *binary_cache_new(void);
void binary_cache_free(struct binary_cache *c);
/*
 * What is known of the file behind an image of a process; *ret is NULL when it holds no CPython.
 * Both answers are remembered by what the mapping reports: device, inode, size, path. 0, or a class
 * of mem.h when the process could not be read. *ret lives until the next binary_ call.
 */
int binary_get(struct binary_cache *c, pid_t pid, struct mem *m, const struct image *image,
	       struct binary **ret);
/*
 * A remembered answer did not fit the process: reads the file again. True when it is another one,
 * by build id and by where things lie.
 */
bool binary_refresh(struct binary_cache *c, pid_t pid, struct mem *m, const struct image *image);

#endif
