/* The mappings of a process: /proc/PID/maps, parsed. */
#ifndef SCRY_TARGET_MAPS_H
#define SCRY_TARGET_MAPS_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/compiler.h"

#define MAPS_MAX 65536 /* mappings of a process that are looked at */

struct map {
	uint64_t start, end; /* [start, end) in the process */
	uint64_t offset;     /* in the file */
	uint64_t inode;	     /* 0: no file */
	uint32_t dev;	     /* as the mapping reports it: major << 20 | minor */
	bool read, write, exec;
	bool deleted;
	const char *path; /* unescaped, without " (deleted)"; "" when there is none */
};

struct maps {
	struct map *v;
	size_t n;
	char *text; /* what the paths point into */
};

/*
 * 0, -ESRCH (gone, or a kernel thread), -EPERM, -EACCES, -EFBIG (of one that wants to hide) or
 * -ENOMEM. Right also when the first thread has ended. Release also after failure.
 */
int maps_read(pid_t pid, struct maps *ret);
void maps_release(struct maps *m);
/*
 * Parses text in place: it is changed and the paths point into it, but it stays the caller's. Pure,
 * for tests. Lines that are malformed or not in the order of addresses are left out, as are those
 * beyond MAPS_MAX. 0 or -ENOMEM.
 */
int maps_parse(char *text, struct maps *ret);
const struct map *maps_find(const struct maps *m, uint64_t addr);

#endif
