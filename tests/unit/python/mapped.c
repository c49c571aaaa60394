/* Rebuilding a file out of its mappings: pages at their offsets, the loader's changes undone. */
#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "python/mapped.h"
#include "tests/support/fakemem.h"

#define BASE 0x7f0000000000ul
#define PAGE 0x1000ul
#define DYNAMIC 0x100 /* in the second page */

struct file {
	uint8_t head[PAGE];
	uint8_t data[PAGE];
	struct map map[3];
	struct image image;
	struct mem *mem;
};

/* A file whose second page is mapped two pages on, as it is loaded at BASE. */
static void make(struct file *f, uint16_t phnum)
{
	Elf64_Ehdr head = {.e_phoff = sizeof(head), .e_phnum = phnum};
	Elf64_Phdr p[] = {{.p_type = PT_LOAD}, {.p_type = PT_DYNAMIC, .p_offset = PAGE + DYNAMIC}};
	Elf64_Dyn d[] = {
		{.d_tag = DT_SYMTAB, .d_un.d_ptr = BASE + 0x300},
		{.d_tag = DT_STRTAB, .d_un.d_ptr = 0x400},   /* not relocated */
		{.d_tag = DT_STRSZ, .d_un.d_val = BASE + 5}, /* not an address */
		{.d_tag = DT_NULL},
		{.d_tag = DT_SYMTAB, .d_un.d_ptr = BASE + 0x500}, /* behind the end */
	};

	memset(f, 0, sizeof(*f));
	memcpy(f->head, &head, sizeof(head));
	memcpy(f->head + sizeof(head), p, sizeof(p));
	memcpy(f->data + DYNAMIC, d, sizeof(d));
	f->map[0] = (struct map){
		.start = BASE, .end = BASE + PAGE, .inode = 7, .read = true, .path = ""};
	f->map[1] = (struct map){.start = BASE + PAGE, .end = BASE + 2 * PAGE, .path = ""};
	f->map[2] = (struct map){.start = BASE + 2 * PAGE,
				 .end = BASE + 3 * PAGE,
				 .offset = PAGE,
				 .inode = 7,
				 .read = true,
				 .write = true,
				 .path = ""};
	f->image = (struct image){.map = f->map, .n = 3};
	f->mem = fakemem_new();
}

static void load(struct file *f)
{
	fakemem_add(f->mem, BASE, f->head, PAGE);
	fakemem_add(f->mem, BASE + 2 * PAGE, f->data, PAGE);
}

static int copy(struct file *f, int *ret_fd)
{
	*ret_fd = memfd_create("test", MFD_CLOEXEC);
	cr_assert_geq(*ret_fd, 0);
	return mapped_copy(f->mem, &f->image, *ret_fd);
}

static uint64_t dynamic_at(int fd, int i)
{
	Elf64_Dyn d;

	cr_assert_eq(pread(fd, &d, sizeof(d), (off_t)(PAGE + DYNAMIC + (size_t)i * sizeof(d))),
		     (ssize_t)sizeof(d));
	return d.d_un.d_ptr;
}

Test(mapped, pages_come_to_their_offsets_and_addresses_are_the_files)
{
	struct file f;
	uint8_t page[PAGE];
	int fd;

	make(&f, 2);
	load(&f);
	cr_assert_eq(copy(&f, &fd), 0);
	cr_assert_eq(pread(fd, page, PAGE, 0), (ssize_t)PAGE);
	cr_assert_arr_eq(page, f.head, PAGE);
	cr_assert_eq(dynamic_at(fd, 0), 0x300);
	cr_assert_eq(dynamic_at(fd, 1), 0x400);
	cr_assert_eq(dynamic_at(fd, 2), BASE + 5);
	cr_assert_eq(dynamic_at(fd, 4), BASE + 0x500);
	close(fd);
	mem_free(f.mem);
}

Test(mapped, lying_headers_do_no_harm)
{
	static const uint16_t counts[] = {0, 1, 3, 64, 65535};

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		struct file f;
		int fd;

		make(&f, counts[i]);
		memset(f.data + DYNAMIC, DT_STRTAB, PAGE - DYNAMIC); /* no end */
		load(&f);
		cr_assert_eq(copy(&f, &fd), 0);
		close(fd);
		memset(f.head, 0xff, PAGE);
		fakemem_add(f.mem, BASE, f.head, PAGE);
		cr_assert_eq(copy(&f, &fd), 0);
		close(fd);
		mem_free(f.mem);
	}
}

Test(mapped, pages_that_are_not_there_are_left_out)
{
	struct file f;
	uint64_t word = 1;
	int fd;

	make(&f, 2);
	fakemem_add(f.mem, BASE + 2 * PAGE, f.data, PAGE);
	cr_assert_eq(copy(&f, &fd), 0);
	cr_assert_eq(pread(fd, &word, sizeof(word), 0), (ssize_t)sizeof(word));
	cr_assert_eq(word, 0);
	close(fd);
	fakemem_state(f.mem, -EPERM);
	cr_assert_eq(copy(&f, &fd), -EPERM);
	close(fd);
	mem_free(f.mem);
}

Test(mapped, the_cookie_is_found_where_it_may_stand)
{
	struct file f;
	uint64_t at = 0;

	make(&f, 2);
	memcpy(f.head + 0x200, "xdebugpy", 8); /* not writable */
	memcpy(f.data + 0x803, "xdebugpy", 8); /* not aligned */
	load(&f);
	cr_assert_eq(mapped_cookie(f.mem, &f.image, &at), -ENOENT);
	memcpy(f.data + PAGE - 8, "xdebugpy", 8);
	load(&f);
	cr_assert_eq(mapped_cookie(f.mem, &f.image, &at), 0);
	cr_assert_eq(at, 2 * PAGE - 8);
	fakemem_state(f.mem, -ESRCH);
	cr_assert_eq(mapped_cookie(f.mem, &f.image, &at), -ESRCH);
	mem_free(f.mem);
}
