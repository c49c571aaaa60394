/* Python's str objects, all kinds, to UTF-8. Pure. */
#ifndef SCRY_PYTHON_UNICODE_H
#define SCRY_PYTHON_UNICODE_H

#include "base/buf.h"
#include "python/layout.h"
#include "remote/addr.h"

#define UNICODE_MAX_CHARS 16384 /* of one name; longer ones keep their head and end in U+2026 */
#define UNICODE_MARK_BYTES 128	/* of the characters, that a mark is made of */
#define UNICODE_HEAD 80		/* bytes of an object that unicode_head() needs at most */

struct unicode {
	uint64_t hash;
	uint64_t chars; /* that are to be read (limited) */
	raddr_t data;	/* where they are */
	uint32_t bytes; /* how many bytes to read there */
	uint8_t kind;	/* bytes per character: 1, 2, 4 */
	bool ascii;
	bool truncated; /* longer than UNICODE_MAX_CHARS */
};

/* From the object's first bytes (UNICODE_HEAD, or the size of the version's struct). 0 or -EINVAL
 * (not a str). */
int unicode_head(const struct layout *l, raddr_t addr, const void *bytes, size_t len,
		 struct unicode *ret);
/* Appends the characters in `bytes` (u->bytes long) as UTF-8; lone surrogates become U+FFFD. 0 or
 * -EINVAL. */
int unicode_utf8(const struct unicode *u, const void *bytes, struct buf *out);
/*
 * What tells one string from another where its hash was never computed (u->hash is -1): its length
 * and first characters, folded; never 0. `bytes`: at least UNICODE_MARK_BYTES of it, or all. The
 * kernel side makes the same of a code object's strings (bpf/strings.bpf.h).
 */
uint64_t unicode_mark(const struct unicode *u, const void *bytes);

#endif
