/* What discovery needs of an ELF file that is not trusted: a section, symbols, load segments. */
#ifndef SCRY_TARGET_ELFSYM_H
#define SCRY_TARGET_ELFSYM_H

#include <stdbool.h>
#include "target/maps.h"

#define ELFSYM_MAX_BUILD_ID 32
#define ELFSYM_MAX_LOAD 16

struct elfsym_found {
	bool found;
	uint64_t addr; /* virtual address in the file's own numbering */
	uint64_t size;
};

struct elfsym_file {
	struct elfsym_found runtime;	     /* symbol _PyRuntime (.dynsym or .symtab) */
	struct elfsym_found runtime_section; /* section .PyRuntime */
	struct elfsym_found version;	     /* symbol Py_Version */
	struct elfsym_found code_type;	     /* symbol PyCode_Type */
	struct elfsym_found function_type;   /* symbol PyFunction_Type */
	struct elfsym_found ref_total;	     /* symbol _Py_RefTotal: in debug builds only */
	uint8_t build_id[ELFSYM_MAX_BUILD_ID];
	uint32_t build_id_len;
	uint32_t n_load;
	struct elfsym_load {
		uint64_t vaddr, offset, filesz, memsz;
		bool write;
	} load[ELFSYM_MAX_LOAD];
};

/* 0, -ENOEXEC (not an ELF file for this machine) or -errno. Reads by pread, never maps or runs it.
 */
int elfsym_read(int fd, struct elfsym_file *ret);
/*
 * Opens the file behind a mapping: /proc/PID/map_files/RANGE (right also when deleted or replaced),
 * else under /proc/PID/root by openat2(RESOLVE_IN_ROOT). Only regular files. Descriptor or -errno;
 * -ENOTSUP for a file system that may never answer (mounts.h): what is mapped of it can be read.
 */
int elfsym_open(pid_t pid, const struct map *map);
/*
 * Where a virtual address of the file lies in the process: by the mapping (of the same file as
 * `of`) that covers its segment, not by the first one. 0 or -ENOENT. That something is mapped
 * there is not said: behind the end of the file's part lies memory of no file.
 */
int elfsym_locate(const struct elfsym_file *f, const struct maps *maps, const struct map *of,
		  uint64_t vaddr, uint64_t *ret);

#endif
