/* Look names up in the symbol tables of an ELF file that is not trusted, by pread. */
#ifndef SCRY_TARGET_ELFSCAN_H
#define SCRY_TARGET_ELFSCAN_H

#include <elf.h>
#include <stdbool.h>
#include "base/compiler.h"

#define ELFSCAN_MAX_BYTES (128u << 20) /* of a table: what lies behind is not looked at */
#define ELFSCAN_MAX_NAME 32
#define ELFSCAN_MAX_WANTED 8

/* Where a symbol table and its names lie in the file. */
struct elfscan_table {
	uint64_t symbols, n;
	uint64_t names, names_size;
};

struct elfscan_wanted {
	const char *name; /* shorter than ELFSCAN_MAX_NAME */
	bool found;
	uint64_t addr, size;
};

/* All n bytes at an offset; 0, -ENODATA when the file has not so many, or -errno. */
int elfscan_read(int fd, uint64_t offset, void *buf, size_t n);
/* Fills in those of v that the table defines and that are not found yet. 0 or -errno. */
int elfscan_symbols(int fd, const struct elfscan_table *t, struct elfscan_wanted *v, size_t n);
/* How many symbols a hash table (of DT_HASH or DT_GNU_HASH) at an offset says there are; 0: none.
 */
uint64_t elfscan_count(int fd, uint64_t offset, bool gnu);

#endif
