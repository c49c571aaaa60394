/* What the mappings of a file still hold of it, for when the file itself can't be opened. */
#include "python/mapped.h"
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "python/debug_offsets.h"

#define CHUNK (256u << 10)
#define MAX_PHDRS 64
#define MAX_DYNAMIC 512

/* What is done with each piece that was read; anything but 0 ends the reading. */
typedef int (*piece_fn)(const uint8_t *p, size_t n, uint64_t offset, void *arg);

/* Reads the file's pages, only the writable ones if so wanted, piece by piece. */
static int each_piece(struct mem *m, const struct image *image, bool writable, piece_fn fn,
		      void *arg)
{
	uint8_t *chunk = malloc(CHUNK);
	uint64_t total = 0;
	int r = chunk ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < image->n; i++) {
		const struct map *map = &image->map[i];
		bool wanted = image_maps_file(image, i) && map->read && (map->write || !writable);
		uint64_t at = wanted ? map->start : map->end;

		for (; !r && at < map->end && total < MAPPED_MAX; at += CHUNK) {
			size_t n = MIN(map->end - at, CHUNK);

			total += n;
			r = mem_read(m, at, chunk, n);
			if (!r)
				r = fn(chunk, n, map->offset + (at - map->start), arg);
			else if (r == -EFAULT) /* pages behind the end of the file */
				r = 0;
		}
	}
	free(chunk);
	return r;
}

static int write_piece(const uint8_t *p, size_t n, uint64_t offset, void *arg)
{
	return pwrite(*(const int *)arg, p, n, (off_t)offset) == (ssize_t)n ? 0 : -EIO;
}

/* These hold addresses, to which the loader adds where it put the file. */
static bool is_address(Elf64_Sxword tag)
{
	return tag == DT_SYMTAB || tag == DT_STRTAB || tag == DT_HASH || tag == DT_GNU_HASH ||
	       tag == DT_VERSYM || tag == DT_VERDEF || tag == DT_VERNEED;
}

static void unrelocate(int fd, uint64_t at, uint64_t bias)
{
	for (int i = 0; i < MAX_DYNAMIC; i++, at += sizeof(Elf64_Dyn)) {
		Elf64_Dyn d;

		if (pread(fd, &d, sizeof(d), (off_t)at) != sizeof(d) || d.d_tag == DT_NULL)
			return;
		if (!is_address(d.d_tag) || d.d_un.d_ptr < bias)
			continue;
		d.d_un.d_ptr -= bias;
		if (pwrite(fd, &d, sizeof(d), (off_t)at) != sizeof(d))
			return;
	}
}

/* Finds the dynamic section of the copy, and where its first byte was put. */
static void undo_loader(int fd, uint64_t start)
{
	Elf64_Ehdr head;
	uint64_t dynamic = 0, first = UINT64_MAX;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head))
		return;
	for (int i = 0; i < MIN(head.e_phnum, MAX_PHDRS); i++) {
		Elf64_Phdr p;
		uint64_t at = head.e_phoff + (uint64_t)i * sizeof(p);

		if (pread(fd, &p, sizeof(p), (off_t)at) != sizeof(p))
			return;
		if (p.p_type == PT_LOAD && !p.p_offset)
			first = p.p_vaddr;
		else if (p.p_type == PT_DYNAMIC)
			dynamic = p.p_offset;
	}
	if (dynamic && first < start)
		unrelocate(fd, dynamic, start - first);
}

int mapped_copy(struct mem *m, const struct image *image, int fd)
{
	int r = each_piece(m, image, false, write_piece, &fd);

	if (!r && !image->map->offset)
		undo_loader(fd, image->map->start);
	return r;
}

/* The cookie stands at a multiple of 8, and so does every piece. */
static int search_piece(const uint8_t *p, size_t n, uint64_t offset, void *arg)
{
	uint64_t *ret = arg;

	for (const uint8_t *at = p; (at = memmem(at, n - (size_t)(at - p), DEBUG_OFFSETS_COOKIE,
						 DEBUG_OFFSETS_COOKIE_LEN));
	     at++) {
		if ((at - p) & 7)
			continue;
		*ret = offset + (uint64_t)(at - p);
		return 1;
	}
	return 0;
}

int mapped_cookie(struct mem *m, const struct image *image, uint64_t *ret)
{
	int r = each_piece(m, image, true, search_piece, ret);

	return r == 1 ? 0 : r ? r : -ENOENT;
}
